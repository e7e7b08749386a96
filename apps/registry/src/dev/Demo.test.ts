import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Tar } from "effect/encoding"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readDemoArguments } from "./DemoArguments.ts"
import { freeVersion, renamed } from "./DemoPackage.ts"
import { unpackOutput } from "./UnpackOutput.ts"

describe("the version that a demo publishes", () => {
  it("is the example's, or the next free patch of its line", () => {
    assert.strictEqual(freeVersion("1.0.0", []), "1.0.0")
    assert.strictEqual(freeVersion("1.0.0", ["0.9.0", "2.0.0"]), "1.0.0")
    assert.strictEqual(freeVersion("1.0.0", ["1.0.0"]), "1.0.1")
    assert.strictEqual(freeVersion("1.0.0", ["1.0.9", "1.0.10", "1.0.2"]), "1.0.11")
    assert.strictEqual(freeVersion("1.0.0-rc.1", ["1.0.0-rc.1"]), "1.0.0")
  })

  it("goes into the manifest with the name, and changes nothing else", () => {
    assert.strictEqual(
      renamed('schemaVersion: 2\nname: demo/a # mine\nversion: "1.0.0"\nmcpServers:\n  - name: x\n', "olli/a", "1.0.3"),
      "schemaVersion: 2\nname: olli/a\nversion: 1.0.3\nmcpServers:\n  - name: x\n"
    )
  })
})

describe("the demo's arguments", () => {
  const read = (...parameters: ReadonlyArray<string>) =>
    Effect.result(readDemoArguments(parameters, { ANTHROPIC_API_KEY: "key" }))
  it.effect("name a model, whose key comes from the environment", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* read(), { success: { help: false, model: undefined } })
      assert.deepInclude(yield* read("--model", "anthropic", "--model-name", "m-1"), {
        success: { help: false, model: { provider: "anthropic", model: "m-1", apiKey: "key" } }
      })
      assert.deepInclude(
        yield* read("--model", "openai-compatible", "--model-name", "m", "--base-url", "http://127.0.0.1:1"),
        {
          success: { help: false, model: { provider: "openai-compatible", model: "m", baseUrl: "http://127.0.0.1:1" } }
        }
      )
    })
  )

  it.effect("are refused in words", () =>
    Effect.gen(function* () {
      const refusals = [
        ["--model", "anthropic"],
        ["--model", "oracle", "--model-name", "m"],
        ["--model", "openai", "--model-name", "m"],
        ["--model", "openai-compatible", "--model-name", "m"],
        ["--model-name", "m"],
        ["--verbose"]
      ]
      for (const parameters of refusals)
        assert.strictEqual((yield* read(...parameters))._tag, "Failure", parameters.join(" "))
    })
  )
})

const unpacked = (entries: ReadonlyArray<Tar.Entry>) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "unpack-"))),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
    )
    const files = yield* unpackOutput(
      Stream.fromIterable(entries).pipe(Stream.pipeThroughChannel(Tar.encode())),
      directory
    )
    return files.map((file) => ({ ...file, text: readFileSync(join(directory, file.path), "utf8") }))
  }).pipe(Effect.scoped)

describe("an output that is unpacked", () => {
  it.effect("gives its files", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* unpacked([Tar.directory("a"), Tar.file("a/b.txt", "two"), Tar.file("c.txt", "three")]),
        [
          { path: "a/b.txt", bytes: 3, text: "two" },
          { path: "c.txt", bytes: 5, text: "three" }
        ]
      )
    })
  )

  it.effect("is refused when a name leads out of its directory, or is no file, or comes twice", () =>
    Effect.gen(function* () {
      const hostile = [
        [Tar.file("../x", "x")],
        [Tar.file("/tmp/x", "x")],
        [Tar.file("a/../../x", "x")],
        [Tar.symlink("a", "/etc"), Tar.file("a/x", "x")],
        [Tar.file("x", "x"), Tar.file("x", "y")]
      ]
      for (const entries of hostile) assert.strictEqual((yield* Effect.flip(unpacked(entries)))._tag, "OutputUnsafe")
    })
  )
})
