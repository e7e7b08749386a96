/** Organizations, their members and audit log. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { clampedLimit, Handle, OrgId, Timestamp } from "../Ids.ts"
import {
  AlreadyAMember,
  EmailUnverified,
  Forbidden,
  LastAdmin,
  NameTaken,
  NotFound,
  StaffOrgDomain
} from "../Problems.ts"
import { access } from "../Scopes.ts"

export const OrgRole = Schema.Literals(["owner", "admin", "member"]).annotate({ identifier: "OrgRole" })
export type OrgRole = typeof OrgRole.Type

export const Organization = Schema.Struct({
  id: OrgId,
  handle: Handle,
  displayName: Schema.String,
  domain: Schema.NullOr(Schema.String),
  verifiedDomains: Schema.Array(Schema.String),
  state: Schema.Literals(["active", "decommissioning", "suspended"]),
  decommissionAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp
}).annotate({ identifier: "Organization" })
export type Organization = typeof Organization.Type

export const CreateOrg = Schema.Struct({
  handle: Handle,
  displayName: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100)))
}).annotate({ identifier: "CreateOrg", examples: [{ handle: "acme", displayName: "Acme" }] })

export const Member = Schema.Struct({
  handle: Handle,
  displayName: Schema.String,
  role: OrgRole,
  since: Timestamp
}).annotate({
  identifier: "Member"
})
export type Member = typeof Member.Type

export const AuditEntry = Schema.Struct({
  id: Schema.String,
  at: Timestamp,
  actor: Schema.Struct({ type: Schema.String, id: Schema.String, handle: Schema.NullOr(Schema.String) }),
  action: Schema.String,
  target: Schema.String,
  org: Schema.NullOr(Schema.String),
  ip: Schema.NullOr(Schema.String),
  requestId: Schema.NullOr(Schema.String),
  detail: Schema.Record(Schema.String, Schema.Unknown)
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

export class OrgsGroup extends HttpApiGroup.make("orgs")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateOrg,
      success: Organization.pipe(HttpApiSchema.status(201)),
      error: [NameTaken, AlreadyAMember, EmailUnverified]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Create an organization; the caller becomes its owner"),
    HttpApiEndpoint.get("get", "/:org", { params: { org: Handle }, success: Organization, error: NotFound })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Read an organization"),
    HttpApiEndpoint.get("members", "/:org/members", {
      params: { org: Handle },
      success: Schema.Struct({ items: Schema.Array(Member) }),
      error: NotFound
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "List the members"),
    HttpApiEndpoint.put("putMember", "/:org/members/:handle", {
      params: { org: Handle, handle: Handle },
      payload: Schema.Struct({ role: OrgRole }).annotate({
        identifier: "PutMember",
        examples: [{ role: "member" as const }]
      }),
      success: Member,
      error: [NotFound, Forbidden, LastAdmin, AlreadyAMember, StaffOrgDomain]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Add a member or change a role"),
    HttpApiEndpoint.delete("removeMember", "/:org/members/:handle", {
      params: { org: Handle, handle: Handle },
      success: HttpApiSchema.NoContent,
      error: [NotFound, Forbidden, LastAdmin]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Remove a member, or leave"),
    HttpApiEndpoint.get("audit", "/:org/audit", {
      params: { org: Handle },
      query: {
        cursor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        limit: Schema.optionalKey(clampedLimit(200, 50)),
        action: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100))),
        actor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100)))
      },
      success: Schema.Struct({ items: Schema.Array(AuditEntry), nextCursor: Schema.NullOr(Schema.String) }),
      error: [NotFound, Forbidden]
    })
      .annotateMerge(access.account("audit:read"))
      .annotate(OpenApi.Summary, "The organization's audit log, newest first")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/orgs")
  .annotateMerge(
    OpenApi.annotations({ title: "Organizations", description: "Organizations, their members and audit log" })
  ) {}
