/**
 * Rate-limit buckets that are right across nodes without a statement a request.
 *
 * A bucket is a fixed window in the database. A node leases a tenth of the
 * window's tokens at a time and spends them in memory, so all nodes together
 * never give out more than the limit, and a node that dies loses at most the
 * tokens it had leased. Burst and sustained limits are separate buckets; a
 * request needs a token of each. Spec: Registry-wide limits, rule 2.
 */
import { Clock, Context, Effect, Layer, Metric, Semaphore } from "effect"
import { SqlClient } from "effect/sql"

export interface Bucket {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
}

/** The bucket that stands closest to its limit, for the three rate-limit headers. */
export interface Standing {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

interface Lease {
  windowStart: number
  /** Tokens this node may still give out in the window. */
  left: number
  /** What was left over all nodes when this node last asked. */
  elsewhere: number
  /** The window is spent everywhere: no statement until it ends. */
  spent: boolean
  /** One lease at a time: many requests at once would lease the whole window and leave nothing for other nodes. */
  readonly turn: Semaphore.Semaphore
}

const maxLeases = 50_000
const failOpen = Metric.counter("FailOpenEvents", { incremental: true }).pipe(
  Metric.withAttributes({ path: "rate-limit" })
)

export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Takes one token of every bucket for `subject` (an account id or an address). Never fails: a database that does not answer lets requests through and counts `FailOpenEvents`. */
    readonly take: (subject: string, buckets: ReadonlyArray<Bucket>) => Effect.Effect<Standing>
  }
>()("platform/RateLimits") {
  static readonly layer = Layer.effect(
    RateLimits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const leases = new Map<string, Lease>()

      const lease = (key: string, bucket: Bucket, windowStart: number) => {
        const batch = Math.max(1, Math.ceil(bucket.limit / 10))
        return sql<{ taken: number }>`
          INSERT INTO rate_windows (key, window_start, taken, ends_at)
          VALUES (${key}, ${windowStart}, ${batch}, ${new Date(windowStart + bucket.windowMs)})
          ON CONFLICT (key, window_start) DO UPDATE SET taken = rate_windows.taken + ${batch}
          RETURNING taken`.pipe(
          Effect.map(([row]) => {
            const over = Math.max(0, row.taken - bucket.limit)
            return { granted: Math.max(0, batch - over), elsewhere: Math.max(0, bucket.limit - row.taken) }
          }),
          Effect.catchCause((cause) =>
            Effect.as(
              Effect.andThen(
                Metric.update(failOpen, 1),
                Effect.logWarning("rate limits cannot reach the database", cause)
              ),
              { granted: batch, elsewhere: 0 }
            )
          )
        )
      }

      const spend = (held: Lease) => {
        if (held.left === 0) return false
        held.left--
        return true
      }

      const leaseAndSpend = (key: string, bucket: Bucket, held: Lease) =>
        held.spent
          ? Effect.succeed(false)
          : held.turn.withPermit(
              Effect.gen(function* () {
                // Whoever had the turn before may have leased enough for both.
                if (spend(held)) return true
                if (held.spent) return false
                const { elsewhere, granted } = yield* lease(key, bucket, held.windowStart)
                held.left = granted
                held.elsewhere = elsewhere
                held.spent = granted === 0
                return spend(held)
              })
            )

      const leaseOf = (key: string, windowStart: number) => {
        let held = leases.get(key)
        if (held === undefined || held.windowStart !== windowStart) {
          if (leases.size >= maxLeases) leases.delete(leases.keys().next().value!)
          held = { windowStart, left: 0, elsewhere: 0, spent: false, turn: Semaphore.makeUnsafe(1) }
          leases.delete(key)
          leases.set(key, held)
        }
        return held
      }
      const standingOf = (bucket: Bucket, held: Lease, allowed: boolean, now: number): Standing => ({
        allowed,
        limit: bucket.limit,
        remaining: held.left + held.elsewhere,
        resetSeconds: Math.max(1, Math.ceil((held.windowStart + bucket.windowMs - now) / 1000))
      })
      const tightest = (standings: ReadonlyArray<Standing>) =>
        standings.reduce((closest, standing) =>
          (closest.allowed && !standing.allowed) ||
          (closest.allowed === standing.allowed && standing.remaining < closest.remaining)
            ? standing
            : closest
        )

      return RateLimits.of({
        take: (subject, buckets) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const held = buckets.map((bucket) => {
              const key = `${bucket.name}:${subject}`
              return { bucket, key, lease: leaseOf(key, now - (now % bucket.windowMs)) }
            })
            // Nearly always there is a token of each in memory.
            if (held.every(({ lease: { left } }) => left > 0)) {
              return Effect.succeed(
                tightest(held.map(({ bucket, lease: mine }) => standingOf(bucket, mine, spend(mine), now)))
              )
            }
            return Effect.map(
              Effect.forEach(held, ({ bucket, key, lease: mine }) =>
                spend(mine)
                  ? Effect.succeed(standingOf(bucket, mine, true, now))
                  : Effect.map(leaseAndSpend(key, bucket, mine), (allowed) => standingOf(bucket, mine, allowed, now))
              ),
              tightest
            )
          })
      })
    })
  )
}

/** Windows that ended; called by a cron. */
export const sweepRateWindows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM rate_windows WHERE ends_at < now() - interval '1 minute'`
})
