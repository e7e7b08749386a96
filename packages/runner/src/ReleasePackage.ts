/**
 * The step `fetch`: a release archive, or a directory of one, as files in memory.
 *
 * Archives are read by a strict reader: two programs must not see two different
 * packages in one archive, so records that rename or resize an entry, links and
 * everything else that is not a plain file or directory are refused.
 */
import type { Digest } from "@quickagents/schema"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { fetchFailed, type RunFailure } from "./RunFailure.ts"

export interface ReleasePackage {
  /** Of the archive's bytes; of a directory's names and contents when there is no archive. */
  readonly digest: Digest
  readonly files: ReadonlyMap<string, Uint8Array>
}

const maxArchiveBytes = 10 * 1024 * 1024
const maxUnpackedBytes = 60_000_000
const maxFiles = 2_000
const maxDepth = 32
const block = 512

class Unreadable extends Error {}

const cleanPath = (path: string): string => {
  const clean = path.replace(/^\.\//u, "")
  const segments = clean.split("/")
  const isClean =
    clean.length <= 255 &&
    segments.length <= maxDepth &&
    !/[\p{Cc}\\]/u.test(clean) &&
    segments.every((segment) => segment !== "" && segment !== "." && segment !== "..")
  if (!isClean) throw new Unreadable("the archive holds a name that is not a plain relative path")
  return clean
}

const octal = (field: Uint8Array): number => {
  const found = /^ *([0-7]+)[ \0]*$/u.exec(Buffer.from(field).toString("latin1"))
  if (found === null) throw new Unreadable("the archive has a malformed header")
  return Number.parseInt(found[1], 8)
}

const text = (field: Uint8Array): string => {
  const nul = field.indexOf(0)
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(field.subarray(0, nul === -1 ? undefined : nul))
  } catch {
    throw new Unreadable("the archive holds a name that is not UTF-8")
  }
}

/** Times and owners only; `path`, `size` and links would make another package of it. */
const isHarmlessPax = (body: Uint8Array): boolean =>
  Buffer.from(body)
    .toString("latin1")
    .split("\n")
    .filter((record) => record !== "")
    .every((record) => /^\d+ (?:mtime|atime|ctime|uid|gid|uname|gname|comment)=/u.test(record))

const readTar = (tar: Uint8Array): Map<string, Uint8Array> => {
  const files = new Map<string, Uint8Array>()
  let entries = 0
  for (let at = 0; ;) {
    if (at + block > tar.length) throw new Unreadable("the archive ends without its end marker")
    const header = tar.subarray(at, at + block)
    if (header.every((byte) => byte === 0)) return files
    const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0)
    const magic = Buffer.from(header.subarray(257, 262)).toString("latin1")
    if (octal(header.subarray(148, 156)) !== sum || magic !== "ustar")
      throw new Unreadable("the archive has a malformed header")
    if (++entries > 2 * maxFiles) throw new Unreadable(`the archive has more than ${maxFiles} files`)
    const size = octal(header.subarray(124, 136))
    const start = at + block
    at = start + Math.ceil(size / block) * block
    if (at > tar.length) throw new Unreadable("an entry is longer than the archive")
    const body = tar.subarray(start, start + size)
    const type = String.fromCharCode(header[156])
    if (type === "x" || type === "g") {
      if (!isHarmlessPax(body)) throw new Unreadable("an extended header renames or resizes an entry")
      continue
    }
    // GNU headers keep times where ustar keeps the prefix of a name.
    const prefix = header[262] === 0 ? text(header.subarray(345, 500)) : ""
    const name = prefix === "" ? text(header.subarray(0, 100)) : `${prefix}/${text(header.subarray(0, 100))}`
    if (type === "5") {
      if (name !== "./" && name !== ".") cleanPath(name.replace(/\/$/u, ""))
      continue
    }
    if (type !== "0" && type !== "\0")
      throw new Unreadable("the archive holds something that is neither a file nor a directory")
    const path = cleanPath(name)
    if (files.has(path)) throw new Unreadable("the archive holds one name twice")
    if (files.size >= maxFiles) throw new Unreadable(`the archive has more than ${maxFiles} files`)
    files.set(path, body)
  }
}

const sha256 = (bytes: Uint8Array): Digest => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const unpack = async (archive: Uint8Array): Promise<ReleasePackage> => {
  if (archive.length > maxArchiveBytes) throw new Unreadable(`the archive has more than ${maxArchiveBytes} bytes`)
  const tar = await promisify(gunzip)(archive, { maxOutputLength: maxUnpackedBytes })
  return { digest: sha256(archive), files: readTar(tar) }
}

const readDirectory = async (directory: string): Promise<ReleasePackage> => {
  const files = new Map<string, Uint8Array>()
  let bytes = 0
  const visit = async (relative: string, depth: number): Promise<void> => {
    if (depth > maxDepth) throw new Unreadable(`the directory is more than ${maxDepth} folders deep`)
    for (const entry of (await readdir(join(directory, relative), { withFileTypes: true })).toSorted((a, b) =>
      a.name < b.name ? -1 : 1
    )) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`
      if (entry.isDirectory()) await visit(path, depth + 1)
      else if (entry.isFile()) {
        bytes += (await stat(join(directory, path))).size
        if (bytes > maxUnpackedBytes || files.size >= maxFiles)
          throw new Unreadable("the directory is larger than a package may be")
        files.set(cleanPath(path), await readFile(join(directory, path)))
      } else throw new Unreadable(`${path} is neither a file nor a directory`)
    }
  }
  await visit("", 1)
  const listing = [...files].map(([path, content]) => `${sha256(content)} ${path}\n`).join("")
  return { digest: sha256(Buffer.from(listing)), files }
}

/** Reads the gzip tar or directory at `path`. */
export const readPackage = (path: string): Effect.Effect<ReleasePackage, RunFailure> =>
  Effect.tryPromise({
    try: async () => {
      const found = await stat(path)
      if (found.isDirectory()) return readDirectory(path)
      if (found.size > maxArchiveBytes) throw new Unreadable(`the archive has more than ${maxArchiveBytes} bytes`)
      return unpack(await readFile(path))
    },
    catch: (error) =>
      fetchFailed(
        "archive-unreadable",
        `The package cannot be read: ${error instanceof Error ? error.message : "unknown"}`
      )
  })
