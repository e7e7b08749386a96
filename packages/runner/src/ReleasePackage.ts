/** The step `fetch`: a release archive, or a directory of one, as files in memory, by the strict reader that the registry uses. */
import { archiveDirectory, defaultArchiveLimits, openPackage } from "@quickagents/archive"
import type { ReadManifest } from "@quickagents/archive"
import type { Digest } from "@quickagents/schema"
import { Effect, Result } from "effect"
import { readFile, stat } from "node:fs/promises"
import { fetchFailed } from "./RunFailure.ts"
import type { RunFailure } from "./RunFailure.ts"

export interface OpenedPackage {
  /** Of the archive's bytes; a directory's is that of the archive that would be published. */
  readonly digest: Digest
  readonly files: ReadonlyMap<string, Uint8Array>
  /** `undefined` when `agent.yaml` is missing or is not text. */
  readonly manifest: ReadManifest | undefined
}

const unreadable = (message: string) => fetchFailed("archive-unreadable", `The package cannot be read: ${message}`)

const bytesOf = Effect.fnUntraced(function* (path: string) {
  const failed = (error: unknown) => unreadable(error instanceof Error ? error.message : "unknown")
  const found = yield* Effect.tryPromise({ try: () => stat(path), catch: failed })
  if (found.isDirectory()) return yield* Effect.mapError(archiveDirectory(path), failed)
  if (found.size > defaultArchiveLimits.archiveMaxBytes) {
    return yield* unreadable(`the archive has more than ${defaultArchiveLimits.archiveMaxBytes} bytes`)
  }
  return yield* Effect.tryPromise({ try: () => readFile(path), catch: failed })
})

/** Reads the gzip tar or directory at `path`. */
export const readPackage = Effect.fnUntraced(function* (path: string): Effect.fn.Return<OpenedPackage, RunFailure> {
  const opened = openPackage(yield* bytesOf(path), defaultArchiveLimits)
  if (Result.isFailure(opened)) {
    return yield* unreadable(
      opened.failure.problems
        .map(({ file, message }) => (file === undefined ? message : `${file}: ${message}`))
        .join("; ")
    )
  }
  const { digest, files, manifestSource } = opened.success
  return { digest, files: new Map(files.map(({ bytes, path: name }) => [name, bytes])), manifest: manifestSource }
})
