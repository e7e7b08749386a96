/**
 * What this machine can hold a run in, found out once at the start. A part that
 * is missing is said: to the person who starts the host, in the health, and in
 * the receipt of every run.
 */
import { Effect, Schema, type Scope } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rm, rmdir, stat, statfs } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { bubblewrap, namespaceArguments } from "./Bubblewrap.ts"
import { type ControlGroups, findControlGroups } from "./ControlGroups.ts"
import type { HostConfig } from "./HostConfig.ts"
import { seccompFilter } from "./Seccomp.ts"

/** A part of the sandbox is missing and weak isolation was not allowed. `missing` holds one sentence for each part. */
export class IsolationMissing extends Schema.TaggedError<IsolationMissing>()("IsolationMissing", {
  missing: Schema.Array(Schema.String)
}) {}

export interface Isolation {
  /** Runs are started in bubblewrap's namespaces; otherwise as plain processes. */
  readonly namespaces: boolean
  readonly seccomp: Buffer | undefined
  readonly groups: ControlGroups | undefined
  /** Nothing is missing. */
  readonly full: boolean
  /** For `capabilities_enforced.runtime`: the mechanisms that hold, then those that do not. */
  readonly sentences: ReadonlyArray<string>
  readonly missing: ReadonlyArray<string>
}

/** Of the directories of sandboxes in the work directory. */
export const sandboxPrefix = "sandbox-"

const tmpfsMagic = 0x01021994
const ramfsMagic = 0x858458f6

const namespacesWork: Effect.Effect<boolean> = Effect.promise(async () => {
  if (!existsSync(bubblewrap)) return false
  try {
    await promisify(execFile)(bubblewrap, [...namespaceArguments(), "--", "/usr/bin/true"], {
      timeout: 10_000,
      env: {}
    })
    return true
  } catch {
    return false
  }
})

const inMemory = (directory: string): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    const { type } = await statfs(directory)
    return type === tmpfsMagic || type === ramfsMagic
  })

/**
 * Ends sandboxes of an earlier host process. The kernel ends a sandbox with its
 * host, except one that bubblewrap was only just making: a process that waits
 * for ever, with nothing of a run in it.
 */
const endLeftovers = async (directory: string) => {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/u.test(name))) {
    const command = await readFile(join("/proc", pid, "cmdline"), "utf8").catch(() => "")
    if (!command.includes(join(directory, sandboxPrefix))) continue
    try {
      process.kill(Number(pid), "SIGKILL")
    } catch {
      // It ended by itself.
    }
  }
}

/**
 * Makes the work directory and deletes what runs of an earlier host process left
 * in it. False when it is not this user's alone: anyone may make a directory
 * below `/dev/shm` under a name that can be foreseen.
 */
const openWorkDir = (directory: string) =>
  Effect.promise(async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const { mode, uid } = await stat(directory)
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0) return false
    if (process.platform === "linux") await endLeftovers(directory)
    const leftovers = (await readdir(directory)).filter((name) => name.startsWith(sandboxPrefix))
    for (const name of leftovers) await rm(join(directory, name), { recursive: true, force: true })
    return true
  })

/** Prepares the work directory, for the lifetime of the scope, and tries each mechanism. Fails when one is missing and weak isolation is not allowed. */
export const prepareIsolation = (config: HostConfig): Effect.Effect<Isolation, IsolationMissing, Scope.Scope> =>
  Effect.gen(function* () {
    // Not removed when it holds something: then a run of this host is still being ended.
    yield* Effect.addFinalizer(() => Effect.promise(() => rmdir(config.workDir).catch(() => {})))
    if (!(yield* openWorkDir(config.workDir))) {
      return yield* new IsolationMissing({ missing: ["HOST_WORK_DIR is open to other users of this machine"] })
    }
    const namespaces = yield* namespacesWork
    const seccomp = namespaces ? seccompFilter(process.arch) : undefined
    const groups = yield* findControlGroups
    const memory = yield* inMemory(config.workDir)
    const parts: ReadonlyArray<readonly [holds: boolean, held: string, missing: string]> = [
      [
        namespaces,
        "bubblewrap namespaces: no network, own processes, only the workspace is writable",
        "no bubblewrap namespaces: the run is a plain process of the host's user and can reach its files and network"
      ],
      [seccomp !== undefined, "seccomp: dangerous system calls are refused", "no seccomp filter"],
      [
        groups !== undefined,
        `control groups: at most ${config.runMemoryBytes} bytes of memory and ${config.runProcesses} processes`,
        "no control groups: memory and number of processes are not limited"
      ],
      [
        memory,
        "workspace on a memory file system",
        "workspace not on a memory file system: files of a run touch the disk while it runs"
      ]
    ]
    const missing = parts.filter(([holds]) => !holds).map(([, , sentence]) => sentence)
    if (missing.length > 0 && !config.allowWeakIsolation) return yield* new IsolationMissing({ missing })
    return {
      namespaces,
      seccomp,
      groups,
      full: missing.length === 0,
      sentences: [
        ...parts.filter(([holds]) => holds).map(([, sentence]) => sentence),
        "resource limits: size of a file, open files, no core dumps",
        ...missing
      ],
      missing
    }
  })
