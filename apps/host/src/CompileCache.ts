/**
 * The runner's modules, compiled once for all runs: Node reads them from a
 * directory instead of compiling them again in every sandbox. It is filled
 * outside of any run and only read inside, so that no run can change what the
 * next one loads.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { HostConfig } from "./HostConfig.ts"

/** Path of the directory. */
export const compileCache = ({ dataDir }: HostConfig): string => join(dataDir, "compile-cache")

const maxFillMs = 30_000

/** Empties the directory: what an earlier version of the runner left there is of no use. */
export const makeCompileCache = (config: HostConfig): Effect.Effect<void> =>
  Effect.promise(async () => {
    await rm(compileCache(config), { recursive: true, force: true })
    await mkdir(compileCache(config), { recursive: true, mode: 0o700 })
  })

/** Starts the runner once without a request, which ends it after it has loaded. A runner that is no Node program leaves nothing. */
export const fillCompileCache = (config: HostConfig): Effect.Effect<void> =>
  Effect.promise(async (interrupted) => {
    const [program, ...parameters] = config.runnerCommand
    const child = spawn(program, parameters, {
      cwd: config.workDir,
      env: { NODE_COMPILE_CACHE: compileCache(config) },
      // The descriptors of a runner, with nothing on stdin.
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      timeout: maxFillMs,
      killSignal: "SIGKILL",
      signal: interrupted
    })
    // Without the cache a run starts later, but it starts.
    await once(child, "exit").catch(() => {})
  })
