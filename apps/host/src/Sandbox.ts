/**
 * One runner process in its sandbox.
 *
 * The runner reads its request on stdin, narrates on descriptor 3, writes the
 * output tar on descriptor 4 and its envelope on stdout. Its stderr may hold
 * text of the run and is thrown away.
 */
import { NodeStream } from "@effect/platform-node"
import type { HostedRequest } from "@quickagents/runner"
import { Effect, type Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { bubblewrap, namespaceArguments } from "./Bubblewrap.ts"
import type { HostConfig } from "./HostConfig.ts"
import type { Isolation } from "./Isolation.ts"

const maxFileBytes = 1024 * 1024 * 1024
const maxOpenFiles = 1024
/** After the process ended its pipes end at once, unless something outside a sandbox holds them open. */
const drainMs = 2_000

/** Where the parts of a run lie, as the runner sees them. */
export interface RunPlaces {
  readonly workspace: string
  readonly archive: string
  readonly modelSocket: string
  readonly egressSocket: string
}

/** Of a directory of one run on the host. */
export const placesIn = (directory: string): RunPlaces => ({
  workspace: join(directory, "workspace"),
  archive: join(directory, "package.tar.gz"),
  modelSocket: join(directory, "model.sock"),
  egressSocket: join(directory, "egress.sock")
})

const inSandbox: RunPlaces = {
  workspace: "/workspace",
  archive: "/run/quickagents/package.tar.gz",
  modelSocket: "/run/quickagents/model.sock",
  egressSocket: "/run/quickagents/egress.sock"
}

export interface RunnerProcess {
  readonly narration: Stream.Stream<Uint8Array>
  readonly output: Stream.Stream<Uint8Array>
  readonly envelope: Stream.Stream<Uint8Array>
  /** Ends when the process and everything that it started is gone. */
  readonly ended: Effect.Effect<void>
  /** Asks the runner to end (SIGTERM). */
  readonly terminate: Effect.Effect<void>
  readonly kill: Effect.Effect<void>
}

const environment = (workspace: string, temporary: string) => ({
  PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: temporary,
  TMPDIR: temporary,
  PWD: workspace,
  LANG: "C.UTF-8"
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

const infoFd = 5
const blockFd = 6
const seccompFd = 7

const sandboxed = (config: HostConfig, isolation: Isolation, directory: string): ReadonlyArray<string> => {
  const places = placesIn(directory)
  return [
    ...namespaceArguments(),
    ...[process.execPath, ...config.runnerPaths].flatMap((path) => ["--ro-bind", path, path]),
    "--bind",
    places.workspace,
    inSandbox.workspace,
    "--ro-bind",
    places.archive,
    inSandbox.archive,
    // Absent for a model that runs inside the sandbox.
    "--bind-try",
    places.modelSocket,
    inSandbox.modelSocket,
    "--bind",
    places.egressSocket,
    inSandbox.egressSocket,
    "--chdir",
    inSandbox.workspace,
    ...Object.entries(environment(inSandbox.workspace, "/tmp")).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(isolation.seccomp === undefined ? [] : ["--seccomp", String(seccompFd)]),
    "--info-fd",
    String(infoFd),
    "--block-fd",
    String(blockFd),
    "--",
    ...limited(config.runnerCommand)
  ]
}

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

/** The paths of a run as its runner sees them. */
export const seenPlaces = (isolation: Isolation, directory: string): RunPlaces =>
  isolation.namespaces ? inSandbox : placesIn(directory)

/**
 * Starts the runner for the run in `directory` and hands it `request`. Closing
 * the scope kills it. A sandbox that cannot be started is a defect.
 */
export const startRunner = (
  config: HostConfig,
  isolation: Isolation,
  directory: string,
  request: HostedRequest
): Effect.Effect<RunnerProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { workspace } = placesIn(directory)
    const group =
      isolation.groups === undefined
        ? undefined
        : yield* isolation.groups.make({ memoryBytes: config.runMemoryBytes, processes: config.runProcesses })
    const [program, ...parameters] = isolation.namespaces
      ? [bubblewrap, ...sandboxed(config, isolation, directory)]
      : plain(config.runnerCommand)
    // Its own process group: a Ctrl-C in the host's terminal drains the host and must not end its runs.
    const child = spawn(program, parameters, {
      detached: true,
      cwd: workspace,
      env: environment(workspace, workspace),
      stdio: [
        "pipe",
        "pipe",
        "ignore",
        "pipe",
        "pipe",
        ...(isolation.namespaces ? (["pipe", "pipe", "pipe"] as const) : [])
      ]
    })
    let gone = false
    let leader = child.pid
    const kill = Effect.sync(() => {
      if (gone || child.pid === undefined || leader === undefined) return
      signal(child.pid, "SIGKILL")
      signal(-leader, "SIGKILL")
    })
    const ended = yield* Effect.cached(
      Effect.promise(async () => {
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
        // Without namespaces something that the runner started may still run, and hold the pipes open.
        if (!isolation.namespaces && leader !== undefined) signal(-leader, "SIGKILL")
        gone = true
        const pipes = child.stdio.filter((pipe) => pipe !== null && pipe !== undefined)
        const timer = setTimeout(() => pipes.forEach((pipe) => pipe.destroy()), drainMs)
        child.once("close", () => clearTimeout(timer))
      })
    )
    yield* Effect.promise(() => once(child, "spawn"))
    yield* Effect.addFinalizer(() => Effect.andThen(kill, ended))

    const pipe = (fd: number) => child.stdio[fd] as Readable & Writable
    if (isolation.namespaces) {
      send(pipe(seccompFd), isolation.seccomp ?? Buffer.alloc(0))
      leader = yield* Effect.promise(() => firstProcess(pipe(infoFd)))
    }
    // In the sandbox nothing runs before the block is lifted, so nothing escapes its limits.
    if (group !== undefined) yield* group.add(leader!)
    if (isolation.namespaces) send(pipe(blockFd), "go")
    send(pipe(0), JSON.stringify(request))

    return {
      narration: bytes(pipe(3)),
      output: bytes(pipe(4)),
      envelope: bytes(pipe(1)),
      ended,
      terminate: Effect.sync(() => {
        if (!gone && leader !== undefined) signal(-leader, "SIGTERM")
      }),
      kill
    }
  })
