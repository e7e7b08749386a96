/** What prose says against the person, weighed by what the trained model makes of the same passage. */
import { proseSignals } from "../evidence/ProseSignals.ts"
import type { Signal } from "../evidence/Signal.ts"
import type { Statement } from "../evidence/Statements.ts"
import { readingOf } from "./Trained.ts"

const doubted = { from: 0, weight: 0.4 }
const shared = { from: 2, weight: 1.3 }

/** A pattern that matches where the model sees nothing is more often a chance hit than one that matches where it does. */
const belief = (logit: number): number => {
  const share = Math.min(1, Math.max(0, (logit - doubted.from) / (shared.from - doubted.from)))
  return doubted.weight + share * (shared.weight - doubted.weight)
}

export const weighedSignals = (
  file: string,
  statements: ReadonlyArray<Statement>,
  granted: ReadonlyArray<string>
): ReadonlyArray<Signal> => {
  const beliefs = new Map<number, number>()
  for (const { line, spoken } of statements)
    beliefs.set(line, Math.max(beliefs.get(line) ?? 0, belief(readingOf(spoken).logit)))
  return proseSignals(file, statements, granted).map((signal) => ({
    ...signal,
    weight: signal.weight * (beliefs.get(signal.line) ?? 1)
  }))
}
