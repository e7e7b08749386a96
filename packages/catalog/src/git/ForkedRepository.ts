/** The first repository of a fork: `main` with one commit for each copied version, made aside and moved to its place whole. */
import type { PackageFile } from "@quickagents/archive"
import { Effect } from "effect"
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { GitFailed } from "./GitCommand.ts"
import { git, gitEnvironment } from "./GitCommand.ts"

export interface FirstCommit {
  readonly message: string
  readonly at: Date
  readonly files: ReadonlyArray<Pick<PackageFile, "path" | "bytes" | "mode">>
}

const maxWordsBytes = 64 * 1024

/** Between quotes, as `git fast-import` reads a path. */
const quoted = (path: string) => `"${path.replace(/[\\"]/gu, "\\$&")}"`
const data = (bytes: Uint8Array) => [`data ${bytes.length}\n`, bytes, "\n"]

/** One commit as `git fast-import` reads it: everything that was there goes, the files come. */
const fastImport = ({ at, files, message }: FirstCommit, committer: string, isFirst: boolean): Buffer =>
  Buffer.concat(
    [
      `commit refs/heads/main\ncommitter ${committer} ${Math.floor(at.getTime() / 1000)} +0000\n`,
      ...data(Buffer.from(message)),
      ...(isFirst ? [] : ["from refs/heads/main^0\n"]),
      "deleteall\n",
      ...files.flatMap(({ bytes, mode, path }) => [
        `M ${(mode & 0o100) === 0 ? "100644" : "100755"} inline ${quoted(path)}\n`,
        ...data(bytes)
      ])
    ].map((part) => (typeof part === "string" ? Buffer.from(part) : part))
  )

/** `commits` are made one after the other: each holds a whole version in memory. One that is there already is left as it is. */
export const makeForkedRepository = Effect.fn("git/makeForkedRepository")(function* <E>(options: {
  readonly directory: string
  readonly agentId: string
  /** `Name <address>`. */
  readonly committer: string
  readonly commits: ReadonlyArray<Effect.Effect<FirstCommit, E>>
}): Effect.fn.Return<void, E | GitFailed> {
  const directory = resolve(options.directory)
  yield* Effect.scoped(
    Effect.gen(function* () {
      yield* Effect.promise(() => mkdir(directory, { recursive: true }))
      const made = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(directory, ".new-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      const environment = { ...gitEnvironment([]), GIT_DIR: made }
      yield* git(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", made], {
        environment: gitEnvironment([]),
        maxBytes: maxWordsBytes
      })
      for (const [index, commit] of options.commits.entries()) {
        const input = fastImport(yield* commit, options.committer, index === 0)
        yield* git(["fast-import", "--quiet"], { environment, input, maxBytes: maxWordsBytes })
      }
      yield* Effect.promise(() =>
        rename(made, join(directory, `${options.agentId}.git`)).catch((error: NodeJS.ErrnoException) => {
          // An earlier try ended between this and the row that says so.
          if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
        })
      )
    })
  )
})
