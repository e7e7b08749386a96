import type { Finding, Manifest } from "@quickagents/schema"
import { manifestFile } from "@quickagents/schema"
import { Effect } from "effect"
import { canonicalJson } from "@quickagents/archive"
import { Judge } from "../Judge.ts"
import { localMeasuresLine } from "../judge/LocalJudge.ts"
import type { PackageFile } from "@quickagents/archive"
import { byPath, isInside } from "@quickagents/archive"
import { chunksOf, reviewChunks, rubric, rubricHash, severityOf } from "../Rubric.ts"
import type { StageOutcome } from "../Stage.ts"
import { defineStage } from "../Stage.ts"

export interface ReviewPart {
  readonly file: string
  /** From 0, within the file. */
  readonly chunk: number
  readonly text: string
}

/** The text files in path order, cut into chunks. */
export const textParts = (files: ReadonlyArray<Pick<PackageFile, "path" | "text">>): ReadonlyArray<ReviewPart> =>
  files
    .toSorted(byPath)
    .flatMap(({ path, text }) =>
      text === undefined ? [] : chunksOf(text).map((chunk, index) => ({ file: path, chunk: index, text: chunk }))
    )

/**
 * What the rubric is asked about: the manifest's canonical JSON, then the text
 * files in path order. The file `agent.yaml` is among them for its comments.
 * Shipped knowledge packs are left to their own stage.
 */
export const reviewParts = (
  manifest: Manifest,
  files: ReadonlyArray<Pick<PackageFile, "path" | "text">>
): ReadonlyArray<ReviewPart> => {
  const packs = manifest.knowledge ?? []
  return [
    ...textParts([{ path: manifestFile, text: canonicalJson(manifest) }]),
    ...textParts(files.filter(({ path }) => !packs.some((pack) => isInside(pack, path))))
  ]
}

/** Asks the rubric about the parts. A chunk that the judge did not answer fails it; its other findings stand. */
export const review = Effect.fnUntraced(function* (
  parts: ReadonlyArray<ReviewPart>
): Effect.fn.Return<StageOutcome, never, Judge> {
  const judge = yield* Judge
  const inputs = { rubric: rubricHash, judge: `${judge.provider}/${judge.model}` }
  const reviewed = yield* reviewChunks(
    rubric,
    parts.map(({ text }) => text)
  )
  const findings = reviewed.flatMap(({ answers }, index): ReadonlyArray<Finding> =>
    rubric.flatMap(({ id }) => {
      const score = answers.find((answer) => answer.id === id)?.score ?? 0
      const severity = severityOf(id, score)
      const { file, chunk } = parts[index]
      return severity === undefined
        ? []
        : [{ stage: "S9", rule: id, severity, file, chunk, message: `AI Review scores ${id} ${score} of 3` }]
    })
  )
  const failed = reviewed.filter(({ failure }) => failure !== undefined)
  const sum = (key: "requests" | "inputTokens") => reviewed.reduce((total, chunk) => total + chunk[key], 0)
  const usage = `${parts.length} chunks, ${sum("requests")} judge requests, ${sum("inputTokens")} input tokens${judge.provider === "local" ? `; ${localMeasuresLine}` : ""}`
  return failed.length === 0
    ? { findings, inputs, detail: usage }
    : {
        findings,
        inputs,
        status: "failed",
        detail: `The judge did not answer for ${failed.length} chunks (${failed[0].failure}); ${usage}`
      }
})

/** S9: AI Review of the release's own texts. */
export const reviewStage = defineStage("S9", "1", ({ files, manifest }) =>
  manifest === undefined
    ? Effect.succeed<StageOutcome>({ findings: [], status: "skipped", detail: "The manifest cannot be read" })
    : review(reviewParts(manifest, files))
)
