/** Security advisories on agents. Spec: Errors, registry core (delete of an agent). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdvisoryId, VersionRange } from "../Advisory.ts"
import { Authenticated, Identified } from "../Callers.ts"
import { AgentName, Handle, Timestamp, Version } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { AdvisoryState, Forbidden, NotFound, OrgDecommissioning } from "../Problems.ts"
import { Severity } from "../ScanReport.ts"
import { access } from "../Scopes.ts"

const state = Schema.Literals(["draft", "published", "withdrawn"])

const text = {
  affected: VersionRange,
  /** First version without the fault, if there is one. */
  patched: Schema.NullOr(Version),
  severity: Severity,
  summary: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  /** Markdown. */
  details: Schema.String.check(Schema.isMaxLength(20_000))
}

export const Advisory = Schema.Struct({
  id: AdvisoryId,
  namespace: Handle,
  name: AgentName,
  /** A draft is read by staff and by those who manage the agent. */
  state,
  ...text,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  publishedAt: Schema.NullOr(Timestamp),
  withdrawnAt: Schema.NullOr(Timestamp),
  withdrawnReason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Advisory" })
export type Advisory = typeof Advisory.Type

const example = {
  severity: "high" as const,
  affected: ">=1.0.0 <1.4.2",
  patched: "1.4.2",
  summary: "Sends the input to a third party.",
  details: "Versions before 1.4.2 send the text of the input to an analytics service."
}

export const CreateAdvisory = Schema.Struct({
  ...text,
  patched: Schema.optionalKey(text.patched),
  details: Schema.optionalKey(text.details)
}).annotate({ identifier: "CreateAdvisory", examples: [example] })
export type CreateAdvisory = typeof CreateAdvisory.Type

export const PatchAdvisory = Schema.Struct({
  affected: Schema.optionalKey(text.affected),
  patched: Schema.optionalKey(text.patched),
  severity: Schema.optionalKey(text.severity),
  summary: Schema.optionalKey(text.summary),
  details: Schema.optionalKey(text.details)
}).annotate({ identifier: "PatchAdvisory", examples: [{ patched: "1.4.3", affected: ">=1.0.0 <1.4.3" }] })
export type PatchAdvisory = typeof PatchAdvisory.Type

export const AdvisoryQuery = Schema.Struct({
  namespace: Schema.optionalKey(Handle),
  name: Schema.optionalKey(AgentName),
  severity: Schema.optionalKey(Severity),
  state: Schema.optionalKey(state),
  ...pageQuery(100, 20)
})
export type AdvisoryQuery = typeof AdvisoryQuery.Type

const params = { id: AdvisoryId }

export class AdvisoriesGroup extends HttpApiGroup.make("advisories")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/advisories", {
      query: AdvisoryQuery.fields,
      success: Paged(Advisory).annotate({ identifier: "AdvisoryList" })
    })
      .middleware(Identified)
      .annotateMerge(access.anyone("agent:read"))
      .annotate(OpenApi.Summary, "List the advisories that the caller may read, newest first"),
    HttpApiEndpoint.get("get", "/api/v1/advisories/:id", { params, success: Advisory, error: NotFound })
      .middleware(Identified)
      .annotateMerge(access.anyone("agent:read"))
      .annotate(OpenApi.Summary, "Read an advisory"),
    HttpApiEndpoint.post("create", "/api/v1/agents/:ns/:name/advisories", {
      params: { ns: Handle, name: AgentName },
      payload: CreateAdvisory,
      success: Advisory.pipe(HttpApiSchema.status(201)),
      error: [NotFound, OrgDecommissioning]
    })
      .middleware(Authenticated)
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Draft an advisory: staff, or who manages the agent"),
    HttpApiEndpoint.patch("patch", "/api/v1/advisories/:id", {
      params,
      payload: PatchAdvisory,
      success: Advisory,
      error: [NotFound, Forbidden, AdvisoryState, OrgDecommissioning]
    })
      .middleware(Authenticated)
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Change a draft, or as staff a published advisory"),
    HttpApiEndpoint.post("publish", "/api/v1/advisories/:id/publish", {
      params,
      success: Advisory,
      error: [NotFound, AdvisoryState]
    })
      .middleware(Authenticated)
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Publish a draft"),
    HttpApiEndpoint.post("withdraw", "/api/v1/advisories/:id/withdraw", {
      params,
      payload: Schema.Struct({
        reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000))
      }).annotate({ identifier: "WithdrawAdvisory", examples: [{ reason: "The report was mistaken." }] }),
      success: Advisory,
      error: [NotFound, Forbidden, AdvisoryState, OrgDecommissioning]
    })
      .middleware(Authenticated)
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Drop a draft, or as staff withdraw a published advisory")
  )
  .annotateMerge(OpenApi.annotations({ title: "Advisories", description: "Security advisories on agents" })) {}
