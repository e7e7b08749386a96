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
      error: [NotFound, Forbidden, VersionNotPublished]
    }).annotate(OpenApi.Summary, "Publish a quarantined version again; not one that waits on the review queue"),
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
