import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { migrations } from "./migrations/index.ts"
import type { Bucket } from "./RateLimits.ts"
import { RateLimits, sweepRateWindows } from "./RateLimits.ts"
import { layerDatabase } from "./testing/index.ts"

const minute = (limit: number): Bucket => ({ name: "minute", limit, windowMs: 60_000 })

/** A registry node: leases of its own over the one database. */
const aNode = Effect.map(Layer.build(Layer.fresh(RateLimits.layer)), Context.get(RateLimits))

const allowedOf = (node: RateLimits["Service"], subject: string, bucket: Bucket, times: number) =>
  Effect.map(
    Effect.all(
      Array.from({ length: times }, () => node.take(subject, [bucket])),
      { concurrency: 16 }
    ),
    (standings) => standings.filter(({ allowed }) => allowed).length
  )

layer(layerDatabase(migrations))("rate limits", (it) => {
  it.effect("two nodes together give out the limit, never more", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* aNode, yield* aNode]
      for (const limit of [1, 7, 100, 5_000]) {
        const bucket = { ...minute(limit), name: `limit-${limit}` }
        const [first, second] = yield* Effect.all(
          [allowedOf(one, "acc_1", bucket, limit), allowedOf(two, "acc_1", bucket, limit)],
          { concurrency: "unbounded" }
        )
        const rest = (yield* allowedOf(one, "acc_1", bucket, limit)) + (yield* allowedOf(two, "acc_1", bucket, limit))
        assert.strictEqual(first + second + rest, limit)
      }
    })
  )

  it.effect("asks the database once for a tenth of a window, and not at all when the window is spent", () =>
    Effect.gen(function* () {
      const node = yield* aNode
      const sql = yield* SqlClient.SqlClient
      const leased = Effect.map(
        sql<{ taken: number }>`SELECT taken FROM rate_windows WHERE key = 'minute:acc_2'`,
        ([row]) => row.taken
      )
      yield* node.take("acc_2", [minute(100)])
      assert.strictEqual(yield* leased, 10)
      assert.strictEqual(yield* allowedOf(node, "acc_2", minute(100), 9), 9)
      assert.strictEqual(yield* leased, 10)
      assert.strictEqual(yield* allowedOf(node, "acc_2", minute(100), 200), 90)
      const spent = yield* leased
      assert.strictEqual(yield* allowedOf(node, "acc_2", minute(100), 50), 0)
      assert.strictEqual(yield* leased, spent)
      // Requests at once lease one after the other: the other nodes keep their share.
      const other = yield* aNode
      yield* Effect.all(
        Array.from({ length: 10 }, () => other.take("acc_3", [minute(100)])),
        { concurrency: "unbounded" }
      )
      const [row] = yield* sql<{ taken: number }>`SELECT taken FROM rate_windows WHERE key = 'minute:acc_3'`
      assert.strictEqual(row.taken, 10)
    })
  )

  it.effect("counts subjects and buckets apart, and shows the bucket that is closest to its end", () =>
    Effect.gen(function* () {
      const node = yield* aNode
      yield* TestClock.adjust("10 seconds")
      const burst = { name: "burst", limit: 3, windowMs: 60_000 }
      const hour = { name: "hour", limit: 100, windowMs: 3_600_000 }
      const standings = yield* Effect.all(Array.from({ length: 4 }, () => node.take("acc_4", [hour, burst])))
      assert.deepStrictEqual(
        standings.map(({ allowed, limit, remaining }) => [allowed, limit, remaining]),
        [
          [true, 3, 2],
          [true, 3, 1],
          [true, 3, 0],
          [false, 3, 0]
        ]
      )
      assert.strictEqual(standings[3].resetSeconds, 50)
      assert.isTrue((yield* node.take("acc_5", [hour, burst])).allowed)

      yield* TestClock.adjust("50 seconds")
      assert.deepInclude(yield* node.take("acc_4", [hour, burst]), { allowed: true, remaining: 2, resetSeconds: 60 })
    })
  )

  it.effect("an ended window is swept away", () =>
    Effect.gen(function* () {
      const node = yield* aNode
      const sql = yield* SqlClient.SqlClient
      // The test clock stands in 1970: all windows ended long ago for the database.
      yield* node.take("acc_6", [minute(10)])
      yield* sweepRateWindows
      assert.lengthOf(yield* sql`SELECT 1 FROM rate_windows`, 0)
    })
  )
})

layer(layerDatabase({}))("when the database does not take the statement", (it) => {
  it.effect("requests go through", () =>
    Effect.gen(function* () {
      // Without migrations there is no table to lease from.
      const node = yield* aNode
      assert.isTrue((yield* node.take("acc_1", [minute(10)])).allowed)
    })
  )
})
