import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Tar } from "effect/encoding"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { readPackage } from "./ReleasePackage.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "runner-package-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const tar = (entries: ReadonlyArray<Tar.Entry>) =>
  Effect.map(Stream.runCollect(Stream.fromIterable(entries).pipe(Stream.pipeThroughChannel(Tar.encode()))), (chunks) =>
    Buffer.concat(chunks)
  )

const reading = (archive: Uint8Array) =>
  Effect.gen(function* () {
    const path = join(yield* directory, "package.tgz")
    writeFileSync(path, archive)
    return yield* readPackage(path)
  })

const refusal = (archive: Uint8Array) =>
  Effect.map(Effect.flip(reading(archive)), ({ exitClass, message, reason, stage }) => {
    assert.deepEqual([exitClass, stage, reason], ["cli", "fetch", "archive-unreadable"])
    return message
  })

describe("ReleasePackage", () => {
  it.live("reads the files of an archive and the digest of its bytes", () =>
    Effect.gen(function* () {
      const archive = gzipSync(
        yield* tar([Tar.directory("docs"), Tar.file("docs/a.md", "A"), Tar.file("./AGENT.md", "B")])
      )
      const { digest, files } = yield* reading(archive)
      assert.strictEqual(digest, `sha256:${createHash("sha256").update(archive).digest("hex")}`)
      assert.deepEqual(
        [...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]),
        [
          ["docs/a.md", "A"],
          ["AGENT.md", "B"]
        ]
      )
    }).pipe(Effect.scoped)
  )

  it.live("refuses links, names that leave the package, names that come twice, and what is no archive", () =>
    Effect.gen(function* () {
      const refused = (entries: ReadonlyArray<Tar.Entry>) =>
        Effect.flatMap(tar(entries), (bytes) => refusal(gzipSync(bytes)))
      assert.include(yield* refused([Tar.symlink("a", "/etc/passwd")]), "neither a file nor a directory")
      assert.include(yield* refused([Tar.file("a", "x"), Tar.hardlink("b", "a")]), "neither a file nor a directory")
      for (const name of ["../a", "/a", "a/../b", "a//b", "a\\b", "a/./b"])
        assert.include(yield* refused([Tar.file(name, "x")]), "plain relative path", name)
      assert.include(yield* refused([Tar.file("a", "x"), Tar.file("./a", "y")]), "one name twice")
      assert.include(yield* refused([Tar.file("ü".repeat(80), "x")]), "extended header")
      yield* refusal(Buffer.from("not gzip"))
      yield* refusal(gzipSync(Buffer.from("not a tar")))
    }).pipe(Effect.scoped)
  )

  it.live("refuses archives beyond its limits without unpacking them", () =>
    Effect.gen(function* () {
      assert.include(yield* refusal(Buffer.alloc(10 * 1024 * 1024 + 1)), "more than")
      yield* refusal(gzipSync(Buffer.alloc(61_000_000)))
      const many = Array.from({ length: 2_001 }, (_, index) => Tar.file(`f${index}`, ""))
      assert.include(yield* refusal(gzipSync(yield* tar(many))), "more than 2000 files")
    }).pipe(Effect.scoped)
  )

  it.live("a directory with a link is not a package", () =>
    Effect.gen(function* () {
      const path = yield* directory
      symlinkSync("/etc/hostname", join(path, "AGENT.md"))
      assert.include((yield* Effect.flip(readPackage(path))).message, "AGENT.md")
    }).pipe(Effect.scoped)
  )
})
