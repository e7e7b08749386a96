import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { entry } from "@quickagents/archive/testing"
import type { RawEntry } from "@quickagents/archive/testing"
import { Effect, FileSystem } from "effect"
import { gzipSync } from "node:zlib"
import { readArchiveHead } from "./ArchiveHead.ts"
import { packed } from "./testing/TestArchives.ts"

const head = Effect.fnUntraced(function* (archive: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* fs.makeTempFileScoped()
  yield* fs.writeFile(path, archive)
  return yield* readArchiveHead(path)
}, Effect.scoped)
const refusal = (archive: Uint8Array) => Effect.map(Effect.flip(head(archive)), ({ message }) => message)
const yaml = (text: string, ...before: ReadonlyArray<RawEntry>) => packed(...before, { name: "agent.yaml", data: text })

const sound = "schemaVersion: 2\nname: ada/notes\nversion: 1.0.0\n"

layer(NodeServices.layer)("the head of a release archive", (it) => {
  it.effect("is name, version and the manifest's major, wherever in the archive agent.yaml stands", () =>
    Effect.gen(function* () {
      const expected = { name: "ada/notes", version: "1.0.0", manifestSchemaVersion: 2 }
      assert.deepStrictEqual(yield* head(yaml(sound)), expected)
      assert.deepStrictEqual(yield* head(packed({ name: "./agent.yaml", data: sound })), expected)
      // Larger than what is read at once, and not a multiple of a block.
      assert.deepStrictEqual(
        yield* head(yaml(sound, { name: "big.bin", data: Buffer.alloc(300_001, 7) }, { name: "empty" })),
        expected
      )
      assert.deepStrictEqual(yield* head(yaml(`${sound}# ${"x".repeat(64 * 1024 - sound.length - 2)}`)), expected)
    })
  )

  it.effect("of the first manifest major has a kind instead of modes", () =>
    Effect.gen(function* () {
      for (const kind of ["skill", "prompt-agent"]) {
        assert.strictEqual(
          (yield* head(yaml(`kind: ${kind}\nname: ada/notes\nversion: 1.0.0\n`))).manifestSchemaVersion,
          1
        )
      }
    })
  )

  it.effect("a version that YAML reads as a number is refused, not guessed", () =>
    Effect.gen(function* () {
      for (const version of ["1.0", "1", "0x1F", "[1, 0, 0]", "null"]) {
        assert.match(yield* refusal(yaml(`name: ada/notes\nversion: ${version}\n`)), /reads as a number/u, version)
      }
      assert.match(yield* refusal(yaml("version: 1.0.0\n")), /has no name/u)
      assert.match(yield* refusal(yaml("just a text")), /has no name/u)
      assert.match(yield* refusal(yaml("")), /has no name/u)
    })
  )

  it.effect("an archive without agent.yaml at its top has none", () =>
    Effect.gen(function* () {
      for (const hostile of [
        { name: "AGENT.md", data: "text" },
        { name: "folder/agent.yaml", data: sound },
        { name: "agent.yaml", prefix: "folder", data: sound },
        // A link or a folder of that name is no manifest.
        { name: "agent.yaml", type: "2" },
        { name: "agent.yaml", type: "5" }
      ])
        assert.match(yield* refusal(packed(hostile)), /no agent\.yaml at its top/u)
      assert.match(yield* refusal(gzipSync(Buffer.alloc(0))), /no agent\.yaml at its top/u)
      // Cut off in the middle of the manifest.
      const cut = entry({ name: "agent.yaml", data: sound.padEnd(2000, "#") }).subarray(0, 1024)
      assert.match(yield* refusal(gzipSync(cut)), /no agent\.yaml at its top/u)
    })
  )

  it.effect("what is no gzip tar, or no YAML, says so", () =>
    Effect.gen(function* () {
      assert.match(yield* refusal(Buffer.from("plain text")), /not a gzip tar/u)
      assert.match(yield* refusal(Buffer.alloc(0)), /not a gzip tar|no agent\.yaml/u)
      assert.match(yield* refusal(yaml(sound).subarray(0, 60)), /not a gzip tar/u)
      assert.match(yield* refusal(gzipSync(Buffer.from("no tar at all ".repeat(100)))), /not a tar/u)
      assert.match(yield* refusal(packed({ name: "a", sizeField: "-7\0" })), /not a tar/u)
      for (const text of [
        "a: [",
        '"open',
        "a: 1\n---\nb: 2\n",
        "[".repeat(5000),
        `a: &x [1]\n${Array.from({ length: 200 }, (_, n) => `k${n}: *x`).join("\n")}`
      ]) {
        assert.match(yield* refusal(yaml(text)), /not YAML/u)
      }
    })
  )

  it.effect("reading stops at 64 KiB of manifest and at 60 MB of anything else", () =>
    Effect.gen(function* () {
      assert.match(yield* refusal(yaml(`${sound}# ${"x".repeat(64 * 1024)}`)), /more than 64 KiB/u)
      const bomb = gzipSync(
        Buffer.concat([entry({ name: "zeros", sizeField: "77777777777\0" }), Buffer.alloc(61 * 1024 * 1024)]),
        { level: 1 }
      )
      assert.isBelow(bomb.length, 1024 * 1024)
      assert.match(yield* refusal(bomb), /unpacks to more than is read/u)
      // Found before the bomb goes off: the rest is not read.
      const after = gzipSync(
        Buffer.concat([entry({ name: "agent.yaml", data: sound }), Buffer.alloc(61 * 1024 * 1024, 1)]),
        { level: 1 }
      )
      assert.strictEqual((yield* head(after)).name, "ada/notes")
    })
  )

  it.effect("nothing that the file holds is printed", () =>
    Effect.gen(function* () {
      const warned: Array<string> = []
      const listen = (warning: Error) => void warned.push(warning.message)
      process.on("warning", listen)
      yield* head(yaml(`${sound}description: !marked-secret x\n`))
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      process.off("warning", listen)
      assert.deepStrictEqual(warned, [])
    })
  )
})
