import type { StageResult } from "@quickagents/schema"
import { Clock, Effect, Result } from "effect"
import type { ArchiveLimits } from "@quickagents/archive"
import { canonicalJson } from "@quickagents/archive"
import type { ReleasePackage } from "@quickagents/archive"
import { digestOf, openPackage } from "@quickagents/archive"
import { toStageResult } from "../Stage.ts"

export interface OpenedArchive {
  readonly result: StageResult
  /** `undefined` when the archive is refused: no later stage may look at it. */
  readonly pkg: ReleasePackage | undefined
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
