/**
 * Trains the local judge: `node packages/scan/src/judge/train.ts` reads
 * `corpus.json`, writes `weights.json` and prints what the held-out part shows.
 * Same corpus, same bytes.
 *
 * A line of the corpus is a template: `{a|b}` stands for any of its choices.
 * Every fourth template is held out whole, so that the measure is of phrasings
 * the judge has not seen and not of other fillings of those it has.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { buckets, featuresOf, heads } from "./Features.ts"
import type { Head } from "./Features.ts"
import type { Weights } from "./LocalJudge.ts"

type Label = Head | "benign"

const perTemplate = 24
const epochs = 60
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
  readonly features: ReadonlyArray<number>
}

const examplesOf = (label: Label, isHeldOut: boolean): ReadonlyArray<Example> =>
  corpus[label]
    .filter((_, index) => (index % 4 === 3) === isHeldOut)
    .flatMap((template) => [...new Set(Array.from({ length: perTemplate }, () => fill(template)))])
    .map((sentence) => ({ label, features: featuresOf(sentence) }))

const labels: ReadonlyArray<Label> = [...heads, "benign"]
const training = labels.flatMap((label) => examplesOf(label, false))
const heldOut = labels.flatMap((label) => examplesOf(label, true))

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

/** Measured on what it has not seen; what ships has then seen the whole corpus. */
const trainHead = (head: Head): Weights["heads"][Head] => {
  const measured = fit(head, training)
  const shipped = fit(head, [...training, ...heldOut])
  const probability = ({ features }: Example) =>
    sigmoid(measured.bias + measured.scale * features.reduce((total, feature) => total + measured.values[feature], 0))
  const positives = heldOut.filter(({ label }) => label === head)
  const negatives = heldOut.filter(({ label }) => label === "benign")
  const share = (examples: ReadonlyArray<Example>) =>
    Number((examples.filter((example) => probability(example) >= threshold).length / examples.length).toFixed(4))
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
  version: 1,
  heads: Object.fromEntries(heads.map((head) => [head, trainHead(head)])) as Weights["heads"]
}
writeFileSync(new URL("./weights.json", import.meta.url), `${JSON.stringify(weights, null, 2)}\n`)
console.log(`trained on ${training.length} sentences, held out ${heldOut.length}; at probability ${threshold}:`)
for (const head of heads) {
  const { recall, falsePositiveRate, positives, negatives } = weights.heads[head].heldOut
  console.log(
    `${head.padEnd(26)} recall ${recall.toFixed(3)} of ${positives}, false positives ${falsePositiveRate.toFixed(3)} of ${negatives}`
  )
}
