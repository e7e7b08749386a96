import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { KeyService, KeyServiceUnavailable, WrappedKeyInvalid } from "./KeyService.ts"
import { newDataKey } from "./Sealing.ts"

const local = (sealingKey: Uint8Array) => KeyService.layerLocal({ sealingKey: Redacted.make(sealingKey) })
const sealingKey = newDataKey()
const dataKey = newDataKey()

describe("the local key service", () => {
  it.effect("unwraps what it wrapped, also after a restart with the same sealing key", () =>
    Effect.gen(function* () {
      const keys = yield* KeyService
      assert.isTrue(keys.available)
      const wrapped = yield* keys.wrap("org/org_1", dataKey)
      assert.notStrictEqual(yield* keys.wrap("org/org_1", dataKey), wrapped)
      const again = yield* Effect.provide(
        KeyService.use((keys) => keys.unwrap("org/org_1", wrapped)),
        local(new Uint8Array(sealingKey))
      )
      assert.deepStrictEqual(again, dataKey)
    }).pipe(Effect.provide(local(sealingKey)))
  )

  it.effect("tells the keys of many apart, those of last time and those of long ago", () =>
    Effect.gen(function* () {
      const keys = yield* KeyService
      const all = yield* Effect.forEach(Array.from({ length: 1_100 }, newDataKey), (key, index) =>
        Effect.map(keys.wrap(`account/${index}`, key), (wrapped) => ({ context: `account/${index}`, key, wrapped }))
      )
      for (const { context, key, wrapped } of [...all, ...all.toReversed()]) {
        assert.deepStrictEqual(yield* keys.unwrap(context, wrapped), key)
      }
    }).pipe(Effect.provide(local(sealingKey)))
  )

  it.effect("does not unwrap in another context, under another sealing key, or what was changed", () =>
    Effect.gen(function* () {
      const keys = yield* KeyService
      const wrapped = yield* keys.wrap("org/org_1", dataKey)
      // What it has unwrapped before is no easier to get at.
      assert.deepStrictEqual(yield* keys.unwrap("org/org_1", wrapped), dataKey)
      const refused = (unwrap: Effect.Effect<Uint8Array, KeyServiceUnavailable | WrappedKeyInvalid>) =>
        Effect.map(Effect.flip(unwrap), (error) => assert.instanceOf(error, WrappedKeyInvalid))
      yield* refused(keys.unwrap("org/org_2", wrapped))
      yield* refused(keys.unwrap("", wrapped))
      yield* refused(
        KeyService.use((keys) => keys.unwrap("org/org_1", wrapped)).pipe(Effect.provide(local(newDataKey())))
      )
      const bytes = Buffer.from(wrapped, "base64")
      for (let at = 0; at < bytes.length; at++) {
        const flipped = Buffer.from(bytes)
        flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
        yield* refused(keys.unwrap("org/org_1", flipped.toString("base64")))
        yield* refused(keys.unwrap("org/org_1", bytes.subarray(0, at).toString("base64")))
      }
      yield* refused(keys.unwrap("org/org_1", "not base64 at all"))
    }).pipe(Effect.provide(local(sealingKey)))
  )

  it.effect("names its sealing key in front of what it wraps, so that a rotation can tell keys apart", () =>
    Effect.gen(function* () {
      const nameUnder = (sealingKey: Uint8Array) =>
        KeyService.use((keys) => keys.wrap("org/org_1", dataKey)).pipe(
          Effect.map((wrapped) => Buffer.from(wrapped, "base64").subarray(0, 9).toString("hex")),
          Effect.provide(local(sealingKey))
        )
      assert.strictEqual(yield* nameUnder(sealingKey), yield* nameUnder(sealingKey))
      assert.notStrictEqual(yield* nameUnder(sealingKey), yield* nameUnder(newDataKey()))
    })
  )

  it.effect("does not start with a sealing key of another length", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(local(sealingKey.subarray(1)))))
      assert.isTrue(Exit.hasDies(exit))
    })
  )
})

describe("without a key service", () => {
  it.effect("nothing is wrapped or unwrapped", () =>
    Effect.gen(function* () {
      const keys = yield* KeyService
      assert.isFalse(keys.available)
      assert.instanceOf(yield* Effect.flip(keys.wrap("org/org_1", dataKey)), KeyServiceUnavailable)
      assert.instanceOf(yield* Effect.flip(keys.unwrap("org/org_1", "AAAA")), KeyServiceUnavailable)
    }).pipe(Effect.provide(KeyService.layerNone))
  )
})
