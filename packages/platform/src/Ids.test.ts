import { assert, describe, it } from "@effect/vitest"
import { RunId } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import { newId, Randomness, randomToken } from "./Ids.ts"

/** The same bytes for the same seed (mulberry32). */
const seeded = (seed: number) =>
  SecureRandom.make((size) =>
    Uint8Array.from({ length: size }, () => {
      seed = (seed + 0x6d2b79f5) | 0
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
      return (t ^ (t >>> 14)) & 255
    })
  )
const manyIds = Effect.all(Array.from({ length: 2_000 }, () => newId("run")))

describe("newId", () => {
  it.effect("gives ids of the contract's form that carry the time of the clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_469_918_176_385)
      const id = yield* newId("run")
      assert.strictEqual(yield* Schema.decodeEffect(RunId)(id), id)
      // The example of the ULID specification.
      assert.isTrue(id.startsWith("run_01ARYZ6S41"))
    }).pipe(Effect.provideService(Randomness, seeded(1)))
  )

  it.effect("sorts ids in the order of their making, within a millisecond and when the clock steps back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(2_000)
      const first = yield* manyIds
      yield* TestClock.setTime(1_000)
      const ids = [...first, ...(yield* manyIds)]
      assert.deepStrictEqual(ids.toSorted(), ids)
      assert.strictEqual(new Set(ids).size, ids.length)
    }).pipe(Effect.provideService(Randomness, seeded(2)))
  )

  it.effect("gives the same ids again for the same clock and seed, and others for another seed", () =>
    Effect.gen(function* () {
      const withSeed = (seed: number) => Effect.provideService(newId("acc"), Randomness, seeded(seed))
      assert.strictEqual(yield* withSeed(3), yield* withSeed(3))
      assert.notStrictEqual(yield* withSeed(3), yield* withSeed(4))
    })
  )

  it.effect("is one sequence for the whole process by default", () =>
    Effect.gen(function* () {
      const ids = yield* Effect.all([manyIds, manyIds], { concurrency: 2 })
      const all = ids.flat()
      assert.strictEqual(new Set(all).size, all.length)
    })
  )
})

describe("randomToken", () => {
  it.effect("is base64url without padding, of the asked number of bytes, and new each time", () =>
    Effect.gen(function* () {
      const token = yield* randomToken(32)
      assert.match(token, /^[A-Za-z0-9_-]{43}$/u)
      assert.strictEqual(Buffer.from(token, "base64url").length, 32)
      assert.notStrictEqual(yield* randomToken(32), token)
    })
  )
})
