import { archiveDirectory } from "@quickagents/archive"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
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

const refusal = (path: string) =>
  Effect.map(Effect.flip(readPackage(path)), ({ exitClass, message, reason, stage }) => {
    assert.deepEqual([exitClass, stage, reason], ["cli", "fetch", "archive-unreadable"])
    return message
  })

describe("ReleasePackage", () => {
  it.live("an archive and the directory that it was made of are one package with one digest", () =>
    Effect.gen(function* () {
      const [source, place] = [yield* directory, yield* directory]
      writeFileSync(join(source, "agent.yaml"), "schemaVersion: 2\n")
      writeFileSync(join(source, "AGENT.md"), "Do it.")
      const archive = yield* archiveDirectory(source)
      const path = join(place, "package.tgz")
      writeFileSync(path, archive)
      const opened = yield* readPackage(path)
      assert.strictEqual(opened.digest, `sha256:${createHash("sha256").update(archive).digest("hex")}`)
      assert.deepEqual([...opened.files.keys()], ["AGENT.md", "agent.yaml"])
      const { digest, files } = yield* readPackage(source)
      assert.deepEqual([digest, files], [opened.digest, opened.files])
    }).pipe(Effect.scoped)
  )

  it.live("what is no archive, too large, not there, or holds a link ends at the step fetch", () =>
    Effect.gen(function* () {
      const place = yield* directory
      const path = join(place, "package.tgz")
      writeFileSync(path, "not gzip")
      yield* refusal(path)
      writeFileSync(path, gzipSync(Buffer.from("not a tar")))
      yield* refusal(path)
      writeFileSync(path, Buffer.alloc(10 * 1024 * 1024 + 1))
      assert.include(yield* refusal(path), "more than")
      yield* refusal(join(place, "missing.tgz"))
      const linked = yield* directory
      symlinkSync("/etc/hostname", join(linked, "AGENT.md"))
      assert.include(yield* refusal(linked), "AGENT.md")
    }).pipe(Effect.scoped)
  )
})
