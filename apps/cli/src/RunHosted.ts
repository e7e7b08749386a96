/** `quickagent run --hosted`: the form in which a sandbox host starts a run. */
import { fromHosted, HostedRequest, narrateTo, run } from "@quickagents/runner"
import { type Envelope, exitCodes } from "@quickagents/schema"
import { Console, Effect, Schema } from "effect"
import { writeSync } from "node:fs"
import { text } from "node:stream/consumers"
import { listenForInterruption } from "./Interruption.ts"
import { writeOutput } from "./OutputTarget.ts"

const narrationFd = 3
const outputFd = 4

/** Tells the host that nothing is left to load. There may be no request for long. */
const sayLoaded = Effect.ignore(Effect.try(() => writeSync(narrationFd, '{"type":"loaded"}\n')))

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(HostedRequest))

const printLine = (envelope: Envelope) =>
  Effect.callback<void>((resume) => {
    process.stdout.write(`${JSON.stringify(envelope)}\n`, () => resume(Effect.void))
  })

/** Answers the process exit code. A request that cannot be read has no envelope: there is no release to name in one. */
export const runHosted: Effect.Effect<number> = Effect.gen(function* () {
  const interrupted = yield* listenForInterruption
  yield* sayLoaded
  const request = yield* decode(yield* Effect.promise(() => text(process.stdin)))
  const { envelope, output } = yield* run({
    ...fromHosted(request),
    narrate: narrateTo(narrationFd),
    onStep: () => {},
    interrupted
  })
  yield* writeOutput(output, outputFd)
  yield* printLine(envelope)
  return envelope.exitCode
}).pipe(
  // Of a request that is not one, nothing is repeated: it may hold secrets.
  Effect.catchTag("SchemaError", () => Effect.as(Console.error("stdin holds no hosted request"), exitCodes.usage)),
  Effect.catchTag("OutputNotWritten", () =>
    Effect.as(Console.error("descriptor 4 does not take the output"), exitCodes.cli)
  )
)
