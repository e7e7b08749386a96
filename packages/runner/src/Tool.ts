/** One tool of a run: its arguments as a schema, and what a call of it comes to. */
import { Effect, Schema } from "effect"
import type { ToolDefinition } from "./Model.ts"

/** The call is not carried out; the model reads why and goes on. */
export class ToolRefused extends Schema.TaggedError<ToolRefused>()("ToolRefused", { message: Schema.String }) {}

export type ToolOutcome =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "finish"; readonly result: unknown }
  | { readonly kind: "block"; readonly reason: string }

export interface Tool {
  readonly definition: ToolDefinition
  readonly call: (args: unknown) => Effect.Effect<ToolOutcome, ToolRefused>
}

export const textOutcome = (text: string): ToolOutcome => ({ kind: "text", text })

/** Arguments that do not fit `args` are answered to the model. */
export const makeTool = <Args>(
  name: string,
  description: string,
  args: Schema.ConstraintDecoder<Args>,
  call: (args: Args) => Effect.Effect<ToolOutcome, ToolRefused>
): Tool => {
  const decode = Schema.decodeUnknownEffect(args)
  const { schema } = Schema.toJsonSchemaDocument(args)
  return {
    definition: { name, description, parameters: JSON.parse(JSON.stringify(schema)) as Record<string, unknown> },
    call: (input) =>
      decode(input).pipe(
        Effect.mapError((error) => new ToolRefused({ message: `The arguments are not valid: ${error.message}` })),
        Effect.flatMap(call)
      )
  }
}
