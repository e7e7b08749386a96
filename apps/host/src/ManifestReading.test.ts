import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { readManifest } from "./ManifestReading.ts"
import { archiveOf, manifestText, temporaryDirectory } from "./TestRegistry.ts"

const read = (archive: Uint8Array) =>
  Effect.gen(function* () {
    const path = join(yield* temporaryDirectory, "package.tar.gz")
    writeFileSync(path, archive)
    return yield* readManifest(path)
  })

describe("reading the manifest of an archive", () => {
  it.effect("finds it behind other files, with and without a leading dot", () =>
    Effect.gen(function* () {
      for (const name of ["agent.yaml", "./agent.yaml"]) {
        const archive = yield* archiveOf({
          "AGENT.md": "x".repeat(100_000),
          [name]: manifestText('capabilities: {network: {egress: ["api.example.com:443"]}}\n')
        })
        const manifest = Option.getOrThrow(yield* read(archive))
        assert.deepStrictEqual(manifest.capabilities?.network?.egress, ["api.example.com:443"])
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is none for what is no archive, has no manifest, or has one that is too large or not one", () =>
    Effect.gen(function* () {
      const whole = yield* archiveOf({ "agent.yaml": manifestText() })
      const broken: Record<string, Uint8Array> = {
        "not gzip": Buffer.from("text"),
        "not tar": gzipSync(Buffer.alloc(2_000, 1)),
        cut: whole.subarray(0, 60),
        "no manifest": yield* archiveOf({ "sub/agent.yaml": manifestText() }),
        "too large": yield* archiveOf({ "agent.yaml": manifestText(`# ${"x".repeat(300_000)}`) }),
        "not YAML": yield* archiveOf({ "agent.yaml": "a: [" }),
        "a wildcard that is none": yield* archiveOf({
          "agent.yaml": manifestText('capabilities: {network: {egress: ["*:443"]}}\n')
        })
      }
      for (const [name, archive] of Object.entries(broken)) assert.isTrue(Option.isNone(yield* read(archive)), name)
    }).pipe(Effect.scoped)
  )
})
