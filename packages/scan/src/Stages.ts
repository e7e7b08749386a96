/** The stages in the order they run. S1 opens the archive and stands before them. */
import type { ReleasePackage } from "@quickagents/archive"
import type { StageId } from "@quickagents/schema"
import type { HttpClient } from "effect/http"
import type { Judge } from "./Judge.ts"
import type { Stage } from "./Stage.ts"
import { ofOwnFiles, shippedPacks } from "./ShippedPacks.ts"
import { capabilitiesStage } from "./stages/S6Capabilities.ts"
import { dependenciesStage } from "./stages/S7Dependencies.ts"
import { knowledgeStage } from "./stages/SKKnowledge.ts"
import { malwareStage } from "./stages/S4Malware.ts"
import { manifestStage } from "./stages/S2Manifest.ts"
import { reviewStage } from "./stages/S9Review.ts"
import { rulesStage } from "./stages/S8Rules.ts"
import { secretsStage } from "./stages/S5Secrets.ts"
import { textStage } from "./stages/S3Text.ts"
import { trialStage } from "./stages/S10Trial.ts"

export { archiveStage } from "./stages/S1Archive.ts"

export type ScanServices = Judge | HttpClient.HttpClient

interface StageOfScan {
  readonly stage: StageId
  readonly run: Stage<ScanServices>
}

export const stages: ReadonlyArray<StageOfScan> = [
  { stage: "S2", run: manifestStage },
  { stage: "S3", run: ofOwnFiles(textStage) },
  { stage: "S4", run: malwareStage },
  { stage: "S5", run: ofOwnFiles(secretsStage) },
  { stage: "S6", run: capabilitiesStage },
  { stage: "S7", run: dependenciesStage },
  { stage: "S8", run: ofOwnFiles(rulesStage) },
  { stage: "S9", run: reviewStage },
  { stage: "S10", run: trialStage }
]

/** With SK where packs are shipped. */
export const stagesFor = (pkg: ReleasePackage): ReadonlyArray<StageOfScan> =>
  shippedPacks(pkg).length === 0 ? stages : [...stages, { stage: "SK", run: knowledgeStage }]
