/**
 * A package directory as the archive that is published: canonical, so that the
 * same files give the same digest on every machine with the same zlib.
 */
import type { Digest, Manifest } from "@quickagents/schema"
import { Effect, Result, Schema, Stream } from "effect"
import { Tar } from "effect/encoding"
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { defaultArchiveLimits } from "./ArchiveLimits.ts"
import { openPackage } from "./Package.ts"
import { packageProblems } from "./PackageRules.ts"

/** The directory cannot be published as it is; each problem is a sentence for its author. */
export class PackageInvalid extends Schema.TaggedError<PackageInvalid>()("PackageInvalid", {
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return this.problems.join("; ")
  }
}

export interface PackedDirectory {
  readonly manifest: Manifest
  /** In archive order: relative, forward slashes. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly bytes: number }>
  /** Gzip tar. */
  readonly archive: Uint8Array<ArrayBuffer>
  readonly digest: Digest
  /** What the registry will remark and take all the same; each a sentence. */
  readonly remarks: ReadonlyArray<string>
}

const maxDepth = 32
const { packMaxBytes, unpackedMaxBytes, unpackedMaxFiles } = defaultArchiveLimits
/** Editor, version control and dependency folders are no part of a package. */
const isLeftOut = (name: string) => name.startsWith(".") || name === "node_modules"

/** Whether a plain ustar header holds the name: extended headers that rename an entry are refused. */
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
        if (found.length === unpackedMaxFiles || bytes > unpackedMaxBytes) throw new Error("it is far too large")
        if (!fitsHeader(path)) problems.push(`${JSON.stringify(path)} is too long, or not plain ASCII`)
        else if (size > packMaxBytes) problems.push(`${path} has ${size} bytes; at most ${packMaxBytes}`)
        else found.push({ path, bytes: await readFile(join(directory, path)), executable: (mode & 0o100) !== 0 })
      }
    }
  }
  await visit("", 1)
  return found.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
}

/**
 * The canonical archive of a directory. Hidden files and `node_modules` stay out.
 * Entries stand in byte order of their names, with time 0, owner 0 and mode 644
 * or 755; there are no folder entries. Judges nothing but what cannot be packed.
 */
export const archiveDirectory = Effect.fn("archive/archiveDirectory")(function* (
  directory: string
): Effect.fn.Return<Uint8Array<ArrayBuffer>, PackageInvalid> {
  const problems: Array<string> = []
  const found = yield* Effect.tryPromise({
    try: () => collect(directory, problems),
    catch: (error) => new PackageInvalid({ problems: [`${directory} cannot be read: ${(error as Error).message}`] })
  })
  if (problems.length > 0) return yield* new PackageInvalid({ problems: problems.slice(0, 50) })
  const tar = yield* Stream.fromIterable(
    found.map(({ bytes, executable, path }) => Tar.file(path, bytes, { mode: executable ? 0o755 : 0o644 }))
  ).pipe(
    Stream.pipeThroughChannel(Tar.encode()),
    Stream.runCollect,
    // Every name was checked above: what is left is a defect of this file.
    Effect.orDie
  )
  const archive = new Uint8Array(yield* Effect.promise(() => promisify(gzip)(Buffer.concat(tar), { level: 9 })))
  // The header's "operating system", which differs between machines; 255 is "unknown".
  archive[9] = 255
  return archive
})

/** Packs a directory and checks it as the registry will, by its own defaults; a deployment may be stricter and then says so. */
export const packDirectory = Effect.fn("archive/packDirectory")(function* (
  directory: string
): Effect.fn.Return<PackedDirectory, PackageInvalid> {
  const archive = yield* archiveDirectory(directory)
  const opened = openPackage(archive, defaultArchiveLimits)
  if (Result.isFailure(opened)) {
    return yield* new PackageInvalid({
      problems: opened.failure.problems.map(({ file, message }) =>
        file === undefined ? message : `${file}: ${message}`
      )
    })
  }
  const { digest, files, manifest, manifestSource } = opened.success
  if (manifestSource === undefined)
    return yield* new PackageInvalid({ problems: ["there is no agent.yaml at its top, or it is not text"] })
  const remarks = manifestSource.problems.map(
    ({ line, message, path }) => `agent.yaml:${line}: ${path === "" ? "" : `${path}: `}${message}`
  )
  if (manifest === undefined) return yield* new PackageInvalid({ problems: remarks })
  const broken = packageProblems(manifest, files)
  if (broken.length > 0) {
    return yield* new PackageInvalid({
      problems: broken.map(({ message, path }) => `agent.yaml:${manifestSource.lineOf(path)}: ${message}`)
    })
  }
  return {
    manifest,
    files: files.map(({ bytes, path }) => ({ path, bytes: bytes.length })),
    archive,
    digest,
    remarks
  }
})
