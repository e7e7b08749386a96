/** The judge that the configuration names. Spec: Versioning 5. */
import { Settings } from "@quickagents/platform"
import { Effect, Layer, Redacted } from "effect"
import { Judge, JudgeFailed } from "./Judge.ts"

/** Without a judge S9 cannot do its work, and the gate hands every version to a person. */
const none = Layer.succeed(Judge, {
  provider: "none",
  model: "none",
  hosted: false,
  ask: () => Effect.fail(new JudgeFailed({ kind: "failure" }))
})

export const JudgeLive = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const provider = settings["judge.provider"]
    if (provider === "local") return Judge.layerLocal
    if (provider === "none") return none
    const [model, apiKey] = [settings["judge.model"], settings["judge.apiKey"]]
    if (model === null || apiKey === null) {
      return yield* new Settings.SettingsInvalid({
        problems: [`judge.model and judge.apiKey are needed for ${provider}`]
      })
    }
    const options = (baseUrl: string) => ({
      baseUrl: settings["judge.baseUrl"] ?? baseUrl,
      apiKey: Redacted.make(apiKey),
      model
    })
    return provider === "anthropic"
      ? Judge.layerAnthropic(options("https://api.anthropic.com"))
      : Judge.layerOpenAiCompatible(options("https://api.openai.com/v1"))
  })
)
