/**
 * The step `output`: the declared files of the workspace, `result.json` and
 * `envelope.json` in one tar. The same run gives the same bytes: names in byte
 * order, no times, no owners.
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import type { Digest, Envelope } from "@quickagents/schema"
import { Effect, Stream } from "effect"
import { Tar } from "effect/encoding"
import { createHash } from "node:crypto"
import { constants, createReadStream, openSync } from "node:fs"
import { join } from "node:path"
import { listFiles } from "./FileTools.ts"
import { outputFailed, type RunFailure } from "./RunFailure.ts"

const maxFiles = 2_000
export const resultFile = "result.json"
const envelopeFile = "envelope.json"
const block = 512
/** A header, and the extended header of a name that a plain one cannot hold. */
const headerBytes = 5 * block
/** Room for the envelope, beside the result and the list of files that it holds. */
const envelopeRoom = 64 * 1024
const listedBytes = 160

export interface OutputFile {
  readonly path: string
  readonly bytes: number
  readonly digest: Digest
  readonly content: Stream.Stream<Uint8Array>
}

class OutputTooLarge extends Error {}

const openFile = (path: string) =>
  createReadStream("", { fd: openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK) })

const describe = async (workspace: string, path: string): Promise<OutputFile> => {
  const place = join(workspace, path)
  const hash = createHash("sha256")
  let bytes = 0
  for await (const chunk of openFile(place) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return {
    path,
    bytes,
    digest: `sha256:${hash.digest("hex")}`,
    content: Stream.orDie(NodeStream.fromReadable({ evaluate: () => openFile(place) }))
  }
}

const describeResult = (result: unknown): OutputFile => {
  const bytes = Buffer.from(`${JSON.stringify(result, null, 2)}\n`)
  return {
    path: resultFile,
    bytes: bytes.length,
    digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    content: Stream.succeed(bytes)
  }
}

const tarBytes = (files: ReadonlyArray<{ readonly path: string; readonly bytes: number }>) =>
  files.reduce(
    (total, { bytes, path }) => total + headerBytes + Math.ceil(bytes / block) * block + path.length + listedBytes,
    envelopeRoom
  )

/**
 * What goes into the tar beside the envelope: files that `globs` take, and the
 * result unless it is undefined. Fails when the tar could be larger than
 * `maxBytes`. The runner's own two names are not taken from the workspace.
 */
export const collectOutput = (
  workspace: string,
  globs: ReadonlyArray<string>,
  result: unknown,
  maxBytes: number
): Effect.Effect<ReadonlyArray<OutputFile>, RunFailure> =>
  Effect.tryPromise({
    try: async () => {
      const answer = result === undefined ? [] : [describeResult(result)]
      const listed = globs.length === 0 ? [] : await listFiles(workspace, globs, maxFiles + 3)
      const found = listed.filter(({ path }) => path !== resultFile && path !== envelopeFile)
      // The envelope holds the result a second time.
      const twice = answer.reduce((total, { bytes }) => total + bytes, 0)
      if (found.length > maxFiles || tarBytes([...found, ...answer]) + twice > maxBytes) throw new OutputTooLarge()
      const files: Array<OutputFile> = []
      for (const { path } of found) files.push(await describe(workspace, path))
      return [...files, ...answer]
    },
    catch: (error) =>
      error instanceof OutputTooLarge
        ? outputFailed("output-too-large", `The output is more than ${maxBytes} bytes or ${maxFiles} files`)
        : outputFailed("internal", "The files of the output cannot be read")
  })

/** The tar; files are read while it is written. */
export const outputTar = (envelope: Envelope, files: ReadonlyArray<OutputFile>): Stream.Stream<Uint8Array> =>
  Stream.fromIterable([
    ...files.map(({ bytes, content, path }) => Tar.fileStream(path, bytes, content)),
    Tar.file(envelopeFile, `${JSON.stringify(envelope, null, 2)}\n`)
  ]).pipe(Stream.pipeThroughChannel(Tar.encode()), Stream.orDie)
