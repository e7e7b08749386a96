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
/** A literal is looked up by as many of its first characters, at most four: few places of a text are then looked at twice. */
const longest = 4
const step = (slot: number, character: number) => (Math.imul(slot, 31) + character) & (tableSize - 1)

interface Table {
  readonly isTaken: Uint8Array
  readonly entries: Map<number, Array<readonly [literal: string, pattern: number]>>
}

/** Indexes of the patterns that may match a text, in their order. */
export const prefilter = (patterns: ReadonlyArray<RegExp>): ((text: string) => ReadonlyArray<number>) => {
  const always: Array<number> = []
  const table = (): Table => ({ isTaken: new Uint8Array(tableSize), entries: new Map() })
  const twos = table()
  const threes = table()
  const fours = table()
  patterns.forEach((pattern, index) => {
    const literals = literalsOf(pattern)
    if (literals === undefined) always.push(index)
    else
      for (const literal of new Set(literals)) {
        let slot = 0
        for (let at = 0; at < Math.min(longest, literal.length); at++) slot = step(slot, literal.charCodeAt(at))
        const { entries, isTaken } = literal.length === 2 ? twos : literal.length === 3 ? threes : fours
        isTaken[slot] = 1
        entries.set(slot, [...(entries.get(slot) ?? []), [literal, index]])
      }
  })
  return (text) => {
    const plain = text.toLowerCase()
    const found = new Set(always)
    const look = ({ entries }: Table, slot: number, at: number) => {
      for (const [literal, index] of entries.get(slot)!)
        if (!found.has(index) && plain.startsWith(literal, at)) found.add(index)
    }
    for (let at = 0; at + 1 < plain.length; at++) {
      const two = step(step(0, plain.charCodeAt(at)), plain.charCodeAt(at + 1))
      if (twos.isTaken[two] === 1) look(twos, two, at)
      if (at + 2 === plain.length) break
      const three = step(two, plain.charCodeAt(at + 2))
      if (threes.isTaken[three] === 1) look(threes, three, at)
      if (at + 3 === plain.length) continue
      const four = step(three, plain.charCodeAt(at + 3))
      if (fours.isTaken[four] === 1) look(fours, four, at)
    }
    return found.size < 2 ? [...found] : [...found].toSorted((one, other) => one - other)
  }
}
