/** Packages and contexts for the tests of the stages. */
import { defaultArchiveLimits, openPackage } from "@quickagents/archive"
import type { ReleasePackage } from "@quickagents/archive"
import { archiveWith } from "@quickagents/archive/testing"
import type { Files } from "@quickagents/archive/testing"
import type { StageResult } from "@quickagents/schema"
import { Effect, Layer, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import { Judge } from "../Judge.ts"
import type { ScanContext, Stage } from "../Stage.ts"
import type { ScanServices } from "../Stages.ts"

export const packageWith = (files: Files = {}): ReleasePackage =>
  Result.getOrThrow(openPackage(archiveWith(files), defaultArchiveLimits))

export const context: ScanContext = {
  namespace: "acme",
  name: "notes",
  version: "1.0.0",
  budgetCaps: { seconds: 900, turns: 60 }
}

const services = Layer.mergeAll(Judge.layerLocal, FetchHttpClient.layer)

export const runStage = (
  stage: Stage<ScanServices>,
  files: Files,
  over: Partial<ScanContext> = {}
): Effect.Effect<StageResult> => stage(packageWith(files), { ...context, ...over }).pipe(Effect.provide(services))

/** `rule severity` of each finding, in order. */
export const shown = (result: StageResult): ReadonlyArray<string> =>
  result.findings.map(({ rule, severity }) => `${rule} ${severity}`)
