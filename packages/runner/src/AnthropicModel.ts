/** The Messages API. https://docs.anthropic.com/en/api/messages-streaming */
import { Effect, Schema, Stream } from "effect"
import {
  type Conversation,
  type Message,
  type Model,
  noUsage,
  parseArguments,
  type ToolDefinition,
  type TurnUsage
} from "./Model.ts"
import { eventJson, type Transport } from "./ModelTransport.ts"
import { modelFailed } from "./RunFailure.ts"

const maxAnswerTokens = 8_192

const count = Schema.optionalKey(Schema.NullOr(Schema.Int))
const Usage = Schema.Struct({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count
})

const readEvent = eventJson(
  Schema.Struct({
    type: Schema.String,
    index: Schema.optionalKey(Schema.Int),
    message: Schema.optionalKey(Schema.Struct({ usage: Usage })),
    usage: Schema.optionalKey(Usage),
    content_block: Schema.optionalKey(
      Schema.Struct({
        type: Schema.String,
        id: Schema.optionalKey(Schema.String),
        name: Schema.optionalKey(Schema.String)
      })
    ),
    delta: Schema.optionalKey(
      Schema.Struct({ text: Schema.optionalKey(Schema.String), partial_json: Schema.optionalKey(Schema.String) })
    ),
    error: Schema.optionalKey(Schema.Struct({ type: Schema.String }))
  })
)

const isRecord = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value)

const content = (message: Message) => {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text }
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...(message.text === "" ? [] : [{ type: "text", text: message.text }]),
          ...message.calls.map(({ args, id, name }) => ({
            type: "tool_use",
            id,
            name,
            input: isRecord(args) ? args : {}
          }))
        ]
      }
    case "tool":
      return {
        role: "user",
        content: message.results.map(({ callId, isError, text }) => ({
          type: "tool_result",
          tool_use_id: callId,
          content: text,
          is_error: isError
        }))
      }
  }
}

const requestOf = (model: string, { messages, system }: Conversation, tools: ReadonlyArray<ToolDefinition>) => ({
  model,
  max_tokens: maxAnswerTokens,
  stream: true,
  system,
  messages: messages.map(content),
  tools: tools.map(({ description, name, parameters }) => ({ name, description, input_schema: parameters }))
})

/** The API counts cached prefixes beside `input_tokens`; here they are part of the input. Counts are running totals. */
const usageOf = (usage: typeof Usage.Type, before: TurnUsage): TurnUsage => {
  const cached = usage.cache_read_input_tokens ?? 0
  const processed = (usage.input_tokens ?? 0) + cached + (usage.cache_creation_input_tokens ?? 0)
  const input = Math.max(before.input, processed)
  const output = Math.max(before.output, usage.output_tokens ?? 0)
  return { input, output, total: input + output, cached: Math.max(before.cached, cached) }
}

export const anthropicModel = (name: string, transport: Transport): Model => ({
  name,
  turn: (conversation, tools, heard) =>
    transport.stream(requestOf(name, conversation, tools), (events) =>
      Effect.gen(function* () {
        let text = ""
        let usage = noUsage
        let ended = false
        const calls = new Map<number, { readonly id: string; readonly name: string; json: string }>()
        yield* Stream.runForEach(events, (data) =>
          Effect.gen(function* () {
            const event = yield* readEvent(data)
            const used = event.message?.usage ?? event.usage
            if (used !== undefined) {
              usage = usageOf(used, usage)
              heard(usage)
            }
            if (event.type === "error") {
              return yield* event.error?.type === "rate_limit_error"
                ? modelFailed("model-rate-limited", "The model's API limits the rate of requests")
                : modelFailed("model-unavailable", "The model's API broke off")
            }
            if (event.type === "content_block_start" && event.content_block?.type === "tool_use") {
              calls.set(event.index ?? 0, {
                id: event.content_block.id ?? "",
                name: event.content_block.name ?? "",
                json: ""
              })
            }
            text += event.delta?.text ?? ""
            const call = calls.get(event.index ?? 0)
            if (call !== undefined) call.json += event.delta?.partial_json ?? ""
            ended ||= event.type === "message_stop"
          })
        )
        if (!ended) return yield* modelFailed("model-unavailable", "The model's answer was cut off")
        return {
          text,
          usage,
          calls: [...calls.values()].map(({ id, json, name }) => ({ id, name, args: parseArguments(json) }))
        }
      })
    )
})
