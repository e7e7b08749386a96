import type { Severity, StageId, StageResult } from "@quickagents/schema"
import { ScanReport } from "@quickagents/schema"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { decide } from "./Gate.ts"
import { buildReport, reportBytes, reportDigest, unscannedReport } from "./Report.ts"
import { toStageResult } from "./Stage.ts"

const ids: ReadonlyArray<StageId> = ["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"]
const trialSkipped = toStageResult("S10", "1", { findings: [], status: "skipped", detail: "none" }, 0)
const clean: ReadonlyArray<StageResult> = [
  ...ids.map((stage) => toStageResult(stage, "1", { findings: [] }, 1)),
  trialSkipped
]
const withFinding = (stage: StageId, severity: Severity, rule = "r") => {
  const result = toStageResult(stage, "1", { findings: [{ stage, rule, severity, message: "m" }] }, 1)
  return clean.some((other) => other.stage === stage)
    ? clean.map((other) => (other.stage === stage ? result : other))
    : [...clean, result]
}

describe("the gate", () => {
  it("publishes a version only when S1 to S9 did their work and nothing holds or blocks it", () => {
    expect(decide(clean)).toMatchObject({ status: "published", verdict: "clean", holdingFindings: [] })
    for (const stage of ids) {
      for (const missing of [
        clean.filter((result) => result.stage !== stage),
        clean.map((result) => (result.stage === stage ? { ...result, status: "skipped" as const } : result))
      ]) {
        const decision = decide(missing)
        expect([stage, decision.status, decision.holdingFindings.map(({ stage, rule }) => [stage, rule])]).toEqual([
          stage,
          "needs_review",
          [["S0", "pipeline-error"]]
        ])
      }
    }
    for (const stage of [...ids, "S10" as const]) {
      const failed = clean.map((result) => (result.stage === stage ? { ...result, status: "failed" as const } : result))
      expect(decide(failed).status).toBe("needs_review")
      expect(decide(failed).stages[0]?.stage).toBe("S0")
    }
  })

  const table: ReadonlyArray<readonly [StageId, Severity, string, "published" | "needs_review" | "blocked"]> = [
    ["S0", "low", "pipeline-error", "needs_review"],
    ["S1", "info", "r", "blocked"],
    ["S2", "high", "r", "blocked"],
    ["S2", "medium", "r", "published"],
    ["S3", "high", "r", "needs_review"],
    ["S3", "medium", "r", "published"],
    ["S4", "critical", "r", "blocked"],
    ["S4", "high", "r", "needs_review"],
    ["S5", "high", "r", "needs_review"],
    ["S6", "high", "r", "needs_review"],
    ["S6", "medium", "r", "published"],
    ["S7", "critical", "r", "blocked"],
    ["S7", "high", "r", "needs_review"],
    ["S7", "medium", "r", "published"],
    ["S8", "high", "r", "needs_review"],
    ["S8", "critical", "r", "needs_review"],
    ["S9", "high", "r", "needs_review"],
    ["S9", "medium", "r", "published"],
    ["S10", "high", "egress-off-list", "needs_review"],
    ["S10", "high", "decoy-left", "blocked"],
    ["SK", "high", "r", "needs_review"],
    ["SK", "medium", "r", "published"]
  ]
  it.each(table)("answers a %s finding of severity %s (%s) with %s", (stage, severity, rule, status) => {
    const decision = decide(withFinding(stage, severity, rule))
    expect(decision.status).toBe(status)
    expect(decision.holdingFindings).toHaveLength(status === "published" ? 0 : 1)
    expect(decision.findingCounts[severity]).toBe(1)
  })

  it("blocks without asking for the stages that a refused archive never reached", () => {
    const decision = decide([
      toStageResult(
        "S1",
        "1",
        { findings: [{ stage: "S1", rule: "parent-path", severity: "critical", message: "m" }] },
        0
      )
    ])
    expect([decision.status, decision.verdict, decision.stages.length]).toEqual(["blocked", "blocked", 1])
  })

  it("calls information alone clean and anything more findings", () => {
    expect(decide(withFinding("S3", "info")).verdict).toBe("clean")
    expect(decide(withFinding("S3", "low")).verdict).toBe("findings")
    expect(decide(withFinding("S3", "high")).verdict).toBe("findings")
  })
})

describe("the report", () => {
  const release = {
    ref: "acme/notes@1.0.0",
    archive: `sha256:${"0".repeat(64)}` as const,
    manifest: undefined,
    startedAt: new Date(0),
    finishedAt: new Date(1000)
  }

  it("satisfies its schema and has the same bytes and digest each time", () => {
    const report = buildReport(release, decide(withFinding("S3", "low")))
    expect(Schema.decodeUnknownSync(ScanReport)(JSON.parse(Buffer.from(reportBytes(report)).toString()))).toEqual(
      report
    )
    expect(reportDigest(buildReport(release, decide(withFinding("S3", "low"))))).toBe(reportDigest(report))
    expect(reportDigest(buildReport(release, decide(clean)))).not.toBe(reportDigest(report))
  })

  it("says unscanned, with no stage, for a version admitted unscanned", () => {
    expect(unscannedReport(release)).toMatchObject({ verdict: "unscanned", stages: [] })
  })

  it("lists the worst findings when there are too many", () => {
    const finding = (severity: Severity) => ({ stage: "S3" as const, rule: "r", severity, message: "m" })
    const result = toStageResult(
      "S3",
      "1",
      { findings: [...Array.from({ length: 300 }, () => finding("low")), finding("high")] },
      0
    )
    expect([result.findings.length, result.findings[0]?.severity, result.detail]).toEqual([
      200,
      "high",
      "101 further findings of the same or lower severity are not listed"
    ])
  })
})
