/**
 * Review: people decide on versions that the gate, a rescan or staff holds, and
 * owners dispute a hold. Spec: AUTH-014; States and transitions, Other states.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { AgentName, Handle, Timestamp, Version } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import {
  AlreadyDisputed,
  Forbidden,
  NotFound,
  OrgDecommissioning,
  ReviewClaimed,
  VersionNotHeld,
  VersionNotPublished
} from "../Problems.ts"
import { Finding, Severity, StageId } from "../ScanReport.ts"
import { access } from "../Scopes.ts"
import { AgentVersion, VersionStatus } from "./Agents.ts"

/**
 * - `held`: the gate held it before it was published
 * - `rescan`: a rescan found something in a version that stays published
 * - `quarantine`: it is quarantined, by a rescan, or by staff and its owner disputes it
 */
export const ReviewKind = Schema.Literals(["held", "rescan", "quarantine"]).annotate({ identifier: "ReviewKind" })
export type ReviewKind = typeof ReviewKind.Type

const Reason = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000))
const Dispute = Schema.Struct({ by: Handle, reason: Schema.String, at: Timestamp })

export const Review = Schema.Struct({
  kind: ReviewKind,
  /** The worst of `findings`. */
  severity: Severity,
  findings: Schema.Array(Finding),
  openedAt: Timestamp,
  /** When a decision is due, by severity and age. */
  dueAt: Timestamp,
  overdue: Schema.Boolean,
  /** Who decides on it now. A claim runs out by itself. */
  claim: Schema.NullOr(Schema.Struct({ by: Handle, until: Timestamp })),
  /** Whether publishing takes two reviewers. */
  needsSecondApproval: Schema.Boolean,
  /** The first of two approvals, when it was given. */
  firstApproval: Schema.NullOr(Schema.Struct({ by: Handle, reason: Schema.String, at: Timestamp })),
  /** What the owner says against the hold. */
  dispute: Schema.NullOr(Dispute)
}).annotate({ identifier: "Review" })
export type Review = typeof Review.Type

export const ReviewEntry = Schema.Struct({ ...AgentVersion.fields, review: Review }).annotate({
  identifier: "ReviewEntry"
})
export type ReviewEntry = typeof ReviewEntry.Type

/** A version of the caller's that waits for a decision. Reviewers are not named. */
export const HeldVersion = Schema.Struct({
  namespace: Handle,
  name: AgentName,
  version: Version,
  status: VersionStatus,
  /** Stages whose findings hold it. */
  stages: Schema.Array(StageId),
  findings: Schema.Array(Finding),
  heldSince: Timestamp,
  /** Null where nobody decides before a dispute. */
  dueAt: Schema.NullOr(Timestamp),
  dispute: Schema.NullOr(Dispute)
}).annotate({ identifier: "HeldVersion" })
export type HeldVersion = typeof HeldVersion.Type

export const ReviewQuery = Schema.Struct({
  kind: Schema.optionalKey(ReviewKind),
  severity: Schema.optionalKey(Severity),
  namespace: Schema.optionalKey(Handle),
  /** `mine`: claimed by the caller; `free`: claimed by nobody. */
  claim: Schema.optionalKey(Schema.Literals(["mine", "free"])),
  disputed: Schema.optionalKey(Schema.Literals(["true", "false"])),
  ...pageQuery(100, 50)
})
export type ReviewQuery = typeof ReviewQuery.Type

const params = { ns: Handle, name: AgentName, version: Version }

export class ReviewGroup extends HttpApiGroup.make("review")
  .add(
    HttpApiEndpoint.get("queue", "/", {
      query: ReviewQuery.fields,
      success: Paged(ReviewEntry).annotate({ identifier: "ReviewQueue" }),
      error: Forbidden
    }).annotate(OpenApi.Summary, "Versions that wait for a review decision, what is due first before the rest"),
    HttpApiEndpoint.get("get", "/:ns/:name/:version", {
      params,
      success: ReviewEntry,
      error: [NotFound, Forbidden, VersionNotHeld]
    }).annotate(OpenApi.Summary, "Read a version that waits for a review decision"),
    HttpApiEndpoint.get("archive", "/:ns/:name/:version/archive", {
      params,
      success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array({ contentType: "application/gzip" }), {
        "cache-control": Schema.String,
        "content-length": Schema.String
      }),
      error: [NotFound, Forbidden, VersionNotHeld]
    }).annotate(OpenApi.Summary, "Download the archive of a version that waits for a review decision"),
    HttpApiEndpoint.post("claim", "/:ns/:name/:version/claim", {
      params,
      success: ReviewEntry,
      error: [NotFound, Forbidden, ReviewClaimed, VersionNotHeld]
    }).annotate(OpenApi.Summary, "Claim a version for an hour, so that no other reviewer decides on it meanwhile"),
    HttpApiEndpoint.delete("unclaim", "/:ns/:name/:version/claim", {
      params,
      success: ReviewEntry,
      error: [NotFound, Forbidden, ReviewClaimed, VersionNotHeld]
    }).annotate(OpenApi.Summary, "Give a claim back"),
    HttpApiEndpoint.post("decide", "/:ns/:name/:version", {
      params,
      payload: Schema.Struct({
        /** What the version shall be. One that a rescan flagged or that is quarantined may also stay published or quarantined. */
        decision: Schema.Literals(["publish", "block", "quarantine"]),
        reason: Reason
      }).annotate({
        identifier: "ReviewDecision",
        examples: [{ decision: "publish" as const, reason: "False positive of S8." }]
      }),
      // The one with more members first: what is encoded is the first that fits.
      success: [ReviewEntry.pipe(HttpApiSchema.status(202)), AgentVersion],
      error: [NotFound, Forbidden, ReviewClaimed, VersionNotPublished]
    }).annotate(
      OpenApi.Summary,
      "Publish, block or quarantine; never one's own. 202: the first of two approvals was taken, the version still waits"
    )
  )
  .prefix("/api/v1/review")
  .annotateEndpointsMerge(access.account("review:act"))
  .middleware(Authenticated)
  .annotateMerge(OpenApi.annotations({ title: "Review", description: "Decisions on versions that are held" })) {}

export const DisputeHold = Schema.Struct({ reason: Reason }).annotate({
  identifier: "DisputeHold",
  examples: [{ reason: "The key in the example is a made-up one." }]
})

export class DisputesGroup extends HttpApiGroup.make("disputes")
  .add(
    HttpApiEndpoint.get("held", "/api/v1/user/held-versions", {
      query: pageQuery(100, 50),
      success: Paged(HeldVersion).annotate({ identifier: "HeldVersionList" })
    })
      .annotateMerge(access.account("agent:read"))
      .annotate(OpenApi.Summary, "The caller's versions that are held, with the stages and findings that hold them"),
    HttpApiEndpoint.post("dispute", "/api/v1/agents/:ns/:name/versions/:version/dispute", {
      params,
      payload: DisputeHold,
      success: HeldVersion.pipe(HttpApiSchema.status(201)),
      error: [NotFound, AlreadyDisputed, VersionNotHeld, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:publish"))
      .annotate(OpenApi.Summary, "Dispute the hold of a version, once; a reviewer reads it")
  )
  .middleware(Authenticated)
  .annotateMerge(
    OpenApi.annotations({
      title: "Disputes",
      description: "Held versions of the caller, and what is said against a hold"
    })
  ) {}
