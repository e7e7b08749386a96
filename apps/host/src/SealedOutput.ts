/** The output tar of a run on its way to disk: sealed before the first byte is written. */
import { newDataKey, seal } from "@quickagents/platform/sealing"
import type { Digest } from "@quickagents/schema"
import { Effect, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import { open } from "node:fs/promises"

/** The tar is larger than the run may have it. */
export class OutputTooLarge extends Schema.TaggedError<OutputTooLarge>()("OutputTooLarge", {}) {}

export interface SealedOutput {
  /** Of the sealed bytes. */
  readonly bytes: number
  readonly digest: Digest
  readonly plainBytes: number
  /** Seals the bytes; to be sealed itself to the person who ran the agent. */
  readonly dataKey: Uint8Array
}

export const outputContext = (runId: string) => `run:${runId}:output`

/** Seals `plain` into the file at `path` under a new key, and has it on disk when it answers. */
export const sealOutput = (
  path: string,
  context: string,
  maxPlainBytes: number,
  plain: Stream.Stream<Uint8Array>
): Effect.Effect<SealedOutput, OutputTooLarge> =>
  Effect.gen(function* () {
    const dataKey = newDataKey()
    const hash = createHash("sha256")
    let plainBytes = 0
    let bytes = 0
    const bounded = Stream.mapEffect(plain, (chunk) => {
      plainBytes += chunk.length
      return plainBytes > maxPlainBytes ? Effect.fail(new OutputTooLarge()) : Effect.succeed(chunk)
    })
    yield* Effect.acquireUseRelease(
      Effect.promise(() => open(path, "w", 0o600)),
      (file) =>
        bounded.pipe(
          seal(dataKey, context),
          Stream.runForEach((chunk) => {
            hash.update(chunk)
            bytes += chunk.length
            return Effect.promise(() => file.writeFile(chunk))
          }),
          Effect.andThen(Effect.promise(() => file.sync()))
        ),
      (file) => Effect.promise(() => file.close())
    )
    return { bytes, digest: `sha256:${hash.digest("hex")}`, plainBytes, dataKey }
  })
