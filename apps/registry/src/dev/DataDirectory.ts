/** The one directory of a development stack: who holds it, and what is remembered in it between starts. */
import { Data, Effect } from "effect"
import type { Scope } from "effect"
import { createHash } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { Server } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const projectRoot = fileURLToPath(new URL("../../../..", import.meta.url)).replace(/\/$/u, "")

/** `QUICKAGENTS_DATA_DIR`, or `.data` in the project. */
export const dataDirectoryPath = (environment: NodeJS.ProcessEnv) =>
  environment["QUICKAGENTS_DATA_DIR"] ?? join(projectRoot, ".data")

/** Another stack runs on the directory; `running` is what that one noted, if it got so far. */
export class AlreadyRunning extends Data.TaggedError("AlreadyRunning")<{
  readonly directory: string
  readonly running: Running | undefined
}> {}

export interface Running {
  readonly pid: number
  readonly baseUrl: string
}

export interface DataDirectory {
  readonly path: string
  readonly at: (...names: ReadonlyArray<string>) => string
  /** Notes the running stack for a second start and for the demo; forgotten when the scope closes. */
  readonly note: (running: Running) => void
  /** Reads a JSON value that an earlier start kept. */
  readonly recall: <A>(name: string) => A | undefined
  readonly keep: (name: string, value: unknown) => void
}

const readJson = <A>(path: string): A | undefined =>
  existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as A) : undefined

/** Whole or not at all. */
const writeJson = (path: string, value: unknown) => {
  writeFileSync(`${path}.new`, JSON.stringify(value, null, 2), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const listen = (path: string) =>
  Effect.callback<Server | undefined>((resume) => {
    const lock = createServer()
    lock.once("error", () => resume(Effect.undefined))
    lock.listen(path, () => resume(Effect.succeed(lock)))
  })

/**
 * Opens the directory for one stack, until the scope closes. The lock is an
 * abstract unix socket, so that the kernel lets go of it however the process
 * ends; a system without these (any but Linux) has no lock.
 */
export const openDataDirectory = (path: string): Effect.Effect<DataDirectory, AlreadyRunning, Scope.Scope> =>
  Effect.gen(function* () {
    mkdirSync(path, { recursive: true })
    // PostgreSQL's own user has to pass through when root starts the stack; every directory inside is closed by itself.
    chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700)
    const at = (...names: ReadonlyArray<string>) => join(path, ...names)
    const noted = at("running.json")
    if (process.platform === "linux") {
      const name = createHash("sha256").update(path).digest("hex").slice(0, 32)
      const lock = yield* Effect.acquireRelease(listen(`\0quickagents-stack-${name}`), (lock) =>
        Effect.sync(() => void lock?.close())
      )
      if (lock === undefined) return yield* new AlreadyRunning({ directory: path, running: readJson<Running>(noted) })
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(noted, { force: true })))
    return {
      path,
      at,
      note: (running) => writeJson(noted, running),
      recall: <A>(name: string) => readJson<A>(at(`${name}.json`)),
      keep: (name, value) => writeJson(at(`${name}.json`), value)
    }
  })
