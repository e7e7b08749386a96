import { Effect } from "effect"
import { defineStage } from "../Stage.ts"

/** S10: a trial run needs a sandbox host and a model; without them the report says that none was made. */
export const trialStage = defineStage("S10", "1", () =>
  Effect.succeed({
    findings: [],
    status: "skipped" as const,
    detail: "No sandbox host and model are configured for trials"
  })
)
