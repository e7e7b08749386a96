/**
 * A release archive, opened strictly, within bounds.
 *
 * The scan, the runner, the sandbox host and the CLI's offline validation read
 * archives with this one function: no two of them can see two different packages
 * in one archive, and what passes here passes there.
 * Spec: Limits, registry-wide (archive quotas).
 */
import type { Digest, Manifest } from "@quickagents/schema"
import { manifestFile } from "@quickagents/schema"
import { Effect, Result, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import type { ArchiveLimits } from "./ArchiveLimits.ts"
import { gunzipStrict } from "./Gzip.ts"
import type { ReadManifest } from "./ManifestFile.ts"
import { readManifest } from "./ManifestFile.ts"
import type { TarEntry, TarProblem } from "./Tar.ts"
import { readTar } from "./Tar.ts"

export interface PackageFile {
  readonly path: string
  readonly bytes: Uint8Array
  /** Permission bits, without set-uid, set-gid and sticky. */
  readonly mode: number
  /** The file as text, when it is UTF-8 without NUL. */
  readonly text: string | undefined
}

export interface ReleasePackage {
  /** In path order, by UTF-8 bytes. */
  readonly files: ReadonlyArray<PackageFile>
  /** `undefined` when `agent.yaml` is missing or is not text. */
  readonly manifestSource: ReadManifest | undefined
  /** `undefined` unless the manifest satisfies its schema. */
  readonly manifest: Manifest | undefined
  /** SHA-256 of the compressed archive. */
  readonly digest: Digest
}

/** The archive breaks tar safety or a limit. Nothing of it may be stored or published. */
export class ArchiveRefused extends Schema.TaggedError<ArchiveRefused>()("ArchiveRefused", {
  problems: Schema.Array(
    Schema.Struct({
      rule: Schema.String,
      file: Schema.optionalKey(Schema.String),
      message: Schema.String
    })
  )
}) {}

export const digestOf = (bytes: Uint8Array | string): Digest =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const textOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

export const isImagePath = (path: string): boolean => /\.(?:png|jpe?g|gif|webp|svg)$/iu.test(path)

/** Path order of the rubric and of every listing: the order of the UTF-8 bytes, the same in every locale. */
export const byPath = (a: { readonly path: string }, b: { readonly path: string }): number =>
  Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))

export const isInside = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`)

const fileLimit = (file: PackageFile, limits: ArchiveLimits): { readonly rule: string; readonly max: number } =>
  isImagePath(file.path)
    ? { rule: "image-file-too-large", max: limits.archiveMaxImageFileBytes }
    : file.text === undefined
      ? { rule: "file-too-large", max: limits.archiveMaxFileBytes }
      : { rule: "text-file-too-large", max: limits.archiveMaxTextBytes }

/** The archive quotas. A shipped knowledge pack is bounded as a pack and not counted with the files of the release. */
const limitProblems = (
  files: ReadonlyArray<PackageFile>,
  packs: ReadonlyArray<string>,
  limits: ArchiveLimits
): ReadonlyArray<TarProblem> => {
  const own = files.filter((file) => !packs.some((pack) => isInside(pack, file.path)))
  const problems: Array<TarProblem> = []
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
  if (bytes > limits.unpackedMaxBytes) {
    problems.push({
      rule: "unpacked-too-large",
      message: `The files have ${bytes} bytes in all; at most ${limits.unpackedMaxBytes}`
    })
  }
  if (own.length > limits.archiveMaxFiles) {
    problems.push({
      rule: "too-many-files",
      message: `The package has ${own.length} files; at most ${limits.archiveMaxFiles}`
    })
  }
  for (const file of own) {
    const { rule, max } = fileLimit(file, limits)
    if (file.bytes.length > max) {
      problems.push({ rule, file: file.path, message: `The file has ${file.bytes.length} bytes; at most ${max}` })
    }
  }
  for (const pack of packs) {
    const inside = files.filter((file) => isInside(pack, file.path))
    const bytes = inside.reduce((sum, file) => sum + file.bytes.length, 0)
    if (inside.length > limits.packMaxFiles) {
      problems.push({
        rule: "pack-too-many-files",
        file: pack,
        message: `The knowledge pack has ${inside.length} files; at most ${limits.packMaxFiles}`
      })
    }
    if (bytes > limits.packMaxBytes) {
      problems.push({
        rule: "pack-too-large",
        file: pack,
        message: `The knowledge pack has ${bytes} bytes; at most ${limits.packMaxBytes}`
      })
    }
  }
  return problems
}

/** Header and padding: what is bounded is the files, and 12,000 of them may lie in 12 MB of tar. */
const tarBytesPerFile = 1024

const toFile = (entry: TarEntry): PackageFile => ({
  path: entry.path,
  bytes: entry.bytes,
  mode: entry.mode,
  text: textOf(entry.bytes)
})

/** Opens a whole archive in memory. Never unpacks more than `limits` allow. */
export const openPackage = (
  archive: Uint8Array,
  limits: ArchiveLimits
): Result.Result<ReleasePackage, ArchiveRefused> => {
  const refused = (problems: ReadonlyArray<TarProblem>) =>
    Result.fail(new ArchiveRefused({ problems: problems.slice(0, 100) }))
  if (archive.length > limits.archiveMaxBytes) {
    return refused([
      { rule: "archive-too-large", message: `The archive has more than ${limits.archiveMaxBytes} bytes` }
    ])
  }
  const tar = gunzipStrict(archive, limits.unpackedMaxBytes + limits.unpackedMaxFiles * tarBytesPerFile)
  if (Result.isFailure(tar)) return refused([tar.failure])
  const { entries, problems } = readTar(tar.success, {
    maxEntries: limits.unpackedMaxFiles,
    maxFileBytes: limits.unpackedMaxFileBytes
  })
  if (problems.length > 0) return refused(problems)

  const files = entries
    .filter((entry) => entry.kind === "file")
    .map(toFile)
    .toSorted(byPath)
  const source = files.find((file) => file.path === manifestFile)?.text
  const manifestSource = source === undefined ? undefined : readManifest(source)
  const manifest = manifestSource?.manifest
  const over = limitProblems(files, manifest?.knowledge ?? [], limits)
  return over.length > 0
    ? refused(over)
    : Result.succeed({ files, manifestSource, manifest, digest: digestOf(archive) })
}

/** Collects an upload, stopping at the first byte past `archiveMaxBytes`, then opens it. */
export const readPackage = <E, R>(
  upload: Stream.Stream<Uint8Array, E, R>,
  limits: ArchiveLimits
): Effect.Effect<ReleasePackage, E | ArchiveRefused, R> =>
  upload.pipe(
    Stream.runFoldEffect(
      (): { readonly chunks: Array<Uint8Array>; bytes: number } => ({ chunks: [], bytes: 0 }),
      (read, chunk) => {
        read.bytes += chunk.length
        if (read.bytes > limits.archiveMaxBytes) {
          return Effect.fail(
            new ArchiveRefused({
              problems: [
                { rule: "archive-too-large", message: `The archive has more than ${limits.archiveMaxBytes} bytes` }
              ]
            })
          )
        }
        read.chunks.push(chunk)
        return Effect.succeed(read)
      }
    ),
    Effect.flatMap((read) => Effect.fromResult(openPackage(Buffer.concat(read.chunks), limits)))
  )
