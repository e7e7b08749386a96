import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openObjectCache } from "./ObjectCache.ts"
import { digestOf, temporaryDirectory } from "./TestRegistry.ts"

const object = (fill: number, bytes = 100) => Buffer.alloc(bytes, fill)

describe("the object cache", () => {
  it.effect("lets go of what was used longest ago, but never of what a run holds", () =>
    Effect.gen(function* () {
      const objects = yield* openObjectCache(join(yield* temporaryDirectory, "objects"), 250)
      const [a, b, c, d] = [1, 2, 3, 4].map((fill) => object(fill)) as [Buffer, Buffer, Buffer, Buffer]
      const put = (bytes: Buffer) => objects.put(digestOf(bytes), Stream.make(bytes))
      yield* put(a)
      yield* put(b)
      yield* objects.path(digestOf(a))
      yield* put(c)
      assert.deepStrictEqual(
        [a, b, c].map((bytes) => objects.has(digestOf(bytes))),
        [true, false, true]
      )
      objects.hold([digestOf(a)])
      yield* put(d)
      assert.deepStrictEqual(
        [a, c, d].map((bytes) => objects.has(digestOf(bytes))),
        [true, false, true]
      )
      yield* objects.discard(digestOf(a))
      assert.isTrue(objects.has(digestOf(a)))
      objects.release([digestOf(a)])
      yield* objects.discard(digestOf(a))
      assert.isFalse(objects.has(digestOf(a)))
    }).pipe(Effect.scoped)
  )

  it.effect("a broken or wrong upload leaves nothing, and a new process deletes what an old one left unfinished", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporaryDirectory, "objects")
      const objects = yield* openObjectCache(directory, 1_000)
      const bytes = object(7)
      const digest = digestOf(bytes)
      const broken = Stream.concat(Stream.make(bytes.subarray(0, 50)), Stream.fail("connection lost" as const))
      assert.strictEqual(yield* Effect.flip(objects.put(digest, broken)), "connection lost")
      const wrong = yield* Effect.flip(objects.put(digest, Stream.make(object(8))))
      assert.strictEqual((wrong as { readonly _tag: string })._tag, "ObjectDigestWrong")
      assert.deepStrictEqual(readdirSync(directory), [])
      yield* objects.put(digest, Stream.make(bytes.subarray(0, 50), bytes.subarray(50)))
      writeFileSync(join(directory, "upload-left"), "half")
      const again = yield* openObjectCache(directory, 1_000)
      assert.isTrue(again.has(digest))
      assert.deepStrictEqual(readdirSync(directory).length, 1)
      assert.isTrue(readFileSync(yield* again.path(digest)).equals(bytes))
    }).pipe(Effect.scoped)
  )
})
