/**
 * Archives as they are downloaded. Small ones stay in memory for a while: what
 * has an address made of its bytes never changes, and most downloads are of few
 * releases. Who may download is asked before, each time.
 */
import { ObjectStore } from "@quickagents/platform"
import type { Digest } from "@quickagents/schema"
import { Effect, Stream } from "effect"

/** An archive above this is streamed from the store each time. */
const maxArchiveBytes = 512 * 1024
/** Of all archives that are kept. */
const maxBytes = 32 * 1024 * 1024

export const hotArchives = Effect.map(ObjectStore, (objects) => {
  // In the order of their last use.
  const kept = new Map<Digest, Uint8Array>()
  let bytes = 0
  const use = (digest: Digest, archive: Uint8Array) => {
    if (!kept.delete(digest)) bytes += archive.length
    kept.set(digest, archive)
    for (const [oldest, { length }] of kept) {
      if (bytes <= maxBytes) break
      kept.delete(oldest)
      bytes -= length
    }
    return { bytes: archive.length, content: Stream.succeed(archive) }
  }
  return {
    get: Effect.fnUntraced(function* (digest: Digest) {
      const archive = kept.get(digest)
      if (archive !== undefined) return use(digest, archive)
      const stored = yield* objects.get(digest)
      if (stored.bytes > maxArchiveBytes) return stored
      return use(digest, Buffer.concat(yield* Stream.runCollect(stored.content)))
    })
  }
})
