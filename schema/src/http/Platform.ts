/** Platform staff: what happens to versions after or beside the gate. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { AgentName, Handle, Version } from "../Ids.ts"
import { Forbidden, NotFound, VersionNotPublished } from "../Problems.ts"
import { access } from "../Scopes.ts"
import { AgentVersion } from "./Agents.ts"

const Decision = Schema.Struct({
  version: Version,
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000))
}).annotate({
  identifier: "VersionDecision",
  examples: [{ version: "1.2.0", reason: "Confirmed report of exfiltration." }]
})

const params = { ns: Handle, name: AgentName }

export class PlatformGroup extends HttpApiGroup.make("platform")
  .add(
    HttpApiEndpoint.post("quarantine", "/:ns/:name/quarantine", {
      params,
      payload: Decision,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished]
    }).annotate(OpenApi.Summary, "Quarantine a published version"),
    HttpApiEndpoint.post("release", "/:ns/:name/release", {
      params,
      payload: Decision,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished]
    }).annotate(OpenApi.Summary, "Publish a quarantined version again"),
    HttpApiEndpoint.post("block", "/:ns/:name/block", {
      params,
      payload: Decision,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished]
    }).annotate(OpenApi.Summary, "Block a version for good")
  )
  .prefix("/api/v1/platform/agents")
  .annotateEndpointsMerge(access.staffChange)
  .middleware(Authenticated)
  .annotateMerge(OpenApi.annotations({ title: "Platform", description: "Platform staff: quarantine and block" })) {}

export class ReviewGroup extends HttpApiGroup.make("review")
  .add(
    HttpApiEndpoint.get("queue", "/", {
      success: Schema.Struct({ items: Schema.Array(AgentVersion) }).annotate({ identifier: "ReviewQueue" }),
      error: Forbidden
    }).annotate(OpenApi.Summary, "Versions that wait for a review decision, oldest first"),
    HttpApiEndpoint.post("decide", "/:ns/:name/:version", {
      params: { ...params, version: Version },
      payload: Schema.Struct({
        decision: Schema.Literals(["publish", "block"]),
        reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000))
      }).annotate({
        identifier: "ReviewDecision",
        examples: [{ decision: "publish" as const, reason: "False positive of S8." }]
      }),
      success: AgentVersion,
      error: [NotFound, Forbidden, VersionNotPublished]
    }).annotate(OpenApi.Summary, "Publish or block a version that was held for review; never one's own")
  )
  .prefix("/api/v1/review")
  .annotateEndpointsMerge(access.account("review:act"))
  .middleware(Authenticated)
  .annotateMerge(OpenApi.annotations({ title: "Review", description: "Decisions on versions that the gate held" })) {}
