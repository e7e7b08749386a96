/** Unpacks an `output.tar` while it arrives. An agent made the names in it, so none is trusted. */
import { Data, Effect, Stream } from "effect"
import { Tar } from "effect/encoding"
import { mkdir, open } from "node:fs/promises"
import { dirname, join } from "node:path"

/** An entry that does not belong in an output. */
export class OutputUnsafe extends Data.TaggedError("OutputUnsafe")<{ readonly entry: string }> {
  override get message() {
    return `output.tar holds ${JSON.stringify(this.entry)}, which is no plain relative file`
  }
}

export interface UnpackedFile {
  readonly path: string
  readonly bytes: number
}

const isPlain = (path: string) =>
  path !== "" &&
  !path.startsWith("/") &&
  !path.includes("\\") &&
  !path.includes("\0") &&
  path.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..")

/** Writes the files below `directory`, which must be new: no link in it can lead elsewhere. */
export const unpackOutput = <E>(tar: Stream.Stream<Uint8Array, E>, directory: string) =>
  tar.pipe(
    Stream.pipeThroughChannel(Tar.decode<E>()),
    Stream.filter(({ header }) => header.type !== "Directory"),
    Stream.mapEffect(({ body, header }) =>
      Effect.gen(function* () {
        const path = header.path.replace(/^\.\//u, "")
        if (header.type !== "File" || !isPlain(path)) return yield* new OutputUnsafe({ entry: header.path })
        const target = join(directory, path)
        yield* Effect.promise(() => mkdir(dirname(target), { recursive: true }))
        yield* Effect.acquireUseRelease(
          // `wx`: a second entry of the same name must not replace the first.
          Effect.tryPromise({
            try: () => open(target, "wx", 0o600),
            catch: () => new OutputUnsafe({ entry: header.path })
          }),
          (file) => Stream.runForEach(body, (bytes) => Effect.promise(() => file.writeFile(bytes))),
          (file) => Effect.promise(() => file.close())
        )
        return { path, bytes: header.size } satisfies UnpackedFile
      })
    ),
    Stream.runCollect
  )
