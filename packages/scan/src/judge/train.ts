/**
 * Trains the local judge: `node packages/scan/src/judge/train.ts` reads
 * `corpus.json` and the honest packages of `tests/gate/tune`, writes
 * `weights.json` and prints what the held-out parts show. Same inputs, same
 * bytes.
 *
 * A line of the corpus is a template: `{a|b}` stands for any of its choices.
 * Measured by five folds: whole templates and whole packages are held out, so
 * that the measure is of phrasings the judge has not seen and not of other
 * fillings of those it has.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import { buckets, featuresOf, heads, windowsOf } from "./Features.ts"
import type { Head } from "./Features.ts"
import type { Weights } from "./LocalJudge.ts"

type Label = Head | "benign"

const perTemplate = 16
const folds = 5
const epochs = 40
const learningRate = 0.15
const decay = 3e-5
/** A false alarm holds an honest package, so an honest sentence weighs more than one of another class. */
const negativeWeight: Record<"benign" | "other", number> = { benign: 6, other: 0.5 }
const threshold = 0.7

const corpus = JSON.parse(readFileSync(new URL("./corpus.json", import.meta.url), "utf8")) as Record<
  Label,
  ReadonlyArray<string>
>

/** mulberry32: small, and the same on every machine. */
const random = (() => {
  let state = 20_261_121
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
})()

const fill = (template: string): string =>
  template.replace(/\{([^{}]*\|[^{}]*)\}/gu, (_, choices: string) => {
    const options = choices.split("|")
    return options[Math.floor(random() * options.length)]
  })

interface Example {
  readonly label: Label
  readonly fold: number
  readonly features: ReadonlyArray<number>
}

const ofTemplates = (label: Label): ReadonlyArray<Example> =>
  corpus[label].flatMap((template, index) =>
    [...new Set(Array.from({ length: perTemplate }, () => fill(template)))]
      .flatMap(windowsOf)
      .map((sentence) => ({ label, fold: index % folds, features: featuresOf(sentence) }))
  )

const honest = new URL("../../../../tests/gate/tune/benign/", import.meta.url)
const ofPackages: ReadonlyArray<Example> = readdirSync(fileURLToPath(honest))
  .toSorted()
  .flatMap((name, index) => {
    const { files } = parse(readFileSync(new URL(name, honest), "utf8")) as { readonly files: Record<string, string> }
    return Object.values(files)
      .flatMap(windowsOf)
      .map((sentence) => ({ label: "benign" as const, fold: index % folds, features: featuresOf(sentence) }))
  })

const labels: ReadonlyArray<Label> = [...heads, "benign"]
const examples = [...labels.flatMap(ofTemplates), ...ofPackages]
const shuffled = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => {
  const copy = [...values]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const other = copy[i]
    copy[i] = copy[j]!
    copy[j] = other
  }
  return copy
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

interface Trained {
  readonly bias: number
  readonly scale: number
  readonly values: Int8Array
}

const fit = (head: Head, training: ReadonlyArray<Example>): Trained => {
  const weights = new Float64Array(buckets)
  let bias = -4
  for (let epoch = 0; epoch < epochs; epoch++) {
    const rate = learningRate / (1 + epoch / 10)
    for (const { label, features } of shuffled(training)) {
      const sum = features.reduce((total, feature) => total + weights[feature], bias)
      const importance = label === head ? 1 : negativeWeight[label === "benign" ? "benign" : "other"]
      const step = rate * importance * ((label === head ? 1 : 0) - sigmoid(sum))
      // Longer sentences have more features to say the same with.
      const share = step / Math.sqrt(features.length)
      for (const feature of features) weights[feature] = weights[feature] * (1 - decay) + share
      // The bias stays low: a sentence of unknown words is no evidence of anything.
      bias = Math.min(bias + step * 0.1, -4)
    }
  }
  const scale = Math.max(...weights.map(Math.abs)) / 127
  return { bias, scale, values: Int8Array.from(weights, (weight) => Math.round(weight / scale)) }
}

const share = (of: ReadonlyArray<number>) =>
  Number((of.filter((probability) => probability >= threshold).length / of.length).toFixed(4))

/** Measured on what it has not seen; what ships has then seen all of it. */
const trainHead = (head: Head): Weights["heads"][Head] => {
  const positives: Array<number> = []
  const negatives: Array<number> = []
  for (let fold = 0; fold < folds; fold++) {
    const model = fit(
      head,
      examples.filter((example) => example.fold !== fold)
    )
    for (const example of examples)
      if (example.fold === fold && (example.label === head || example.label === "benign")) {
        const sum = example.features.reduce((total, feature) => total + model.values[feature], 0)
        ;(example.label === head ? positives : negatives).push(sigmoid(model.bias + model.scale * sum))
      }
  }
  const shipped = fit(head, examples)
  return {
    bias: shipped.bias,
    scale: shipped.scale,
    values: Buffer.from(shipped.values.buffer).toString("base64"),
    heldOut: {
      recall: share(positives),
      falsePositiveRate: share(negatives),
      positives: positives.length,
      negatives: negatives.length
    }
  }
}

const weights: Weights = {
  version: 2,
  heads: Object.fromEntries(heads.map((head) => [head, trainHead(head)])) as Weights["heads"]
}
writeFileSync(new URL("./weights.json", import.meta.url), `${JSON.stringify(weights, null, 2)}\n`)
console.log(`trained on ${examples.length} sentences, by ${folds} folds at probability ${threshold}:`)
for (const head of heads) {
  const { recall, falsePositiveRate, positives, negatives } = weights.heads[head].heldOut
  console.log(
    `${head.padEnd(26)} recall ${recall.toFixed(3)} of ${positives}, false positives ${falsePositiveRate.toFixed(4)} of ${negatives}`
  )
}
