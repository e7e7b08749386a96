/** Where the command keeps what it keeps. https://specifications.freedesktop.org/basedir-spec/latest/ */
import { Effect, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, isAbsolute, join } from "node:path"
import { failed } from "./CommandFailed.ts"
import type { CommandFailed } from "./CommandFailed.ts"

const base = (variable: string, standard: string) => {
  const given = process.env[variable]
  return join(given !== undefined && isAbsolute(given) ? given : join(homedir(), standard), "quickagents")
}

/** Sign-in and pinned keys. */
export const configFolder = () => base("XDG_CONFIG_HOME", ".config")
/** Installed releases. */
export const dataFolder = () => base("XDG_DATA_HOME", ".local/share")

/** What may be lost at any time. */
export const cacheFolder = () => base("XDG_CACHE_HOME", ".cache")

const code = (error: unknown) => (error as NodeJS.ErrnoException).code

/** The text of a file, or `undefined` when there is none. */
export const readIfThere = (path: string): Effect.Effect<string | undefined, CommandFailed> =>
  Effect.tryPromise({
    try: () =>
      readFile(path, "utf8").catch((error: unknown) => {
        if (code(error) === "ENOENT") return undefined
        throw error
      }),
    catch: (error) => failed(`${path} cannot be read (${code(error) ?? "unknown"})`)
  })

export const isThere = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    stat(path).then(
      () => true,
      () => false
    )
  )

/** Replaces a file whole: whoever reads it meanwhile, or after a crash, sees the old text or the new one. */
export const replaceFile = (path: string, text: string, mode: number): Effect.Effect<void, CommandFailed> =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(dirname(path), { recursive: true, mode: mode === 0o600 ? 0o700 : 0o755 })
      const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`
      try {
        const file = await open(temporary, "wx", mode)
        try {
          await file.writeFile(text)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(temporary, path)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    },
    catch: (error) => failed(`${path} cannot be written (${code(error) ?? "unknown"})`)
  })

/** A change of one file takes milliseconds: who holds it longer was killed. */
const abandonedMs = 10_000

/** Runs `change` while no other command changes the file at `path`. */
export const alone = <A, E, R>(
  path: string,
  change: Effect.Effect<A, E, R>
): Effect.Effect<A, E | CommandFailed, R> => {
  const held = `${path}.changing`
  const take = Effect.tryPromise({
    try: async () => {
      try {
        await (await open(held, "wx", 0o600)).close()
        return true
      } catch (error) {
        if (code(error) !== "EEXIST") throw error
        const since = await stat(held).catch(() => undefined)
        if (since !== undefined && Date.now() - since.mtimeMs > abandonedMs) await rm(held, { force: true })
        return false
      }
    },
    catch: (error) => failed(`${path} cannot be written (${code(error) ?? "unknown"})`)
  })
  return Effect.acquireUseRelease(
    Effect.repeat(take, { until: (ours) => ours, schedule: Schedule.spaced("20 millis") }),
    () => change,
    () => Effect.ignore(removeFile(held))
  )
}

/** A file that need not be there. */
export const removeFile = (path: string): Effect.Effect<void, CommandFailed> =>
  Effect.tryPromise({
    try: () => rm(path, { force: true }),
    catch: (error) => failed(`${path} cannot be removed (${code(error) ?? "unknown"})`)
  })
