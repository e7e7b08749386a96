/** What the stages' findings together mean for a version. */
import type { Finding, Severity, StageId, StageResult, Verdict } from "@quickagents/schema"
import { isAtLeast, toStageResult } from "./Stage.ts"

export interface GateDecision {
  readonly status: "published" | "needs_review" | "blocked"
  readonly verdict: Exclude<Verdict, "unscanned">
  /** The stages in order, S0 among them when the pipeline itself went wrong. */
  readonly stages: ReadonlyArray<StageResult>
  /** What keeps the version from being published; empty for `published`. */
  readonly holdingFindings: ReadonlyArray<Finding>
  readonly findingCounts: Record<Severity, number>
}

/** A package is never published without these, nor one that ships packs without SK; S10 may be skipped or absent. */
const required: ReadonlyArray<StageId> = ["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"]

/** A trial that saw a decoy leave its sandbox. */
export const decoyLeftRule = "decoy-left"

export const blocks = ({ stage, severity, rule }: Finding): boolean => {
  switch (stage) {
    case "S1":
      return true
    case "S2":
      return isAtLeast(severity, "high")
    case "S4":
    case "S7":
      return severity === "critical"
    case "S10":
      return rule === decoyLeftRule
    default:
      return false
  }
}

export const holds = (finding: Finding): boolean => finding.stage === "S0" || isAtLeast(finding.severity, "high")

export const pipelineError = (message: string): Finding => ({
  stage: "S0",
  rule: "pipeline-error",
  severity: "high",
  message
})

export const countFindings = (findings: ReadonlyArray<Finding>): Record<Severity, number> => {
  const counts: Record<Severity, number> = { info: 0, low: 0, medium: 0, high: 0, critical: 0 }
  for (const { severity } of findings) counts[severity]++
  return counts
}

/**
 * Blocked when a finding blocks, held for review when one holds or a stage did
 * not do its work, published otherwise. A stage that failed, or a required one
 * that is missing or skipped, is a `pipeline-error` of S0.
 */
export const decide = (stages: ReadonlyArray<StageResult>, shipsPacks = false): GateDecision => {
  const blocking = stages.flatMap(({ findings }) => findings).filter(blocks)
  const errors = [
    ...stages
      .filter(({ status }) => status === "failed")
      .map(({ stage, name }) => pipelineError(`Stage ${stage} (${name}) could not finish`)),
    // A refused archive or manifest ends the pipeline, and what follows is rightly absent.
    ...(blocking.length > 0
      ? []
      : [...required, ...(shipsPacks ? (["SK"] as const) : [])]
          .filter((stage) => !stages.some((result) => result.stage === stage && result.status !== "skipped"))
          .map((stage) => pipelineError(`Stage ${stage} did not run`)))
  ]
  const all =
    errors.length === 0
      ? stages
      : [
          ...stages.filter(({ stage }) => stage === "S0"),
          toStageResult("S0", "1", { findings: errors }, 0),
          ...stages.filter(({ stage }) => stage !== "S0")
        ]
  const findings = all.flatMap((stage) => stage.findings)
  const findingCounts = countFindings(findings)
  if (blocking.length > 0)
    return { status: "blocked", verdict: "blocked", stages: all, holdingFindings: blocking, findingCounts }
  const holdingFindings = findings.filter(holds)
  return {
    status: holdingFindings.length > 0 ? "needs_review" : "published",
    // Information alone is no blemish.
    verdict: findings.some(({ severity }) => severity !== "info") ? "findings" : "clean",
    stages: all,
    holdingFindings,
    findingCounts
  }
}
