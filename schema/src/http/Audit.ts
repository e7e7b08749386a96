/** The audit log as organizations and platform staff read it. Spec: Registry core routes named; Events 3. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { clampedLimit, Handle, Timestamp } from "../Ids.ts"
import { access } from "../Scopes.ts"

export const AuditEntry = Schema.Struct({
  id: Schema.String,
  at: Timestamp,
  actor: Schema.Struct({ type: Schema.String, id: Schema.String, handle: Schema.NullOr(Schema.String) }),
  action: Schema.String,
  target: Schema.String,
  /** The organization whose log shows the entry. */
  org: Schema.NullOr(Schema.String),
  ip: Schema.NullOr(Schema.String),
  requestId: Schema.NullOr(Schema.String),
  detail: Schema.Record(Schema.String, Schema.Unknown)
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

export const AuditPage = Schema.Struct({
  items: Schema.Array(AuditEntry),
  /** `cursor` of the next page; null on the last. */
  nextCursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "AuditPage" })

const Moment = Timestamp.check(
  Schema.makeFilter((text) => !Number.isNaN(Date.parse(text)) || "must be a date that exists")
)

export const auditMax = 200
export const auditStandard = 50

export const AuditQuery = {
  cursor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
  limit: Schema.optionalKey(clampedLimit(auditMax, auditStandard)),
  action: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(100)).pipe(Schema.annotate({ examples: ["agent.create"] }))
  ),
  /** Handle of who acted. */
  actor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100))),
  /** Entries at this moment or later. */
  from: Schema.optionalKey(Moment),
  /** Entries before this moment. */
  to: Schema.optionalKey(Moment)
}

export class PlatformAuditGroup extends HttpApiGroup.make("platformAudit")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: { ...AuditQuery, org: Schema.optionalKey(Handle) },
      success: AuditPage
    }).annotate(OpenApi.Summary, "The audit log of the whole registry, newest first")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/platform/audit")
  .annotateEndpointsMerge(access.staffRead)
  .annotateMerge(OpenApi.annotations({ title: "Platform audit", description: "The audit log for platform staff" })) {}
