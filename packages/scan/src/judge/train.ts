/**
 * Trains the local judge: `node packages/scan/src/judge/train.ts` reads
 * `corpus.json`, `sentences/` and the packages of `tests/gate/tune`, writes
 * `weights.json` and prints what the held-out parts show. Same inputs, same bytes.
 *
 * A line of the corpus is a sentence or a template: `{a|b}` stands for any of
 * its choices. A line of `sentences/` has the number of a question, a sentence
 * of which the answer is yes, and one with many of the same words of which it
 * is no; one with `-` has an honest sentence alone. Each file is by another
 * author. Which sentence of a hostile package is the hostile one nobody wrote
 * down: it is the one that the model trained so far finds the likeliest.
 * Measured by five folds: whole templates, authors and packages are held out.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import { proseSignals } from "../evidence/ProseSignals.ts"
import { isCodePath, isDataPath, statementOf, statementsOf, visible } from "../evidence/Statements.ts"
import { featuresOf, headOfKind, heads, windowsOf } from "./Features.ts"
import type { Head } from "./Features.ts"
import { fit, logitOf, randomFrom } from "./Regression.ts"
import type { Example, Model } from "./Regression.ts"
import type { Weights } from "./Trained.ts"

type Label = Head | "benign"

const perTemplate = 4
const folds = 5
/** A false alarm holds an honest package, so an honest sentence weighs more than one of another class. */
const importanceOf = { head: 1, benign: 3, other: 0.5 }
const threshold = 0.7
/** Of the honest packages; above it a passage is a sign of the hostile kind. */
const mannerShare = 0.03

const corpus = JSON.parse(readFileSync(new URL("./corpus.json", import.meta.url), "utf8")) as Record<
  Label,
  ReadonlyArray<string>
>
const random = randomFrom(20_261_121)
const fill = (template: string): string =>
  template.replace(/\{([^{}]*\|[^{}]*)\}/gu, (_, choices: string) => {
    const options = choices.split("|")
    return options[Math.floor(random() * options.length)]
  })

interface Sentence {
  readonly features: ReadonlyArray<number>
  readonly fold: number
  readonly label: Label
  /** Its label is made of the signals that are also its features: it teaches and does not measure. */
  readonly isFromSignals?: boolean
  /** The package that it stands in. */
  readonly name?: string
}

const written: ReadonlyArray<Sentence> = ([...heads, "benign"] as const).flatMap((label) =>
  corpus[label].flatMap((template, index) =>
    [...new Set(Array.from({ length: perTemplate }, () => fill(template)))]
      .flatMap(windowsOf)
      .map((sentence) => ({ label, fold: index % folds, features: featuresOf(sentence) }))
  )
)

const authors = new URL("./sentences/", import.meta.url)
const headNumbered = (question: string) => heads.find((head) => head.startsWith(`${question}_`))
const paired: ReadonlyArray<Sentence> = readdirSync(fileURLToPath(authors))
  .toSorted()
  .flatMap((name, fold) =>
    readFileSync(new URL(name, authors), "utf8")
      .trimEnd()
      .split("\n")
      .flatMap((line): ReadonlyArray<Sentence> => {
        const [question, hostile, honest] = line.split("\t")
        const label = headNumbered(question)
        return [
          ...(label === undefined ? [] : [{ label, fold, features: featuresOf(hostile) }]),
          { label: "benign", fold, features: featuresOf(honest) }
        ]
      })
  )

interface Package {
  readonly name: string
  readonly fold: number
  readonly sentences: ReadonlyArray<{ readonly said: string; readonly features: ReadonlyArray<number> }>
}

/** Threats that a sentence of an instruction can carry. */
const spoken = /^(?:injection|exfiltration|capability-creep|rug-pull|deceptive-description|destructive)$/u
const maxText = 40_000

const packagesOf = (kind: "benign" | "hostile"): ReadonlyArray<Package> => {
  const directory = new URL(`../../../../tests/gate/tune/${kind}/`, import.meta.url)
  return readdirSync(fileURLToPath(directory))
    .toSorted()
    .flatMap((name, index) => {
      const { files, threat } = parse(readFileSync(new URL(name, directory), "utf8")) as {
        readonly files: Record<string, string>
        readonly threat?: string
      }
      if (threat !== undefined && !spoken.test(threat)) return []
      const sentences = Object.entries(files).flatMap(([path, text]) =>
        path === "agent.yaml" || text.length > maxText || isDataPath(path) || isCodePath(path, text)
          ? []
          : statementsOf(path, visible(text))
              .filter(({ isMention }) => !isMention)
              .map((statement) => ({ said: statement.spoken, features: featuresOf(statement.spoken) }))
      )
      return [{ name, fold: index % folds, sentences }]
    })
}

const honest = packagesOf("benign")
const hostile = packagesOf("hostile")

const ofHonest = honest.flatMap(({ fold, name, sentences }) =>
  sentences.map(({ features }): Sentence => ({ features, fold, name, label: "benign" }))
)
const ofHostile = hostile.flatMap(({ fold, name, sentences }) =>
  sentences.flatMap(({ features, said }) => {
    const labels = proseSignals("", [statementOf(said)], []).flatMap(({ kind, weight }) => {
      const label = headOfKind[kind]
      return label === undefined || weight < 0.6 ? [] : [label]
    })
    return [...new Set(labels)].map((label): Sentence => ({ features, fold, name, label, isFromSignals: true }))
  })
)
const sentences = [...written, ...paired, ...ofHonest, ...ofHostile]

/** Weights are kept in a byte each. */
const quantized = ({ bias, weights }: Model) => {
  const all = Float64Array.from(weights)
  const scale = all.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) / 127
  const values = Int8Array.from(all, (weight) => Math.round(weight / scale))
  return { bias, scale, values: Buffer.from(values.buffer).toString("base64") }
}

const thresholdLogit = Math.log(threshold / (1 - threshold))
/** Honest packages that a model which has not seen them would hold. */
const held = new Set<string>()

/**
 * What ships has seen everything; it is measured on what it had not. The bias is
 * moved so that next to no honest sentence of a package reaches the threshold: a
 * false alarm holds a whole package, and a package has hundreds of sentences.
 */
const trainHead = (head: Head): Weights["heads"][Head] => {
  const exampleOf = ({ features, label }: Sentence): Example => ({
    features,
    isPositive: label === head,
    importance: importanceOf[label === head ? "head" : label === "benign" ? "benign" : "other"]
  })
  const positives: Array<number> = []
  const negatives: Array<readonly [logit: number, name: string | undefined]> = []
  for (let fold = 0; fold < folds; fold++) {
    const model = fit(sentences.filter((sentence) => sentence.fold !== fold).map(exampleOf))
    for (const { features, fold: own, isFromSignals, label, name } of sentences) {
      if (own !== fold) continue
      if (label === head && isFromSignals !== true) positives.push(logitOf(model, features))
      if (label === "benign") negatives.push([logitOf(model, features), name])
    }
  }
  const logits = negatives.flatMap(([logit, name]) => (name === undefined ? [] : [logit])).toSorted((a, b) => b - a)
  // One honest sentence of a package in two thousand may lie above: the model that ships has seen it.
  const shift = logits[Math.floor(logits.length / 2_000)] - thresholdLogit + 0.01
  const reaches = (logit: number) => logit - shift >= thresholdLogit
  for (const [logit, name] of negatives) if (name !== undefined && reaches(logit)) held.add(name)
  const share = (of: ReadonlyArray<number>) => Number((of.filter(reaches).length / of.length).toFixed(4))
  const shipped = fit(sentences.map(exampleOf))
  return {
    ...quantized({ ...shipped, bias: shipped.bias - shift }),
    heldOut: {
      recall: share(positives),
      falsePositiveRate: share(negatives.map(([logit]) => logit)),
      positives: positives.length,
      negatives: negatives.length
    }
  }
}

const rounds = 2
const honestSaid = new Set(honest.flatMap((one) => one.sentences.map(({ said }) => said)))

/** Hostile or not, whichever way. */
const fitManner = (isSeen: (of: { readonly fold: number }) => boolean): Model => {
  const known: ReadonlyArray<Example> = [
    ...[...written, ...paired]
      .filter(isSeen)
      .map(({ features, label }) => ({ features, isPositive: label !== "benign", importance: 1 })),
    ...ofHonest.filter(isSeen).map(({ features }) => ({ features, isPositive: false, importance: 1 }))
  ]
  let model = fit(known)
  for (let round = 0; round < rounds; round++) {
    const found = hostile.filter(isSeen).flatMap((one) =>
      one.sentences
        .filter(({ said }) => !honestSaid.has(said))
        .map(({ features }) => ({ features, logit: logitOf(model, features) }))
        .toSorted((a, b) => b.logit - a.logit)
        .filter(({ logit }, index) => logit > 0 || (index === 0 && logit > -2))
        .map(({ features }) => ({ features, isPositive: true, importance: 1 }))
    )
    model = fit([...known, ...found])
  }
  return model
}

const trainManner = (): Weights["manner"] => {
  const highest = (packages: ReadonlyArray<Package>) => (model: Model, fold: number) =>
    packages
      .filter((one) => one.fold === fold)
      .map((one) => one.sentences.reduce((most, { features }) => Math.max(most, logitOf(model, features)), -9))
  const ofFolds = Array.from({ length: folds }, (_, fold) => {
    const model = fitManner((of) => of.fold !== fold)
    return { honest: highest(honest)(model, fold), hostile: highest(hostile)(model, fold) }
  })
  const honestLogits = ofFolds.flatMap((of) => of.honest).toSorted((a, b) => b - a)
  const from = honestLogits[Math.floor(honestLogits.length * mannerShare)]
  const hostileLogits = ofFolds.flatMap((of) => of.hostile)
  console.log(
    `manner from ${from.toFixed(2)}: ${(hostileLogits.filter((logit) => logit > from).length / hostileLogits.length).toFixed(3)} of ${hostileLogits.length} hostile packages at ${mannerShare} of honest ones`
  )
  return { ...quantized(fitManner(() => true)), from: Number(from.toFixed(4)) }
}

const weights: Weights = {
  version: 3,
  heads: Object.fromEntries(heads.map((head) => [head, trainHead(head)])) as Weights["heads"],
  manner: trainManner()
}
writeFileSync(new URL("./weights.json", import.meta.url), `${JSON.stringify(weights, null, 2)}\n`)
console.log(`trained on ${sentences.length} sentences, by ${folds} folds at probability ${threshold}:`)
for (const head of heads) {
  const { recall, falsePositiveRate, positives, negatives } = weights.heads[head].heldOut
  console.log(
    `${head.padEnd(26)} recall ${recall.toFixed(3)} of ${positives}, false positives ${falsePositiveRate.toFixed(4)} of ${negatives}`
  )
}
console.log(`honest packages held by a model that has not seen them: ${held.size} of ${honest.length}`)
