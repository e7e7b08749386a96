/** The sandbox host daemon. `--help` lists its variables. */
import { Cause, Console, Effect, Exit, Logger } from "effect"
import { drainHost, startHost } from "./Host.ts"
import { readHostConfig, usage } from "./HostConfig.ts"

const startFailed = 1
const configurationWrong = 2

/** The next SIGTERM or SIGINT. */
const signal = Effect.callback<NodeJS.Signals>((resume) => {
  const heard = (name: NodeJS.Signals) => resume(Effect.succeed(name))
  process.once("SIGTERM", heard).once("SIGINT", heard)
  return Effect.sync(() => process.off("SIGTERM", heard).off("SIGINT", heard))
})

const serve = Effect.gen(function* () {
  const config = yield* readHostConfig(process.argv.slice(2), process.env)
  const { runs } = yield* startHost(config)
  yield* signal
  yield* Effect.logInfo("draining")
  // A second signal ends the wait, and with it the runs.
  yield* Effect.raceFirst(drainHost(runs, config.drainSeconds), signal)
}).pipe(Effect.scoped, Effect.provide(Logger.layer([Logger.consoleJson])))

/** What went wrong, in words for the person who starts the host; none of these carries a secret. */
const explained = Effect.catchTags(serve, {
  HostConfigInvalid: ({ message }) => Effect.as(Console.error(message), configurationWrong),
  IsolationMissing: ({ missing }) =>
    Effect.as(
      Console.error(
        `The sandbox is incomplete on this machine:\n${missing.map((part) => `  - ${part}`).join("\n")}\n` +
          "Install what is missing, or start with --allow-weak-isolation for development."
      ),
      startFailed
    ),
  EnrolmentFailed: ({ message }) => Effect.as(Console.error(`Enrolment: ${message}`), startFailed),
  DataDirInUse: ({ dataDir }) => Effect.as(Console.error(`Another host runs on ${dataDir}`), startFailed),
  ServeError: ({ cause }) =>
    Effect.as(Console.error(`Cannot listen: ${cause instanceof Error ? cause.message : "unknown"}`), startFailed)
})

if (process.argv.includes("--help")) {
  console.log(usage)
} else {
  const exit = await Effect.runPromiseExit(explained)
  if (Exit.isFailure(exit)) console.error(Cause.pretty(exit.cause))
  process.exit(Exit.isSuccess(exit) ? (exit.value ?? 0) : startFailed)
}
