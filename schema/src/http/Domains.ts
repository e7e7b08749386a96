/** Mail domains that organizations prove to be theirs, and whose domain a person's address is of. Spec: Registry core routes named. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { Handle, Timestamp } from "../Ids.ts"
import {
  AlreadyAMember,
  DomainClaimed,
  DomainNotProven,
  EmailUnverified,
  Forbidden,
  NotFound,
  OrgDecommissioning,
  RateLimited,
  Unavailable
} from "../Problems.ts"
import { access } from "../Scopes.ts"

/** Lower case, with at least two labels. */
export const DomainName = Schema.String.check(
  Schema.isMaxLength(253),
  Schema.isPattern(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/u, {
    expected: "a domain name in small letters as acme.example"
  })
).pipe(Schema.annotate({ description: "Domain name", examples: ["acme.example"] }))

export const DomainClaim = Schema.Struct({
  domain: DomainName,
  state: Schema.Literals(["pending", "verified"]),
  /** The DNS record that proves the claim. */
  record: Schema.Struct({ type: Schema.Literal("TXT"), name: Schema.String, value: Schema.String }),
  createdAt: Timestamp,
  verifiedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "DomainClaim" })
export type DomainClaim = typeof DomainClaim.Type

export const AccessRequest = Schema.Struct({
  handle: Handle,
  displayName: Schema.String,
  email: Schema.String,
  requestedAt: Timestamp
}).annotate({ identifier: "AccessRequest" })
export type AccessRequest = typeof AccessRequest.Type

const claim = { org: Handle, domain: DomainName }

export class DomainsGroup extends HttpApiGroup.make("domains")
  .add(
    HttpApiEndpoint.get("list", "/:org/domain-claims", {
      params: { org: Handle },
      success: Schema.Struct({ items: Schema.Array(DomainClaim) }).annotate({ identifier: "DomainClaimList" }),
      error: [NotFound, Forbidden]
    }).annotate(OpenApi.Summary, "List the domain claims"),
    HttpApiEndpoint.post("create", "/:org/domain-claims", {
      params: { org: Handle },
      payload: Schema.Struct({ domain: DomainName }).annotate({
        identifier: "CreateDomainClaim",
        examples: [{ domain: "acme.example" }]
      }),
      success: DomainClaim.pipe(HttpApiSchema.status(201)),
      error: [NotFound, Forbidden, DomainClaimed, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Claim a domain; the answer names the DNS record that proves it"),
    HttpApiEndpoint.post("verify", "/:org/domain-claims/:domain/verify", {
      params: claim,
      success: DomainClaim,
      error: [NotFound, Forbidden, DomainClaimed, DomainNotProven, OrgDecommissioning, Unavailable]
    }).annotate(OpenApi.Summary, "Look the DNS record up and verify the claim"),
    HttpApiEndpoint.delete("remove", "/:org/domain-claims/:domain", {
      params: claim,
      success: HttpApiSchema.NoContent,
      error: [NotFound, Forbidden, OrgDecommissioning]
    }).annotate(OpenApi.Summary, "Give a claim or a verified domain up"),
    HttpApiEndpoint.get("accessRequests", "/:org/access-requests", {
      params: { org: Handle },
      success: Schema.Struct({ items: Schema.Array(AccessRequest) }).annotate({ identifier: "AccessRequestList" }),
      error: [NotFound, Forbidden]
    })
      .annotate(OpenApi.Summary, "People of the organization's domains who ask to become members, oldest first")
      .annotate(OpenApi.Description, "Add one with `PUT /api/v1/orgs/{org}/members/{handle}`.")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/orgs")
  .annotateEndpointsMerge(access.account("org:admin"))
  .annotateMerge(OpenApi.annotations({ title: "Domains", description: "Domains of an organization, proven by DNS" })) {}

export const DomainOrg = Schema.Struct({
  /** Of the caller's address. */
  domain: Schema.String,
  /** Who has proven to hold it; null when nobody has. */
  org: Schema.NullOr(Schema.Struct({ handle: Handle, displayName: Schema.String })),
  member: Schema.Boolean
}).annotate({ identifier: "DomainOrg" })
export type DomainOrg = typeof DomainOrg.Type

export class DomainOrgGroup extends HttpApiGroup.make("domainOrg")
  .add(
    HttpApiEndpoint.get("get", "/", { success: DomainOrg, error: EmailUnverified }).annotate(
      OpenApi.Summary,
      "The organization that holds the domain of the caller's address"
    ),
    HttpApiEndpoint.post("requestAccess", "/request-access", {
      success: HttpApiSchema.Empty(202),
      error: [NotFound, AlreadyAMember, RateLimited]
    }).annotate(OpenApi.Summary, "Ask that organization's admins to become a member; once a day")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/user/domain-org")
  .annotateEndpointsMerge(access.account("user:profile"))
  .annotateMerge(
    OpenApi.annotations({ title: "Domain organization", description: "Whose domain the caller's address is of" })
  ) {}
