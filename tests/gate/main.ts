/**
 * `npm run bench:gate`: what the gate lets through and what it holds wrongly, by
 * threat, with the local judge alone, and the time of each stage.
 * `--part tune` measures the part that rules are written against; `--list` names
 * each package that was judged wrongly.
 */
import { localMeasures } from "@quickagents/scan"
import { parseArgs } from "node:util"
import { median, quantile } from "../bench/Statistics.ts"
import { parts, threats } from "./Corpus.ts"
import type { Part } from "./Corpus.ts"
import { judgeCorpus, measured } from "./Gate.ts"

const { values } = parseArgs({
  options: {
    part: { type: "string", default: "report" },
    list: { type: "boolean", default: false },
    json: { type: "boolean", default: false }
  }
})
const part = parts.find((one) => one === values.part)
if (part === undefined) {
  console.error(`--part is one of ${parts.join(", ")}`)
  process.exit(2)
}

const share = (value: number) => value.toFixed(3)
const print = (part: Part, all: Awaited<ReturnType<typeof judgeCorpus>>) => {
  const result = measured(all)
  console.log(`${part}: ${result.hostile} hostile and ${result.benign} benign packages, local judge, no network\n`)
  console.log(`${"threat".padEnd(24)}${"packages".padStart(9)}${"caught".padStart(9)}   by`)
  for (const threat of threats) {
    const of = result.hostileOf(threat)
    const caught = of.filter(({ status }) => status !== "published")
    const by = new Map<string, number>()
    for (const { by: stages } of caught) for (const stage of stages) by.set(stage, (by.get(stage) ?? 0) + 1)
    const stages = [...by].toSorted((a, b) => b[1] - a[1]).map(([stage, count]) => `${stage} ${count}`)
    console.log(
      `${threat.padEnd(24)}${String(of.length).padStart(9)}${String(caught.length).padStart(9)}   ${stages.join(", ")}`
    )
  }
  console.log(`\nrecall ${share(result.recall)} (aim 0.95), false positives ${share(result.falsePositives)} (aim 0.02)`)
  console.log(`\n${"stage".padEnd(8)}${"p50 ms".padStart(10)}${"p99 ms".padStart(10)}`)
  for (const stage of ["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"]) {
    const times = result.stageMs(stage)
    console.log(
      `${stage.padEnd(8)}${median(times).toFixed(1).padStart(10)}${quantile(times, 0.99).toFixed(1).padStart(10)}`
    )
  }
  console.log("\nthe judge's questions on sentences it had not seen: recall, false positives")
  for (const [question, { falsePositiveRate, recall }] of Object.entries(localMeasures))
    console.log(`${question.padEnd(28)}${share(recall).padStart(6)}${share(falsePositiveRate).padStart(8)}`)
  if (!values.list) return
  console.log("\npublished although hostile:")
  for (const { package: one } of result.missed) console.log(`  ${one.id} (${one.threat}): ${one.why}`)
  console.log("\nheld although benign:")
  for (const { findings, package: one } of result.falseAlarms)
    console.log(`  ${one.id}: ${one.why}\n     ${findings.join("\n     ")}`)
}

const all = await judgeCorpus(part)
if (values.json)
  console.log(
    JSON.stringify(
      all.map(({ package: { files: _, previous: __, ...one }, ...rest }) => ({ ...one, ...rest })),
      null,
      2
    )
  )
else print(part, all)
