/** What the rules were written against must stay caught; what counts is measured by `npm run bench:gate`. */
import { expect, it } from "@effect/vitest"
import { judgeCorpus, measured } from "./Gate.ts"

it(
  "holds hostile packages of the tuning part and publishes honest ones, each tenth of them",
  { timeout: 120_000 },
  async () => {
    const { falseAlarms, falsePositives, missed, recall } = measured(await judgeCorpus("tune", 10))
    const ids = (all: typeof missed) => all.map(({ package: { id } }) => id)
    expect({ missed: ids(missed), isEnough: recall >= 0.8 }).toMatchObject({ isEnough: true })
    expect({ falseAlarms: ids(falseAlarms), isFewEnough: falsePositives <= 0.08 }).toMatchObject({ isFewEnough: true })
  }
)
