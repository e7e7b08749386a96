import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { packDirectory } from "./PackDirectory.ts"

const manifest = "schemaVersion: 2\nname: acme/notes\nversion: 1.0.0\ndescription: Takes notes.\nmodes: [autonomous]\n"

const aDirectory = (files: Readonly<Record<string, string | Buffer>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const directory = mkdtempSync(join(tmpdir(), "pack-"))
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(directory, path)), { recursive: true })
        writeFileSync(join(directory, path), content)
      }
      return directory
    }),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )

const problemsOf = (files: Readonly<Record<string, string | Buffer>>) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(packDirectory(yield* aDirectory(files)))
    return error.problems
  })

describe("a package directory", () => {
  it.effect("gives the same archive whatever the order, time and rights of its files", () =>
    Effect.gen(function* () {
      const one = yield* aDirectory({ "agent.yaml": manifest, "AGENT.md": "Be brief.", "a/b.txt": "b", "a.txt": "a" })
      const two = yield* aDirectory({ "a.txt": "a", "a/b.txt": "b", "AGENT.md": "Be brief.", "agent.yaml": manifest })
      utimesSync(join(two, "a.txt"), 1, 1)
      chmodSync(join(two, "a.txt"), 0o600)
      const first = yield* packDirectory(one)
      const second = yield* packDirectory(two)
      assert.deepStrictEqual(
        first.files.map(({ path }) => path),
        ["AGENT.md", "a.txt", "a/b.txt", "agent.yaml"]
      )
      assert.strictEqual(first.digest, second.digest)
      assert.deepStrictEqual(first.archive, second.archive)
      assert.strictEqual(first.manifest.name, "acme/notes")
    }).pipe(Effect.scoped)
  )

  it.effect("keeps what makes a file executable, and nothing else of its rights", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory({
        "AGENT.md": "Be brief.",
        "agent.yaml": manifest,
        "run.sh": "#!/bin/sh\n"
      })
      chmodSync(join(directory, "run.sh"), 0o4711)
      const { archive } = yield* packDirectory(directory)
      const tar = gunzipSync(archive)
      assert.strictEqual(tar.toString("latin1", 2048 + 100, 2048 + 107), "0000755")
    }).pipe(Effect.scoped)
  )

  it.effect("leaves hidden files and dependencies out", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory({
        "agent.yaml": manifest,
        "AGENT.md": "Be brief.",
        ".git/config": "x",
        ".env": "SECRET=1",
        "node_modules/left-pad/index.js": "x",
        "docs/.hidden": "x",
        "docs/page.md": "y"
      })
      const { files } = yield* packDirectory(directory)
      assert.deepStrictEqual(
        files.map(({ path }) => path),
        ["AGENT.md", "agent.yaml", "docs/page.md"]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("is refused without a manifest, and with one that is not valid", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf({ "AGENT.md": "x" }), [
        "there is no agent.yaml at its top, or it is not text"
      ])
      const [problem] = yield* problemsOf({ "agent.yaml": manifest.replace("1.0.0", "one") })
      assert.include(problem, "version")
      assert.isNotEmpty(yield* problemsOf({ "agent.yaml": "a: [" }))
    }).pipe(Effect.scoped)
  )

  it.effect("is refused when it lacks a file that its manifest names, or breaks another rule of the gate", () =>
    Effect.gen(function* () {
      const rules = "output: { schema: out.json }\nsecrets: [{ name: KEY }, { name: KEY }]\n"
      assert.deepStrictEqual(yield* problemsOf({ "agent.yaml": manifest + rules }), [
        "agent.yaml:1: The instruction file AGENT.md is missing or is not UTF-8 text",
        "agent.yaml:6: The output schema out.json is missing",
        "agent.yaml:7: A secret is declared twice"
      ])
      const { remarks } = yield* packDirectory(
        yield* aDirectory({ "agent.yaml": `${manifest}colour: red\n`, "AGENT.md": "Be brief." })
      )
      assert.match(remarks.join(), /^agent\.yaml:6: colour: /)
    }).pipe(Effect.scoped)
  )

  it.effect("is refused for every file that the registry would refuse, all at once", () =>
    Effect.gen(function* () {
      const MiB = 1024 * 1024
      const noise = randomBytes(5 * MiB)
      const problems = yield* problemsOf({
        "agent.yaml": manifest,
        "long.txt": noise
          .subarray(0, MiB)
          .toString("hex")
          .slice(0, MiB + 1),
        "blob.bin": noise.subarray(0, 2 * MiB + 1),
        "ok.png": noise
      })
      assert.deepStrictEqual(problems, [
        `blob.bin: The file has ${2 * MiB + 1} bytes; at most ${2 * MiB}`,
        `long.txt: The file has ${MiB + 1} bytes; at most ${MiB}`
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("is refused for a name that a plain header cannot hold", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* problemsOf({ "agent.yaml": manifest, "naïve.txt": "x" }), [
        '"naïve.txt" is too long, or not plain ASCII'
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("is refused when it holds a link", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory({ "agent.yaml": manifest })
      symlinkSync("/etc/passwd", join(directory, "passwd"))
      const { problems } = yield* Effect.flip(packDirectory(directory))
      assert.deepStrictEqual(problems, ["passwd is neither a file nor a folder; links cannot be published"])
    }).pipe(Effect.scoped)
  )
})
