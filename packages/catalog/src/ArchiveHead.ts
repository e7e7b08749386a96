/**
 * Name, version and schema version from the `agent.yaml` of a release archive,
 * before anything is stored. It reads as little as it can and judges nothing
 * else: stage S1 opens the whole archive strictly.
 */
import { fromV1, manifestFile } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { createReadStream } from "node:fs"
import { createGunzip } from "node:zlib"
import { parse } from "yaml"

/** The archive cannot be read far enough to know what it claims to be. */
export class ArchiveUnreadable extends Schema.TaggedError<ArchiveUnreadable>()("ArchiveUnreadable", {
  message: Schema.String
}) {}

export interface ArchiveHead {
  readonly name: string
  readonly version: string
  readonly manifestSchemaVersion: 1 | 2
}

const block = 512
const maxManifestBytes = 64 * 1024
/** What a bomb may unpack to before reading stops; the pipeline's own bound. */
const maxUnpackedBytes = 60 * 1024 * 1024

const textOf = (bytes: Buffer) => bytes.toString("utf8").replace(/\0.*$/s, "")

/** The bytes of `agent.yaml` at the top of a gzip tar. */
const findManifest = async (path: string): Promise<Buffer> => {
  const source = createReadStream(path)
  const unzipped = source.pipe(createGunzip())
  source.on("error", (error) => unzipped.destroy(error))
  let pending: Buffer = Buffer.alloc(0)
  let unpacked = 0
  let skip = 0
  let wanted = -1
  try {
    for await (const chunk of unzipped as AsyncIterable<Buffer>) {
      unpacked += chunk.length
      if (unpacked > maxUnpackedBytes)
        throw new ArchiveUnreadable({ message: "The archive unpacks to more than is read" })
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      while (true) {
        if (skip > 0) {
          const dropped = Math.min(skip, pending.length)
          pending = pending.subarray(dropped)
          skip -= dropped
          if (skip > 0) break
        }
        if (wanted >= 0) {
          if (pending.length < wanted) break
          return pending.subarray(0, wanted)
        }
        if (pending.length < block) break
        const header = pending.subarray(0, block)
        pending = pending.subarray(block)
        const name = textOf(header.subarray(0, 100))
        const isNested = textOf(header.subarray(345, 500)) !== ""
        if (name === "") throw new ArchiveUnreadable({ message: `The archive has no ${manifestFile} at its top` })
        const size = Number.parseInt(textOf(header.subarray(124, 136)).trim() || "0", 8)
        if (!Number.isSafeInteger(size) || size < 0)
          throw new ArchiveUnreadable({ message: "The archive is not a tar" })
        const type = String.fromCharCode(header[156])
        if (!isNested && (name === manifestFile || name === `./${manifestFile}`) && (type === "0" || type === "\0")) {
          if (size > maxManifestBytes) throw new ArchiveUnreadable({ message: `${manifestFile} has more than 64 KiB` })
          wanted = size
        } else skip = Math.ceil(size / block) * block
      }
    }
    throw new ArchiveUnreadable({ message: `The archive has no ${manifestFile} at its top` })
  } catch (error) {
    throw error instanceof ArchiveUnreadable
      ? error
      : new ArchiveUnreadable({ message: "The archive is not a gzip tar" })
  } finally {
    unzipped.destroy()
    source.destroy()
  }
}

const claimOf = (yaml: Buffer): ArchiveHead => {
  let parsed: unknown
  try {
    // Its warnings, which quote the file, go nowhere. Keys are compared by S2, which reads the manifest whole.
    parsed = parse(yaml.toString("utf8"), { maxAliasCount: 10, logLevel: "error", uniqueKeys: false })
  } catch {
    throw new ArchiveUnreadable({ message: `${manifestFile} is not YAML` })
  }
  const { input, major } = fromV1(parsed)
  const { name, version } = (typeof input === "object" && input !== null ? input : {}) as {
    name?: unknown
    version?: unknown
  }
  if (typeof name !== "string") throw new ArchiveUnreadable({ message: `${manifestFile} has no name` })
  if (typeof version !== "string")
    throw new ArchiveUnreadable({ message: `${manifestFile} has no version, or one that YAML reads as a number` })
  return { name, version, manifestSchemaVersion: major }
}

export const readArchiveHead = (path: string): Effect.Effect<ArchiveHead, ArchiveUnreadable> =>
  Effect.tryPromise({
    try: async () => claimOf(await findManifest(path)),
    catch: (error) =>
      error instanceof ArchiveUnreadable ? error : new ArchiveUnreadable({ message: "The archive cannot be read" })
  })
