/** Labelled packages through the stages and the gate as a submission goes, with the local judge and no network. */
import { defaultArchiveLimits, openPackage } from "@quickagents/archive"
import { archiveStage, decide, Judge, stagesFor } from "@quickagents/scan"
import type { GateDecision, PreviousRelease, ScanContext } from "@quickagents/scan"
import type { StageResult } from "@quickagents/schema"
import { defaultInstructions } from "@quickagents/schema"
import { Effect, Layer, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import { corpus } from "./Corpus.ts"
import type { LabelledPackage, Part } from "./Corpus.ts"

export interface Judged {
  readonly package: Omit<LabelledPackage, "archive" | "previousArchive">
  readonly status: GateDecision["status"]
  /** Stages with a finding that holds or blocks the version. */
  readonly by: ReadonlyArray<string>
  /** `stage/rule severity file:line` of those findings. */
  readonly findings: ReadonlyArray<string>
  /** Milliseconds of each stage that ran. */
  readonly stageMs: Readonly<Record<string, number>>
}

const services = Layer.mergeAll(Judge.layerLocal, FetchHttpClient.layer)

const previousOf = (archive: Uint8Array | undefined): PreviousRelease | undefined => {
  if (archive === undefined) return undefined
  const { files, manifest } = Result.getOrThrow(openPackage(archive, defaultArchiveLimits))
  if (manifest === undefined) throw new Error("the version before has no manifest")
  const instructions = files.find(({ path }) => path === (manifest.instructions ?? defaultInstructions))?.text
  return {
    version: manifest.version,
    description: manifest.description,
    ...(instructions === undefined ? {} : { instructions }),
    capabilities: manifest.capabilities ?? {},
    mcpServers: manifest.mcpServers ?? [],
    secrets: (manifest.secrets ?? []).map(({ name }) => name)
  }
}

const judged = Effect.fnUntraced(function* (labelled: LabelledPackage) {
  const stageMs: Record<string, number> = {}
  const timed = Effect.fnUntraced(function* <A, R>(stage: string, run: Effect.Effect<A, never, R>) {
    const from = performance.now()
    const result = yield* run
    stageMs[stage] = performance.now() - from
    return result
  })
  const { pkg, result } = yield* timed("S1", archiveStage(labelled.archive, defaultArchiveLimits))
  const results: Array<StageResult> = [result]
  if (pkg !== undefined) {
    const previous = previousOf(labelled.previousArchive)
    const [namespace, name] = (pkg.manifest?.name ?? "acme/nameless").split("/")
    const context: ScanContext = {
      namespace,
      name,
      version: pkg.manifest?.version ?? "1.0.0",
      budgetCaps: { seconds: 900, turns: 60 },
      ...(previous === undefined ? {} : { previous })
    }
    for (const { run, stage } of stagesFor(pkg)) {
      results.push(yield* timed(stage, run(pkg, context)))
      if (stage === "S2" && pkg.manifest === undefined) break
    }
  }
  const { holdingFindings, status } = decide(results)
  const { archive: _, previousArchive: __, ...rest } = labelled
  return {
    package: rest,
    status,
    by: [...new Set(holdingFindings.map(({ stage }) => stage))],
    findings: holdingFindings.map(
      ({ file, line, rule, severity, stage }) =>
        `${stage}/${rule} ${severity}${file === undefined ? "" : ` ${file}${line === undefined ? "" : `:${line}`}`}`
    ),
    stageMs
  } satisfies Judged
})

/** Every `nth` package of a part. */
export const judgeCorpus = (part: Part, nth = 1): Promise<ReadonlyArray<Judged>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const all: Array<Judged> = []
      for (const labelled of corpus(part, nth)) all.push(yield* judged(labelled))
      return all
    }).pipe(Effect.provide(services))
  )

/** What the gate did to a part: `recall` is the share of hostile packages that were not published. */
export const measured = (all: ReadonlyArray<Judged>) => {
  const hostile = all.filter(({ package: { label } }) => label === "hostile")
  const benign = all.filter(({ package: { label } }) => label === "benign")
  const caught = hostile.filter(({ status }) => status !== "published")
  const falseAlarms = benign.filter(({ status }) => status !== "published")
  return {
    hostile: hostile.length,
    benign: benign.length,
    missed: hostile.filter(({ status }) => status === "published"),
    falseAlarms,
    recall: caught.length / hostile.length,
    falsePositives: falseAlarms.length / benign.length,
    hostileOf: (threat: string) => hostile.filter(({ package: one }) => one.threat === threat),
    stageMs: (stage: string) => all.flatMap(({ stageMs }) => stageMs[stage] ?? [])
  }
}
