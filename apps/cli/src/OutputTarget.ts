/** Where the bytes of an output go: a file, or a descriptor that the caller opened. */
import { Effect, Stream } from "effect"
import { createWriteStream } from "node:fs"
import { once } from "node:events"
import { finished } from "node:stream/promises"

/** Writes all of `bytes`; a reader that goes away is an error. */
export const writeOutput = (bytes: Stream.Stream<Uint8Array>, target: string | number): Effect.Effect<void, Error> =>
  Effect.tryPromise({
    try: async () => {
      const stream = typeof target === "number" ? createWriteStream("", { fd: target }) : createWriteStream(target)
      const done = finished(stream)
      const write = async () => {
        for await (const chunk of Stream.toAsyncIterable(bytes)) {
          if (!stream.write(chunk)) await Promise.race([once(stream, "drain"), done])
        }
        stream.end()
      }
      await Promise.all([write(), done])
    },
    catch: (error) => (error instanceof Error ? error : new Error("the output cannot be written"))
  })
