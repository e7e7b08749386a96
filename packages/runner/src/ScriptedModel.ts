/**
 * A deterministic model for tests and for runs without a provider: it follows a
 * script from a fenced `script` block of the task, else from `script.yaml` of
 * the package, and makes real tool calls.
 *
 * `{{task}}`, `{{last}}` (text of the last tool result) and `{{intake.<id>}}`
 * are replaced in every string of a step.
 */
import { Effect, Schema } from "effect"
import { parse } from "yaml"
import { compileFailed, type RunFailure } from "./RunFailure.ts"
import { type Message, type Model, noUsage, type ToolCall, type TurnUsage } from "./Model.ts"

const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const Step = Schema.Union([
  Schema.Struct({ call: Schema.String, args: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) }),
  /** Ends the run with this answer when no step follows; otherwise text beside the next call. */
  Schema.Struct({ say: Schema.String }),
  /** What the next turn reports as used; 1 and 1 when absent. */
  Schema.Struct({ tokens: Schema.Struct({ input: count, output: count }) }),
  /** Milliseconds. */
  Schema.Struct({ wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400_000 })) }),
  Schema.Struct({ finish: Schema.Unknown }),
  Schema.Struct({ block: Schema.String })
])
type Step = typeof Step.Type

const decodeSteps = Schema.decodeUnknownEffect(Schema.Array(Step).check(Schema.isMaxLength(10_000)), {
  onExcessProperty: "error"
})

interface Values {
  readonly task: string
  readonly intake: Readonly<Record<string, unknown>>
  readonly last: string
}

const filled = (value: unknown, values: Values): unknown => {
  if (typeof value === "string") {
    return value.replace(/\{\{(task|last|intake\.([A-Za-z0-9_]+))\}\}/gu, (_, name: string, id: string | undefined) => {
      if (id === undefined) return name === "task" ? values.task : values.last
      const answer = values.intake[id]
      return answer === undefined ? "" : typeof answer === "string" ? answer : JSON.stringify(answer)
    })
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, values))
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, values)]))
    : value
}

const lastResult = (messages: ReadonlyArray<Message>): string => {
  const last = messages.findLast((message) => message.role === "tool")
  return last?.role === "tool" ? (last.results.at(-1)?.text ?? "") : ""
}

const fence = /```script\n([\s\S]*?)\n```/u

export const scriptedModel = (options: {
  readonly name: string
  readonly task: string
  readonly intake: Readonly<Record<string, unknown>>
  /** `script.yaml` of the package. */
  readonly script: string | undefined
}): Effect.Effect<Model, RunFailure> =>
  Effect.gen(function* () {
    const source = fence.exec(options.task)?.[1] ?? options.script
    if (source === undefined)
      return yield* compileFailed(
        "instructions-missing",
        "Neither task nor package holds a script for the scripted model"
      )
    const parsed = yield* Effect.try({
      try: () => parse(source, { maxAliasCount: 0 }) as unknown,
      catch: () => compileFailed("manifest-invalid", "The script is not YAML")
    })
    const steps: ReadonlyArray<Step> = yield* decodeSteps(parsed).pipe(
      Effect.mapError((error) => compileFailed("manifest-invalid", `The script is not valid: ${error.message}`))
    )
    let at = 0
    return {
      name: options.name,
      turn: (conversation, _tools, heard) =>
        Effect.gen(function* () {
          const values = { task: options.task, intake: options.intake, last: lastResult(conversation.messages) }
          let text = ""
          let usage: TurnUsage = { ...noUsage, input: 1, output: 1, total: 2 }
          heard(usage)
          while (at < steps.length) {
            const step = steps[at]
            const id = `call-${at}`
            at++
            if ("wait" in step) yield* Effect.sleep(step.wait)
            else if ("tokens" in step) {
              usage = { ...step.tokens, total: step.tokens.input + step.tokens.output, cached: 0 }
              heard(usage)
            } else if ("say" in step) text += String(filled(step.say, values))
            else {
              const call: ToolCall =
                "call" in step
                  ? { id, name: step.call, args: filled(step.args ?? {}, values) }
                  : "finish" in step
                    ? { id, name: "finish", args: { result: filled(step.finish, values) } }
                    : { id, name: "block", args: { reason: filled(step.block, values) } }
              return { text, calls: [call], usage }
            }
          }
          return { text, calls: [], usage }
        })
    }
  })
