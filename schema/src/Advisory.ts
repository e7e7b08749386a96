/** What a security advisory is known by, and which versions it is about. */
import { Schema } from "effect"
import { Severity } from "./ScanReport.ts"

export const AdvisoryId = Schema.String.check(Schema.isPattern(/^QASA-\d{4}-\d{4,9}$/u)).pipe(
  Schema.annotate({ description: "Year and running number of an advisory", examples: ["QASA-2026-0001"] })
)

const number = "(?:0|[1-9]\\d{0,14})"
const comparator = `(?:<=|>=|<|>|=)?${number}\\.${number}\\.${number}(?:-[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?`
const all = `${comparator}(?: ${comparator})*`

/** Versions that satisfy every comparator of one of the alternatives; `*` is all. Pre-releases are ordered as Semantic Versioning 11 says. */
export const VersionRange = Schema.String.check(
  Schema.isMaxLength(400),
  Schema.isPattern(new RegExp(`^(?:\\*|${all}(?: \\|\\| ${all})*)$`, "u"), {
    // The expression itself explains nothing to who wrote the range.
    expected: "a range of whole versions as >=1.0.0 <1.4.2, or *"
  })
).pipe(
  Schema.annotate({
    description:
      "Comparators (<, <=, >, >=, =) of semantic versions, joined by a space for all and by ` || ` for any; * is every version",
    examples: [">=1.0.0 <1.4.2"]
  })
)

/** An advisory beside a version or agent that it affects. */
export const AdvisoryNote = Schema.Struct({ id: AdvisoryId, severity: Severity, summary: Schema.String }).annotate({
  identifier: "AdvisoryNote",
  examples: [{ id: "QASA-2026-0001", severity: "high" as const, summary: "Sends the input to a third party." }]
})
export type AdvisoryNote = typeof AdvisoryNote.Type

const parts = (version: string) => {
  const [, core, pre] = /^([^-+]+)(?:-([^+]+))?/u.exec(version)!
  return { core: core.split("."), pre: pre === undefined ? [] : pre.split(".") }
}
const isNumber = (identifier: string) => /^\d+$/u.test(identifier)
/** Digits without leading zeros: the longer is the greater, whatever a JavaScript number can hold. */
const compareNumbers = (a: string, b: string) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)

/** Precedence as in Semantic Versioning 11: negative when `a` is before `b`. Build metadata counts for nothing. */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [parts(a), parts(b)]
  for (const [index, one] of left.core.entries()) {
    const order = compareNumbers(one, right.core[index])
    if (order !== 0) return order
  }
  // A pre-release is before its release.
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length
  for (let index = 0; index < Math.max(left.pre.length, right.pre.length); index++) {
    const [one, other] = [left.pre[index], right.pre[index]]
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1
    if (isNumber(one) !== isNumber(other)) return isNumber(one) ? -1 : 1
    const order = isNumber(one) ? compareNumbers(one, other) : one < other ? -1 : one > other ? 1 : 0
    if (order !== 0) return order
  }
  return 0
}

const satisfies = (version: string, comparator: string): boolean => {
  const [, operator, bound] = /^(<=|>=|<|>|=)?(.*)$/u.exec(comparator)!
  const order = compareVersions(version, bound)
  switch (operator) {
    case "<":
      return order < 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case ">=":
      return order >= 0
    default:
      return order === 0
  }
}

/** Whether `version` is in `range`, a `VersionRange`. */
export const inRange = (range: string, version: string): boolean =>
  range === "*" ||
  range
    .split(" || ")
    .some((alternative) => alternative.split(" ").every((comparator) => satisfies(version, comparator)))
