import { Effect } from "effect"
import { ruleset, rulesetHash, rulesetVersion } from "../rules/ruleset.ts"
import type { Rule } from "../rules/ruleset.ts"
import { defineStage, judgeFiles } from "../Stage.ts"

/** A line past this is S3's minified file; patterns are only tried on its beginning and its end. */
const maxLine = 4_000

const bounded = (line: string) =>
  line.length <= maxLine ? line : `${line.slice(0, maxLine / 2)} ${line.slice(-maxLine / 2)}`

/** A text that forbids an act names it too: "never send secrets to a webhook". */
const forbids =
  /(?:\b(?:never|must not|do not|don['’]t|cannot|can['’]t|refuse to|forbidden to|not allowed to|should not|avoid)\s+(?:ever\s+|try to\s+|attempt to\s+|be asked to\s+)?(?:[\w'’]+\s+(?:or|and|,)\s+)?|\b(?:if|when|even if|unless)\b[^.\n]{0,60}\b(?:asks?|tells?|instructs?|says?)\b[^.\n]{0,40}(?:\bto\s+)?["'“]?)$/iu

export interface RuleMatch {
  readonly rule: Rule
  /** From 1. */
  readonly line: number
}

/** Each rule at most once a text, at its first match. */
export const matchRules = (text: string): ReadonlyArray<RuleMatch> => {
  // Invisible characters between letters must not hide a word; S3 reports them.
  const lines = text
    .normalize("NFKC")
    .replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/gu, "")
    .split(/\r?\n/u)
    .map(bounded)
  // Only where a sentence goes on in the next line.
  const windows = lines.map((line, index) => {
    const next = lines[index + 1]?.trim() ?? ""
    return line.trim() === "" || next === "" ? line : `${line} ${next}`
  })
  return ruleset.flatMap((rule): ReadonlyArray<RuleMatch> => {
    for (let index = 0; index < lines.length; index++) {
      for (const candidate of [lines[index], windows[index]]) {
        const match = rule.pattern.exec(candidate)
        if (match && !(rule.isProse && forbids.test(candidate.slice(0, match.index))))
          return [{ rule, line: index + 1 }]
      }
    }
    return []
  })
}

/** S8: the static ruleset on every text of the package. */
export const rulesStage = defineStage("S8", "1", (pkg) =>
  judgeFiles(pkg, ({ path, text }) =>
    text === undefined
      ? []
      : matchRules(text).map(({ rule, line }) => ({
          stage: "S8",
          rule: rule.id,
          severity: rule.severity,
          file: path,
          line,
          message: rule.description
        }))
  ).pipe(Effect.map((findings) => ({ findings, inputs: { ruleset: rulesetHash, rulesetVersion } })))
)
