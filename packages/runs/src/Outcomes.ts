/** Runner exit -> outcome and what becomes of the hold. One table. Spec: States and transitions, Run. */
import type { Outcome, RunExit } from "@quickagents/schema"

/**
 * - `tokens`: charged from the tokens, the rest released
 * - `review`: AI Review's one credit alone
 * - `nothing`: the hold is refunded in full
 */
export type Charge = "tokens" | "review" | "nothing"

export interface Ending {
  readonly outcome: Outcome
  readonly charge: Charge
}

const byExitClass: Readonly<Record<string, Ending>> = {
  ok: { outcome: "succeeded", charge: "tokens" },
  harness: { outcome: "failed", charge: "tokens" },
  outputSchema: { outcome: "failed", charge: "tokens" },
  timeout: { outcome: "timeout", charge: "tokens" },
  budget: { outcome: "budget", charge: "tokens" },
  verify: { outcome: "refused", charge: "nothing" },
  policy: { outcome: "refused", charge: "nothing" },
  compile: { outcome: "refused", charge: "nothing" },
  cli: { outcome: "error", charge: "nothing" },
  usage: { outcome: "error", charge: "nothing" },
  gateway: { outcome: "error", charge: "nothing" }
}

export interface Interruption {
  /** The account asked to cancel. */
  readonly cancelled: boolean
  /** The narrated total passed the token cap. */
  readonly overTokens: boolean
}

export const endingOf = (exit: RunExit, interruption: Interruption): Ending => {
  const { usage } = exit
  const ran = usage.totalTokens > 0 || usage.inputTokens > 0 || usage.outputTokens > 0 || usage.turns > 0
  const stopped = exit.interrupted || interruption.overTokens || (interruption.cancelled && ran)
  if (exit.exitClass !== "ok" && stopped) return { outcome: "interrupted", charge: ran ? "tokens" : "nothing" }
  if (exit.exitClass === "blocked") {
    return { outcome: "blocked", charge: exit.reason === "agent-blocked" ? "tokens" : "nothing" }
  }
  const ending = byExitClass[exit.exitClass] ?? { outcome: "error", charge: "nothing" }
  const flagged = exit.reason === "input-refused" && exit.detail === "ai-review"
  return ending.outcome === "refused" && flagged ? { outcome: "refused", charge: "review" } : ending
}
