import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { creditsFor, creditsUsed, holdFor } from "./Credits.ts"

const rates = { inputTokensPerCredit: 50_000, outputTokensPerCredit: 25_000 }

describe("credits", () => {
  it("[LEDGER-004] a hold is the token cap at the output rate, rounded up: 20 for Standard, 200 for Pro", () => {
    expect(holdFor(500_000, rates)).toBe(20)
    expect(holdFor(5_000_000, rates)).toBe(200)
    expect(holdFor(25_001, rates)).toBe(2)
  })

  it.each([
    [{ input: 0, output: 0, total: 0 }, 1],
    [{ input: 50_000, output: 0, total: 50_000 }, 1],
    [{ input: 50_001, output: 0, total: 50_001 }, 2],
    [{ input: 50_000, output: 25_000, total: 75_000 }, 2],
    [{ input: 25_000, output: 12_500, total: 37_500 }, 1],
    // Tokens in the total beyond input and output are priced as output.
    [{ input: 0, output: 0, total: 50_000 }, 2],
    [{ input: 50_000, output: 0, total: 75_000 }, 2]
  ])("[LEDGER-005] [LEDGER-006] %o came to %i credits", (usage, credits) => {
    expect(creditsUsed(usage, rates)).toBe(credits)
  })

  it("[LEDGER-005] a charge is at least 1 and never more than the hold, whatever was used", () => {
    const tokens = fc.nat({ max: 50_000_000 })
    fc.assert(
      fc.property(
        tokens,
        tokens,
        tokens,
        fc.integer({ min: 1, max: 500 }),
        fc.boolean(),
        (input, output, beyond, hold, reviewed) => {
          const usage = { input, output, total: input + output + beyond }
          const charged = creditsFor(usage, rates, hold, reviewed)
          expect(charged).toBeGreaterThanOrEqual(1)
          expect(charged).toBeLessThanOrEqual(hold)
          expect(creditsFor({ ...usage, total: usage.total + 1 }, rates, hold, reviewed)).toBeGreaterThanOrEqual(
            charged
          )
        }
      )
    )
  })

  it("[LEDGER-011] AI Review of the inputs adds one credit, inside the hold, when tokens were used", () => {
    expect(creditsFor({ input: 1, output: 1, total: 2 }, rates, 20, true)).toBe(2)
    expect(creditsFor({ input: 0, output: 0, total: 0 }, rates, 20, true)).toBe(1)
    expect(creditsFor({ input: 10_000_000, output: 0, total: 10_000_000 }, rates, 20, true)).toBe(20)
  })
})
