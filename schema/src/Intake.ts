/** Checks intake answers against the questions of a manifest; the same rules at create and in the runner. */
import type { IntakeQuestion } from "./Manifest.ts"

export interface IntakeIssue {
  /** Id of the question, or of an answer that no question asks for. */
  readonly id: string
  readonly message: string
}

const fits = (question: IntakeQuestion, value: unknown): string | undefined => {
  switch (question.type) {
    case "string":
    case "text":
    case "file":
      return typeof value === "string" ? undefined : "must be text"
    case "integer":
      return Number.isSafeInteger(value) ? undefined : "must be a whole number"
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? undefined : "must be a number"
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false"
    case "choice":
      return (question.options ?? []).includes(value as string)
        ? undefined
        : `must be one of ${(question.options ?? []).join(", ")}`
    case "url":
      return typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
        ? undefined
        : "must be an http or https address"
  }
}

/** Everything that is wrong with the answers; empty when a run can take them. */
export const checkIntake = (
  questions: ReadonlyArray<IntakeQuestion>,
  answers: Readonly<Record<string, unknown>>
): ReadonlyArray<IntakeIssue> => [
  ...questions.flatMap((question) => {
    const value = (Object.hasOwn(answers, question.id) ? answers[question.id] : undefined) ?? question.default
    if (value === undefined || value === null || value === "") {
      return question.required === true ? [{ id: question.id, message: "is required" }] : []
    }
    const message = fits(question, value)
    return message === undefined ? [] : [{ id: question.id, message }]
  }),
  ...Object.keys(answers)
    .filter((id) => !questions.some((question) => question.id === id))
    .map((id) => ({ id, message: "is not asked by this release" }))
]

/** Given answers with the defaults of unanswered questions. */
export const withDefaults = (questions: ReadonlyArray<IntakeQuestion>, answers: Readonly<Record<string, unknown>>) => ({
  ...Object.fromEntries(questions.flatMap(({ default: value, id }) => (value === undefined ? [] : [[id, value]]))),
  ...answers
})
