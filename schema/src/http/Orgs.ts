/** Organizations, their members and audit log. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { Handle, OrgId, Timestamp } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import {
  AlreadyAMember,
  EmailUnverified,
  Forbidden,
  LastAdmin,
  NameTaken,
  NotFound,
  OrgDecommissioning,
  OrgPending,
  SeatAllowance,
  StaffOrgDomain
} from "../Problems.ts"
import { access } from "../Scopes.ts"
import { AuditPage, AuditQuery } from "./Audit.ts"

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

const DisplayName = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100))

export const CreateOrg = Schema.Struct({
  handle: Handle,
  displayName: Schema.optionalKey(DisplayName)
}).annotate({ identifier: "CreateOrg", examples: [{ handle: "acme", displayName: "Acme" }] })

export const PatchOrg = Schema.Struct({ displayName: DisplayName }).annotate({
  identifier: "PatchOrg",
  examples: [{ displayName: "Acme Inc." }]
})

const StaffReason = Schema.Struct({
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000))
}).annotate({ identifier: "StaffReason", examples: [{ reason: "Publishes malware under stolen names." }] })

export const Member = Schema.Struct({
  handle: Handle,
  displayName: Schema.String,
  role: OrgRole,
  since: Timestamp
}).annotate({
  identifier: "Member"
})
export type Member = typeof Member.Type

export class OrgsGroup extends HttpApiGroup.make("orgs")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateOrg,
      success: Organization.pipe(HttpApiSchema.status(201)),
      error: [NameTaken, AlreadyAMember, EmailUnverified, OrgPending]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Create an organization; the caller becomes its owner"),
    HttpApiEndpoint.get("get", "/:org", { params: { org: Handle }, success: Organization, error: NotFound })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Read an organization"),
    HttpApiEndpoint.patch("patch", "/:org", {
      params: { org: Handle },
      payload: PatchOrg,
      success: Organization,
      error: [NotFound, Forbidden, OrgDecommissioning]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Change an organization's settings"),
    HttpApiEndpoint.post("decommission", "/:org/decommission", {
      params: { org: Handle },
      success: Organization,
      error: [NotFound, Forbidden, OrgDecommissioning]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Decommission an organization: read-only at once, erased when its hold ends")
      .annotate(OpenApi.Description, "Owners only. `decommissionAt` of the answer says when the hold ends."),
    HttpApiEndpoint.delete("cancelDecommission", "/:org/decommission", {
      params: { org: Handle },
      success: Organization,
      error: [NotFound, Forbidden]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Take a decommission back while its hold lasts; owners only"),
    HttpApiEndpoint.post("suspend", "/:org/suspend", {
      params: { org: Handle },
      payload: StaffReason,
      success: Organization,
      error: [NotFound, Forbidden]
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Suspend an organization: it and everything under it answers 404 to everyone"),
    HttpApiEndpoint.post("reinstate", "/:org/reinstate", {
      params: { org: Handle },
      payload: StaffReason,
      success: Organization,
      error: NotFound
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Reinstate a suspended organization")
      .annotate(OpenApi.Description, "A decommission that the suspension interrupted starts its hold anew."),
    HttpApiEndpoint.get("members", "/:org/members", {
      params: { org: Handle },
      query: pageQuery(100, 50),
      success: Paged(Member),
      error: NotFound
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "List the members by handle"),
    HttpApiEndpoint.put("putMember", "/:org/members/:handle", {
      params: { org: Handle, handle: Handle },
      payload: Schema.Struct({ role: OrgRole }).annotate({
        identifier: "PutMember",
        examples: [{ role: "member" as const }]
      }),
      success: Member,
      error: [NotFound, Forbidden, LastAdmin, AlreadyAMember, StaffOrgDomain, SeatAllowance, OrgDecommissioning]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Add a member or change a role"),
    HttpApiEndpoint.delete("removeMember", "/:org/members/:handle", {
      params: { org: Handle, handle: Handle },
      success: HttpApiSchema.NoContent,
      error: [NotFound, Forbidden, LastAdmin, OrgDecommissioning]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "Remove a member, or leave"),
    HttpApiEndpoint.get("audit", "/:org/audit", {
      params: { org: Handle },
      query: AuditQuery,
      success: AuditPage,
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
