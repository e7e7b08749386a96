/**
 * The release archive of a commit: the same bytes as packing its checkout. Made
 * from the tree itself and not with `git archive`, since that obeys attributes
 * of the pushed tree (export-ignore, export-subst), and what is scanned and
 * published would then not be what the commit shows.
 */
import { archiveDirectory, defaultArchiveLimits, PackageInvalid } from "@quickagents/archive"
import { Effect } from "effect"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { git } from "./GitCommand.ts"
import type { GitEnvironment } from "./GitCommand.ts"

const { unpackedMaxBytes, unpackedMaxFiles } = defaultArchiveLimits
const maxListingBytes = 16 * 1024 * 1024
const maxPathBytes = 255
const maxDepth = 32

interface TreeFile {
  readonly id: string
  readonly bytes: number
  readonly executable: boolean
  readonly path: string
}

/** What packing a directory leaves out. It covers `.` and `..` too, so no path climbs out of the directory. */
const isLeftOut = (path: string) =>
  path.split("/").some((name) => name === "" || name.startsWith(".") || name === "node_modules")

/** `git ls-tree -r -z -l` as files to pack. */
const filesOf = (listing: string): Effect.Effect<ReadonlyArray<TreeFile>, PackageInvalid> => {
  const problems: Array<string> = []
  const files: Array<TreeFile> = []
  let total = 0
  for (const entry of listing.split("\0")) {
    const [, mode, id, size, path] = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)$/s.exec(entry) ?? []
    if (mode === undefined || id === undefined || path === undefined || isLeftOut(path)) continue
    const shown = JSON.stringify(path.slice(0, 120))
    if (mode !== "100644" && mode !== "100755") {
      problems.push(`${shown} is a link or a submodule; only files can be published`)
    } else if (Buffer.byteLength(path) > maxPathBytes || path.split("/").length > maxDepth) {
      problems.push(`${shown} is too long or too deep`)
    } else {
      files.push({ id, bytes: Number(size), executable: mode === "100755", path })
      total += Number(size)
    }
  }
  if (files.length > unpackedMaxFiles || total > unpackedMaxBytes) problems.push("the commit is far too large")
  return problems.length === 0
    ? Effect.succeed(files)
    : Effect.fail(new PackageInvalid({ problems: problems.slice(0, 20) }))
}

/** Writes the blobs, which `git cat-file --batch` prints in the order of `files`, each after a line and before a newline. */
const unpack = async (directory: string, files: ReadonlyArray<TreeFile>, blobs: Buffer) => {
  let at = 0
  for (const { bytes, executable, path } of files) {
    const start = blobs.indexOf(0x0a, at) + 1
    const target = join(directory, path)
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, blobs.subarray(start, start + bytes), { flag: "wx", mode: executable ? 0o755 : 0o644 })
    at = start + bytes + 1
  }
}

/** Path of the archive of `commit`, a file that goes with the scope. */
export const releaseArchive = Effect.fn("GitRelease.releaseArchive")(function* (
  environment: GitEnvironment,
  commit: string
) {
  const listing = yield* git(["ls-tree", "-r", "-z", "-l", "--full-tree", commit], {
    environment,
    maxBytes: maxListingBytes
  })
  const files = yield* filesOf(listing.toString("utf8"))
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "git-release-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  const tree = join(directory, "tree")
  yield* Effect.promise(() => mkdir(tree))
  const blobs = yield* git(["cat-file", "--batch"], {
    environment,
    input: files.map(({ id }) => `${id}\n`).join(""),
    maxBytes: unpackedMaxBytes + files.length * 128
  })
  yield* Effect.promise(() => unpack(tree, files, blobs))
  const archive = yield* archiveDirectory(tree)
  const path = join(directory, "archive.tgz")
  yield* Effect.promise(() => writeFile(path, archive))
  return path
})
