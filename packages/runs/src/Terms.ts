/** What a tier's run may use and holds, from the configuration. Spec: Limits, Hosted run caps and prices. */
import type { Settings } from "@quickagents/platform"
import type { Tier } from "@quickagents/schema"
import type { Rates } from "./Credits.ts"
import { holdFor } from "./Credits.ts"

export const tiers: ReadonlyArray<Tier> = ["standard", "pro", "business", "enterprise"]

export interface Terms {
  readonly caps: { readonly seconds: number; readonly turns: number }
  readonly tokenCap: number
  readonly holdCredits: number
}

export const ratesOf = (settings: Settings.Values): Rates => ({
  inputTokensPerCredit: settings["runs.inputTokensPerCredit"],
  outputTokensPerCredit: settings["runs.outputTokensPerCredit"]
})

export const termsOf = (settings: Settings.Values, tier: Tier): Terms => {
  const { seconds, tokens, turns } = settings[`runs.caps.${tier}`]
  return { caps: { seconds, turns }, tokenCap: tokens, holdCredits: holdFor(tokens, ratesOf(settings)) }
}

export const allowanceOf = (settings: Settings.Values, tier: Tier) => settings[`credits.allowance.${tier}`]
