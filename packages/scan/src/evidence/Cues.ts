/**
 * A cue is a row of words and concepts with few others between them:
 * `whatever .. show/say` or `@not @tell @its`. Cues are found in the tokens of
 * one statement, so what they cost does not depend on how many there are but on
 * how many begin with a word that is there.
 */
import { codeOf, signs } from "./Tokens.ts"
import type { Sign, Token } from "./Tokens.ts"

interface Step {
  readonly words: ReadonlySet<string>
  readonly stems: ReadonlyArray<string>
  readonly codes: ReadonlyArray<number>
  /** Tokens that may stand before it. */
  readonly gap: number
}

interface CompiledCue<A> {
  readonly of: A
  readonly steps: ReadonlyArray<Step>
  /** In any order. */
  readonly isBag: boolean
  readonly denies: boolean
}

export interface FoundCue<A> {
  readonly of: A
  /** Stands behind "never", "do not" and the like, while the cue itself says no such thing. */
  readonly isDenied: boolean
}

const usualGap = 3
const wideGap = 10
const bagReach = 12

const compile = <A>(source: string, of: A): CompiledCue<A> => {
  const isBag = source.startsWith("~")
  let gap = 0
  const steps: Array<Step> = []
  for (const part of source.replace("~", "").trim().split(/\s+/u)) {
    if (part === "..") {
      gap = wideGap
      continue
    }
    const isNext = part.startsWith("+")
    const choices = (isNext ? part.slice(1) : part).split("/")
    const codes = choices
      .filter((choice) => choice.startsWith("@"))
      .map((choice) => {
        const code = codeOf(choice.slice(1) as Sign)
        if (code === -1) throw new Error(`no concept ${choice} in the cue ${source}; there are ${signs.join(", ")}`)
        return code
      })
    steps.push({
      words: new Set(choices.filter((choice) => !/^@|\*$/u.test(choice)).map((choice) => choice.replaceAll("_", " "))),
      stems: choices.filter((choice) => choice.endsWith("*")).map((choice) => choice.slice(0, -1)),
      codes,
      gap: isNext ? 0 : gap
    })
    gap = usualGap
  }
  const denies = /@not|without/u.test(source)
  return { of, steps, isBag, denies }
}

const fits = ({ codes, stems, words }: Step, token: Token): boolean => {
  if (words.has(token.word)) return true
  for (const code of codes) if (token.codes.includes(code)) return true
  for (const stem of stems) if (token.word.startsWith(stem)) return true
  return false
}

/** The first place at which the last step is reached from the token at `start`, or -1; looks at each place once a step. */
const endOf = (steps: ReadonlyArray<Step>, tokens: ReadonlyArray<Token>, start: number): number => {
  let reached = [start]
  for (let index = 1; index < steps.length; index++) {
    const step = steps[index]
    const next: Array<number> = []
    let from = 0
    for (const place of reached) {
      const to = Math.min(tokens.length - 1, place + 1 + step.gap)
      for (let at = Math.max(from, place + 1); at <= to; at++) if (fits(step, tokens[at])) next.push(at)
      from = Math.max(from, to + 1)
    }
    if (next.length === 0) return -1
    reached = next
  }
  return reached[0]
}

/** "Never delete without asking" denies twice. */
const withouts = new Set("without ohne sans sin sem senza zonder bez utan без не".split(" "))
const hardNots = new Set(
  "never not don't doesn't isn't aren't mustn't nie nicht jamais nunca mai nooit nigdy aldrig".split(" ")
)
const notCode = codeOf("not")
const deniedWithin = 5

/** "Never", "do not" and the like in the same clause, shortly before. */
const isDeniedAt = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  for (let before = at - 1; before >= Math.max(0, at - deniedWithin); before--) {
    if (tokens[before].isEnd) return false
    if (tokens[before].codes.includes(notCode)) return true
  }
  return false
}

export interface CueBook<A> {
  readonly find: (tokens: ReadonlyArray<Token>) => ReadonlyArray<FoundCue<A>>
}

export const cueBook = <A>(entries: ReadonlyArray<readonly [source: string, of: A]>): CueBook<A> => {
  const cues = entries.map(([source, of]) => compile(source, of))
  const byWord = new Map<string, Array<CompiledCue<A>>>()
  const byStem = new Map<string, Array<CompiledCue<A>>>()
  const byCode = new Map<number, Array<CompiledCue<A>>>()
  const put = <K>(map: Map<K, Array<CompiledCue<A>>>, key: K, cue: CompiledCue<A>) => {
    const known = map.get(key)
    if (known) known.push(cue)
    else map.set(key, [cue])
  }
  const stemLength = 4
  for (const cue of cues) {
    const [first] = cue.steps
    for (const word of first.words) put(byWord, word, cue)
    for (const stem of first.stems) put(byStem, stem.slice(0, stemLength), cue)
    for (const code of first.codes) put(byCode, code, cue)
  }
  const beginnings = new Set([...byStem.keys()].map((stem) => stem.slice(0, 2)))
  return {
    find: (tokens) => {
      const found = new Map<CompiledCue<A>, FoundCue<A>>()
      const attempt = (cue: CompiledCue<A>, at: number) => {
        const before = found.get(cue)
        if (before !== undefined && !before.isDenied) return
        if (!fits(cue.steps[0], tokens[at])) return
        if (cue.isBag) {
          const low = Math.max(0, at - bagReach)
          const high = Math.min(tokens.length, at + bagReach + 1)
          const used = new Set([at])
          for (const step of cue.steps.slice(1)) {
            let place = -1
            for (let other = low; other < high && place === -1; other++)
              if (!used.has(other) && fits(step, tokens[other])) place = other
            if (place === -1) return
            used.add(place)
          }
          if (!cue.denies)
            for (let other = low; other < high; other++) if (tokens[other].codes.includes(notCode)) return
        }
        const last = cue.isBag ? at : endOf(cue.steps, tokens, at)
        if (last === -1) return
        const isDenied =
          (!cue.denies || withouts.has(tokens[at].word)) &&
          (isDeniedAt(tokens, at) || (!cue.denies && tokens.slice(at + 1, last).some(({ word }) => hardNots.has(word))))
        found.set(cue, { of: cue.of, isDenied })
      }
      tokens.forEach(({ codes, word }, at) => {
        for (const cue of byWord.get(word) ?? []) attempt(cue, at)
        if (beginnings.has(word.slice(0, 2)))
          for (const length of [2, 3, stemLength])
            for (const cue of byStem.get(word.slice(0, length)) ?? []) attempt(cue, at)
        for (const code of codes) for (const cue of byCode.get(code) ?? []) attempt(cue, at)
      })
      return [...found.values()]
    }
  }
}
