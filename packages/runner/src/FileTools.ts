/**
 * Files of the workspace, by the globs of the manifest.
 *
 * No component of a path may be a symbolic link: a link that a program of the
 * run made must not lead these tools out of the workspace or past a glob.
 * Programs themselves are held by the sandbox, not by these checks.
 */
import { Effect, Schema } from "effect"
import { constants } from "node:fs"
import { lstat, mkdir, open, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { matches } from "./Glob.ts"
import type { Policy } from "./Policy.ts"
import { makeTool, textOutcome, type Tool, ToolRefused } from "./Tool.ts"

const maxReadBytes = 1024 * 1024
const maxWriteBytes = 10 * 1024 * 1024
const maxListed = 1_000
const maxDepth = 32

const refuse = (message: string) => new ToolRefused({ message })

const relative = (path: string): string => {
  const clean = path.replace(/^\.\//u, "")
  const segments = clean.split("/")
  if (
    clean.startsWith("/") ||
    /[\0\\]/u.test(clean) ||
    segments.length > maxDepth ||
    segments.some((segment) => segment === ".." || segment === "." || segment === "")
  ) {
    throw refuse("A path is relative to the workspace, with forward slashes and without . or .. segments")
  }
  return clean
}

const refuseLinks = async (workspace: string, path: string): Promise<void> => {
  const segments = path.split("/")
  for (let depth = 1; depth <= segments.length; depth++) {
    const found = await lstat(join(workspace, ...segments.slice(0, depth))).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined
      throw error
    })
    if (found === undefined) return
    if (found.isSymbolicLink()) throw refuse("The path leads through a symbolic link")
  }
}

const granted = async (workspace: string, globs: ReadonlyArray<string>, path: string): Promise<string> => {
  const clean = relative(path)
  if (!matches(globs, clean)) throw refuse("The manifest does not grant this path")
  await refuseLinks(workspace, clean)
  return join(workspace, clean)
}

/** Files of the workspace below `globs`, in byte order, links left out; at most `limit`. */
export const listFiles = async (
  workspace: string,
  globs: ReadonlyArray<string>,
  limit: number
): Promise<Array<{ readonly path: string; readonly bytes: number }>> => {
  const found: Array<{ readonly path: string; readonly bytes: number }> = []
  const visit = async (directory: string, depth: number): Promise<void> => {
    if (depth > maxDepth) return
    for (const entry of await readdir(join(workspace, directory), { withFileTypes: true })) {
      if (found.length >= limit) return
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`
      if (entry.isDirectory()) await visit(path, depth + 1)
      else if (entry.isFile() && matches(globs, path))
        found.push({ path, bytes: (await lstat(join(workspace, path))).size })
    }
  }
  await visit("", 1)
  return found.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
}

const read = async (path: string): Promise<string> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw refuse("The path is not a file")
    if (found.size > maxReadBytes) throw refuse(`The file has ${found.size} bytes; at most ${maxReadBytes} are read`)
    return await file.readFile("utf8")
  } finally {
    await file.close()
  }
}

const write = async (path: string, content: string): Promise<void> => {
  if (Buffer.byteLength(content) > maxWriteBytes) throw refuse(`At most ${maxWriteBytes} bytes are written at once`)
  await mkdir(dirname(path), { recursive: true })
  const file = await open(
    path,
    constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    0o644
  )
  try {
    await file.writeFile(content)
  } finally {
    await file.close()
  }
}

const attempt = (work: () => Promise<string>) =>
  Effect.tryPromise({
    try: work,
    // Only the code: a message of the file system names paths of the machine.
    catch: (error) =>
      error instanceof ToolRefused
        ? error
        : refuse(`The file system refuses: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`)
  }).pipe(Effect.map(textOutcome))

const path = Schema.String

export const fileTools = (workspace: string, policy: Policy): ReadonlyArray<Tool> => [
  ...(policy.read.length === 0
    ? []
    : [
        makeTool("fs_read", "Reads a text file of the workspace.", Schema.Struct({ path }), (args) =>
          attempt(async () => read(await granted(workspace, policy.read, args.path)))
        ),
        makeTool(
          "fs_list",
          "Lists the files of the workspace that may be read, one per line with its size in bytes.",
          Schema.Struct({}),
          () =>
            attempt(async () =>
              (await listFiles(workspace, policy.read, maxListed))
                .map((file) => `${file.path} ${file.bytes}`)
                .join("\n")
            )
        )
      ]),
  ...(policy.write.length === 0
    ? []
    : [
        makeTool(
          "fs_write",
          "Writes a text file of the workspace, replacing what it held.",
          Schema.Struct({ path, content: Schema.String }),
          (args) =>
            attempt(async () => {
              await write(await granted(workspace, policy.write, args.path), args.content)
              return `Wrote ${Buffer.byteLength(args.content)} bytes`
            })
        )
      ])
]
