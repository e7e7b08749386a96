/**
 * The judge that needs no network: per question a logistic regression over
 * concepts, signals and words, trained by `train.ts`, and the static rules.
 *
 * It knows phrasings like those it was trained on and no others; what the
 * regression alone was measured at stands in `weights.json` and in its report.
 */
import type { Threat } from "../rules/ruleset.ts"
import { matchRules } from "../stages/S8Rules.ts"
import { holdsFrom } from "../evidence/Evidence.ts"
import { headOfKind, heads, statementsIn, windowsOf } from "./Features.ts"
import type { Head } from "./Features.ts"
import { localMeasures, readingOf } from "./Trained.ts"
import { weighedSignals } from "./Weighed.ts"

export { localMeasures, localModelId } from "./Trained.ts"

/** The measures in one line: a reader of a report that this judge decided must know how much it misses. */
export const localMeasuresLine = `local judge on unseen phrasings: ${heads
  .map(
    (head) =>
      `${head.slice(0, 2)} recall ${localMeasures[head].recall.toFixed(2)}, false positives ${localMeasures[head].falsePositiveRate.toFixed(2)}`
  )
  .join("; ")}`

/** Questions of the model-input routes are the same ones under shorter names. */
const headOf: Readonly<Record<string, Head>> = {
  ...Object.fromEntries(heads.map((head) => [head, head])),
  injection: "C1_injection",
  exfiltration: "C2_exfiltration",
  deception: "C4_user_deception",
  obfuscation: "C5_obfuscation"
}

const threatsOf: Readonly<Record<Head, ReadonlyArray<Threat>>> = {
  C1_injection: ["injection"],
  C2_exfiltration: ["exfiltration", "credential-theft"],
  C3_undeclared_capability: ["remote-code"],
  C4_user_deception: ["deception"],
  C5_obfuscation: [],
  C6_destructive_actions: ["destruction"]
}

/** A rule of the ruleset that matches, or a signal that speaks for itself, is as good as certain. */
const ruleProbability = 0.95

/** The six questions of one chunk are asked in turn, so the last few readings are kept. */
const kept = 16
const readings = new Map<string, ReadonlyArray<number>>()

const read = (text: string): ReadonlyArray<number> => {
  const before = readings.get(text)
  if (before) return before
  const highest = heads.map(() => 0)
  for (const window of windowsOf(text))
    readingOf(window).probabilities.forEach((probability, head) => {
      highest[head] = Math.max(highest[head], probability)
    })
  for (const { kind, weight } of weighedSignals("", statementsIn(text), [])) {
    const head = headOfKind[kind]
    // Whether an address is granted is not for the text to say.
    if (head !== undefined && kind !== "send" && weight >= holdsFrom)
      highest[heads.indexOf(head)] = Math.max(highest[heads.indexOf(head)], ruleProbability)
  }
  const threats = new Set(
    matchRules(text)
      .filter(({ isMention, rule }) => rule.severity === "high" && !isMention)
      .map(({ rule }) => rule.threat)
  )
  const reading = heads.map((head, index) =>
    threatsOf[head].some((threat) => threats.has(threat)) ? Math.max(highest[index], ruleProbability) : highest[index]
  )
  if (readings.size >= kept) readings.delete(readings.keys().next().value!)
  readings.set(text, reading)
  return reading
}

/** The probability of yes, or `undefined` for a question that the local judge was not trained on. */
export const localProbability = (questionId: string, text: string): number | undefined => {
  const head = headOf[questionId]
  return head === undefined ? undefined : read(text)[heads.indexOf(head)]
}
