/**
 * Installed releases, by the digest of their archive: `package.tgz` is what runs
 * (and is checked again at every run), `package/` is there to be read. Folders
 * appear whole; several projects share them.
 */
import { digestOf } from "@quickagents/archive"
import type { PackageFile } from "@quickagents/archive"
import type { Digest } from "@quickagents/schema"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { failed } from "./CommandFailed.ts"
import { dataFolder, replaceFile } from "./Places.ts"

const storeFolder = () => join(dataFolder(), "store")
export const releaseFolder = (digest: Digest) => join(storeFolder(), digest.replace(":", "-"))
const archivePath = (digest: Digest) => join(releaseFolder(digest), "package.tgz")
/** The same archive may be released under several names, each attested by itself. */
const attestationPath = (digest: Digest, ref: string) =>
  join(releaseFolder(digest), `${ref.replace("/", "_")}.attestation.json`)

const leftoverPrefix = "unfinished-"
const leftoverAgeMs = 86_400_000

/** What commands that were killed left behind. */
const sweep = async () => {
  for (const name of await readdir(storeFolder())) {
    if (!name.startsWith(leftoverPrefix)) continue
    const path = join(storeFolder(), name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > leftoverAgeMs)
      await rm(path, { recursive: true, force: true })
  }
}

/** The archive when it is here with exactly these bytes. */
export const storedArchive = (digest: Digest): Effect.Effect<Uint8Array | undefined> =>
  Effect.promise(() => readFile(archivePath(digest)).catch(() => undefined)).pipe(
    Effect.map((bytes) => (bytes !== undefined && digestOf(bytes) === digest ? bytes : undefined))
  )

export interface StoredRelease {
  readonly archivePath: string
  /** DSSE envelope as JSON text; null when it was accepted without one; `undefined` when it was not installed under this name. */
  readonly attestation: string | null | undefined
}

/** In place of an attestation, for a release that was accepted without one. */
const unattested = "null"

/** Where a release lies; what it holds is judged by who uses it. */
export const storedRelease = (digest: Digest, ref: string): Effect.Effect<StoredRelease | undefined> =>
  Effect.promise(async () => {
    const found = await stat(archivePath(digest)).catch(() => undefined)
    if (found === undefined) return undefined
    const attestation = await readFile(attestationPath(digest, ref), "utf8").catch(() => undefined)
    return { archivePath: archivePath(digest), attestation: attestation === unattested ? null : attestation }
  })

const unpack = async (folder: string, archive: Uint8Array, files: ReadonlyArray<PackageFile>) => {
  for (const { bytes, mode, path } of files) {
    const place = join(folder, "package", path)
    await mkdir(dirname(place), { recursive: true })
    await writeFile(place, bytes, { flag: "wx", mode: (mode & 0o100) === 0 ? 0o644 : 0o755 })
  }
  await writeFile(join(folder, "package.tgz"), archive)
}

/** Keeps a release that was verified. A folder that was damaged is replaced. */
export const keepRelease = Effect.fnUntraced(function* (release: {
  readonly ref: string
  readonly digest: Digest
  readonly archive: Uint8Array
  readonly attestation: string | null
  /** As the strict reader gave them: their paths stay inside. */
  readonly files: ReadonlyArray<PackageFile>
}) {
  const { archive, attestation, digest, files, ref } = release
  const notKept = (error: unknown) =>
    failed(`${storeFolder()} takes no release (${(error as NodeJS.ErrnoException).code ?? "unknown"})`)
  if ((yield* storedArchive(digest)) === undefined) {
    const folder = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          await mkdir(storeFolder(), { recursive: true, mode: 0o700 })
          await sweep()
          const folder = join(storeFolder(), leftoverPrefix + randomBytes(8).toString("hex"))
          await mkdir(folder)
          return folder
        },
        catch: notKept
      }),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
    )
    yield* Effect.tryPromise({
      try: async () => {
        await unpack(folder, archive, files)
        const place = releaseFolder(digest)
        const isKept = async () => {
          const bytes = await readFile(archivePath(digest)).catch(() => undefined)
          return bytes !== undefined && digestOf(bytes) === digest
        }
        // A folder is not renamed over one that holds something.
        await rename(folder, place).catch(async (error: unknown) => {
          // Another command was faster with the same bytes, and goes on to write into its folder.
          if (await isKept()) return
          await rename(place, join(folder, "before")).catch(() => {
            throw error
          })
          await rename(folder, place).catch(async (again: unknown) => {
            if (!(await isKept())) throw again
          })
          await rm(join(place, "before"), { recursive: true, force: true })
        })
      },
      catch: notKept
    })
  }
  yield* replaceFile(attestationPath(digest, ref), attestation ?? unattested, 0o644)
}, Effect.scoped)
