/**
 * Stores immutable objects under the SHA-256 digest of their bytes. What an
 * object means, who may read it and when it may go is for the callers; what
 * must not be read at rest they seal before they put it.
 *
 * The implementations are `DirectoryObjectStore` and `S3ObjectStore`.
 */
import { Digest } from "@quickagents/schema"
import { Context, Effect, Schema, Stream } from "effect"
import type { FileSystem, Scope } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { join } from "node:path"

/** The content went past `maxBytes`; nothing of it was kept. */
export class ObjectTooLarge extends Schema.TaggedError<ObjectTooLarge>()("ObjectTooLarge", {
  maxBytes: Schema.Int
}) {}

export class ObjectNotFound extends Schema.TaggedError<ObjectNotFound>()("ObjectNotFound", { digest: Digest }) {}

/** The stored bytes are not those of the address. */
export class ObjectCorrupt extends Schema.TaggedError<ObjectCorrupt>()("ObjectCorrupt", { digest: Digest }) {}

/** The store behind did not do its work: disk full, no permission, no answer. */
export class ObjectStoreError extends Schema.TaggedError<ObjectStoreError>()("ObjectStoreError", {
  operation: Schema.Literals(["start", "put", "get", "has", "remove"]),
  cause: Schema.Defect()
}) {}

/** An object's address and length in bytes. */
export interface StoredObject {
  readonly digest: Digest
  readonly bytes: number
}

/** An object to read. Nothing is held open before `content` runs, and it may run again. */
export interface ReadableObject {
  readonly bytes: number
  /** Fails with `ObjectCorrupt` instead of giving its last chunk when the bytes are not those of the address. */
  readonly content: Stream.Stream<Uint8Array, ObjectStoreError | ObjectCorrupt>
}

export class ObjectStore extends Context.Service<
  ObjectStore,
  {
    /**
     * Stores the bytes of a stream in constant memory and gives their address.
     * Storing the same bytes again changes nothing. A failed or interrupted
     * `put` leaves nothing behind.
     */
    readonly put: <E, R>(
      content: Stream.Stream<Uint8Array, E, R>,
      limits: { readonly maxBytes: number }
    ) => Effect.Effect<StoredObject, ObjectTooLarge | ObjectStoreError | E, R>
    readonly get: (digest: Digest) => Effect.Effect<ReadableObject, ObjectNotFound | ObjectStoreError>
    readonly has: (digest: Digest) => Effect.Effect<boolean, ObjectStoreError>
    /**
     * Removes an object. One that is not there is removed already. Who removes
     * makes sure that nobody is storing the same bytes: such a `put` may find
     * them there just before they go.
     */
    readonly remove: (digest: Digest) => Effect.Effect<void, ObjectStoreError>
  }
>()("platform/ObjectStore") {}

/** Names the operation in front of whatever failed behind it. */
export const storeError = (operation: ObjectStoreError["operation"]) => (cause: unknown) =>
  new ObjectStoreError({ operation, cause })

const digestPattern = /^sha256:([0-9a-f]{2})([0-9a-f]{2})[0-9a-f]{60}$/u

/** `sha256/ab/cd/<hex>`. Text that is no digest never becomes a path: it is a defect. */
export const objectPath = (digest: Digest): string => {
  const [, first, second] = digestPattern.exec(digest) ?? []
  if (first === undefined || second === undefined) throw new TypeError("an object's address is a SHA-256 digest")
  return `sha256/${first}/${second}/${digest.slice("sha256:".length)}`
}

/** The object as a file that is gone when the scope closes, unless it was renamed by then. */
export interface SpooledObject extends StoredObject {
  readonly path: string
  readonly file: FileSystem.File
}

/**
 * Writes a stream to a new file (mode 0600) in `directory` and learns its digest
 * and length on the way: the address of an object is known only at its end.
 */
export const spool = Effect.fnUntraced(function* <E, R>(
  fs: FileSystem.FileSystem,
  directory: string,
  content: Stream.Stream<Uint8Array, E, R>,
  maxBytes: number
): Effect.fn.Return<SpooledObject, E | ObjectTooLarge | ObjectStoreError, R | Scope.Scope> {
  const path = join(directory, randomUUID())
  // Registered before the file is made, so that no interruption falls between the two.
  yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(path, { force: true })))
  const file = yield* Effect.mapError(fs.open(path, { flag: "wx", mode: 0o600 }), storeError("put"))
  const hash = createHash("sha256")
  let bytes = 0
  const write = (chunk: Uint8Array): Effect.Effect<void, ObjectTooLarge | ObjectStoreError> => {
    bytes += chunk.length
    if (bytes > maxBytes) return Effect.fail(new ObjectTooLarge({ maxBytes }))
    hash.update(chunk)
    return Effect.mapError(file.writeAll(chunk), storeError("put"))
  }
  yield* Stream.runForEach(content, write)
  return { path, file, digest: `sha256:${hash.digest("hex")}`, bytes }
})

/** Follows the last chunk of a stream. */
const end = Symbol("end of stream")

/**
 * Checks the bytes of an object on their way out. Each chunk waits for the next,
 * so that the last one leaves only when all are known to be right: a reader
 * that counts bytes never has a whole object that is corrupt.
 */
export const verified =
  (digest: Digest) =>
  <E, R>(content: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E | ObjectCorrupt, R> =>
    Stream.concat(content, Stream.succeed(end)).pipe(
      Stream.mapAccumEffect(
        () => ({ hash: createHash("sha256"), held: new Array<Uint8Array>() }),
        ({ hash, held }, chunk) => {
          if (typeof chunk !== "symbol")
            return Effect.succeed([{ hash: hash.update(chunk), held: [chunk] }, held] as const)
          if (`sha256:${hash.digest("hex")}` !== digest) return Effect.fail(new ObjectCorrupt({ digest }))
          return Effect.succeed([{ hash, held: [] }, held] as const)
        }
      )
    )
