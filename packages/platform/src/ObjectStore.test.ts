import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, FileSystem, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import * as DirectoryObjectStore from "./DirectoryObjectStore.ts"
import {
  ObjectCorrupt,
  ObjectNotFound,
  objectPath,
  ObjectStore,
  ObjectStoreError,
  ObjectTooLarge
} from "./ObjectStore.ts"
import * as S3ObjectStore from "./S3ObjectStore.ts"

// s3rver has no types.
interface S3rver {
  readonly run: () => Promise<AddressInfo>
  readonly close: () => Promise<void>
}
const S3rverClass = createRequire(import.meta.url)("s3rver") as new (options: object) => S3rver

const root = mkdtempSync(join(tmpdir(), "object-store-test-"))
const bucket = "objects"
const objectsDirectory = join(root, "directory")
const bucketDirectory = join(root, "s3", bucket)
const spoolDirectory = mkdtempSync(join(root, "spool-"))
const server = new S3rverClass({
  port: 0,
  address: "127.0.0.1",
  silent: true,
  directory: join(root, "s3"),
  configureBuckets: [{ name: bucket }]
})
let port = 0
beforeAll(async () => {
  port = (await server.run()).port
  // Where the S3 store spools, so that the tests can look.
  process.env["TMPDIR"] = spoolDirectory
})
afterAll(async () => {
  delete process.env["TMPDIR"]
  await server.close()
  rmSync(root, { recursive: true })
})

const s3 = (bucket: string) =>
  Layer.suspend(() =>
    S3ObjectStore.layer({
      bucket,
      region: "eu-central-1",
      endpoint: `http://127.0.0.1:${port}`,
      accessKeyId: "S3RVER",
      secretAccessKey: Redacted.make("S3RVER"),
      prefix: "staging/",
      forcePathStyle: true
    })
  )

const filesIn = (directory: string) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

interface Suite {
  readonly name: string
  readonly layer: Layer.Layer<ObjectStore, ObjectStoreError>
  /** Every file that holds bytes of an object, arrived or on its way. */
  readonly files: () => ReadonlyArray<string>
  readonly fileOf: (digest: string) => string
}

const suites: ReadonlyArray<Suite> = [
  {
    name: "DirectoryObjectStore",
    layer: DirectoryObjectStore.layer({ directory: objectsDirectory }),
    files: () => filesIn(objectsDirectory),
    fileOf: (digest) => join(objectsDirectory, objectPath(digest))
  },
  {
    name: "S3ObjectStore",
    layer: s3(bucket),
    files: () => [...filesIn(bucketDirectory).filter((file) => file.endsWith("_object")), ...filesIn(spoolDirectory)],
    fileOf: (digest) => join(bucketDirectory, `staging/${objectPath(digest)}._S3rver_object`)
  }
]

const digestOf = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`
const limits = { maxBytes: 10_000_000 }
const inChunks = (bytes: Uint8Array, chunkBytes: number) =>
  Stream.fromIterable({
    *[Symbol.iterator]() {
      for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
    }
  })
const read = Effect.fnUntraced(function* (digest: string) {
  const { bytes, content } = yield* (yield* ObjectStore).get(digest)
  const whole = Buffer.concat(yield* Stream.runCollect(content))
  assert.strictEqual(bytes, whole.length)
  return whole
})

for (const { fileOf, files, layer, name } of suites) {
  describe(name, () => {
    it.layer(layer)((it) => {
      it.effect("gives back what it was given, under the digest it worked out itself", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          for (const size of [0, 1, 65_536, 1_000_001]) {
            const bytes = randomBytes(size)
            const stored = yield* store.put(inChunks(bytes, 10_007), limits)
            assert.deepStrictEqual(stored, { digest: digestOf(bytes), bytes: size })
            assert.isTrue(yield* store.has(stored.digest))
            assert.isTrue(bytes.equals(yield* read(stored.digest)))
            assert.strictEqual(statSync(fileOf(stored.digest)).size, size)
          }
        })
      )

      it.effect("gives an object twice from one answer", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const { digest } = yield* store.put(inChunks(randomBytes(5_000), 1_000), limits)
          const { content } = yield* store.get(digest)
          assert.strictEqual(yield* digestThrough(content), digest)
          assert.strictEqual(yield* digestThrough(content), digest)
        })
      )

      it.effect("changes nothing when the same bytes come again, also at the same time", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const bytes = randomBytes(50_000)
          const put = store.put(inChunks(bytes, 5_000), limits)
          const atOnce = yield* Effect.all([put, put, put], { concurrency: 3 })
          const { digest } = atOnce[0]
          const before = files().length
          const { ino, mtimeMs } = statSync(fileOf(digest))
          const again = yield* put
          for (const stored of [...atOnce, again]) assert.deepStrictEqual(stored, { digest, bytes: 50_000 })
          assert.strictEqual(files().length, before)
          assert.deepInclude(statSync(fileOf(digest)), { ino, mtimeMs })
        })
      )

      it.effect("says that an object is not there, and removes it twice without complaint", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const { digest } = yield* store.put(inChunks(randomBytes(10), 10), limits)
          yield* store.remove(digest)
          yield* store.remove(digest)
          assert.isFalse(yield* store.has(digest))
          assert.deepStrictEqual(yield* Effect.flip(store.get(digest)), new ObjectNotFound({ digest }))
        })
      )

      it.effect("refuses content past its limit, takes content of exactly the limit, and keeps nothing refused", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const before = files().length
          // Endless: only a limit that is checked on the way ends it.
          const endless = Stream.forever(Stream.succeed(new Uint8Array(1_000)))
          const error = yield* Effect.flip(store.put(endless, { maxBytes: 5_000 }))
          assert.deepStrictEqual(error, new ObjectTooLarge({ maxBytes: 5_000 }))
          assert.strictEqual(files().length, before)
          assert.strictEqual((yield* store.put(inChunks(randomBytes(5_000), 999), { maxBytes: 5_000 })).bytes, 5_000)
        })
      )

      it.effect("leaves nothing behind when the content fails or the caller goes away", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const before = files().length
          const broken = Stream.concat(Stream.succeed(randomBytes(5_000)), Stream.fail("connection lost"))
          assert.strictEqual(yield* Effect.flip(store.put(broken, limits)), "connection lost")
          assert.strictEqual(files().length, before)

          const underWay = yield* Deferred.make<void>()
          const stalling = Stream.concat(
            Stream.succeed(randomBytes(5_000)),
            Stream.fromEffect(Effect.andThen(Deferred.succeed(underWay, undefined), Effect.never))
          )
          const upload = yield* Effect.forkChild(store.put(stalling, limits))
          yield* Deferred.await(underWay)
          assert.strictEqual(files().length, before + 1)
          yield* Fiber.interrupt(upload)
          assert.strictEqual(files().length, before)
        })
      )

      it.effect("fails the reading of a corrupted object before its last bytes", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const bytes = randomBytes(300_000)
          const { digest } = yield* store.put(inChunks(bytes, 65_536), limits)
          for (const damage of [flipLastBit, cutInHalf, (file: string) => writeFileSync(file, "")]) {
            writeFileSync(fileOf(digest), bytes)
            damage(fileOf(digest))
            let received = 0
            const { content } = yield* store.get(digest)
            const error = yield* Effect.flip(
              Stream.runForEach(content, (chunk) => Effect.sync(() => (received += chunk.length)))
            )
            // A server may notice the missing bytes itself.
            assert.isTrue(error instanceof ObjectCorrupt || error instanceof ObjectStoreError)
            assert.isBelow(received, statSync(fileOf(digest)).size || 1)
          }
          // Not to trip the tests after this one.
          yield* store.remove(digest)
        })
      )

      it.effect("lets a reader stop early", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          const { digest } = yield* store.put(inChunks(randomBytes(2_000_000), 65_536), limits)
          const { content } = yield* store.get(digest)
          const [first] = yield* Stream.runCollect(Stream.take(content, 1))
          assert.isAbove(first?.length ?? 0, 0)
          assert.strictEqual(yield* digestThrough(content), digest)
        })
      )

      it.effect("never makes a path of text that is no digest", () =>
        Effect.gen(function* () {
          const store = yield* ObjectStore
          for (const digest of [
            "sha256:../../etc/passwd",
            "sha256:" + "A".repeat(64),
            "",
            `sha256:${"a".repeat(64)}/..`
          ]) {
            for (const operation of [store.get(digest), store.has(digest), store.remove(digest)]) {
              assert.isTrue(Exit.hasDies(yield* Effect.exit(operation)))
            }
          }
        })
      )
    })
  })
}

const flipLastBit = (file: string) => {
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  writeFileSync(file, bytes)
}
const cutInHalf = (file: string) => {
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.subarray(0, bytes.length / 2))
}
const digestThrough = <E, R>(content: Stream.Stream<Uint8Array, E, R>) =>
  Effect.map(Stream.runCollect(content), (chunks) => digestOf(Buffer.concat(chunks)))

describe("DirectoryObjectStore on disk", () => {
  it.effect("keeps objects and directories to its own user", () =>
    Effect.gen(function* () {
      const { digest } = yield* (yield* ObjectStore).put(Stream.succeed(randomBytes(10)), limits)
      const file = fileOf(digest)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      for (const directory of ["", "tmp", "sha256", `sha256/${digest.slice(7, 9)}`]) {
        assert.strictEqual(statSync(join(ownDirectory, directory)).mode & 0o777, 0o700)
      }
    }).pipe(Effect.provide(Layer.suspend(() => DirectoryObjectStore.layer({ directory: ownDirectory }))))
  )

  it.effect("sweeps what a crash left a day ago when it starts, and not what arrives just now", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped({ directory: root })
      yield* fs.makeDirectory(join(directory, "tmp"))
      const now = Date.now()
      yield* TestClock.setTime(now)
      for (const [name, ageHours] of [
        ["left", 25],
        ["arriving", 23]
      ] as const) {
        const at = new Date(now - ageHours * 3_600_000)
        yield* fs.writeFileString(join(directory, "tmp", name), "bytes")
        utimesSync(join(directory, "tmp", name), at, at)
      }
      yield* Layer.build(DirectoryObjectStore.layer({ directory }))
      assert.deepStrictEqual(yield* fs.readDirectory(join(directory, "tmp")), ["arriving"])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("does not start where it cannot write", () =>
    Effect.gen(function* () {
      const file = join(root, "a-file")
      writeFileSync(file, "")
      const error = yield* Effect.flip(Layer.build(DirectoryObjectStore.layer({ directory: join(file, "objects") })))
      assert.strictEqual(error.operation, "start")
    })
  )

  const ownDirectory = join(root, "own")
  const fileOf = (digest: string) => join(ownDirectory, objectPath(digest))
})

describe("S3ObjectStore", () => {
  it.effect("fails with the store's error for a bucket that does not exist", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* ObjectStore).put(Stream.succeed(randomBytes(10)), limits))
      assert.instanceOf(error, ObjectStoreError)
      assert.strictEqual(error.operation, "put")
    }).pipe(Effect.provide(s3("missing-bucket")))
  )

  it.effect("removes its temporary directory when it stops", () =>
    Effect.gen(function* () {
      const spools = () => readdirSync(spoolDirectory).length
      const before = spools()
      const during = yield* Effect.scoped(Effect.andThen(Layer.build(s3(bucket)), Effect.sync(spools)))
      assert.strictEqual(during, before + 1)
      assert.strictEqual(spools(), before)
    })
  )
})
