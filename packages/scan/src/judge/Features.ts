/**
 * How the trained model reads a passage: the concepts in it, which of them are
 * denied and which stand near which, the signals it gives, and to a lesser
 * degree its words, their pairs and their parts.
 */
import { commandSignals } from "../evidence/CodeSignals.ts"
import { proseSignals } from "../evidence/ProseSignals.ts"
import type { Kind } from "../evidence/Signal.ts"
import { statementOf, statementsOf } from "../evidence/Statements.ts"
import type { Statement } from "../evidence/Statements.ts"
import { codeOf, tokensOf } from "../evidence/Tokens.ts"

const conceptBuckets = 8192
const wordBuckets = 16_384
const partBuckets = 16_384
const firstPart = conceptBuckets + wordBuckets
export const buckets = firstPart + partBuckets

/** A word says less than a concept about a passage by somebody else, and a part of a word, of which there are many, less still. */
const valueOfWord = 0.7
const valueOfPart = 0.35
export const valueOf = (bucket: number): number =>
  bucket < conceptBuckets ? 1 : bucket < firstPart ? valueOfWord : valueOfPart

/** The questions that the local judge is trained on, one regression each. */
export const heads = [
  "C1_injection",
  "C2_exfiltration",
  "C3_undeclared_capability",
  "C4_user_deception",
  "C5_obfuscation",
  "C6_destructive_actions"
] as const
export type Head = (typeof heads)[number]

/** The question that a signal is about. */
export const headOfKind: Partial<Record<Kind, Head>> = {
  authority: "C1_injection",
  "obey-data": "C1_injection",
  "speaks-to-agent": "C1_injection",
  send: "C2_exfiltration",
  sensitive: "C2_exfiltration",
  persist: "C3_undeclared_capability",
  "disable-guard": "C3_undeclared_capability",
  conceal: "C4_user_deception",
  "false-report": "C4_user_deception",
  phish: "C4_user_deception",
  partial: "C4_user_deception",
  payment: "C4_user_deception",
  decode: "C5_obfuscation",
  destroy: "C6_destructive_actions"
}

const mix = (a: number, b: number, c: number): number => {
  let h = Math.imul(a + 0x9e37, 0x85ebca6b) ^ Math.imul(b + 0x7f4a, 0xc2b2ae35) ^ Math.imul(c + 0x1656, 0x27d4eb2f)
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
  return (h ^ (h >>> 13)) >>> 0
}

/** FNV-1a, 32 bits, of the characters from `from` to `to`. */
const hash = (text: string, from = 0, to = text.length): number => {
  let value = 0x811c9dc5
  for (let i = from; i < to; i++) {
    value ^= text.charCodeAt(i)
    value = Math.imul(value, 0x01000193)
  }
  return value >>> 0
}

const notCode = codeOf("not")
/** Added to the code of a concept that "never", "do not" and the like stand before. */
const denied = 256
const deniedWithin = 4
const shortestPart = 3
const longestPart = 5
/** Concepts farther apart than so many others are not read together. */
const reach = 8
const near = 3

/** Distinct buckets of a passage. */
export const featuresOf = (passage: string): ReadonlyArray<number> => {
  const found = new Set<number>()
  const codes: Array<number> = []
  let deniedUntil = -1
  let lastWord = 0
  tokensOf(passage).forEach((token, at) => {
    if (token.isEnd) deniedUntil = -1
    const isDenied = at <= deniedUntil
    for (const code of token.codes) {
      codes.push(isDenied && code !== notCode ? code + denied : code)
      if (code === notCode) deniedUntil = at + deniedWithin
    }
    const word = hash(token.word)
    found.add(conceptBuckets + (word % wordBuckets))
    if (lastWord !== 0) found.add(conceptBuckets + (mix(word, lastWord, 7) % wordBuckets))
    lastWord = word
    const marked = `<${token.word}>`
    for (let length = shortestPart; length <= longestPart; length++)
      for (let from = 0; from + length <= marked.length; from++)
        found.add(firstPart + (mix(hash(marked, from, from + length), length, 5) % partBuckets))
  })
  codes.forEach((one, i) => {
    found.add(mix(one, 0, 1) % conceptBuckets)
    for (let j = i + 1; j < Math.min(codes.length, i + reach); j++) {
      const other = codes[j]
      if (other === one) continue
      found.add(mix(Math.min(one, other), Math.max(one, other), 2) % conceptBuckets)
      if (j - i <= near) found.add(mix(one, other, 3) % conceptBuckets)
    }
  })
  const statement = statementOf(passage)
  for (const { kind, weight } of [...proseSignals("", [statement], []), ...commandSignals("", [statement], ["sh"])]) {
    found.add(hash(`s ${kind}`) % conceptBuckets)
    if (weight >= 0.7) found.add(hash(`S ${kind}`) % conceptBuckets)
  }
  return [...found]
}

/** A chunk comes without its file's name. */
export const statementsIn = (text: string): ReadonlyArray<Statement> =>
  statementsOf(/^\s*[[{]/u.test(text) ? "text.json" : "text.md", text)

const maxWindows = 2_000

/** Sentences, without what they quote or only name. A chunk of 8 KiB has a few hundred at most. */
export const windowsOf = (text: string): ReadonlyArray<string> =>
  statementsIn(text)
    .filter(({ isMention, spoken }) => !isMention && /[\p{L}\p{N}]{2}/u.test(spoken))
    .slice(0, maxWindows)
    .map(({ spoken }) => spoken)
