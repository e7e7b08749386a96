import { assert, describe, it } from "@effect/vitest"
import { Digest } from "@quickagents/schema"
import { Effect } from "effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { changeLock, readLock } from "./LockFile.ts"
import type { LockedRelease } from "./LockFile.ts"

const registry = "http://127.0.0.1:4000"
const digest = Digest.make(`sha256:${"a".repeat(64)}`)
const release: LockedRelease = {
  range: "^1.0.0",
  version: "1.0.0",
  digest,
  attestationKeyId: "b".repeat(64),
  capabilitiesDigest: digest,
  pinned: false
}

let folder: string
const before = process.cwd()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "quickagent-lock-"))
  process.chdir(folder)
})
afterEach(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true })
})

const written = (agents: Readonly<Record<string, object>>) =>
  writeFileSync("quickagent.lock", JSON.stringify({ lockVersion: 1, registry, agents }))

describe("the lock file", () => {
  it.live("keeps the entries of all commands that change it at once", () =>
    Effect.gen(function* () {
      const paths = Array.from({ length: 12 }, (_, number) => `acme/agent-${number}`)
      yield* Effect.forEach(paths, (path) => changeLock(registry, path, () => release), { concurrency: "unbounded" })
      assert.sameMembers(Object.keys((yield* readLock)?.agents ?? {}), paths)
      assert.deepStrictEqual(readdirSync(folder), ["quickagent.lock"])
    })
  )

  it.live("keeps a version that was written while its entry was being pinned", () =>
    Effect.gen(function* () {
      yield* changeLock(registry, "acme/notes", () => release)
      yield* Effect.all(
        [
          changeLock(registry, "acme/notes", (current) => current && { ...current, version: "1.1.0" }),
          changeLock(registry, "acme/notes", (current) => current && { ...current, pinned: true }),
          changeLock(registry, "acme/gone", (current) => current && { ...current, pinned: true })
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual((yield* readLock)?.agents, {
        "acme/notes": { ...release, version: "1.1.0", pinned: true }
      })
    })
  )

  it.live("is changed although a command was killed while it did so", () =>
    Effect.gen(function* () {
      writeFileSync("quickagent.lock.changing", "")
      const longAgo = new Date(Date.now() - 60_000)
      utimesSync("quickagent.lock.changing", longAgo, longAgo)
      yield* changeLock(registry, "acme/notes", () => release)
      assert.hasAllKeys((yield* readLock)?.agents ?? {}, ["acme/notes"])
    })
  )

  it.live("is damaged when an entry is under a name that is none, and is then not written over", () =>
    Effect.gen(function* () {
      for (const path of ["../../etc", "Acme/notes", "acme/notes@1.0.0", "acme/notes "]) {
        written({ [path]: release, "acme/good": release })
        const text = readFileSync("quickagent.lock", "utf8")
        assert.match((yield* Effect.flip(readLock)).message, /is damaged/)
        assert.strictEqual((yield* Effect.flip(changeLock(registry, "acme/other", () => release))).exitClass, "verify")
        assert.strictEqual(readFileSync("quickagent.lock", "utf8"), text)
      }
    })
  )

  it.live("is damaged when a range or a key id is none", () =>
    Effect.gen(function* () {
      for (const wrong of [{ range: "garbage" }, { range: "" }, { attestationKeyId: "" }]) {
        written({ "acme/notes": { ...release, ...wrong } })
        assert.strictEqual((yield* Effect.flip(readLock)).exitClass, "verify")
      }
      written({ "acme/notes": release })
      assert.deepStrictEqual((yield* readLock)?.agents, { "acme/notes": release })
    })
  )
})
