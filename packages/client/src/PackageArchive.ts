/**
 * A package directory as the archive that is published: canonical, so that the
 * same files give the same digest on every machine with the same zlib, and
 * checked, so that what the registry would refuse is refused before it is sent.
 */
import { fromV1, Manifest, manifestFile } from "@quickagents/schema"
import type { Digest } from "@quickagents/schema"
import { Effect, Schema, Stream } from "effect"
import { Tar, Yaml } from "effect/encoding"
import { createHash } from "node:crypto"
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { gzip } from "node:zlib"

/** The directory cannot be published as it is; each problem is a sentence for its author. */
export class PackageInvalid extends Schema.TaggedError<PackageInvalid>()("PackageInvalid", {
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return this.problems.join("; ")
  }
}

export interface PackageFile {
  /** Relative, forward slashes. */
  readonly path: string
  readonly bytes: number
}

export interface PackageArchive {
  readonly manifest: Manifest
  /** In archive order. */
  readonly files: ReadonlyArray<PackageFile>
  /** Gzip tar. */
  readonly archive: Uint8Array<ArrayBuffer>
  readonly digest: Digest
}

const MiB = 1024 * 1024

/** The registry's own defaults; a deployment may be stricter and then says so. Spec: Limits, registry-wide. */
export const archiveLimits = {
  archiveMaxBytes: 10 * MiB,
  archiveMaxFiles: 2000,
  archiveMaxFileBytes: 2 * MiB,
  archiveMaxImageFileBytes: 5 * MiB,
  archiveMaxTextBytes: MiB,
  /** A file of a shipped knowledge pack, which has limits of its own. */
  packMaxBytes: 10 * MiB,
  /** What is read at all, knowledge packs included. */
  unpackedMaxBytes: 60 * MiB,
  unpackedMaxFiles: 12_000
} as const

const maxDepth = 32
const isImage = (path: string) => /\.(png|jpe?g|gif|webp|svg)$/iu.test(path)
/** Editor, version control and dependency folders are no part of a package. */
const isLeftOut = (name: string) => name.startsWith(".") || name === "node_modules"

const isText = (bytes: Uint8Array) => {
  if (bytes.includes(0)) return false
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Whether a plain ustar header holds the name: the registry refuses extended headers that rename an entry. */
const fitsHeader = (path: string) => {
  if (!/^[\x20-\x7e]+$/u.test(path)) return false
  if (path.length <= 100) return true
  return [...path.matchAll(/\//gu)].some(({ index }) => index <= 155 && path.length - index - 1 <= 100)
}

interface Found {
  readonly path: string
  readonly bytes: Buffer
  readonly executable: boolean
}

const collect = async (directory: string, problems: Array<string>) => {
  const found: Array<Found> = []
  let bytes = 0
  const visit = async (relative: string, depth: number): Promise<void> => {
    const entries = await readdir(join(directory, relative), { withFileTypes: true })
    for (const entry of entries) {
      if (isLeftOut(entry.name)) continue
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`
      if (entry.isDirectory()) {
        if (depth >= maxDepth) problems.push(`${path} is more than ${maxDepth} folders deep`)
        else await visit(path, depth + 1)
      } else if (!entry.isFile()) {
        problems.push(`${path} is neither a file nor a folder; links cannot be published`)
      } else {
        const { mode, size } = await stat(join(directory, path))
        bytes += size
        if (found.length === archiveLimits.unpackedMaxFiles || bytes > archiveLimits.unpackedMaxBytes) throw new Error("it is far too large")
        if (size > archiveLimits.packMaxBytes) problems.push(`${path} has ${size} bytes; at most ${archiveLimits.packMaxBytes}`)
        else found.push({ path, bytes: await readFile(join(directory, path)), executable: (mode & 0o100) !== 0 })
      }
    }
  }
  await visit("", 1)
  return found.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
}

/** What is wrong with one file, knowledge packs left aside. */
const fileProblem = ({ bytes, path }: Found): string | undefined => {
  const [limit, kind] = isImage(path)
    ? [archiveLimits.archiveMaxImageFileBytes, "an image"]
    : isText(bytes)
    ? [archiveLimits.archiveMaxTextBytes, "a text file"]
    : [archiveLimits.archiveMaxFileBytes, "a file"]
  return bytes.length > limit ? `${path} has ${bytes.length} bytes; ${kind} has at most ${limit}` : undefined
}

const readManifest = (found: ReadonlyArray<Found>) =>
  Effect.gen(function*() {
    const file = found.find(({ path }) => path === manifestFile)
    if (file === undefined) return yield* new PackageInvalid({ problems: [`there is no ${manifestFile} at its top`] })
    const parsed = yield* Effect.try({
      try: () => Yaml.parse(file.bytes.toString("utf8")),
      catch: (error) => new PackageInvalid({ problems: [`${manifestFile}: ${(error as Error).message}`] })
    })
    return yield* Schema.decodeUnknownEffect(Manifest)(fromV1(parsed).input, { errors: "all" }).pipe(
      Effect.mapError(({ message }) => new PackageInvalid({ problems: [`${manifestFile}: ${message}`] }))
    )
  })

/**
 * Reads, checks and packs a directory. Hidden files and `node_modules` stay out.
 *
 * Entries stand in byte order of their names, with time 0, owner 0 and mode 644
 * or 755; there are no folder entries.
 */
export const packDirectory = Effect.fn("PackageArchive.packDirectory")(function*(
  directory: string
): Effect.fn.Return<PackageArchive, PackageInvalid> {
  const problems: Array<string> = []
  const found = yield* Effect.tryPromise({
    try: () => collect(directory, problems),
    catch: (error) => new PackageInvalid({ problems: [`${directory} cannot be read: ${(error as Error).message}`] })
  })
  const manifest = yield* readManifest(found)
  const packs = manifest.knowledge ?? []
  const own = found.filter(({ path }) => !packs.some((pack) => path === pack || path.startsWith(`${pack}/`)))
  if (own.length > archiveLimits.archiveMaxFiles) {
    problems.push(`it has ${own.length} files; at most ${archiveLimits.archiveMaxFiles}`)
  }
  for (const file of own) {
    const problem = fileProblem(file)
    if (problem !== undefined) problems.push(problem)
  }
  for (const { path } of found) {
    if (!fitsHeader(path)) problems.push(`${JSON.stringify(path)} is too long, or not plain ASCII`)
  }
  if (problems.length > 0) return yield* new PackageInvalid({ problems: problems.slice(0, 50) })

  const tar = yield* Stream.fromIterable(
    found.map(({ bytes, executable, path }) => Tar.file(path, bytes, { mode: executable ? 0o755 : 0o644 }))
  ).pipe(
    Stream.pipeThroughChannel(Tar.encode()),
    Stream.runCollect,
    // Every name and size was checked above: what is left is a defect of this file.
    Effect.orDie
  )
  const compressed = yield* Effect.promise(() => promisify(gzip)(Buffer.concat(tar), { level: 9 }))
  const archive = new Uint8Array(compressed)
  // The header's "operating system", which differs between machines; 255 is "unknown".
  archive[9] = 255
  if (archive.length > archiveLimits.archiveMaxBytes) {
    return yield* new PackageInvalid({
      problems: [`its archive has ${archive.length} bytes; at most ${archiveLimits.archiveMaxBytes}`]
    })
  }
  return {
    manifest,
    files: found.map(({ bytes, path }) => ({ path, bytes: bytes.length })),
    archive,
    digest: `sha256:${createHash("sha256").update(archive).digest("hex")}`
  }
})
