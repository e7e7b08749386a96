/**
 * Objects in a directory, for one machine or a shared file system:
 *
 * - `sha256/ab/cd/<hex>` the objects, mode 0600 in directories of mode 0700
 * - `tmp/` objects while they arrive
 *
 * An object appears under its address by a rename, whole and on disk, or not at all.
 */
import { NodeFileSystem } from "@effect/platform-node"
import { Clock, Effect, FileSystem, Layer, Option, Stream } from "effect"
import { dirname, join } from "node:path"
import { ObjectNotFound, objectPath, ObjectStore, spool, storeError, verified } from "./ObjectStore.ts"
import type { SpooledObject } from "./ObjectStore.ts"

/** No upload takes this long, so an older temporary file is what a crash left. */
const staleAfterMs = 24 * 60 * 60 * 1000

const make = Effect.fnUntraced(function* (options: { readonly directory: string }) {
  const fs = yield* FileSystem.FileSystem
  const temporary = join(options.directory, "tmp")
  const pathOf = (digest: string) => join(options.directory, objectPath(digest))

  /** A rename survives a crash only after the directory that names the file is on disk too. */
  const syncDirectory = (path: string) =>
    Effect.scoped(Effect.flatMap(fs.open(path, { flag: "r" }), (directory) => directory.sync))

  const place = Effect.fnUntraced(function* ({ digest, file, path }: SpooledObject) {
    const target = pathOf(digest)
    const directory = dirname(target)
    if (!(yield* fs.exists(target))) {
      yield* file.sync
      yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
      yield* fs.rename(path, target)
    }
    // Also for an object that is there: whoever renamed it may not have come this far yet.
    for (const named of [directory, dirname(directory), dirname(dirname(directory))]) {
      yield* syncDirectory(named)
    }
  })

  const sweep = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const name of yield* fs.readDirectory(temporary)) {
      const path = join(temporary, name)
      // Another process that shares the directory may finish or sweep the same file meanwhile.
      const info = yield* Effect.option(fs.stat(path))
      const modified = Option.flatMap(info, (info) => info.mtime)
      if (Option.isSome(modified) && now - modified.value.getTime() > staleAfterMs) {
        yield* fs.remove(path, { force: true })
      }
    }
  })

  yield* Effect.gen(function* () {
    yield* fs.makeDirectory(join(options.directory, "sha256"), { recursive: true, mode: 0o700 })
    yield* fs.makeDirectory(temporary, { recursive: true, mode: 0o700 })
    yield* syncDirectory(options.directory)
    yield* sweep
  }).pipe(Effect.mapError(storeError("start")))

  return ObjectStore.of({
    put: (content, limits) =>
      Effect.gen(function* () {
        const spooled = yield* spool(fs, temporary, content, limits.maxBytes)
        yield* Effect.mapError(place(spooled), storeError("put"))
        return { digest: spooled.digest, bytes: spooled.bytes }
      }).pipe(Effect.scoped, Effect.withSpan("ObjectStore.put")),
    get: Effect.fn("ObjectStore.get")((digest) =>
      fs.stat(pathOf(digest)).pipe(
        Effect.mapError((error) =>
          error.reason._tag === "NotFound" ? new ObjectNotFound({ digest }) : storeError("get")(error)
        ),
        Effect.map((info) => ({
          bytes: Number(info.size),
          content: fs.stream(pathOf(digest)).pipe(Stream.mapError(storeError("get")), verified(digest))
        }))
      )
    ),
    has: Effect.fn("ObjectStore.has")((digest) => Effect.mapError(fs.exists(pathOf(digest)), storeError("has"))),
    remove: Effect.fn("ObjectStore.remove")((digest) =>
      Effect.mapError(fs.remove(pathOf(digest), { force: true }), storeError("remove"))
    )
  })
})

/**
 * The object store in `directory`, which is made when it is missing. Temporary
 * files older than a day are removed when the layer starts.
 */
export const layer = (options: { readonly directory: string }) =>
  Layer.effect(ObjectStore, make(options)).pipe(Layer.provide(NodeFileSystem.layer))
