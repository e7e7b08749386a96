/**
 * Reviews: people decide on versions that are held. What is due first comes
 * first, one reviewer at a time, never on their own, and where the findings are
 * grave two of them. Spec: AUTH-014; States and transitions, Other states.
 */
import { Orgs } from "@quickagents/orgs"
import { Audit, Database, ObjectStore, pageOf, Settings } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import {
  AlreadyDisputed,
  Forbidden,
  NotFound,
  ReviewClaimed,
  VersionNotHeld,
  VersionNotPublished
} from "@quickagents/schema"
import type {
  Account,
  AgentVersion,
  HeldVersion,
  OrgDecommissioning,
  ReviewEntry,
  ReviewQuery
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import type { Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Agents } from "./Agents.ts"
import { canPublish } from "./AgentsPolicy.ts"
import type { VersionRow } from "./AgentsSql.ts"
import { AgentsSql } from "./AgentsSql.ts"
import { needsSecondApproval, reviewerRefusal } from "./ReviewsPolicy.ts"
import type { HeldRow, ReviewRow } from "./ReviewsSql.ts"
import { ReviewsSql } from "./ReviewsSql.ts"
import { refOf, versionRecord, Versions } from "./Versions.ts"

const claimMs = 60 * 60_000

const disputeOf = (row: Pick<HeldRow, "disputant" | "disputedAt" | "disputedReason">) =>
  row.disputedAt === null ? null : { by: row.disputant!, reason: row.disputedReason!, at: row.disputedAt.toISOString() }

const heldVersion = (row: HeldRow): HeldVersion => {
  const findings = row.findings ?? row.holding ?? []
  return {
    namespace: row.namespace,
    name: row.name,
    version: row.version,
    status: row.status,
    stages: [...new Set(findings.map(({ stage }) => stage))],
    findings,
    heldSince: row.heldSince.toISOString(),
    dueAt: row.dueAt?.toISOString() ?? null,
    dispute: disputeOf(row)
  }
}

export class Reviews extends Context.Service<
  Reviews,
  {
    readonly queue: (actor: Account, query: ReviewQuery) => Effect.Effect<Page<ReviewEntry>, Forbidden>
    readonly get: (
      actor: Account,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<ReviewEntry, NotFound | Forbidden | VersionNotHeld>
    /** The archive that nobody else gets while it is held. */
    readonly archive: (
      actor: Account,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<
      { readonly bytes: number; readonly content: Stream.Stream<Uint8Array, unknown> },
      NotFound | Forbidden | VersionNotHeld
    >
    readonly claim: (
      actor: Account,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<ReviewEntry, NotFound | Forbidden | ReviewClaimed | VersionNotHeld>
    readonly unclaim: (
      actor: Account,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<ReviewEntry, NotFound | Forbidden | ReviewClaimed | VersionNotHeld>
    /** The version as it is now; or the review that goes on, when this was the first of two approvals. */
    readonly decide: (
      actor: Account,
      ns: string,
      name: string,
      version: string,
      decision: "publish" | "block" | "quarantine",
      reason: string
    ) => Effect.Effect<AgentVersion | ReviewEntry, NotFound | Forbidden | ReviewClaimed | VersionNotPublished>
    /** Publishes a quarantined version again, unless it waits on the queue: there one reviewer may not be enough. */
    readonly release: (
      actor: Account,
      ns: string,
      name: string,
      version: string,
      reason: string
    ) => Effect.Effect<AgentVersion, NotFound | Forbidden | VersionNotPublished>
    readonly held: (
      actor: Account,
      page: { readonly offset?: number; readonly limit?: number }
    ) => Effect.Effect<Page<HeldVersion>>
    readonly dispute: (
      actor: Account,
      ns: string,
      name: string,
      version: string,
      reason: string
    ) => Effect.Effect<HeldVersion, NotFound | AlreadyDisputed | VersionNotHeld | OrgDecommissioning>
  }
>()("catalog/Reviews") {
  static readonly layer = Layer.effect(
    Reviews,
    Effect.gen(function* () {
      const reviews = yield* ReviewsSql
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const versions = yield* Versions
      const orgs = yield* Orgs
      const audit = yield* Audit.Audit
      const objects = yield* ObjectStore
      const settings = yield* Settings.Settings
      const transaction = Database.transaction(yield* SqlClient.SqlClient)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const needsTwo = (row: ReviewRow) => needsSecondApproval(settings["review.fourEyes"], row.severity)
      const entries = Effect.fnUntraced(function* (found: ReadonlyArray<ReviewRow>, at: Date) {
        const stages = yield* Effect.orDie(rows.stageEvents(found.map(({ id }) => id)))
        return found.map((row): ReviewEntry => ({
          ...versionRecord(
            row,
            stages.filter(({ versionId }) => versionId === row.id).map(({ data }) => data),
            true
          ),
          review: {
            kind: row.kind,
            severity: row.severity,
            findings: row.findings,
            openedAt: row.openedAt.toISOString(),
            dueAt: row.dueAt.toISOString(),
            overdue: row.dueAt <= at,
            claim: row.claimedBy === null ? null : { by: row.claimant!, until: row.claimedUntil!.toISOString() },
            needsSecondApproval: needsTwo(row),
            firstApproval:
              row.approvedAt === null
                ? null
                : { by: row.approver!, reason: row.approvedReason!, at: row.approvedAt.toISOString() },
            dispute: disputeOf(row)
          }
        }))
      })
      /** Which reviewer looks at what is not for the owner's log. */
      const note = (actor: Account, action: string, row: VersionRow, detail: Record<string, unknown>, org?: string) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: refOf(row),
          org,
          detail
        })

      const asStaff = (actor: Account) =>
        actor.staff
          ? Effect.void
          : Effect.fail(new Forbidden({ detail: "Reviewers are members of the staff organization" }))
      /** Staff sees every version, also of private agents: it decides on them. */
      const versionRow = Effect.fnUntraced(function* (ns: string, name: string, version: string) {
        const row = yield* Effect.orDie(rows.version(ns, name, version))
        // Of its own namespace, which may not be the one that was asked for: of a suspended one it is not there.
        return row === null || (yield* orgs.namespace(row.namespace)) === null ? yield* new NotFound({}) : row
      })
      const ofReviewer = Effect.fnUntraced(function* (actor: Account, ns: string, name: string, version: string) {
        yield* asStaff(actor)
        const row = yield* versionRow(ns, name, version)
        const refusal = reviewerRefusal(actor, row, yield* orgs.roleIn(actor.accountId, row.namespace))
        return refusal === null ? row : yield* new Forbidden({ detail: refusal })
      })
      const openReview = Effect.fnUntraced(function* (row: VersionRow, at: Date) {
        const found = yield* Effect.orDie(reviews.open(row.id, at))
        return found ?? (yield* new VersionNotHeld({ versionStatus: row.status }))
      })
      const entry = Effect.fnUntraced(function* (row: VersionRow, at: Date) {
        return (yield* entries([yield* openReview(row, at)], at))[0]
      })
      const claimedByAnother = (review: ReviewRow, actor: Account) =>
        review.claimedBy !== null && review.claimedBy !== actor.accountId
          ? Effect.fail(
              new ReviewClaimed({
                detail: `${review.claimant} has claimed this version until ${review.claimedUntil!.toISOString()}`,
                claimedBy: review.claimant!
              })
            )
          : Effect.void

      return Reviews.of({
        queue: Effect.fnUntraced(function* (actor, query) {
          yield* asStaff(actor)
          const at = yield* now
          const { page, rows: found } = yield* pageOf(query, { max: 100, standard: 50 }, (offset, limit) =>
            Effect.orDie(
              reviews.queue({
                ...query,
                disputed: query.disputed === undefined ? undefined : query.disputed === "true",
                reviewerId: actor.accountId,
                now: at,
                offset,
                limit
              })
            )
          )
          return { items: yield* entries(found, at), ...page }
        }),
        get: Effect.fnUntraced(function* (actor, ns, name, version) {
          yield* asStaff(actor)
          return yield* entry(yield* versionRow(ns, name, version), yield* now)
        }),
        archive: Effect.fnUntraced(function* (actor, ns, name, version) {
          yield* asStaff(actor)
          const row = yield* versionRow(ns, name, version)
          yield* openReview(row, yield* now)
          yield* note(actor, "review.download", row, {})
          return yield* Effect.orDie(objects.get(row.archiveDigest))
        }),
        claim: Effect.fnUntraced(function* (actor, ns, name, version) {
          const row = yield* ofReviewer(actor, ns, name, version)
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const until = new Date(at.getTime() + claimMs)
              if (!(yield* Effect.orDie(reviews.claim(row.id, actor.accountId, until, at)))) {
                yield* claimedByAnother(yield* openReview(row, at), actor)
              }
              yield* note(actor, "review.claim", row, {})
              return yield* entry(row, at)
            })
          )
        }),
        unclaim: Effect.fnUntraced(function* (actor, ns, name, version) {
          const row = yield* ofReviewer(actor, ns, name, version)
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              yield* claimedByAnother(yield* openReview(row, at), actor)
              yield* Effect.orDie(reviews.unclaim(row.id, actor.accountId))
              yield* note(actor, "review.unclaim", row, {})
              return yield* entry(row, at)
            })
          )
        }),
        decide: Effect.fnUntraced(function* (actor, ns, name, version, decision, reason) {
          const { id } = yield* ofReviewer(actor, ns, name, version)
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              yield* Effect.orDie(reviews.lock(id))
              const row = yield* versionRow(ns, name, version)
              const open = yield* Effect.orDie(reviews.open(id, at))
              const notNow = (detail: string) => new VersionNotPublished({ detail, versionStatus: row.status })
              if (open === null) return yield* notNow("No decision is due on this version")
              yield* claimedByAnother(open, actor)
              if (decision === "publish" && needsTwo(open)) {
                // Asked before the second reviewer comes: see `Versions.review`.
                if (open.kind === "held" && !row.signed)
                  return yield* notNow("This version has no attestation and cannot be published")
                if (open.approvedBy === null) {
                  yield* Effect.orDie(reviews.approve(id, actor.accountId, reason, at))
                  yield* note(actor, "review.approve", row, { reason })
                  return yield* Effect.orDie(entry(row, at))
                }
                if (open.approvedBy === actor.accountId) {
                  return yield* new Forbidden({ detail: "A second, different reviewer has to approve this version" })
                }
              }
              switch (open.kind) {
                case "held":
                  return decision === "quarantine"
                    ? yield* notNow("A version that was never published is published or blocked")
                    : yield* versions.review(actor, ns, name, version, decision, reason)
                case "rescan": {
                  // Quarantined it waits on: whoever stopped it has not decided what becomes of it.
                  if (decision !== "publish")
                    return yield* versions.moderate(actor, ns, name, version, decision, reason)
                  yield* Effect.orDie(reviews.close(id, at))
                  yield* note(
                    actor,
                    "version.review",
                    row,
                    { decision, reason, from: row.status },
                    row.org ?? undefined
                  )
                  const stages = yield* Effect.orDie(rows.stageEvents([id]))
                  return versionRecord(
                    row,
                    stages.map(({ data }) => data),
                    true
                  )
                }
                case "quarantine": {
                  if (decision === "quarantine") return yield* notNow("A quarantined version is published or blocked")
                  const action = decision === "publish" ? "release" : "block"
                  return yield* versions.moderate(actor, ns, name, version, action, reason)
                }
              }
            })
          )
        }),
        release: Effect.fnUntraced(function* (actor, ns, name, version, reason) {
          const { id } = yield* ofReviewer(actor, ns, name, version)
          return yield* transaction(
            Effect.gen(function* () {
              yield* Effect.orDie(reviews.lock(id))
              if ((yield* Effect.orDie(reviews.open(id, yield* now)))?.kind === "quarantine") {
                return yield* new Forbidden({ detail: "This version waits on the review queue: decide on it there" })
              }
              return yield* versions.moderate(actor, ns, name, version, "release", reason)
            })
          )
        }),
        held: Effect.fnUntraced(function* (actor, asked) {
          const { page, rows: found } = yield* pageOf(asked, { max: 100, standard: 50 }, (offset, limit) =>
            Effect.orDie(reviews.held({ accountId: actor.accountId, versionId: null, offset, limit }))
          )
          return { items: found.map(heldVersion), ...page }
        }),
        dispute: Effect.fnUntraced(function* (actor, ns, name, version, reason) {
          const { hold, standing } = yield* agents.known(actor, ns, name)
          const seen = yield* versionRow(ns, name, version)
          // Who may mend it is told what holds it, and may object.
          if (!canPublish(standing)) return yield* new NotFound({})
          if (hold !== null) return yield* hold
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              yield* Effect.orDie(reviews.lock(seen.id))
              const row = yield* versionRow(ns, name, version)
              const open = yield* Effect.orDie(reviews.open(row.id, at))
              if (row.status !== "needs_review" && row.status !== "quarantined") {
                return yield* new VersionNotHeld({ versionStatus: row.status })
              }
              // What staff quarantined by hand has no review until its owner asks for one.
              if (open === null) yield* Effect.orDie(reviews.add(row.id, "quarantine", row.holding ?? [], at))
              if (!(yield* Effect.orDie(reviews.dispute(row.id, actor.accountId, reason, at)))) {
                return yield* new AlreadyDisputed({})
              }
              yield* note(actor, "version.dispute", row, { reason }, row.org ?? undefined)
              const [held] = yield* Effect.orDie(
                reviews.held({ accountId: actor.accountId, versionId: row.id, offset: 0, limit: 1 })
              )
              return heldVersion(held)
            })
          )
        })
      })
    })
  )
}
