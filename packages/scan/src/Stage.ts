/** What every stage of the scan is given and gives back. */
import type { Capabilities, Finding, McpServer, Severity, StageId, StageResult } from "@quickagents/schema"
import { stageNames } from "@quickagents/schema"
import { Clock, Effect } from "effect"
import type { ClamdAddress } from "./Clamd.ts"
import type { PackageFile, ReleasePackage } from "@quickagents/archive"
import type { PackageRegistries } from "./PackageRegistries.ts"

/** The grants of the last published version, for what a new one widens. */
export interface PreviousRelease {
  readonly version: string
  readonly capabilities: Capabilities
  readonly mcpServers: ReadonlyArray<McpServer>
  readonly secrets: ReadonlyArray<string>
}

export interface ScanContext {
  /** Where the version is to be published. */
  readonly namespace: string
  readonly name: string
  readonly version: string
  /** Absent for a first version. */
  readonly previous?: PreviousRelease
  /** The largest tier's caps: no run can be given more. */
  readonly budgetCaps: { readonly seconds: number; readonly turns: number }
  /** Absent when no ClamAV daemon is configured. */
  readonly clamd?: ClamdAddress
  /** Base URL of an OSV service, as `https://api.osv.dev`; absent means known vulnerabilities are not looked up. */
  readonly osvBaseUrl?: string
  /** Where the packages of MCP servers are looked up. */
  readonly registries?: PackageRegistries
}

/** One stage's judgement of a package. It never fails: a stage that could not do its work answers `failed`. */
export type Stage<R = never> = (pkg: ReleasePackage, context: ScanContext) => Effect.Effect<StageResult, never, R>

export interface StageOutcome {
  readonly findings: ReadonlyArray<Finding>
  readonly inputs?: Readonly<Record<string, string>>
  readonly detail?: string
  /** Without it: `findings` when there are any, else `passed`. */
  readonly status?: "skipped" | "failed"
}

/** A hostile package must not fill the report: past this, findings are only counted. */
export const maxFindings = 200

const severityRank: Record<Severity, number> = { info: 0, low: 1, medium: 2, high: 3, critical: 4 }
export const isAtLeast = (severity: Severity, floor: Severity): boolean => severityRank[severity] >= severityRank[floor]

const joined = (...details: ReadonlyArray<string | undefined>) =>
  details.filter((detail) => detail !== undefined).join("; ")

export const toStageResult = (
  stage: StageId,
  version: string,
  outcome: StageOutcome,
  durationMs: number
): StageResult => {
  // The worst first, so that what is left out is never what holds the version.
  const findings = outcome.findings
    .toSorted((a, b) => severityRank[b.severity] - severityRank[a.severity])
    .slice(0, maxFindings)
  const omitted = outcome.findings.length - findings.length
  const detail = joined(
    outcome.detail,
    omitted > 0 ? `${omitted} further findings of the same or lower severity are not listed` : undefined
  )
  return {
    stage,
    name: stageNames[stage],
    status: outcome.status ?? (findings.length > 0 ? "findings" : "passed"),
    ...(detail === "" ? {} : { detail }),
    inputs: { stageVersion: version, ...outcome.inputs },
    findings,
    durationMs
  }
}

/** Times `judge` and frames what it found. `version` changes whenever the stage could answer otherwise. */
export const defineStage = <R>(
  stage: StageId,
  version: string,
  judge: (pkg: ReleasePackage, context: ScanContext) => Effect.Effect<StageOutcome, never, R>
): Stage<R> =>
  Effect.fn(`scan/${stage}`)(function* (pkg: ReleasePackage, context: ScanContext) {
    const startedAt = yield* Clock.currentTimeMillis
    const outcome = yield* judge(pkg, context)
    return toStageResult(stage, version, outcome, Math.round((yield* Clock.currentTimeMillis) - startedAt))
  })

/** Judges file by file and lets the process do other work between them: a package may hold 60 MB. */
export const judgeFiles = (
  pkg: Pick<ReleasePackage, "files">,
  judge: (file: PackageFile) => ReadonlyArray<Finding>
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.forEach(pkg.files, (file) => Effect.yieldNow.pipe(Effect.andThen(Effect.sync(() => judge(file))))).pipe(
    Effect.map((found) => found.flat())
  )

/** Line, from 1, of a character offset. */
export const lineAt = (text: string, offset: number): number => {
  let line = 1
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++
  return line
}
