import type { RunExit } from "@quickagents/schema"
import { describe, expect, it } from "vitest"
import { endingOf } from "./Outcomes.ts"

const none = { inputTokens: 0, outputTokens: 0, totalTokens: 0, cachedTokens: 0, turns: 0, wallMs: 5 }
const some = { ...none, inputTokens: 10, outputTokens: 5, totalTokens: 15, turns: 1 }
const exit = (exitClass: string, more: Partial<RunExit> = {}): RunExit => ({
  exitClass,
  interrupted: false,
  usage: some,
  receipt: null,
  ...more
})
const calm = { cancelled: false, overTokens: false }

describe("the outcome table", () => {
  it.each([
    ["[RUN-035]", "ok", "succeeded", "tokens"],
    ["[RUN-036]", "harness", "failed", "tokens"],
    ["[RUN-036]", "outputSchema", "failed", "tokens"],
    ["[RUN-037]", "timeout", "timeout", "tokens"],
    ["[RUN-038]", "budget", "budget", "tokens"],
    ["[RUN-040]", "verify", "refused", "nothing"],
    ["[RUN-040]", "policy", "refused", "nothing"],
    ["[RUN-040]", "compile", "refused", "nothing"],
    ["[RUN-042]", "cli", "error", "nothing"],
    ["[RUN-042]", "usage", "error", "nothing"],
    ["[RUN-042]", "gateway", "error", "nothing"],
    ["[RUN-042]", "something-new", "error", "nothing"]
  ])("%s exit class %s is the outcome %s and charges %s", (_row, exitClass, outcome, charge) => {
    expect(endingOf(exit(exitClass), calm)).toEqual({ outcome, charge })
  })

  it("[RUN-043] blocked charges when the agent blocked and refunds when the runner did or no reason is given", () => {
    expect(endingOf(exit("blocked", { reason: "agent-blocked" }), calm)).toEqual({
      outcome: "blocked",
      charge: "tokens"
    })
    expect(endingOf(exit("blocked", { reason: "runner-blocked" }), calm)).toEqual({
      outcome: "blocked",
      charge: "nothing"
    })
    expect(endingOf(exit("blocked"), calm)).toEqual({ outcome: "blocked", charge: "nothing" })
  })

  it("[RUN-039] interrupted charges what ran and refunds when nothing did", () => {
    expect(endingOf(exit("cli", { interrupted: true }), calm)).toEqual({ outcome: "interrupted", charge: "tokens" })
    expect(endingOf(exit("cli", { interrupted: true, usage: none }), calm)).toEqual({
      outcome: "interrupted",
      charge: "nothing"
    })
    expect(endingOf(exit("harness"), { cancelled: true, overTokens: false })).toEqual({
      outcome: "interrupted",
      charge: "tokens"
    })
  })

  it("[RUN-039] a cancelled run that succeeded all the same has succeeded", () => {
    expect(endingOf(exit("ok"), { cancelled: true, overTokens: false })).toEqual({
      outcome: "succeeded",
      charge: "tokens"
    })
  })

  it("[RUN-041] a run refused for an input that AI Review flagged charges the review alone", () => {
    expect(endingOf(exit("policy", { reason: "input-refused", detail: "ai-review" }), calm)).toEqual({
      outcome: "refused",
      charge: "review"
    })
  })

  it("[LEDGER-012] malware in an input, or an input that could not be reviewed, charges nothing", () => {
    expect(endingOf(exit("policy", { reason: "input-refused", detail: "malware" }), calm)).toEqual({
      outcome: "refused",
      charge: "nothing"
    })
    expect(endingOf(exit("policy", { reason: "not-reviewed" }), calm)).toEqual({
      outcome: "refused",
      charge: "nothing"
    })
  })
})
