/** Logistic regression over hashed features. The same inputs give the same weights on every machine. */
import { buckets, valueOf } from "./Features.ts"

export interface Example {
  readonly features: ReadonlyArray<number>
  readonly isPositive: boolean
  /** How much a mistake about it costs. */
  readonly importance: number
}

export interface Model {
  readonly bias: number
  readonly weights: ArrayLike<number>
}

const epochs = 10
const rate = 0.45
const decay = 5e-4
/** Low: a passage of unknown words is no evidence of anything. */
const bias = -3

/** mulberry32: small, and the same on every machine. */
export const randomFrom = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Longer passages have more features to say the same with. */
const lengthOf = (features: ReadonlyArray<number>) => Math.sqrt(features.length + 20)

export const logitOf = (model: Model, features: ReadonlyArray<number>): number => {
  let sum = 0
  for (const feature of features) sum += model.weights[feature] * valueOf(feature)
  return model.bias + sum / lengthOf(features)
}

export const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/** AdaGrad over the examples in an order that changes with each round. */
export const fit = (examples: ReadonlyArray<Example>): Model => {
  const random = randomFrom(20_261_121)
  const weights = new Float64Array(buckets)
  const squares = new Float64Array(buckets).fill(0.1)
  const model = { bias, weights }
  const order = examples.map((_, index) => index)
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      const other = order[i]
      order[i] = order[j]
      order[j] = other
    }
    for (const index of order) {
      const { features, importance, isPositive } = examples[index]
      const error = importance * ((isPositive ? 1 : 0) - sigmoid(logitOf(model, features)))
      const length = lengthOf(features)
      for (const feature of features) {
        const gradient = (error * valueOf(feature)) / length - decay * weights[feature]
        squares[feature] += gradient * gradient
        weights[feature] += (rate * gradient) / Math.sqrt(squares[feature])
      }
    }
  }
  return model
}
