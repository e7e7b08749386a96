/** Chat completions, of OpenAI and of those who speak its form. https://platform.openai.com/docs/api-reference/chat/streaming */
import { Effect, Schema, Stream } from "effect"
import { type Conversation, type Message, type Model, noUsage, parseArguments, type ToolDefinition } from "./Model.ts"
import { eventJson, type Transport } from "./ModelTransport.ts"
import { modelFailed } from "./RunFailure.ts"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const readChunk = eventJson(
  Schema.Struct({
    choices: optional(
      Schema.Array(
        Schema.Struct({
          finish_reason: optional(Schema.String),
          delta: optional(
            Schema.Struct({
              content: optional(Schema.String),
              tool_calls: optional(
                Schema.Array(
                  Schema.Struct({
                    index: Schema.optionalKey(Schema.Int),
                    id: optional(Schema.String),
                    function: optional(
                      Schema.Struct({ name: optional(Schema.String), arguments: optional(Schema.String) })
                    )
                  })
                )
              )
            })
          )
        })
      )
    ),
    usage: optional(
      Schema.Struct({
        prompt_tokens: Schema.Int,
        completion_tokens: Schema.Int,
        total_tokens: optional(Schema.Int),
        prompt_tokens_details: optional(Schema.Struct({ cached_tokens: optional(Schema.Int) }))
      })
    ),
    error: optional(Schema.Unknown)
  })
)

const content = (message: Message): ReadonlyArray<unknown> => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.text }]
    case "assistant":
      return [
        {
          role: "assistant",
          content: message.text,
          ...(message.calls.length === 0
            ? {}
            : {
                tool_calls: message.calls.map(({ args, id, name }) => ({
                  id,
                  type: "function",
                  function: { name, arguments: JSON.stringify(args ?? {}) }
                }))
              })
        }
      ]
    case "tool":
      return message.results.map(({ callId, text }) => ({ role: "tool", tool_call_id: callId, content: text }))
  }
}

const requestOf = (model: string, { messages, system }: Conversation, tools: ReadonlyArray<ToolDefinition>) => ({
  model,
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: "system", content: system }, ...messages.flatMap(content)],
  tools: tools.map(({ description, name, parameters }) => ({
    type: "function",
    function: { name, description, parameters }
  }))
})

export const openAiModel = (name: string, transport: Transport): Model => ({
  name,
  turn: (conversation, tools, heard) =>
    transport.stream(requestOf(name, conversation, tools), (events) =>
      Effect.gen(function* () {
        let text = ""
        let usage = noUsage
        let ended = false
        const calls = new Map<number, { id: string; name: string; json: string }>()
        yield* Stream.runForEach(events, (data) =>
          Effect.gen(function* () {
            if (data === "[DONE]") {
              ended = true
              return
            }
            const chunk = yield* readChunk(data)
            if (chunk.error !== undefined && chunk.error !== null)
              return yield* modelFailed("model-unavailable", "The model's API broke off")
            const choice = chunk.choices?.[0]
            text += choice?.delta?.content ?? ""
            for (const part of choice?.delta?.tool_calls ?? []) {
              const index = part.index ?? 0
              const call = calls.get(index) ?? { id: "", name: "", json: "" }
              call.id ||= part.id ?? ""
              call.name += part.function?.name ?? ""
              call.json += part.function?.arguments ?? ""
              calls.set(index, call)
            }
            // Not every server that speaks this form sends [DONE].
            ended ||= typeof choice?.finish_reason === "string"
            if (chunk.usage !== undefined && chunk.usage !== null) {
              const { completion_tokens: output, prompt_tokens: input } = chunk.usage
              usage = {
                input,
                output,
                total: Math.max(input + output, chunk.usage.total_tokens ?? 0),
                cached: chunk.usage.prompt_tokens_details?.cached_tokens ?? 0
              }
              heard(usage)
            }
          })
        )
        if (!ended) return yield* modelFailed("model-unavailable", "The model's answer was cut off")
        // Some servers that speak this form name no ids.
        return {
          text,
          usage,
          calls: [...calls].map(([index, { id, json, name }]) => ({
            id: id === "" ? `call-${index}` : id,
            name,
            args: parseArguments(json)
          }))
        }
      })
    )
})
