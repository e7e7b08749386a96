import type { StageResult } from "@quickagents/schema"
import { Clock, Effect, Result } from "effect"
import type { ArchiveLimits } from "../ArchiveLimits.ts"
import { canonicalJson } from "../CanonicalJson.ts"
import type { ScanPackage } from "../Package.ts"
import { digestOf, openPackage } from "../Package.ts"
import { toStageResult } from "../Stage.ts"

export interface OpenedArchive {
  readonly result: StageResult
  /** `undefined` when the archive is refused: no later stage may look at it. */
  readonly pkg: ScanPackage | undefined
}

/** S1: tar safety, quotas and the digest. Every finding blocks, so every finding is critical. */
export const archiveStage = Effect.fn("scan/S1")(function* (
  archive: Uint8Array,
  limits: ArchiveLimits
): Effect.fn.Return<OpenedArchive> {
  const startedAt = yield* Clock.currentTimeMillis
  const opened = openPackage(archive, limits)
  const durationMs = Math.round((yield* Clock.currentTimeMillis) - startedAt)
  const inputs = { archive: digestOf(archive), limits: digestOf(canonicalJson(limits)) }
  if (Result.isSuccess(opened)) {
    return { result: toStageResult("S1", "1", { findings: [], inputs }, durationMs), pkg: opened.success }
  }
  const findings = opened.failure.problems.map((problem) => ({
    stage: "S1" as const,
    severity: "critical" as const,
    ...problem
  }))
  return { result: toStageResult("S1", "1", { findings, inputs }, durationMs), pkg: undefined }
})
