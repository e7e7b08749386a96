/** Rows of the review queue. At most one review of a version is open. */
import type { Finding, ReviewKind, ReviewQuery, Severity } from "@quickagents/schema"
import { Settings } from "@quickagents/platform"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { VersionRow } from "./AgentsSql.ts"
import { AgentsSql } from "./AgentsSql.ts"

/** An open review with the version that it is about. */
export interface ReviewRow extends VersionRow {
  readonly kind: ReviewKind
  readonly severity: Severity
  readonly findings: ReadonlyArray<Finding>
  readonly openedAt: Date
  readonly dueAt: Date
  readonly claimedBy: string | null
  readonly claimant: string | null
  readonly claimedUntil: Date | null
  readonly approvedBy: string | null
  readonly approver: string | null
  readonly approvedReason: string | null
  readonly approvedAt: Date | null
  readonly disputant: string | null
  readonly disputedReason: string | null
  readonly disputedAt: Date | null
}

/** A version that is held, with its open review if it has one. */
export type HeldRow = Pick<VersionRow, "id" | "namespace" | "name" | "version" | "status" | "holding"> & {
  readonly findings: ReadonlyArray<Finding> | null
  readonly heldSince: Date
  readonly dueAt: Date | null
  readonly disputant: string | null
  readonly disputedReason: string | null
  readonly disputedAt: Date | null
}

export interface ReviewFilter extends Pick<ReviewQuery, "kind" | "severity" | "namespace" | "claim"> {
  readonly disputed?: boolean | undefined
  readonly reviewerId: string
  readonly now: Date
  readonly offset: number
  readonly limit: number
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agents = yield* AgentsSql
  const settings = yield* Settings.Settings
  const [critical, high, other] = [
    settings["review.hours.critical"],
    settings["review.hours.high"],
    settings["review.hours.other"]
  ]
  const dueAt = sql.literal(
    `r.opened_at + (CASE r.severity WHEN 'critical' THEN ${critical} WHEN 'high' THEN ${high} ELSE ${other} END) * interval '1 hour'`
  )
  const select = sql`
    SELECT ${agents.versionColumns}, r.kind, r.severity, r.findings, r.opened_at, ${dueAt} AS due_at,
      c.id AS claimed_by, c.handle AS claimant, r.claimed_until,
      r.approved_by, coalesce(p.handle, 'deleted') AS approver, r.approved_reason, r.approved_at,
      coalesce(d.handle, 'deleted') AS disputant, r.disputed_reason, r.disputed_at`
  /** A claim that has run out is none. */
  const from = (now: Date) => sql`
    FROM ${agents.versionFrom} JOIN reviews r ON r.version_id = v.id AND r.closed_at IS NULL
      LEFT JOIN accounts c ON c.id = r.claimed_by AND r.claimed_until > ${now}
      LEFT JOIN accounts p ON p.id = r.approved_by LEFT JOIN accounts d ON d.id = r.disputed_by`

  return {
    queue: (filter: ReviewFilter) =>
      sql<ReviewRow & { readonly total: number }>`
        ${select}, count(*) OVER ()::integer AS total ${from(filter.now)}
        WHERE ${sql.and([
          sql`a.deleted_at IS NULL`,
          agents.notSuspended,
          ...(filter.kind === undefined ? [] : [sql`r.kind = ${filter.kind}`]),
          ...(filter.severity === undefined ? [] : [sql`r.severity = ${filter.severity}`]),
          ...(filter.namespace === undefined ? [] : [sql`a.namespace = ${filter.namespace}`]),
          ...(filter.claim === undefined
            ? []
            : [filter.claim === "mine" ? sql`c.id = ${filter.reviewerId}` : sql`c.id IS NULL`]),
          ...(filter.disputed === undefined
            ? []
            : [filter.disputed ? sql`r.disputed_at IS NOT NULL` : sql`r.disputed_at IS NULL`])
        ])}
        ORDER BY due_at, v.id LIMIT ${filter.limit} OFFSET ${filter.offset}`,
    open: (versionId: string, now: Date) =>
      sql<ReviewRow>`${select} ${from(now)} WHERE v.id = ${versionId}`.pipe(Effect.map(([row]) => row ?? null)),
    /** For the rest of the transaction. A change of state locks the version and then its review: so must everyone. */
    lock: (versionId: string) =>
      Effect.andThen(
        sql`SELECT 1 FROM versions WHERE id = ${versionId} FOR UPDATE`,
        sql`SELECT 1 FROM reviews WHERE version_id = ${versionId} AND closed_at IS NULL FOR UPDATE`
      ),
    /** A further finding joins the review that is open. */
    add: (versionId: string, kind: Exclude<ReviewKind, "held">, findings: ReadonlyArray<Finding>, now: Date) => sql`
      INSERT INTO reviews (version_id, kind, severity, findings, opened_at)
      SELECT ${versionId}, ${kind}, worst_severity(f), f, ${now}::timestamptz FROM (SELECT ${JSON.stringify(findings)}::jsonb AS f) given
      ON CONFLICT (version_id) WHERE closed_at IS NULL DO UPDATE SET
        findings = reviews.findings || excluded.findings, severity = worst_severity(reviews.findings || excluded.findings),
        -- Whoever approved has not seen this.
        approved_by = NULL, approved_reason = NULL, approved_at = NULL`,
    close: (versionId: string, now: Date) =>
      sql`UPDATE reviews SET closed_at = ${now} WHERE version_id = ${versionId} AND closed_at IS NULL`,
    /** False: another reviewer has it. */
    claim: (versionId: string, reviewerId: string, until: Date, now: Date) =>
      sql`UPDATE reviews SET claimed_by = ${reviewerId}, claimed_until = ${until}
        WHERE version_id = ${versionId} AND closed_at IS NULL AND (claimed_by IS NULL OR claimed_by = ${reviewerId} OR claimed_until <= ${now})
        RETURNING 1`.pipe(Effect.map((rows) => rows.length === 1)),
    unclaim: (versionId: string, reviewerId: string) =>
      sql`UPDATE reviews SET claimed_by = NULL, claimed_until = NULL
        WHERE version_id = ${versionId} AND closed_at IS NULL AND claimed_by = ${reviewerId}`,
    /** The first of two. The claim ends with it: the second reviewer is another one. */
    approve: (versionId: string, reviewerId: string, reason: string, now: Date) =>
      sql`UPDATE reviews SET approved_by = ${reviewerId}, approved_reason = ${reason}, approved_at = ${now}, claimed_by = NULL, claimed_until = NULL
        WHERE version_id = ${versionId} AND closed_at IS NULL`,
    dispute: (versionId: string, accountId: string, reason: string, now: Date) =>
      sql`UPDATE reviews SET disputed_by = ${accountId}, disputed_reason = ${reason}, disputed_at = ${now}
        WHERE version_id = ${versionId} AND closed_at IS NULL AND disputed_at IS NULL RETURNING 1`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** What is held of an account: what it submitted, and what lies in its namespaces. */
    held: (filter: {
      readonly accountId: string
      readonly versionId: string | null
      readonly offset: number
      readonly limit: number
    }) =>
      sql<HeldRow & { readonly total: number }>`
        SELECT v.id, a.namespace, a.name, v.version, v.status, v.holding, r.findings,
          coalesce(r.opened_at, v.progressed_at) AS held_since, ${dueAt} AS due_at,
          coalesce(d.handle, 'deleted') AS disputant, r.disputed_reason, r.disputed_at, count(*) OVER ()::integer AS total
        FROM versions v JOIN agents a ON a.id = v.agent_id
          LEFT JOIN reviews r ON r.version_id = v.id AND r.closed_at IS NULL LEFT JOIN accounts d ON d.id = r.disputed_by
        WHERE v.status IN ('needs_review', 'quarantined') AND a.deleted_at IS NULL
          AND (${filter.versionId}::text = v.id OR (${filter.versionId}::text IS NULL AND ${agents.readableBy(filter.accountId)} AND (
            v.submitted_by = ${filter.accountId}
            OR EXISTS (SELECT FROM namespaces n WHERE n.handle = a.namespace AND n.owner_id = ${filter.accountId})
            OR EXISTS (SELECT FROM namespaces n JOIN members m ON m.org_id = n.owner_id WHERE n.handle = a.namespace AND m.account_id = ${filter.accountId} AND m.active))))
        ORDER BY held_since DESC, v.id DESC LIMIT ${filter.limit} OFFSET ${filter.offset}`
  }
})

export class ReviewsSql extends Context.Service<ReviewsSql, Effect.Success<typeof make>>()("catalog/ReviewsSql") {
  static readonly layer = Layer.effect(ReviewsSql, make)
}
