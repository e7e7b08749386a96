/** Seeded decisions: the same seed decides the same, however often. */
export interface Chance {
  /** 0 <= n < 1 */
  readonly next: () => number
  /** A whole number from `low` up to and with `high`. */
  readonly between: (low: number, high: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  /** Decisions of their own, that do not depend on how often this one was asked. */
  readonly fork: (name: string) => Chance
}

const hash = (text: string) => {
  let h = 2_166_136_261
  for (let at = 0; at < text.length; at++) h = Math.imul(h ^ text.charCodeAt(at), 16_777_619)
  return h >>> 0
}

/** mulberry32 */
export const chanceOf = (seed: number | string): Chance => {
  let state = hash(String(seed))
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (items) => items[between(0, items.length - 1)],
    fork: (name) => chanceOf(`${seed}/${name}`)
  }
}
