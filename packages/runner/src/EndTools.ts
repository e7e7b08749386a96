/** The two tools by which an agent ends its run. Every agent has them. */
import { Effect, Schema } from "effect"
import { makeTool, type Tool } from "./Tool.ts"

export const endTools: ReadonlyArray<Tool> = [
  makeTool("finish", "Ends the run with its result.", Schema.Struct({ result: Schema.Unknown }), ({ result }) =>
    Effect.succeed({ kind: "finish", result })
  ),
  makeTool(
    "block",
    "Ends the run because the task cannot be done.",
    Schema.Struct({ reason: Schema.String }),
    ({ reason }) => Effect.succeed({ kind: "block", reason })
  )
]
