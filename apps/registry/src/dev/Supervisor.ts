/**
 * Runs one process for as long as a scope is open: waits until it is ready,
 * starts it again with a growing pause when it dies, and stops it when the scope
 * closes. Scopes close in reverse, so processes stop in the reverse of the order
 * in which they were started.
 */
import { Data, Deferred, Duration, Effect, Fiber, Schedule } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { LogFile } from "./LogFile.ts"
import { openLogFile } from "./LogFile.ts"

export interface Program {
  readonly name: string
  /** Absolute path of the program, run by this Node. */
  readonly program: string
  readonly parameters?: ReadonlyArray<string>
  /** All that the process sees of the environment beside `inheritedNames`. */
  readonly environment: Readonly<Record<string, string>>
  /** After SIGTERM; then SIGKILL for the process and all it started. */
  readonly stopWithin: Duration.Input
}

export interface Service extends Program {
  /** `message`: the process says so over its channel. An effect is asked until it answers true. */
  readonly ready: "message" | Effect.Effect<boolean>
  readonly readyWithin: Duration.Input
}

/** The process did not start, or died so often that starting it again is no use. `message` is for the screen. */
export class ServiceFailed extends Data.TaggedError("ServiceFailed")<{
  readonly service: string
  readonly reason: string
  readonly log: string
  readonly lastLines: ReadonlyArray<string>
}> {
  override get message() {
    return [
      `${this.service} ${this.reason}`,
      ...this.lastLines.map((line) => `  | ${line}`),
      `  whole log: ${this.log}`
    ].join("\n")
  }
}

export interface Supervised {
  /** Fails when the service is given up; never succeeds. */
  readonly lost: Effect.Effect<never, ServiceFailed>
}

const inheritedNames = [
  "PATH",
  "HOME",
  "USER",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "NODE_OPTIONS",
  "NODE_COMPILE_CACHE",
  "NODE_EXTRA_CA_CERTS"
]
const preload = fileURLToPath(new URL("./EndWithParent.ts", import.meta.url))
const probes = Schedule.spaced("150 millis")
/** Deaths in a row, each sooner than `settled` after the start. */
const maxDeaths = 6
const settledMs = 60_000
const tailLines = 12

/** The pause before a restart, by deaths in a row. */
export const pauseMs = (deaths: number) => Math.min(30_000, 500 * 2 ** (deaths - 1))

/** A line of a process that a person at the screen should see: an error of our own programs' JSON logs. */
export const errorOf = (line: string): string | undefined => {
  if (!line.startsWith("{")) return undefined
  try {
    const entry = JSON.parse(line) as { readonly level?: unknown; readonly message?: unknown }
    if (entry.level !== "ERROR" && entry.level !== "FATAL") return undefined
    const message = typeof entry.message === "string" ? entry.message : JSON.stringify(entry.message)
    return message.slice(0, 200)
  } catch {
    return undefined
  }
}

interface Running {
  readonly child: ChildProcess
  readonly exited: Effect.Effect<string>
  /** The process sent its first message. */
  readonly message: Effect.Effect<void>
  readonly tail: ReadonlyArray<string>
}

const endedWell = "ended with code 0"

const launch = (
  service: Program,
  { environment: shared }: SupervisorOptions,
  log: LogFile,
  onError: (message: string) => void
) =>
  Effect.gen(function* () {
    const environment: Record<string, string> = { ...shared }
    for (const name of inheritedNames) {
      const value = process.env[name]
      if (value !== undefined) environment[name] = value
    }
    const exit = yield* Deferred.make<string>()
    const message = yield* Deferred.make<void>()
    const tail: Array<string> = []
    const child = spawn(process.execPath, ["--import", preload, service.program, ...(service.parameters ?? [])], {
      env: { ...environment, ...service.environment },
      // Its own process group: Ctrl-C is for the supervisor, which then stops everything in order.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
    log.write(`--- ${service.name} starts, process ${child.pid ?? "none"}, ${new Date().toISOString()}`)
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream! }).on("line", (line) => {
        log.write(line)
        tail.push(line.slice(0, 300))
        if (tail.length > tailLines) tail.shift()
        const error = errorOf(line)
        if (error !== undefined) onError(error)
      })
    }
    child.on("message", () => Deferred.doneUnsafe(message, Effect.void))
    child.once("error", (error) => Deferred.doneUnsafe(exit, Effect.succeed(`cannot be started: ${error.message}`)))
    child.once("close", (code, signal) =>
      Deferred.doneUnsafe(exit, Effect.succeed(signal === null ? `ended with code ${code}` : `was ended by ${signal}`))
    )
    return {
      child,
      tail,
      exited: Deferred.await(exit),
      message: Deferred.await(message)
    } satisfies Running
  })

const stop = (service: Program, { child, exited }: Running) =>
  Effect.gen(function* () {
    child.kill("SIGTERM")
    yield* exited.pipe(
      Effect.timeoutOrElse({
        duration: service.stopWithin,
        orElse: () =>
          Effect.suspend(() => {
            try {
              process.kill(-child.pid!, "SIGKILL")
            } catch {
              // It ended at this moment.
            }
            return exited
          })
      })
    )
  })

export interface SupervisorOptions {
  readonly logDirectory: string
  /** What every process sees beside its own environment. */
  readonly environment?: Readonly<Record<string, string>>
  /** Shows a line to the person at the screen. */
  readonly say: (line: string) => void
}

const logOf = (service: Program, { logDirectory }: SupervisorOptions) =>
  Effect.acquireRelease(
    Effect.sync(() => openLogFile(join(logDirectory, `${service.name}.log`))),
    (log) => Effect.sync(() => log.close())
  )

/** Runs a program that ends by itself, at most for `stopWithin`. Any end but code 0 is a failure. */
export const runToEnd = (program: Program, options: SupervisorOptions): Effect.Effect<void, ServiceFailed> =>
  Effect.gen(function* () {
    const log = yield* logOf(program, options)
    const running = yield* Effect.acquireRelease(
      launch(program, options, log, () => {}),
      (running) => stop(program, running)
    )
    const reason = yield* Effect.timeoutOrElse(running.exited, {
      duration: program.stopWithin,
      orElse: () => Effect.succeed("did not end in time")
    })
    if (reason !== endedWell) {
      return yield* new ServiceFailed({ service: program.name, reason, log: log.path, lastLines: running.tail })
    }
  }).pipe(Effect.scoped)

export const supervise = Effect.fn("Supervisor.supervise")(function* (
  service: Service,
  options: SupervisorOptions
): Effect.fn.Return<Supervised, ServiceFailed, Scope.Scope> {
  const log = yield* logOf(service, options)
  const up = yield* Deferred.make<void>()
  let said = ""
  const onError = (message: string) => {
    // One fault often writes the same line again and again.
    if (message !== said) options.say(`${service.name}: ${message}`)
    said = message
  }
  const failed = (reason: string, { tail }: Running) =>
    new ServiceFailed({ service: service.name, reason, log: log.path, lastLines: tail })

  /** From start to death; the death of a process that was never ready is a failure of its start. */
  const life = Effect.gen(function* () {
    const running = yield* Effect.acquireRelease(launch(service, options, log, onError), (running) =>
      stop(service, running)
    )
    const readiness = yield* Effect.raceFirst(
      Effect.as(
        service.ready === "message"
          ? running.message
          : Effect.repeat(service.ready, { until: (ready) => ready, schedule: probes }),
        "ready" as const
      ),
      running.exited
    ).pipe(
      Effect.timeoutOrElse({ duration: service.readyWithin, orElse: () => Effect.succeed("is not ready in time") })
    )
    const first = !(yield* Deferred.isDone(up))
    if (readiness !== "ready") {
      if (first) return yield* failed(readiness, running)
      return { reason: readiness, running }
    }
    yield* Deferred.succeed(up, undefined)
    if (!first) options.say(`${service.name} is up again`)
    return { reason: yield* running.exited, running }
  }).pipe(Effect.scoped)

  const lives = Effect.gen(function* () {
    let deaths = 0
    while (true) {
      const started = Date.now()
      const { reason, running } = yield* life
      deaths = Date.now() - started > settledMs ? 1 : deaths + 1
      if (deaths >= maxDeaths) return yield* failed(`${reason}, ${deaths} times in a row`, running)
      options.say(`${service.name} ${reason}; starting it again in ${pauseMs(deaths) / 1000} s (${log.path})`)
      yield* Effect.sleep(pauseMs(deaths))
    }
  })

  const fiber = yield* Effect.forkScoped(lives)
  const lost = Fiber.join(fiber)
  yield* Effect.raceFirst(Deferred.await(up), lost)
  return { lost }
})
