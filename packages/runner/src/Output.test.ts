import { assert, describe, it } from "@effect/vitest"
import type { Envelope } from "@quickagents/schema"
import { Effect, Stream } from "effect"
import { Tar } from "effect/encoding"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { newProgress } from "./Harness.ts"
import { collectOutput, outputTar } from "./Output.ts"
import { makeReceipt } from "./Receipt.ts"

const workspace = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "runner-output-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
)

const envelope: Envelope = {
  version: 1,
  exitClass: "ok",
  exitCode: 0,
  outputs: [],
  usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0, cachedTokens: 0, turns: 0, wallMs: 0 },
  receipt: makeReceipt({
    ref: "demo/agent@1.0.0",
    digest: `sha256:${"0".repeat(64)}`,
    attestationKeyId: null,
    model: null,
    policy: undefined,
    runtime: [],
    proxied: false,
    progress: newProgress()
  })
}

const maxBytes = 10_000_000

const tarOf = (directory: string, names: ReadonlyArray<string>, time: number) =>
  Effect.gen(function* () {
    mkdirSync(join(directory, "out"), { recursive: true })
    for (const name of names) {
      writeFileSync(join(directory, "out", name), `content of ${name}`)
      utimesSync(join(directory, "out", name), time, time)
    }
    const files = yield* collectOutput(directory, ["out/**"], { done: true }, maxBytes)
    return Buffer.concat(yield* Stream.runCollect(outputTar(envelope, files)))
  })

describe("Output", () => {
  it.live("the same files give the same tar, whatever their times and the order they were written in", () =>
    Effect.gen(function* () {
      const first = yield* tarOf(yield* workspace, ["a", "b", "ä"], 1_000)
      const second = yield* tarOf(yield* workspace, ["ä", "b", "a"], 2_000_000)
      assert.isTrue(first.equals(second))
      const entries = yield* Stream.make(first).pipe(
        Stream.pipeThroughChannel(Tar.decode()),
        Stream.mapEffect(({ body, header }) =>
          Effect.map(Stream.mkString(Stream.decodeText(body)), (text) => [header.path, text])
        ),
        Stream.runCollect
      )
      assert.deepEqual(
        entries.map(([path]) => path),
        ["out/a", "out/b", "out/ä", "result.json", "envelope.json"]
      )
      assert.deepEqual(entries[2], ["out/ä", "content of ä"])
      assert.deepEqual(JSON.parse(entries[4][1]), envelope)
    }).pipe(Effect.scoped)
  )

  it.live("takes neither links nor the runner's own names from the workspace", () =>
    Effect.gen(function* () {
      const directory = yield* workspace
      symlinkSync("/etc/hostname", join(directory, "link"))
      symlinkSync("/etc", join(directory, "folder"))
      writeFileSync(join(directory, "envelope.json"), "{}")
      writeFileSync(join(directory, "result.json"), "{}")
      writeFileSync(join(directory, "kept"), "")
      const files = yield* collectOutput(directory, ["**"], undefined, maxBytes)
      assert.deepEqual(
        files.map(({ path }) => path),
        ["kept"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("the tar is never larger than the limit that its files passed", () =>
    Effect.gen(function* () {
      const directory = yield* workspace
      for (let index = 0; index < 50; index++) writeFileSync(join(directory, `${"ü".repeat(60)}${index}`), "x")
      const sizes: Array<[number, number]> = []
      for (let limit = 64_000; limit < 400_000; limit += 16_000) {
        const files = yield* Effect.option(collectOutput(directory, ["**"], "r".repeat(5_000), limit))
        if (files._tag === "None") continue
        const listed = {
          ...envelope,
          result: "r".repeat(5_000),
          outputs: files.value.map(({ bytes, digest, path }) => ({ path, bytes, digest }))
        }
        sizes.push([Buffer.concat(yield* Stream.runCollect(outputTar(listed, files.value))).length, limit])
      }
      assert.isAbove(sizes.length, 0)
      for (const [size, limit] of sizes) assert.isAtMost(size, limit)
    }).pipe(Effect.scoped)
  )
})
