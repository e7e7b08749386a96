/** `npm start`: a whole registry on this machine, until Ctrl-C. */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Exit } from "effect"
import { dataDirectoryPath } from "./DataDirectory.ts"
import { developmentStack } from "./DevelopmentStack.ts"
import { describeFailure, describeStack, portOf } from "./StackWords.ts"

/** The next SIGTERM, SIGINT or SIGHUP. */
const signal = Effect.callback<NodeJS.Signals>((resume) => {
  const heard = (name: NodeJS.Signals) => resume(Effect.succeed(name))
  process.once("SIGTERM", heard).once("SIGINT", heard).once("SIGHUP", heard)
  return Effect.sync(() => void process.off("SIGTERM", heard).off("SIGINT", heard).off("SIGHUP", heard))
})

const started = Date.now()
const say = (line: string) => console.log(line)

const serve = Effect.gen(function* () {
  const port = yield* portOf(process.env)
  say("Starting a registry with PostgreSQL, a sign-in provider and a sandbox host ...")
  const stack = yield* developmentStack({
    port,
    dataDirectory: dataDirectoryPath(process.env),
    environment: process.env,
    say
  })
  say(describeStack(stack, Date.now() - started))
  return yield* stack.lost
}).pipe(
  Effect.raceFirst(
    Effect.andThen(
      signal,
      Effect.sync(() => say("\nStopping ..."))
    )
  ),
  Effect.scoped,
  Effect.provide(NodeHttpClient.layerUndici)
)

const exit = await Effect.runPromiseExit(serve)
if (Exit.isSuccess(exit)) {
  say("Stopped.")
  process.exit(0)
}
console.error(describeFailure(exit.cause))
process.exit(1)
