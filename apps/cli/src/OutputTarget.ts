/** Where the bytes of an output go: a file, or a descriptor that the caller opened. */
import { Effect, Schema, Stream } from "effect"
import { createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

/** The file cannot be written, or the reader of the descriptor went away. */
export class OutputNotWritten extends Schema.TaggedError<OutputNotWritten>()("OutputNotWritten", {}) {}

/** Writes all of `bytes`. */
export const writeOutput = (
  bytes: Stream.Stream<Uint8Array>,
  target: string | number
): Effect.Effect<void, OutputNotWritten> =>
  Effect.tryPromise({
    try: () =>
      pipeline(
        Readable.from(Stream.toAsyncIterable(bytes)),
        typeof target === "number" ? createWriteStream("", { fd: target }) : createWriteStream(target, { mode: 0o600 })
      ),
    catch: () => new OutputNotWritten()
  })
