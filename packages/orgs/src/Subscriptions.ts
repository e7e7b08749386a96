/**
 * What an organization's subscription admits: whether its members run agents,
 * how many it has, and what they may do. The admission extension tells it; where
 * none runs every organization is active, without a limit. Spec: Other states;
 * Errors, registry core.
 */
import { Audit, Database } from "@quickagents/platform"
import { FeatureNotIncluded, SeatAllowance, Tier } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"

export const Subscription = Schema.Struct({
  standing: Schema.Literals(["active", "pending-payment", "restricted"]),
  tier: Tier,
  /** Members that the organization may have; null is no limit. */
  seats: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))),
  /** Null is all of them. Names that the registry does not know are kept and mean nothing to it. */
  features: Schema.NullOr(
    Schema.Array(Schema.String.check(Schema.isPattern(/^[A-Za-z][A-Za-z0-9.-]{0,63}$/))).check(Schema.isMaxLength(64))
  )
})
export type Subscription = typeof Subscription.Type

/** What the registry asks a subscription for. */
export type Feature = "ssh" | "pipelineSkip"

/** Null when it is included. */
export const lacking = (
  org: { readonly handle: string; readonly features: ReadonlyArray<string> | null },
  feature: Feature
) =>
  org.features === null || org.features.includes(feature) ? null : new FeatureNotIncluded({ org: org.handle, feature })

/** Fails when one more member would be one too many. The organization is locked: of two at once only one gets the last seat. */
export const seatFor = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (orgId: string) {
    const [{ max, pending, used }] = yield* sql<{ max: number | null; used: number; pending: number }>`
      SELECT o.seats AS max,
        (SELECT count(*) FROM members m WHERE m.org_id = o.id AND m.active)::int AS used,
        (SELECT count(*) FROM access_requests r WHERE r.org_id = o.id
          AND NOT EXISTS (SELECT FROM members m WHERE m.account_id = r.account_id AND m.active))::int AS pending
      FROM organizations o WHERE o.id = ${orgId}`
    if (max !== null && used >= max) return yield* new SeatAllowance({ used, invited: 0, pending, max })
  })

/**
 * Keeps what was told, in the transaction of `alsoKept`. What is older than what
 * is known, such as a call that was held up on its way, changes nothing.
 */
export const keepSubscription = Effect.fn("Subscriptions.keep")(function* <R>(
  handle: string,
  { features, seats, standing, tier }: Subscription,
  toldAt: Date,
  alsoKept: Effect.Effect<void, never, R>
) {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit.Audit
  return yield* Database.transaction(sql)(
    Effect.gen(function* () {
      const [org] = yield* sql<{ id: string; toldAt: Date | null }>`
        SELECT id, subscription_told_at AS told_at FROM organizations WHERE handle = ${handle} AND state <> 'erased' FOR UPDATE`
      if (org === undefined) return "unknown"
      if (org.toldAt !== null && org.toldAt > toldAt) return "older"
      yield* sql`
        UPDATE organizations SET subscription = ${standing}, seats = ${seats},
          features = ${features === null ? null : JSON.stringify(features)}::jsonb, subscription_told_at = ${toldAt}
        WHERE id = ${org.id}`
      yield* alsoKept
      yield* audit.record({
        actor: { type: "system", id: "admission" },
        action: "org.subscription",
        target: handle,
        org: handle,
        detail: { standing, tier, seats, features }
      })
      return "kept"
    })
  )
})
