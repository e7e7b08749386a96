/**
 * One runner process in its sandbox, with a directory of its own.
 *
 * A sandbox is prepared first, with nothing of a run in it, and given its run
 * later: the runner waits on stdin for its request, and what the host puts into
 * the directory in the meantime appears through the mounts. It serves one run.
 *
 * The runner narrates on descriptor 3, writes the output tar on descriptor 4 and
 * its envelope on stdout. Its stderr may hold text of the run and is thrown away.
 */
import { NodeStream } from "@effect/platform-node"
import type { HostedRequest } from "@quickagents/runner"
import { Effect, type Scope, Stream } from "effect"
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Readable, type Writable } from "node:stream"
import { bubblewrap, namespaceArguments } from "./Bubblewrap.ts"
import { compileCache } from "./CompileCache.ts"
import type { HostConfig } from "./HostConfig.ts"
import { type Isolation, sandboxPrefix } from "./Isolation.ts"

const maxFileBytes = 1024 * 1024 * 1024
const maxOpenFiles = 1024
/** After the process ended a pipe with nothing to read ends at once, unless something outside a sandbox holds it open. */
const drainMs = 2_000
/** Something outside a sandbox may also write on and on; a slow reader has long taken what the process itself wrote. */
const floodMs = 60_000

/** Where the parts of a run lie. */
export interface RunPlaces {
  readonly workspace: string
  readonly archive: string
  readonly modelSocket: string
  readonly egressSocket: string
}

const placesIn = (workspace: string, given: string): RunPlaces => ({
  workspace,
  archive: join(given, "package.tar.gz"),
  modelSocket: join(given, "model.sock"),
  egressSocket: join(given, "egress.sock")
})

const workspaceInside = "/workspace"
const givenInside = "/run/quickagents"
const modulesInside = "/run/modules"

export interface Sandbox {
  /** On the host. Nobody has put anything there yet. */
  readonly places: RunPlaces
  /** The same places as the runner sees them. */
  readonly seen: RunPlaces
  /** Completes at the runner's first word, which is that it has loaded and waits; or when it ended. */
  readonly loaded: Effect.Effect<void>
  /** Hands over the run. Once. */
  readonly give: (request: HostedRequest) => Effect.Effect<void>
  readonly narration: Stream.Stream<Uint8Array>
  readonly output: Stream.Stream<Uint8Array>
  readonly envelope: Stream.Stream<Uint8Array>
  /** The process is gone. */
  readonly gone: () => boolean
  /** Completes when the process and everything that it started is gone. */
  readonly ended: Effect.Effect<void>
  /** Asks the runner to end (SIGTERM). */
  readonly terminate: Effect.Effect<void>
  readonly kill: Effect.Effect<void>
}

const environment = (workspace: string, temporary: string, modules: string) => ({
  PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: temporary,
  TMPDIR: temporary,
  PWD: workspace,
  LANG: "C.UTF-8",
  NODE_COMPILE_CACHE: modules
})

// POSIX counts file sizes in blocks of 512 bytes.
const limited = (command: ReadonlyArray<string>) => [
  "/bin/sh",
  "-c",
  `ulimit -c 0 && ulimit -f ${maxFileBytes / 512} && ulimit -n ${maxOpenFiles} && exec "$@"`,
  "sh",
  ...command
]

const setpriv = "/usr/bin/setpriv"

/** Without bubblewrap the runner ends with its host where the kernel can be asked for it. */
const plain = (command: ReadonlyArray<string>) => [
  ...(existsSync(setpriv) ? [setpriv, "--pdeathsig", "KILL", "--"] : []),
  ...limited(command)
]

const narrationFd = 3
const outputFd = 4
const infoFd = 5
const blockFd = 6
const seccompFd = 7

const sandboxed = (
  config: HostConfig,
  isolation: Isolation,
  workspace: string,
  given: string
): ReadonlyArray<string> => [
  ...namespaceArguments(),
  ...[process.execPath, ...config.runnerPaths].flatMap((path) => ["--ro-bind", path, path]),
  "--ro-bind",
  compileCache(config),
  modulesInside,
  "--bind",
  workspace,
  workspaceInside,
  // A socket on a read-only mount can be connected to.
  "--ro-bind",
  given,
  givenInside,
  "--chdir",
  workspaceInside,
  ...Object.entries(environment(workspaceInside, "/tmp", modulesInside)).flatMap(([name, value]) => [
    "--setenv",
    name,
    value
  ]),
  ...(isolation.seccomp === undefined ? [] : ["--seccomp", String(seccompFd)]),
  "--info-fd",
  String(infoFd),
  "--block-fd",
  String(blockFd),
  "--",
  ...limited(config.runnerCommand)
]

const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name)
  } catch {
    // It ended before the signal.
  }
}

/** What a pipe delivers; when its other end breaks, what came until then. */
const bytes = (source: Readable): Stream.Stream<Uint8Array> =>
  NodeStream.fromReadable({ evaluate: () => source }).pipe(Stream.catchCause(() => Stream.empty))

const send = (target: Writable, content: string | Buffer) => {
  // A process that ended without reading is seen by its end.
  target.on("error", () => target.destroy())
  target.end(content)
}

/** The first process in the sandbox, as bubblewrap tells it; it leads the process group of the runner. */
const firstProcess = async (info: Readable): Promise<number> => {
  let text = ""
  for await (const chunk of info) text += String(chunk)
  const parsed = JSON.parse(text) as { readonly "child-pid": number }
  return parsed["child-pid"]
}

const sandboxDirectory = (config: HostConfig): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      // Short: the path of a unix socket has at most 108 bytes.
      const directory = join(config.workDir, sandboxPrefix + randomBytes(8).toString("hex"))
      await mkdir(directory, { mode: 0o700 })
      return directory
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )

interface RunnerProcess {
  readonly child: ChildProcess
  /** Of the process group that signals go to. */
  leader: number | undefined
  gone: boolean
  readonly ended: Effect.Effect<void>
  readonly kill: Effect.Effect<void>
  /** After it ended: nobody will read what its pipes still hold. */
  readonly forget: Effect.Effect<void>
}

const startRunner = (
  [program, ...parameters]: ReadonlyArray<string>,
  isolation: Isolation,
  options: Pick<SpawnOptions, "cwd" | "env">
): RunnerProcess => {
  const child = spawn(program, parameters, {
    ...options,
    // Its own process group: a Ctrl-C in the host's terminal drains the host and must not end its runs.
    detached: true,
    stdio: [
      "pipe",
      "pipe",
      "ignore",
      "pipe",
      "pipe",
      ...(isolation.namespaces ? (["pipe", "pipe", "pipe"] as const) : [])
    ]
  })
  // Rejects for a program that cannot be started, which has ended too.
  const exited = once(child, "exit").catch(() => {})
  // Whatever the types say, there is none when the host had no descriptors left for them.
  const pipes = (child.stdio ?? []).filter((pipe) => pipe !== null && pipe !== undefined)
  // Node throws away what a pipe holds that nobody listens to when its process ends.
  for (const pipe of pipes) if (pipe instanceof Readable) pipe.on("readable", () => {})
  // What was read and not yet taken waits for its reader.
  const drained = (pipe: Readable | Writable) => !(pipe instanceof Readable) || pipe.readableLength === 0
  let timer: NodeJS.Timeout | undefined
  const end = async () => {
    await exited
    // Without namespaces something that the runner started may still run, and hold the pipes open.
    if (!isolation.namespaces && runner.leader !== undefined) signal(-runner.leader, "SIGKILL")
    runner.gone = true
    const endedAt = performance.now()
    timer = setInterval(() => {
      const isFlood = !isolation.namespaces && performance.now() - endedAt > floodMs
      for (const pipe of pipes) if (isFlood || drained(pipe)) pipe.destroy()
    }, drainMs)
  }
  const ended = end()
  const runner: RunnerProcess = {
    child,
    leader: child.pid,
    gone: false,
    ended: Effect.promise(() => ended),
    kill: Effect.sync(() => {
      if (runner.gone || child.pid === undefined || runner.leader === undefined) return
      signal(child.pid, "SIGKILL")
      signal(-runner.leader, "SIGKILL")
    }),
    forget: Effect.sync(() => {
      clearInterval(timer)
      pipes.forEach((pipe) => pipe.destroy())
    })
  }
  return runner
}

/**
 * Makes a sandbox and starts its runner. Closing the scope ends it and removes
 * its directory. One that cannot be made is a defect.
 */
export const prepareSandbox = (config: HostConfig, isolation: Isolation): Effect.Effect<Sandbox, never, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* sandboxDirectory(config)
    const workspace = join(directory, "workspace")
    const given = join(directory, "given")
    yield* Effect.promise(() => Promise.all([mkdir(workspace), mkdir(given)]))
    const group =
      isolation.groups === undefined
        ? undefined
        : yield* isolation.groups.make({ memoryBytes: config.runMemoryBytes, processes: config.runProcesses })
    const command = isolation.namespaces
      ? [bubblewrap, ...sandboxed(config, isolation, workspace, given)]
      : plain(config.runnerCommand)
    const options = { cwd: workspace, env: environment(workspace, workspace, compileCache(config)) }
    const runner = yield* Effect.acquireRelease(
      Effect.sync(() => startRunner(command, isolation, options)),
      ({ ended, forget, kill }) => kill.pipe(Effect.andThen(ended), Effect.andThen(forget))
    )
    const { child, ended, kill } = runner
    yield* Effect.promise(() => once(child, "spawn"))

    const pipe = (fd: number) => child.stdio[fd] as Readable & Writable
    if (isolation.namespaces) {
      send(pipe(seccompFd), isolation.seccomp ?? Buffer.alloc(0))
      runner.leader = yield* Effect.promise(() => firstProcess(pipe(infoFd)))
    }
    // In the sandbox nothing runs before the block is lifted, so nothing escapes its limits.
    if (group !== undefined) yield* group.add(runner.leader!)
    if (isolation.namespaces) send(pipe(blockFd), "go")

    return {
      places: placesIn(workspace, given),
      seen: isolation.namespaces ? placesIn(workspaceInside, givenInside) : placesIn(workspace, given),
      // The word itself stays in the pipe.
      loaded: Effect.raceFirst(
        Effect.callback<void>((resume) => void pipe(narrationFd).once("readable", () => resume(Effect.void))),
        ended
      ),
      give: (request) => Effect.sync(() => send(pipe(0), JSON.stringify(request))),
      narration: bytes(pipe(narrationFd)),
      output: bytes(pipe(outputFd)),
      envelope: bytes(pipe(1)),
      gone: () => runner.gone,
      ended,
      terminate: Effect.sync(() => {
        if (!runner.gone && runner.leader !== undefined) signal(-runner.leader, "SIGTERM")
      }),
      kill
    }
  })
