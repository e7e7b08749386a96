/**
 * Which of many patterns are worth trying on a text: those of which a literal
 * stands in it that every match must hold. One pass over the text decides it
 * for all of them, so that what a text costs hardly grows with the rules.
 */

/** Literals of which every match holds one, in lower case; `undefined` when that cannot be said. */
type Literals = ReadonlyArray<string> | undefined

const shortest = (literals: ReadonlyArray<string>) => Math.min(...literals.map((literal) => literal.length))

/** The better of two: its shortest literal is longer, so that it is seldom found by chance. */
const better = (one: Literals, other: Literals): Literals =>
  one === undefined ? other : other === undefined || shortest(one) >= shortest(other) ? one : other

const minLength = 2

/** Reads a pattern from `at` on to the end of its group; a small part of the grammar, the rest counts as unknown. */
const parse = (source: string, start: number): { readonly literals: Literals; readonly end: number } => {
  let at = start
  let all: Array<string> | undefined = []
  let best: Literals
  let run = ""
  const closeRun = () => {
    if (run.length >= minLength) best = better(best, [run.toLowerCase()])
    run = ""
  }
  const closeAlternative = () => {
    closeRun()
    all = all === undefined || best === undefined ? undefined : [...all, ...best]
    best = undefined
  }
  /** Whether what stands before a quantifier may be left out; moves past it. */
  const quantifier = (): "once" | "optional" | "repeated" => {
    const match = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/u.exec(source.slice(at, at + 12))?.[0]
    if (match === undefined) return "once"
    at += match.length
    return /^(?:[*?]|\{0)/u.test(match) ? "optional" : "repeated"
  }
  const character = (literal: string | undefined) => {
    const often = quantifier()
    if (literal === undefined || often === "optional") closeRun()
    else {
      run += literal
      if (often === "repeated") closeRun()
    }
  }
  while (at < source.length && source[at] !== ")") {
    const sign = source[at]
    if (sign === "|") {
      at++
      closeAlternative()
    } else if (sign === "(") {
      const look = /^\((?:\?(?:<?[!=]|:|<\w+>))?/u.exec(source.slice(at, at + 24))![0]
      const inner = parse(source, at + look.length)
      at = inner.end + 1
      const often = quantifier()
      closeRun()
      if (often !== "optional" && !/^\(\?<?[!=]/u.test(look)) best = better(best, inner.literals)
    } else if (sign === "[") {
      at++
      while (source[at] !== "]") at += source[at] === "\\" ? 2 : 1
      at++
      character(undefined)
    } else if (sign === "\\") {
      const escape = /^\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]*\}|.)/iu.exec(
        source.slice(at, at + 24)
      )![0]
      at += escape.length
      if (/^\\b/iu.test(escape)) continue
      character(/^\\[^a-zA-Z\d]$/u.test(escape) ? escape[1] : undefined)
    } else if (sign === "^" || sign === "$") {
      at++
      closeRun()
    } else {
      at++
      character(sign === "." ? undefined : sign)
    }
  }
  closeAlternative()
  return { literals: all, end: at }
}

export const literalsOf = (pattern: RegExp): Literals => parse(pattern.source, 0).literals

const tableSize = 1 << 16
/** Short literals are looked up by two characters, the others by three: few places of a text are then looked at twice. */
const short = 3
const slotOfTwo = (a: number, b: number) => ((a << 7) ^ b) & (tableSize - 1)
const slotOfThree = (a: number, b: number, c: number) => ((a << 10) ^ (b << 5) ^ c) & (tableSize - 1)

type Slots = Map<number, Array<readonly [literal: string, pattern: number]>>

/** Indexes of the patterns that may match a text, in their order. */
export const prefilter = (patterns: ReadonlyArray<RegExp>): ((text: string) => ReadonlyArray<number>) => {
  const always: Array<number> = []
  const twos: Slots = new Map()
  const threes: Slots = new Map()
  const isTwo = new Uint8Array(tableSize)
  const isThree = new Uint8Array(tableSize)
  patterns.forEach((pattern, index) => {
    const literals = literalsOf(pattern)
    if (literals === undefined) always.push(index)
    else
      for (const literal of new Set(literals)) {
        const [a, b, c] = [0, 1, 2].map((at) => literal.charCodeAt(at))
        const isShort = literal.length < short
        const slot = isShort ? slotOfTwo(a, b) : slotOfThree(a, b, c)
        const slots = isShort ? twos : threes
        ;(isShort ? isTwo : isThree)[slot] = 1
        slots.set(slot, [...(slots.get(slot) ?? []), [literal, index]])
      }
  })
  return (text) => {
    const plain = text.toLowerCase()
    const found = new Set(always)
    const look = (slots: Slots, slot: number, at: number) => {
      for (const [literal, index] of slots.get(slot)!)
        if (!found.has(index) && plain.startsWith(literal, at)) found.add(index)
    }
    let a = plain.charCodeAt(0)
    let b = plain.charCodeAt(1)
    for (let at = 0; at + 1 < plain.length; at++) {
      const c = at + 2 < plain.length ? plain.charCodeAt(at + 2) : 0
      const two = slotOfTwo(a, b)
      if (isTwo[two] === 1) look(twos, two, at)
      const three = slotOfThree(a, b, c)
      if (isThree[three] === 1) look(threes, three, at)
      a = b
      b = c
    }
    return found.size < 2 ? [...found] : [...found].toSorted((one, other) => one - other)
  }
}
