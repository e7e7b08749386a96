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
import { proseSignals } from "../evidence/ProseSignals.ts"
import { statementsOf } from "../evidence/Statements.ts"
import { buckets, featuresOf, headOfKind, heads, windowsOf } from "./Features.ts"
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
  /** Its label is made of the signals that are also its features: it teaches and does not measure. */
  readonly isFromSignals?: boolean
  /** The honest package that it stands in. */
  readonly name?: string
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
      .map((sentence) => ({ label: "benign" as const, fold: index % folds, name, features: featuresOf(sentence) }))
  })

/** Sentences of hostile packages, by what the signals of `evidence` say of them; the others teach nothing. */
const hostile = new URL("../../../../tests/gate/tune/hostile/", import.meta.url)
const ofHostile: ReadonlyArray<Example> = readdirSync(fileURLToPath(hostile))
  .toSorted()
  .flatMap((name, index) => {
    const { files } = parse(readFileSync(new URL(name, hostile), "utf8")) as { readonly files: Record<string, string> }
    return Object.entries(files).flatMap(([path, text]) =>
      path === "agent.yaml" || text.length > 20_000
        ? []
        : statementsOf(path, text).flatMap((statement) =>
            proseSignals(path, [statement], []).flatMap(({ kind, weight }): ReadonlyArray<Example> => {
              const label = headOfKind[kind]
              return label === undefined || weight < 0.6
                ? []
                : [{ label, fold: index % folds, isFromSignals: true, features: featuresOf(statement.spoken) }]
            })
          )
    )
  })

const labels: ReadonlyArray<Label> = [...heads, "benign"]
const examples = [...labels.flatMap(ofTemplates), ...ofPackages, ...ofHostile]
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

const sumOf = ({ values }: Trained, features: ReadonlyArray<number>) =>
  features.reduce((total, feature) => total + values[feature], 0)

const thresholdLogit = Math.log(threshold / (1 - threshold))

/** Sentences of honest packages that a model which has not seen them would hold the package for. */
const heldSentences: Array<readonly [name: string, head: Head]> = []

/**
 * Measured on what it has not seen; what ships has then seen all of it. The bias
 * is lowered until honest sentences stay below the threshold: a false alarm
 * holds a whole package, and a package has hundreds of sentences.
 */
const trainHead = (head: Head): Weights["heads"][Head] => {
  const positives: Array<number> = []
  const negatives: Array<readonly [logit: number, name: string | undefined]> = []
  for (let fold = 0; fold < folds; fold++) {
    const model = fit(
      head,
      examples.filter((example) => example.fold !== fold)
    )
    for (const example of examples) {
      if (example.fold !== fold) continue
      const logit = model.bias + model.scale * sumOf(model, example.features)
      if (example.label === head) {
        if (!example.isFromSignals) positives.push(logit)
      } else if (example.label === "benign") negatives.push([logit, example.name])
    }
  }
  negatives.sort((a, b) => b[0] - a[0])
  const ofHonest = negatives.filter(([, name]) => name !== undefined)
  const shift = Math.max(0, ofHonest[0][0] - thresholdLogit + 0.01)
  const reaches = (logit: number) => logit - shift >= thresholdLogit
  for (const [logit, name] of negatives) if (name !== undefined && reaches(logit)) heldSentences.push([name, head])
  const shipped = fit(head, examples)
  const share = (of: ReadonlyArray<number>) => Number((of.filter(reaches).length / of.length).toFixed(4))
  return {
    bias: shipped.bias - shift,
    scale: shipped.scale,
    values: Buffer.from(shipped.values.buffer).toString("base64"),
    heldOut: {
      recall: share(positives),
      falsePositiveRate: share(negatives.map(([logit]) => logit)),
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
const holding: ReadonlyArray<Head> = ["C1_injection", "C3_undeclared_capability", "C4_user_deception"]
const held = new Set(heldSentences.flatMap(([name, head]) => (holding.includes(head) ? [name] : [])))
console.log(
  `honest packages held by a model that has not seen them: ${held.size} of ${readdirSync(fileURLToPath(honest)).length}`
)
