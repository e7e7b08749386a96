/** What a run holds and costs, in whole credits. Pure arithmetic. Spec: Limits, Credits 1, 2 and 5. */

export interface Rates {
  readonly inputTokensPerCredit: number
  readonly outputTokensPerCredit: number
}

/** `total` counts everything the provider counted; what is neither input nor output is priced as output. */
export interface TokenUsage {
  readonly input: number
  readonly output: number
  readonly total: number
}

/** Held at create: every token of the cap at the dearer rate. */
export const holdFor = (maxTokens: number, rates: Rates): number => Math.ceil(maxTokens / rates.outputTokensPerCredit)

/** What the model use came to at close rates, at least 1, before the hold caps it. */
export const creditsUsed = (usage: TokenUsage, rates: Rates): number => {
  const unsplit = Math.max(0, usage.total - usage.input - usage.output)
  return Math.max(
    1,
    Math.ceil(usage.input / rates.inputTokensPerCredit + (usage.output + unsplit) / rates.outputTokensPerCredit)
  )
}

/** Charged for a run that ran: never more than the hold. AI Review of inputs adds its one credit inside the hold. */
export const creditsFor = (usage: TokenUsage, rates: Rates, hold: number, inputsReviewed: boolean): number =>
  Math.min(hold, creditsUsed(usage, rates) + (inputsReviewed && usage.total > 0 ? 1 : 0))
