/** What `npm run demo` is asked for. */
import { Data, Effect } from "effect"
import type { PutRunModel } from "@quickagents/schema"
import { parseArgs } from "node:util"

export class DemoUsage extends Data.TaggedError("DemoUsage")<{ readonly message: string }> {}

export const usage = `Usage: npm run demo -- [--model anthropic|openai|openai-compatible --model-name NAME [--base-url URL]]

Publishes a sample agent, runs it hosted with an input file, and shows what came of it.
Without --model the run uses the scripted model, which needs no key and no network.

  --model       provider of the model; its key is read from ANTHROPIC_API_KEY or OPENAI_API_KEY
  --model-name  exact model id
  --base-url    address of an openai-compatible provider
  --help        this text`

export interface DemoArguments {
  readonly help: boolean
  /** Set for the length of the demo; absent: whatever the stack is configured with. */
  readonly model: PutRunModel | undefined
}

const keyVariables = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  "openai-compatible": "OPENAI_API_KEY"
} as const
const isProvider = (name: string): name is keyof typeof keyVariables => Object.hasOwn(keyVariables, name)

/** Fails with a sentence for the person at the screen. */
export const readDemoArguments = (
  parameters: ReadonlyArray<string>,
  environment: NodeJS.ProcessEnv
): Effect.Effect<DemoArguments, DemoUsage> =>
  Effect.gen(function* () {
    const { values } = yield* Effect.try({
      try: () =>
        parseArgs({
          args: [...parameters],
          options: {
            help: { type: "boolean", default: false },
            model: { type: "string" },
            "model-name": { type: "string" },
            "base-url": { type: "string" }
          }
        }),
      catch: (error) => new DemoUsage({ message: (error as Error).message })
    })
    const { "base-url": baseUrl, help, model: provider, "model-name": model } = values
    if (provider === undefined) {
      return model === undefined && baseUrl === undefined
        ? { help, model: undefined }
        : yield* new DemoUsage({ message: "--model-name and --base-url go with --model" })
    }
    if (!isProvider(provider)) {
      return yield* new DemoUsage({
        message: `--model is one of ${Object.keys(keyVariables).join(", ")}, not ${provider}`
      })
    }
    if (model === undefined) return yield* new DemoUsage({ message: "--model needs --model-name, an exact model id" })
    if (provider === "openai-compatible" && baseUrl === undefined) {
      return yield* new DemoUsage({ message: "--model openai-compatible needs --base-url" })
    }
    const apiKey = environment[keyVariables[provider]]
    // A model on one's own machine often asks for no key.
    if (apiKey === undefined && provider !== "openai-compatible") {
      return yield* new DemoUsage({ message: `${keyVariables[provider]} is not set` })
    }
    return {
      help,
      model: {
        provider,
        model,
        ...(baseUrl === undefined ? {} : { baseUrl }),
        ...(apiKey === undefined ? {} : { apiKey })
      }
    }
  })
