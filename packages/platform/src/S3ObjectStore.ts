/**
 * Objects in an S3 bucket, under `<prefix>sha256/ab/cd/<hex>`.
 *
 * An object arrives in a local temporary file first and goes up in one
 * PutObject, because its address is known only at its end. That is simpler than
 * a multipart upload to a temporary key with a copy behind it, and leaves less
 * to go wrong: memory is constant without part buffers, S3 itself checks the
 * SHA-256 of what it got, bytes that are there already are not sent again, and a
 * crash leaves no orphan in the bucket. One PutObject takes up to 5 GiB, far
 * more than any object here.
 */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client
} from "@aws-sdk/client-s3"
import { NodeFileSystem, NodeStream } from "@effect/platform-node"
import { Effect, FileSystem, Layer, Redacted, Schedule, Stream } from "effect"
import { createReadStream } from "node:fs"
import { Readable } from "node:stream"
import { ObjectNotFound, objectPath, ObjectStore, spool, storeError, verified } from "./ObjectStore.ts"
import type { ObjectStoreError, SpooledObject } from "./ObjectStore.ts"

export interface S3Options {
  readonly bucket: string
  readonly region: string
  /** Another S3 than Amazon's, such as `http://127.0.0.1:9000`. */
  readonly endpoint?: string
  /** Without both keys the SDK's own chain (environment, instance role) gives them. */
  readonly accessKeyId?: string
  readonly secretAccessKey?: Redacted.Redacted
  /** Stands in front of every key, with its own `/` if it is to be a folder. */
  readonly prefix?: string
  /** The bucket in the path and not in the host name, as most servers other than Amazon's want it. */
  readonly forcePathStyle?: boolean
}

const connectionTimeoutMs = 5_000
/** Until the head of the answer, with all of the body sent. */
const requestTimeoutMs = 120_000

/** The SDK cannot send a stream again by itself. To store the same bytes twice does no harm. */
const putAgain = { schedule: Schedule.exponential("200 millis"), times: 2 }

const ignore = () => {}

const clientOf = (options: S3Options) =>
  new S3Client({
    region: options.region,
    // S3 gets the object's own SHA-256 with each PutObject, and what comes back is checked against the address.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectionTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true
    },
    // Its warnings go past our log otherwise; what fails is an error of ours anyway.
    logger: { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore },
    forcePathStyle: options.forcePathStyle ?? false,
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.accessKeyId === undefined || options.secretAccessKey === undefined
      ? {}
      : {
          credentials: { accessKeyId: options.accessKeyId, secretAccessKey: Redacted.value(options.secretAccessKey) }
        })
  })

/** The HTTP status of a failed call, when there was an answer at all. */
const statusOf = (error: ObjectStoreError): number | undefined => {
  const { cause } = error
  if (typeof cause !== "object" || cause === null || !("$metadata" in cause)) return undefined
  return (cause.$metadata as { readonly httpStatusCode?: number }).httpStatusCode
}

const make = Effect.fnUntraced(function* (options: S3Options) {
  const fs = yield* FileSystem.FileSystem
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => clientOf(options)),
    (client) => Effect.sync(() => client.destroy())
  )
  // What a crash leaves here, the system's own cleaning of temporary files takes.
  const temporary = yield* Effect.mapError(
    fs.makeTempDirectoryScoped({ prefix: "quickagents-objects-" }),
    storeError("start")
  )
  const address = (digest: string) => ({
    Bucket: options.bucket,
    Key: `${options.prefix ?? ""}${objectPath(digest)}`
  })
  const call = <A>(operation: ObjectStoreError["operation"], send: (abortSignal: AbortSignal) => Promise<A>) =>
    Effect.tryPromise({ try: send, catch: storeError(operation) })

  /** The length in bytes, or `undefined` when there is no such object. */
  const head = (operation: ObjectStoreError["operation"], digest: string) => {
    const command = new HeadObjectCommand(address(digest))
    return call(operation, (abortSignal) => client.send(command, { abortSignal })).pipe(
      Effect.map((answer) => answer.ContentLength),
      Effect.catchIf(
        (error) => statusOf(error) === 404,
        () => Effect.undefined
      )
    )
  }

  const upload = ({ bytes, digest, path }: SpooledObject) =>
    Effect.acquireUseRelease(
      Effect.sync(() => createReadStream(path)),
      (body) =>
        call("put", (abortSignal) =>
          client.send(
            new PutObjectCommand({
              ...address(digest),
              Body: body,
              ContentLength: bytes,
              ContentType: "application/octet-stream",
              ChecksumSHA256: Buffer.from(digest.slice("sha256:".length), "hex").toString("base64")
            }),
            { abortSignal }
          )
        ),
      (body) => Effect.sync(() => body.destroy())
    ).pipe(Effect.retry({ ...putAgain, while: (error) => (statusOf(error) ?? 500) >= 500 }))

  const download = (digest: string) => {
    const command = new GetObjectCommand(address(digest))
    return call("get", (abortSignal) => client.send(command, { abortSignal })).pipe(
      Effect.map(({ Body }) =>
        Body instanceof Readable
          ? NodeStream.fromReadable({ evaluate: () => Body, onError: storeError("get") })
          : Stream.die(new TypeError("in Node, the body of an S3 object is a Readable"))
      ),
      Stream.unwrap
    )
  }

  return ObjectStore.of({
    put: (content, limits) =>
      Effect.gen(function* () {
        const spooled = yield* spool(fs, temporary, content, limits.maxBytes)
        // No condition on the write: whoever puts this key at the same time puts the same bytes.
        if ((yield* head("put", spooled.digest)) === undefined) yield* upload(spooled)
        return { digest: spooled.digest, bytes: spooled.bytes }
      }).pipe(Effect.scoped, Effect.withSpan("ObjectStore.put")),
    get: Effect.fn("ObjectStore.get")(function* (digest) {
      const bytes = yield* head("get", digest)
      if (bytes === undefined) return yield* new ObjectNotFound({ digest })
      return { bytes, content: verified(digest)(download(digest)) }
    }),
    has: Effect.fn("ObjectStore.has")((digest) => Effect.map(head("has", digest), (bytes) => bytes !== undefined)),
    remove: Effect.fn("ObjectStore.remove")((digest) => {
      const command = new DeleteObjectCommand(address(digest))
      return Effect.asVoid(call("remove", (abortSignal) => client.send(command, { abortSignal })))
    })
  })
})

/** The object store in a bucket that exists. The credentials need GetObject, PutObject, DeleteObject and ListBucket on it. */
export const layer = (options: S3Options) =>
  Layer.effect(ObjectStore, make(options)).pipe(Layer.provide(NodeFileSystem.layer))
