/**
 * Release archives and sealed inputs that the registry pushed, by the digest of
 * their bytes. Holds a bounded number of bytes; what no run uses and was not
 * asked for longest goes first.
 */
import { Digest } from "@quickagents/schema"
import { Effect, Schema, Stream } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises"
import { join } from "node:path"

/** Largest object the host takes: an archive, or a sealed input. */
export const maxObjectBytes = 64 * 1024 * 1024

/** The bytes do not have the digest they were pushed under. Nothing was kept. */
export class ObjectDigestWrong extends Schema.TaggedError<ObjectDigestWrong>()("ObjectDigestWrong", {}) {}
/** More than `maxObjectBytes`. Nothing was kept. */
export class ObjectTooLarge extends Schema.TaggedError<ObjectTooLarge>()("ObjectTooLarge", {}) {}

export interface ObjectCache {
  readonly has: (digest: Digest) => boolean
  /** Stores the bytes unless they are there; a broken upload leaves nothing. */
  readonly put: <E>(
    digest: Digest,
    bytes: Stream.Stream<Uint8Array, E>
  ) => Effect.Effect<void, E | ObjectDigestWrong | ObjectTooLarge>
  /** Path of an object that `has` answered true for; counts as a use. */
  readonly path: (digest: Digest) => Effect.Effect<string>
  /** A run needs these: none of them is evicted until `release`. */
  readonly hold: (digests: ReadonlyArray<Digest>) => void
  readonly release: (digests: ReadonlyArray<Digest>) => void
  /** Deletes an object that no run holds. */
  readonly discard: (digest: Digest) => Effect.Effect<void>
}

const uploadPrefix = "upload-"
const digestName = /^[0-9a-f]{64}$/u

/** Opens the cache in `directory`; unfinished uploads of an earlier process are deleted. */
export const openObjectCache = (directory: string, maxBytes: number): Effect.Effect<ObjectCache> =>
  Effect.gen(function* () {
    const stored = yield* Effect.promise(async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const found: Array<{ readonly digest: Digest; readonly bytes: number; readonly usedAt: number }> = []
      for (const name of await readdir(directory)) {
        if (digestName.test(name)) {
          const { size, mtimeMs } = await stat(join(directory, name))
          found.push({ digest: `sha256:${name}`, bytes: size, usedAt: mtimeMs })
        } else if (name.startsWith(uploadPrefix)) await rm(join(directory, name), { force: true })
      }
      return found.toSorted((a, b) => a.usedAt - b.usedAt)
    })
    // Map order is the order of use, oldest first.
    const objects = new Map(stored.map(({ bytes, digest }) => [digest, bytes]))
    const holds = new Map<Digest, number>()
    let total = stored.reduce((sum, { bytes }) => sum + bytes, 0)

    const pathOf = (digest: Digest) => join(directory, digest.slice("sha256:".length))
    const touch = (digest: Digest) => {
      const bytes = objects.get(digest)
      if (bytes === undefined) return
      objects.delete(digest)
      objects.set(digest, bytes)
    }
    const remove = (digest: Digest) => {
      total -= objects.get(digest) ?? 0
      objects.delete(digest)
      return rm(pathOf(digest), { force: true })
    }
    const evict = async () => {
      for (const digest of objects.keys()) {
        if (total <= maxBytes) return
        if (!holds.has(digest)) await remove(digest)
      }
    }

    return {
      has: (digest) => objects.has(digest),
      put: (digest, bytes) =>
        Effect.gen(function* () {
          if (objects.has(digest)) return touch(digest)
          const upload = join(directory, uploadPrefix + randomUUID())
          const hash = createHash("sha256")
          let size = 0
          yield* Effect.acquireUseRelease(
            Effect.promise(() => open(upload, "wx", 0o600)),
            (file) =>
              Stream.runForEach(bytes, (chunk) => {
                size += chunk.length
                if (size > maxObjectBytes) return Effect.fail(new ObjectTooLarge())
                hash.update(chunk)
                return Effect.promise(() => file.writeFile(chunk))
              }),
            (file) => Effect.promise(() => file.close())
          ).pipe(
            Effect.andThen(
              Effect.suspend(() =>
                `sha256:${hash.digest("hex")}` === digest
                  ? Effect.promise(async () => {
                      await rename(upload, pathOf(digest))
                      // Two uploads of one object may end together; it is counted once.
                      if (!objects.has(digest)) total += size
                      objects.set(digest, size)
                      await evict()
                    })
                  : Effect.fail(new ObjectDigestWrong())
              )
            ),
            Effect.onError(() => Effect.promise(() => rm(upload, { force: true })))
          )
        }),
      path: (digest) =>
        Effect.promise(async () => {
          touch(digest)
          const now = new Date()
          await utimes(pathOf(digest), now, now)
          return pathOf(digest)
        }),
      hold: (digests) => {
        for (const digest of digests) holds.set(digest, (holds.get(digest) ?? 0) + 1)
      },
      release: (digests) => {
        for (const digest of digests) {
          const left = (holds.get(digest) ?? 0) - 1
          if (left > 0) holds.set(digest, left)
          else holds.delete(digest)
        }
      },
      discard: (digest) => (holds.has(digest) ? Effect.void : Effect.promise(() => remove(digest)))
    }
  })
