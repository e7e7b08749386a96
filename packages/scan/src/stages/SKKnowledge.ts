import type { Finding, Severity, StageResult } from "@quickagents/schema"
import { defaultInstructions, manifestFile } from "@quickagents/schema"
import type { PackageFile, ReleasePackage } from "@quickagents/archive"
import { isImagePath, isInside } from "@quickagents/archive"
import { Effect } from "effect"
import { Judge } from "../Judge.ts"
import { chunksOf } from "../Rubric.ts"
import type { ShippedPack } from "../ShippedPacks.ts"
import { shippedPacks } from "../ShippedPacks.ts"
import type { ScanContext, StageOutcome } from "../Stage.ts"
import { defineStage, toStageResult } from "../Stage.ts"
import { rulesStage } from "./S8Rules.ts"
import { review, textParts } from "./S9Review.ts"
import { secretsStage } from "./S5Secrets.ts"
import { textStage } from "./S3Text.ts"

/**
 * The tree rules that are left: the archive's reader has refused links, odd
 * paths and names that are there twice, and the limits were its own. Order is
 * no rule of a folder; whoever hands a pack over writes it canonically.
 */
const treeFindings = (pkg: ReleasePackage, packs: ReadonlyArray<ShippedPack>): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const report = (rule: string, severity: Severity, file: string, message: string) => {
    findings.push({ stage: "SK", rule, severity, file, message })
  }
  packs.forEach(({ files, path }, index) => {
    if (packs.some((other, at) => at !== index && isInside(path, other.path)))
      report("pack-overlap", "high", path, "The pack holds another pack, or is named twice")
    if (files.some((file) => file.path === path))
      return report("pack-not-a-folder", "high", path, "A shipped pack is a folder, and this is a file")
    for (const file of files) {
      const inside = file.path.slice(path.length + 1)
      if (!isInside("wiki", inside) && !isInside("sources", inside))
        report("pack-stray-file", "high", file.path, "A pack holds files under wiki/ and sources/ alone")
      else if (inside === "wiki" || inside === "sources")
        report("pack-not-a-folder", "high", file.path, "wiki and sources are folders, and this is a file")
      else if (inside.startsWith("wiki/") && file.text === undefined && !isImagePath(file.path))
        report("pack-page-not-text", "high", file.path, "A wiki page is UTF-8 text, and this one cannot be read")
    }
    if (!files.some((file) => file.path.startsWith(`${path}/wiki/`) && file.text !== undefined))
      report("pack-without-pages", "medium", path, "The pack has no page under wiki/")
  })
  // What an agent is told to do is no knowledge, and S6 and S9 do not read packs.
  const { manifest } = pkg
  for (const path of [manifestFile, manifest?.instructions ?? defaultInstructions, manifest?.output?.schema]) {
    if (path !== undefined && packs.some((pack) => isInside(pack.path, path)))
      report("pack-holds-instructions", "high", path, "A file that directs the agent lies in a knowledge pack")
  }
  return findings
}

/** The stages below are made for the text files of a release: a page may be ten times as large. */
const partBytes = 1024 * 1024

/** A file in parts of which each begins with the line that the one before ended with, so that no rule misses what runs on. */
const partsOf = (file: PackageFile): ReadonlyArray<{ readonly file: PackageFile; readonly linesBefore: number }> => {
  if (file.text === undefined || file.bytes.length <= partBytes) return [{ file, linesBefore: 0 }]
  let last = ""
  let lines = 0
  return chunksOf(file.text, partBytes).map((chunk) => {
    const text = last + chunk
    const part = { file: { ...file, text, bytes: Buffer.from(text) }, linesBefore: lines - (last === "" ? 0 : 1) }
    const ended = chunk.endsWith("\n")
    last = ended ? chunk.slice(chunk.lastIndexOf("\n", chunk.length - 2) + 1) : ""
    lines += chunk.split("\n").length - 1
    return part
  })
}

const staticStages = [textStage, secretsStage, rulesStage]

/** S3, S5 and S8 on each file by itself, with other work of the process between them. */
const staticResults = Effect.fnUntraced(function* (
  pkg: ReleasePackage,
  context: ScanContext,
  files: ReadonlyArray<PackageFile>
) {
  const results: Array<StageResult> = []
  for (const file of files) {
    for (const { file: part, linesBefore } of partsOf(file)) {
      for (const stage of staticStages) {
        yield* Effect.yieldNow
        const result = yield* stage({ ...pkg, files: [part] }, context)
        const findings = result.findings.map((finding) =>
          finding.line === undefined ? finding : { ...finding, line: finding.line + linesBefore }
        )
        results.push({ ...result, findings })
      }
    }
  }
  return results
})

/** SK: the knowledge packs that a release ships, by the tree rules and by S3, S5, S8 and S9 page for page. */
export const knowledgeStage = defineStage("SK", "1", (pkg, context) =>
  Effect.gen(function* (): Effect.fn.Return<StageOutcome, never, Judge> {
    const packs = shippedPacks(pkg)
    if (packs.length === 0)
      return { findings: [], status: "skipped" as const, detail: "The package ships no knowledge pack" }
    const tree = treeFindings(pkg, packs)
    const files = pkg.files.filter(({ path }) => packs.some((pack) => isInside(pack.path, path)))
    const results = yield* staticResults(pkg, context, files)
    const judge = yield* Judge
    // Without a judge S9 holds the version already.
    const answers =
      judge.provider === "none"
        ? { findings: [], detail: "AI Review: no judge is configured" }
        : yield* review(textParts(files))
    const reviewed = toStageResult("S9", "1", answers, 0)
    const all = [...results, reviewed]
    const seen = new Set<string>()
    const findings = [...tree, ...all.flatMap((result) => result.findings)].flatMap((finding) => {
      const own: Finding = { ...finding, stage: "SK" }
      const key = JSON.stringify([own.rule, own.file, own.line, own.chunk])
      if (seen.has(key)) return []
      seen.add(key)
      return [own]
    })
    const inputs: Record<string, string> = {}
    for (const {
      inputs: { stageVersion, ...decided },
      stage
    } of all)
      Object.assign(inputs, decided, { [stage]: stageVersion })
    const failed = all.find(({ status }) => status === "failed")
    return {
      findings,
      inputs,
      detail: [`packs: ${packs.length}, files: ${files.length}`, failed?.detail ?? reviewed.detail]
        .filter(Boolean)
        .join("; "),
      ...(failed === undefined ? {} : { status: "failed" as const })
    }
  })
)
