/**
 * What a sandbox host is started with: `HOST_*` environment variables, and one
 * flag. Everything is checked before anything is opened, so that a wrong value
 * is one clear line and not a half-started host.
 */
import { Config, ConfigProvider, Effect, Redacted, Schema } from "effect"
import { createHash } from "node:crypto"
import { readFile, realpath } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { dirname, isAbsolute, join, resolve, sep } from "node:path"
import { fileURLToPath } from "node:url"

/** The value at fault is named; its content is not repeated, since it may be a token. */
export class HostConfigInvalid extends Schema.TaggedError<HostConfigInvalid>()("HostConfigInvalid", {
  message: Schema.String
}) {}

export interface HostConfig {
  /** Holds the identity, the journals and sealed bytes. Nothing of a run in the clear. */
  readonly dataDir: string
  /** Workspaces of runs; on a memory file system. */
  readonly workDir: string
  /** Needed for the enrolment only. */
  readonly registryUrl: string | undefined
  readonly enrolmentToken: Redacted.Redacted | undefined
  readonly listenAddress: string
  readonly listenPort: number
  /** `host:port` at which the registry reaches this host. */
  readonly advertisedAddress: string
  /** Slots: runs at the same time. */
  readonly capacity: number
  /** Runners that wait, loaded, for their run; at most as many as slots are free. */
  readonly warmRunners: number
  readonly allowWeakIsolation: boolean
  /** Program and arguments that start the runner. */
  readonly runnerCommand: ReadonlyArray<string>
  /** Paths that the runner needs; the sandbox sees them read-only, and of the host's files only these and the system's programs. */
  readonly runnerPaths: ReadonlyArray<string>
  readonly drainSeconds: number
  readonly runMemoryBytes: number
  readonly runProcesses: number
  readonly objectCacheBytes: number
}

const projectRoot = resolve(dirname(fileURLToPath(import.meta.url)), "../../..")
const defaultRunner = {
  command: [process.execPath, join(projectRoot, "apps/cli/src/main.ts"), "run", "--hosted"],
  // Not the project root: a development data directory lies inside it.
  paths: ["node_modules", "packages", "schema", "apps/cli", "package.json"].map((path) => join(projectRoot, path))
}

const mebibyte = 1024 * 1024
const positive = (name: string) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThan(0)), name)

const notNegative = (name: string) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0)), name)

const HostPort = Schema.String.check(Schema.isPattern(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):\d{1,5}$/u))

const variables = Config.all({
  dataDir: Config.NonEmptyString("HOST_DATA_DIR"),
  workDir: Config.option(Config.NonEmptyString("HOST_WORK_DIR")),
  registryUrl: Config.option(Config.URL("HOST_REGISTRY_URL")),
  token: Config.option(Config.Redacted("HOST_ENROLMENT_TOKEN")),
  tokenFile: Config.option(Config.NonEmptyString("HOST_ENROLMENT_TOKEN_FILE")),
  listenAddress: Config.NonEmptyString("HOST_LISTEN_ADDRESS").pipe(Config.withDefault("127.0.0.1")),
  listenPort: Config.Port("HOST_LISTEN_PORT").pipe(Config.withDefault(7443)),
  advertised: Config.option(Config.schema(HostPort, "HOST_ADVERTISED_ADDRESS")),
  capacity: positive("HOST_CAPACITY").pipe(Config.withDefault(Math.max(2, availableParallelism()))),
  warmRunners: notNegative("HOST_WARM_RUNNERS").pipe(Config.withDefault(1)),
  weak: Config.Boolean("HOST_ALLOW_WEAK_ISOLATION").pipe(Config.withDefault(false)),
  runnerCommand: Config.option(Config.NonEmptyString("HOST_RUNNER_COMMAND")),
  runnerPaths: Config.option(Config.NonEmptyString("HOST_RUNNER_PATHS")),
  drainSeconds: positive("HOST_DRAIN_SECONDS").pipe(Config.withDefault(30)),
  runMemoryMebibytes: positive("HOST_RUN_MEMORY_MIB").pipe(Config.withDefault(2048)),
  runProcesses: positive("HOST_RUN_PROCESSES").pipe(Config.withDefault(256)),
  objectCacheMebibytes: positive("HOST_OBJECT_CACHE_MIB").pipe(Config.withDefault(2048))
})

const known = [
  ["HOST_DATA_DIR", "directory for identity, journals and sealed bytes (required)"],
  ["HOST_REGISTRY_URL", "address of the registry, for the enrolment"],
  ["HOST_ENROLMENT_TOKEN", "one-use enrolment token, or a path in HOST_ENROLMENT_TOKEN_FILE"],
  ["HOST_ENROLMENT_TOKEN_FILE", "file that holds the one-use enrolment token"],
  ["HOST_LISTEN_ADDRESS", "address to listen on (127.0.0.1)"],
  ["HOST_LISTEN_PORT", "port to listen on (7443)"],
  ["HOST_ADVERTISED_ADDRESS", "host:port at which the registry reaches this host (the listen address)"],
  ["HOST_CAPACITY", "slots, runs at the same time (processors, at least 2)"],
  ["HOST_WARM_RUNNERS", "runners that wait, loaded, for their run; some 100 MiB each (1, 0 for none)"],
  ["HOST_ALLOW_WEAK_ISOLATION", "true: start although a part of the sandbox is missing; as --allow-weak-isolation"],
  ["HOST_WORK_DIR", "workspaces of runs, on a memory file system (below /dev/shm)"],
  ["HOST_RUNNER_COMMAND", "program and arguments of the runner, separated by spaces (this project's CLI)"],
  ["HOST_RUNNER_PATHS", "absolute paths, separated by colons, that HOST_RUNNER_COMMAND needs in the sandbox"],
  ["HOST_DRAIN_SECONDS", "seconds that held runs get to finish after SIGTERM (30)"],
  ["HOST_RUN_MEMORY_MIB", "memory of one run (2048)"],
  ["HOST_RUN_PROCESSES", "processes and threads of one run (256)"],
  ["HOST_OBJECT_CACHE_MIB", "disk for release archives and sealed inputs (2048)"]
] as const

export const usage = `Usage: node apps/host/src/main.ts [--allow-weak-isolation]

The sandbox host: enrols at a registry once, then runs agents for it.

${known.map(([name, meaning]) => `  ${name.padEnd(28)}${meaning}`).join("\n")}
`

const readToken = Effect.fnUntraced(function* (file: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => new HostConfigInvalid({ message: "HOST_ENROLMENT_TOKEN_FILE: the file cannot be read" })
  })
  return Redacted.make(text.trim())
})

/** Below a directory, or the directory itself. */
const isWithin = (path: string, directory: string) => path === directory || path.startsWith(directory + sep)

/** `0.0.0.0` and `::` are no address to reach a host at. */
const reachable = (address: string, port: number) =>
  address === "0.0.0.0" || address === "::" ? undefined : `${address.includes(":") ? `[${address}]` : address}:${port}`

/** `SchemaError(Expected a port at ["HOST_LISTEN_PORT"])` as `HOST_LISTEN_PORT: Expected a port`. */
const plainly = (message: string) =>
  message.replace(
    /^SchemaError\(([^]*?)\s*at \["(\w+)"\][^]*$/u,
    (_, expected: string, name: string) => `${name}: ${expected}`
  )

/** Reads `arguments` and environment. A `HOST_` variable that is not known is refused: it is a typing mistake more often than not. */
export const readHostConfig = (
  parameters: ReadonlyArray<string>,
  environment: Readonly<Record<string, string | undefined>>
): Effect.Effect<HostConfig, HostConfigInvalid> =>
  Effect.gen(function* () {
    const invalid = (message: string) => new HostConfigInvalid({ message })
    const unknownParameter = parameters.find((parameter) => parameter !== "--allow-weak-isolation")
    if (unknownParameter !== undefined) return yield* invalid(`${unknownParameter}: unknown argument, see --help`)
    const names = new Set<string>(known.map(([name]) => name))
    const unknown = Object.keys(environment).find((name) => name.startsWith("HOST_") && !names.has(name))
    if (unknown !== undefined) return yield* invalid(`${unknown}: unknown variable, see --help`)

    const env = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >
    if (env["HOST_DATA_DIR"] === undefined) return yield* invalid("HOST_DATA_DIR: needed, see --help")
    const read = yield* variables
      .parse(ConfigProvider.fromEnv({ env }))
      .pipe(Effect.mapError(({ message }) => invalid(plainly(message))))
    if (read.token._tag === "Some" && read.tokenFile._tag === "Some") {
      return yield* invalid("HOST_ENROLMENT_TOKEN and HOST_ENROLMENT_TOKEN_FILE exclude each other")
    }
    const dataDir = resolve(read.dataDir)
    const workDir =
      read.workDir._tag === "Some"
        ? resolve(read.workDir.value)
        : join("/dev/shm", `quickagents-${createHash("sha256").update(dataDir).digest("hex").slice(0, 12)}`)
    if (isWithin(workDir, dataDir)) return yield* invalid("HOST_WORK_DIR: must not lie in HOST_DATA_DIR")
    const runner =
      read.runnerCommand._tag === "None"
        ? defaultRunner
        : { command: read.runnerCommand.value.trim().split(/\s+/u), paths: new Array<string>() }
    const runnerPaths = [
      ...runner.paths,
      ...(read.runnerPaths._tag === "Some" ? read.runnerPaths.value.split(":") : [])
    ]
    const relative = runnerPaths.find((path) => !isAbsolute(path))
    if (relative !== undefined) return yield* invalid(`HOST_RUNNER_PATHS: ${relative} is not an absolute path`)
    for (const path of runnerPaths) {
      const real = yield* Effect.tryPromise({
        try: () => realpath(path),
        catch: () => invalid(`HOST_RUNNER_PATHS: ${path} does not exist`)
      })
      if (isWithin(dataDir, real) || isWithin(workDir, real)) {
        return yield* invalid(`HOST_DATA_DIR and HOST_WORK_DIR must not lie in ${path}, which the sandbox can read`)
      }
    }
    const advertisedAddress =
      read.advertised._tag === "Some" ? read.advertised.value : reachable(read.listenAddress, read.listenPort)
    if (advertisedAddress === undefined) {
      return yield* invalid("HOST_ADVERTISED_ADDRESS: needed, since HOST_LISTEN_ADDRESS is every address")
    }
    return {
      dataDir,
      workDir,
      registryUrl: read.registryUrl._tag === "Some" ? read.registryUrl.value.href.replace(/\/+$/u, "") : undefined,
      enrolmentToken:
        read.token._tag === "Some"
          ? read.token.value
          : read.tokenFile._tag === "Some"
            ? yield* readToken(read.tokenFile.value)
            : undefined,
      listenAddress: read.listenAddress,
      listenPort: read.listenPort,
      advertisedAddress,
      capacity: read.capacity,
      warmRunners: read.warmRunners,
      allowWeakIsolation: read.weak || parameters.includes("--allow-weak-isolation"),
      runnerCommand: runner.command,
      runnerPaths,
      drainSeconds: read.drainSeconds,
      runMemoryBytes: read.runMemoryMebibytes * mebibyte,
      runProcesses: read.runProcesses,
      objectCacheBytes: read.objectCacheMebibytes * mebibyte
    }
  })
