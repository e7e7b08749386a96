import { ObjectStore } from "@quickagents/platform"
import type { Digest } from "@quickagents/schema"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import { hotArchives } from "./HotArchives.ts"

const kibibyte = 1024
const archiveOf = (seed: number, bytes: number) => new Uint8Array(bytes).fill(seed)
const digestOf = (bytes: Uint8Array): Digest => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

/** A store of these objects that counts how often each is read. */
const counting = (objects: ReadonlyArray<Uint8Array>) => {
  const reads = new Map<string, number>()
  const byDigest = new Map(objects.map((bytes) => [digestOf(bytes), bytes]))
  const store = ObjectStore.of({
    put: () => Effect.die("not used"),
    has: () => Effect.die("not used"),
    remove: () => Effect.die("not used"),
    get: (digest) =>
      Effect.sync(() => {
        reads.set(digest, (reads.get(digest) ?? 0) + 1)
        const bytes = byDigest.get(digest)!
        return { bytes: bytes.length, content: Stream.make(bytes.subarray(0, 10), bytes.subarray(10)) }
      })
  })
  return { reads: (bytes: Uint8Array) => reads.get(digestOf(bytes)) ?? 0, store }
}

const downloaded = (archives: Effect.Success<typeof hotArchives>, bytes: Uint8Array) =>
  Effect.gen(function* () {
    const { bytes: length, content } = yield* archives.get(digestOf(bytes))
    const whole = Buffer.concat(yield* Stream.runCollect(content))
    expect(whole.length).toBe(length)
    return whole
  })

describe("archives that are downloaded often", () => {
  it.effect("are read from the store once, and are the same bytes each time", () => {
    const small = archiveOf(1, 100 * kibibyte)
    const { reads, store } = counting([small])
    return Effect.gen(function* () {
      const archives = yield* hotArchives
      for (let time = 0; time < 3; time++) expect((yield* downloaded(archives, small)).equals(small)).toBe(true)
      expect(reads(small)).toBe(1)
    }).pipe(Effect.provideService(ObjectStore, store))
  })

  it.effect("are streamed when they are large, and leave memory when others are used more", () => {
    const large = archiveOf(2, 513 * kibibyte)
    const many = Array.from({ length: 70 }, (_, seed) => archiveOf(seed, 512 * kibibyte))
    const { reads, store } = counting([large, ...many])
    return Effect.gen(function* () {
      const archives = yield* hotArchives
      yield* downloaded(archives, large)
      yield* downloaded(archives, large)
      expect(reads(large)).toBe(2)
      // The first is used again and again, so that it is never the one that has not been used for longest.
      for (const archive of many) {
        yield* downloaded(archives, archive)
        yield* downloaded(archives, many[0])
      }
      expect(reads(many[0])).toBe(1)
      yield* downloaded(archives, many[1])
      expect(reads(many[1])).toBe(2)
      yield* downloaded(archives, many[69])
      expect(reads(many[69])).toBe(1)
    }).pipe(Effect.provideService(ObjectStore, store))
  })
})
