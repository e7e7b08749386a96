/** A passage as words and marks with the concepts that each stands for. */
import { concepts, conceptsOfRun, conceptsOfWord } from "./Lexicon.ts"
import type { Concept } from "./Lexicon.ts"

/** What a passage names that is no word. */
const markPatterns = [
  ["url", /^https?:/u],
  ["mailbox", /^[^\s@]+@[^\s@]+\.[a-z]+$/u],
  ["payee", /^(?:[A-Z]{2}\d{2}[A-Z0-9]{8,}|0x[0-9a-fA-F]{40}|bc1[a-z0-9]{20,})$/u],
  [
    "keyfile",
    /(?:^|[/~])\.(?:ssh|aws|netrc|npmrc|pypirc|env|gnupg|kube|git-credentials)\b(?!\.(?:example|sample|template|dist))|id_(?:rsa|ed25519)|\/shadow$|\.(?:pem|kdbx|tfvars|p12)$/u
  ],
  [
    "agentfile",
    /CLAUDE\.md|AGENTS\.md|GEMINI\.md|\.cursor|\.claude|\.windsurf|copilot-instructions|agent\.yaml|settings\.json|policy\.yaml/u
  ],
  ["home", /^(?:~|\$HOME|\/root|\/home|\/etc)(?:$|\/)/u],
  ["variable", /^\$?\{?[A-Z][A-Z0-9]*_[A-Z0-9_]+\}?$/u],
  ["file", /^[\w*./~-]+\.[a-z]{1,5}$/u],
  ["quoted", /^"/u]
] as const

export type Mark = (typeof markPatterns)[number][0]
export type Sign = Concept | Mark

/** Concepts, then marks: the index of each is its code. */
export const signs: ReadonlyArray<Sign> = [...concepts, ...markPatterns.map(([mark]) => mark)]
export const codeOf = (sign: Sign): number => signs.indexOf(sign)

export interface Token {
  readonly word: string
  readonly codes: ReadonlyArray<number>
  /** Ends a clause: nothing before it denies what follows. */
  readonly isEnd: boolean
}

const token =
  /"\s{2,}"|https?:\/\/[^\s"'`<>)\]]{1,200}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|<!--|[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}|\$?\{?[A-Z][A-Z0-9]*_[A-Z0-9_]{1,60}\}?|[~$\w*.-]{0,60}[/.][\w*./~-]{1,80}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]{1,200}|\p{L}[\p{L}\p{M}'’-]{0,40}|\d{1,20}|[.;:!?。！？；：]/gu
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u
const end = /^[.;:!?。！？；：]$/u
const firstMark = concepts.length
const none: ReadonlyArray<number> = []

/** Cues and features read the same passage one after the other. */
let last: { readonly passage: string; readonly tokens: ReadonlyArray<Token> } = { passage: "", tokens: [] }

export const tokensOf = (passage: string): ReadonlyArray<Token> => {
  if (last.passage !== passage) last = { passage, tokens: read(passage) }
  return last.tokens
}

const read = (passage: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  for (const [said] of passage.matchAll(token)) {
    if (end.test(said)) {
      tokens.push({ word: said, codes: none, isEnd: true })
      continue
    }
    if (unspaced.test(said)) {
      for (const { codes, word } of conceptsOfRun(said)) tokens.push({ word, codes, isEnd: false })
      continue
    }
    const isPlain = /^[\p{L}\p{M}'’-]+$/u.test(said)
    const word = said.toLowerCase().replaceAll("’", "'")
    let codes = isPlain ? conceptsOfWord(word) : none
    if (!isPlain) {
      const bare = said.replaceAll(" ", "")
      const mark = markPatterns.findIndex(([, pattern]) => pattern.test(bare))
      if (mark !== -1) codes = [firstMark + mark]
      // What a mark is called counts as well: `API_KEY` is a key.
      if (mark === -1 || mark > 2) codes = [...codes, ...word.split(/[^\p{L}]+/u).flatMap(conceptsOfWord)]
    }
    // `AGENTS.md.` ends a sentence.
    tokens.push({ word, codes, isEnd: /[.]$/u.test(said) })
  }
  return tokens
}
