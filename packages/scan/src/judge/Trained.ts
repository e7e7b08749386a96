/** The shipped weights and what they say of a passage. Written by `train.ts`. */
import { Schema } from "effect"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { buckets, featuresOf, heads } from "./Features.ts"
import type { Head } from "./Features.ts"
import { tokensOf } from "../evidence/Tokens.ts"
import { logitOf, sigmoid } from "./Regression.ts"
import type { Model } from "./Regression.ts"

/** What was measured on held-out parts at the threshold of score 2. */
const Measure = Schema.Struct({
  recall: Schema.Finite,
  falsePositiveRate: Schema.Finite,
  positives: Schema.Int,
  negatives: Schema.Int
})

const Weighted = Schema.Struct({
  bias: Schema.Finite,
  /** Multiplies each of the signed bytes. */
  scale: Schema.Finite,
  /** `buckets` signed bytes, base64. */
  values: Schema.String
})

const Weights = Schema.Struct({
  version: Schema.Int,
  heads: Schema.Record(Schema.Literals(heads), Schema.Struct({ ...Weighted.fields, heldOut: Measure })),
  /** Whether a passage is of the hostile kind at all, whichever. */
  manner: Schema.Struct({
    ...Weighted.fields,
    /** The logit that few honest packages reach. */
    from: Schema.Finite
  })
})
export type Weights = typeof Weights.Type

const source = readFileSync(new URL("./weights.json", import.meta.url), "utf8")
const weights = Schema.decodeUnknownSync(Weights)(JSON.parse(source))

/** `local-<version>-<weights hash>`: pinned like any other model. */
export const localModelId = `local-${weights.version}-${createHash("sha256").update(source).digest("hex").slice(0, 12)}`

/** Recall and false-positive rate of each question, for reports and for the person who picks a judge. */
export const localMeasures: Readonly<Record<Head, typeof Measure.Type>> = Object.fromEntries(
  heads.map((head) => [head, weights.heads[head].heldOut])
) as Record<Head, typeof Measure.Type>

const load = ({ bias, scale, values }: typeof Weighted.Type): Model & { readonly scale: number } => {
  const bytes = Buffer.from(values, "base64")
  if (bytes.length !== buckets) throw new Error(`the judge's weights have ${bytes.length} values, not ${buckets}`)
  return {
    bias,
    scale,
    weights: Float64Array.from(new Int8Array(bytes.buffer, bytes.byteOffset, buckets), (value) => value * scale)
  }
}
const models = heads.map((head) => load(weights.heads[head]))
const manner = load(weights.manner)

export interface Reading {
  /** The probability of yes to each question, in the order of `heads`. */
  readonly probabilities: ReadonlyArray<number>
  /** That the passage is of the hostile kind. */
  readonly logit: number
  /** 0 to 0.6: how far it is like those of hostile packages, where few honest ones are. */
  readonly manner: number
}

const silent: Reading = { probabilities: heads.map(() => 0), logit: -Infinity, manner: 0 }

/** S8 and the local judge read the same passages one after the other. */
const known = new Map<string, Reading>()
const maxKnown = 16_000

export const readingOf = (passage: string): Reading => {
  const before = known.get(passage)
  if (before) return before
  // Words alone, without any concept, are no evidence.
  if (!tokensOf(passage).some(({ codes }) => codes.length > 0)) return silent
  const features = featuresOf(passage)
  const logit = logitOf(manner, features)
  const above = logit - weights.manner.from
  const reading = {
    probabilities: models.map((model) => sigmoid(logitOf(model, features))),
    logit,
    manner: above < 0 ? 0 : Math.min(0.6, 0.3 + above / 10)
  }
  if (known.size >= maxKnown) known.clear()
  known.set(passage, reading)
  return reading
}
