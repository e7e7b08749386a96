/** A run that ends without success: which exit class, at which step, for which of the listed reasons. */
import { ExitClass, Reason, Step } from "@quickagents/schema"
import { Schema } from "effect"

/** `message` may quote text of the run: it goes into the envelope and nowhere else. */
export class RunFailure extends Schema.TaggedError<RunFailure>()("RunFailure", {
  exitClass: ExitClass,
  stage: Step,
  reason: Reason,
  message: Schema.String
}) {}

const failing = (stage: Step, exitClass: ExitClass) => (reason: Reason, message: string) =>
  new RunFailure({ exitClass, stage, reason, message })

/** Each step's own exit class. */
export const fetchFailed = failing("fetch", "cli")
export const verifyFailed = failing("verify", "verify")
export const policyFailed = failing("policy", "policy")
export const compileFailed = failing("compile", "compile")
export const modelFailed = failing("gateway", "gateway")
export const harnessFailed = failing("harness", "harness")
export const timedOut = failing("harness", "timeout")
export const overBudget = failing("harness", "budget")
export const blocked = failing("harness", "blocked")
export const resultRefused = failing("output", "outputSchema")
export const outputFailed = failing("output", "cli")
