import { Effect } from "effect"
import { evidenceFindings } from "../evidence/Evidence.ts"
import { bounded, isCodePath, isDataPath, isQuotedCase, statementsOf, visible } from "../evidence/Statements.ts"
import { prefilter } from "../rules/Prefilter.ts"
import { ruleset, rulesetHash, rulesetVersion } from "../rules/ruleset.ts"
import type { Rule } from "../rules/ruleset.ts"
import { defineStage, judgeFiles } from "../Stage.ts"

/** A text that forbids an act names it too: "never send secrets to a webhook". */
const forbids =
  /(?:\b(?:never|must not|do not|don['’]t|cannot|can['’]t|refuse to|forbidden to|not allowed to|should not|avoid)\s+(?:ever\s+|try to\s+|attempt to\s+|be asked to\s+)?(?:[\w'’]+\s+(?:or|and|,)\s+)?|\b(?:never|must not|mustn['’]t|may not|do not|don['’]t|refuse to)\b[^.;:\n]{0,50}\b(?:or|and|nor)\s+|\b(?:if|when|even if|unless)\b[^.\n]{0,60}\b(?:asks?|tells?|instructs?|says?)\b[^.\n]{0,40}(?:\bto\s+)?["'“]?)$/iu

export interface RuleMatch {
  readonly rule: Rule
  /** From 1. */
  readonly line: number
  /** It only names what the rule is about, as in a list of things to look for. */
  readonly isMention: boolean
}

const mayMatch = prefilter(ruleset.map(({ pattern }) => pattern))
const inOrder = (found: ReadonlyMap<number, RuleMatch>) =>
  [...found].toSorted(([a], [b]) => a - b).map(([, match]) => match)

/** Each rule at most once a prose text: at its first match that is no mention, else at its first mention. */
const matchProse = (text: string): ReadonlyArray<RuleMatch> => {
  const found = new Map<number, RuleMatch>()
  for (const { isCode, isMention: isNamed, isShown, line, spoken, text: said } of statementsOf("text.md", text)) {
    for (const index of mayMatch(said)) {
      if (found.get(index)?.isMention === false) continue
      const rule = ruleset[index]
      const candidate = rule.isProse ? spoken : said
      const match = rule.pattern.exec(candidate)
      if (!match || (!isCode && forbids.test(candidate.slice(0, match.index)))) continue
      const isMention = isNamed || (isShown && !isCode && !rule.isProse)
      if (!isMention || !found.has(index)) found.set(index, { rule, line, isMention })
    }
  }
  return inOrder(found)
}

/** Each rule at most once a text. Without a path the text is prose. */
export const matchRules = (source: string, path = "text.md"): ReadonlyArray<RuleMatch> => {
  const text = visible(source)
  if (!isCodePath(path, text) && !isDataPath(path)) return matchProse(text)
  const lines = text.split(/\r?\n/u).map(bounded)
  const found = new Map<number, RuleMatch>()
  lines.forEach((line, at) => {
    // Only where a sentence goes on in the next line.
    const next = lines[at + 1]?.trim() ?? ""
    const joined = line.trim() === "" || next === "" ? line : `${line} ${next}`
    for (const index of mayMatch(joined)) {
      if (found.has(index)) continue
      const rule = ruleset[index]
      for (const candidate of [line, joined]) {
        const match = rule.pattern.exec(candidate)
        if (!match || (rule.isProse && forbids.test(candidate.slice(0, match.index)))) continue
        found.set(index, { rule, line: at + 1, isMention: isDataPath(path) && isQuotedCase(candidate) })
        break
      }
    }
  })
  return inOrder(found)
}

/** S8: the static ruleset on every text of the package, and what weak signs of different kinds add up to. */
export const rulesStage = defineStage("S8", "4", (pkg, { previous }) =>
  judgeFiles(pkg, ({ path, text }) =>
    text === undefined
      ? []
      : matchRules(text, path).map(({ isMention, line, rule }) => ({
          stage: "S8",
          rule: rule.id,
          severity: isMention ? ("info" as const) : rule.severity,
          file: path,
          line,
          message: rule.description
        }))
  ).pipe(
    Effect.map((findings) => ({
      findings: [...findings, ...evidenceFindings(pkg, previous)],
      inputs: { ruleset: rulesetHash, rulesetVersion }
    }))
  )
)
