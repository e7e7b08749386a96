import { assert, describe, it } from "@effect/vitest"
import { digestOf } from "@quickagents/archive"
import { Effect } from "effect"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, vi } from "vitest"
import { keepRelease, storedArchive, storedRelease } from "./Store.ts"

const archive = Buffer.from("an archive")
const digest = digestOf(archive)
const files = Array.from({ length: 20 }, (_, number) => ({
  path: `files/${number}.txt`,
  mode: 0o644,
  bytes: Buffer.from(`${number}`),
  text: `${number}`
}))
const release = (name: string) => ({ ref: `acme/${name}@1.0.0`, digest, archive, attestation: `"${name}"`, files })

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "quickagent-store-"))
  vi.stubEnv("XDG_DATA_HOME", folder)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

describe("the store", () => {
  it.live("keeps the attestations of all commands that install the same bytes at once", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 5; round++) {
        const names = Array.from({ length: 8 }, (_, number) => `agent-${round}-${number}`)
        yield* Effect.forEach(names, (name) => keepRelease(release(name)), { concurrency: "unbounded" })
        for (const name of names)
          assert.strictEqual((yield* storedRelease(digest, release(name).ref))?.attestation, `"${name}"`)
        rmSync(join(folder, "quickagents"), { recursive: true })
      }
    })
  )

  it.live("replaces a release whose bytes were changed, and leaves nothing behind", () =>
    Effect.gen(function* () {
      yield* keepRelease(release("notes"))
      const { archivePath } = (yield* storedRelease(digest, release("notes").ref))!
      writeFileSync(archivePath, "another archive")
      assert.isUndefined(yield* storedArchive(digest))
      yield* keepRelease(release("notes"))
      assert.deepStrictEqual(yield* storedArchive(digest), archive)
      assert.sameMembers(readdirSync(dirname(archivePath)), [
        "package",
        "package.tgz",
        "acme_notes@1.0.0.attestation.json"
      ])
      assert.lengthOf(readdirSync(dirname(dirname(archivePath))), 1)
    })
  )
})
