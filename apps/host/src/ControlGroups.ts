/**
 * Memory, process and processor limits of one run, by the kernel's control
 * groups: version 2 where it is the machine's, else version 1.
 */
import { Effect, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"

export interface GroupLimits {
  readonly memoryBytes: number
  readonly processes: number
}

/** A group that bounds what is put into it, with everything that it starts. Closing its scope kills what is left in it. */
export interface ControlGroup {
  readonly add: (pid: number) => Effect.Effect<void>
}

export interface ControlGroups {
  readonly version: 1 | 2
  readonly make: (limits: GroupLimits) => Effect.Effect<ControlGroup, never, Scope.Scope>
}

const root = "/sys/fs/cgroup"

/** The host's own place in a hierarchy, from `/proc/self/cgroup`: version 2 has the line with no controller. */
const ownPath = (controller: string): string => {
  const lines = readFileSync("/proc/self/cgroup", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
  return lines.find(([, controllers]) => controllers?.split(",").includes(controller))?.[2] ?? "/"
}

interface Hierarchy {
  readonly parent: string
  readonly settings: (limits: GroupLimits) => ReadonlyArray<readonly [file: string, value: number, required: boolean]>
}

const version1 = (): ReadonlyArray<Hierarchy> => [
  {
    parent: join(root, "memory", ownPath("memory")),
    settings: ({ memoryBytes }) => [
      ["memory.limit_in_bytes", memoryBytes, true],
      // Absent where the kernel does not account swap.
      ["memory.memsw.limit_in_bytes", memoryBytes, false]
    ]
  },
  { parent: join(root, "pids", ownPath("pids")), settings: ({ processes }) => [["pids.max", processes, true]] },
  // No setting: groups side by side get the same share.
  { parent: join(root, "cpu", ownPath("cpu")), settings: () => [] }
]

const version2 = async (): Promise<ReadonlyArray<Hierarchy>> => {
  const own = join(root, ownPath(""))
  if (own !== root) {
    // A group that hands controllers to children must hold no process itself.
    const leaf = join(own, "host")
    await mkdir(leaf, { recursive: true })
    await writeFile(join(leaf, "cgroup.procs"), String(process.pid))
  }
  await writeFile(join(own, "cgroup.subtree_control"), "+memory +pids +cpu")
  return [
    {
      parent: own,
      settings: ({ memoryBytes, processes }) => [
        ["memory.max", memoryBytes, true],
        ["memory.swap.max", 0, false],
        ["pids.max", processes, true]
      ]
    }
  ]
}

const killAll = async (group: string) => {
  const pids = (await readFile(join(group, "cgroup.procs"), "utf8")).split("\n").filter((line) => line !== "")
  for (const pid of pids) {
    try {
      process.kill(Number(pid), "SIGKILL")
    } catch {
      // It ended between the reading and the signal.
    }
  }
}

/** A killed process leaves its group a moment later. */
const removalAttempts = 50
const removalPauseMs = 20

const removeGroup = async (group: string) => {
  for (let attempt = 1; attempt <= removalAttempts; attempt++) {
    try {
      await killAll(group)
      return await rmdir(group)
    } catch {
      await new Promise((resolve) => setTimeout(resolve, removalPauseMs))
    }
  }
}

const groupName = () => `quickagents-${process.pid}-${randomUUID()}`

/** Groups of hosts that are gone: the kernel ended what was in them, but keeps the empty groups. */
const removeLeftovers = async ({ parent }: Hierarchy) => {
  for (const name of await readdir(parent)) {
    const host = /^quickagents-(\d+)-/u.exec(name)?.[1]
    // One that is not empty is not removed.
    if (host !== undefined && !existsSync(`/proc/${host}`)) await rmdir(join(parent, name)).catch(() => {})
  }
}

const inHierarchies = (version: 1 | 2, hierarchies: ReadonlyArray<Hierarchy>): ControlGroups => ({
  version,
  make: (limits) =>
    Effect.gen(function* () {
      const name = groupName()
      const groups: Array<string> = []
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          for (const { parent, settings } of hierarchies) {
            const group = join(parent, name)
            await mkdir(group)
            groups.push(group)
            for (const [file, value, required] of settings(limits)) {
              if (required || existsSync(join(group, file))) await writeFile(join(group, file), String(value))
            }
          }
        }).pipe(Effect.onError(() => Effect.promise(() => Promise.all(groups.map(removeGroup))))),
        () => Effect.promise(() => Promise.all(groups.map(removeGroup)))
      )
      return {
        add: (pid) =>
          Effect.promise(async () => {
            for (const group of groups) await writeFile(join(group, "cgroup.procs"), String(pid))
          })
      }
    })
})

/** The machine's control groups, when this host may use them; found out by making one. */
export const findControlGroups: Effect.Effect<ControlGroups | undefined> = Effect.gen(function* () {
  const unified = existsSync(join(root, "cgroup.controllers"))
  const hierarchies = yield* unified ? Effect.tryPromise(version2) : Effect.try(version1)
  yield* Effect.promise(() => Promise.all(hierarchies.map(removeLeftovers)))
  const groups = inHierarchies(unified ? 2 : 1, hierarchies)
  yield* Effect.scoped(groups.make({ memoryBytes: 64 * 1024 * 1024, processes: 16 }))
  return groups
}).pipe(Effect.catchCause(() => Effect.undefined))
