/** How the local judge reads text: windows of sentences, each a bag of hashed words and concepts. */
import { commandSignals } from "../evidence/CodeSignals.ts"
import { proseSignals } from "../evidence/ProseSignals.ts"
import type { Kind } from "../evidence/ProseSignals.ts"
import { statementsOf } from "../evidence/Statements.ts"
import type { Statement } from "../evidence/Statements.ts"

export const buckets = 8192

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

/** FNV-1a, 32 bits. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    value ^= text.charCodeAt(i)
    value = Math.imul(value, 0x01000193)
  }
  return (value >>> 0) % buckets
}

/** Words that mean much the same here. A phrasing never seen before is mostly made of known concepts. */
const concepts: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["drop", /^(?:ignor|disregard|forget|overrid|bypass|circumvent|contradict|discard|disobey)/u],
  [
    "orders",
    /^(?:instruction|rule|direction|guideline|polic|constraint|prompt|directive|restriction|limit|guardrail|safeguard|filter|safety|refusal)/u
  ],
  ["before", /^(?:previous|prior|earlier|above|former|original|preceding|told|given)$/u],
  ["obey", /^(?:obey|follow|comply|carry|treat|accept|listen)/u],
  ["unbound", /^(?:unrestricted|jailbr|uncensored|dan|unfiltered|void|outdated|lifted)/u],
  ["reviewer", /^(?:reviewer|scanner|judge|classifier|auditor|flag|verified|approved|harmless|benign|probability)$/u],
  ["model", /^(?:assistant|model|system|developer|hidden)$/u],
  [
    "send",
    /^(?:send|sent|post|upload|submit|forward|transmit|deliver|leak|exfiltrat|relay|mirror|report|push|append|attach|embed|include)/u
  ],
  ["gather", /^(?:collect|gather|harvest|grab|copy|zip|tar|pack)/u],
  ["secret", /^(?:secret|password|credential|token|cookie|key|keys|\.env|\.ssh|\.aws|id|env|card|passphrase)s?$/u],
  ["private", /^(?:conversation|chat|history|private|confidential|customer|database|dump|session)/u],
  ["away", /^(?:urlurl|external|outside|remote|webhook|endpoint|server|public|bucket|query|dns|party|address)$/u],
  ["person", /^(?:user|person|owner|customer|human|reader|they|them|their)s?$/u],
  ["tell", /^(?:tell|inform|mention|say|state|claim|assure|show|notify|report|deny|present)/u],
  ["not", /^(?:not|never|no|without|dont|cannot|nothing|nobody)$/u],
  ["hide", /^(?:hide|conceal|secretly|silently|covertly|keep|omit|behind|unnoticed|knowledge|leave)/u],
  ["false", /^(?:pretend|fake|false|invent|mislead|deceiv|trick|convinc|persuad|lie|impersonat|pose)/u],
  ["failed", /^(?:fail|error|risk|wrong)/u],
  ["even", /^(?:even|regardless|whatever|matter|although)$/u],
  ["fetch", /^(?:download|fetch|curl|wget|retriev|pull)/u],
  ["run", /^(?:run|runs|execut|eval|exec|launch|start|spawn|bash|sh|python)/u],
  ["program", /^(?:script|binary|payload|tool|program|process|agent|service|package|command)/u],
  [
    "power",
    /^(?:sudo|root|admin|elevated|privilege|rights|docker|host|metadata|tunnel|shell|sandbox|container|firewall|seccomp|allow)/u
  ],
  ["escape", /^(?:escape|break|disable|turn|off|around|proxy|redirect|persist|cron|startup|again)$/u],
  ["undeclared", /^(?:manifest|declare|declared|list|granted|agent\.yaml)$/u],
  [
    "decode",
    /^(?:decod|decrypt|unpack|deobfuscat|unscrambl|revers|translat|concatenat|glue|join|base|b64decode|atob|fromcharcode|fromhex|chr|hex|rot|encod|spell)/u
  ],
  [
    "veiled",
    /^(?:zero|look|alike|whitespace|morse|emoji|hidden|fragments|pieces|letters|characters|blob|real|actual)$/u
  ],
  [
    "destroy",
    /^(?:delet|eras|wip|destroy|drop|truncat|purg|empty|format|overwrit|remov|corrupt|scrambl|kill|terminat|shut|encrypt|lock|revok|cancel|rm|rf|flood|overload|force)/u
  ],
  ["all", /^(?:all|every|everything|whole|entire|any)$/u],
  [
    "property",
    /^(?:file|document|photo|disk|drive|backup|snapshot|repositor|database|table|account|mailbox|home|production|server|instance|data|fund|balance|record)/u
  ],
  ["unasked", /^(?:asking|confirmation|approval|warning|permission|backup|permanently|consent|immediately|once)$/u],
  ["own", /^(?:only|temporary|created|declared|masked|redacted|if|when|chose|confirm|confirms|approved)$/u]
]

/** Scripts that put no blanks between words: pairs of characters stand for them. */
const isUnspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
const pairsOf = (run: string): ReadonlyArray<string> =>
  run.length < 2 ? [run] : Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2))

/** Words and the marks that matter (`~/.ssh`, `|`, `$HOME`); numbers and addresses are made alike. */
const tokens = (text: string): ReadonlyArray<string> =>
  (
    text
      .normalize("NFKC")
      .toLowerCase()
      .replace(/https?:\/\/[^\s"'`)>]+/gu, " urlurl ")
      .match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|\p{L}[\p{L}\p{M}'’]*|[~$|&<>{}]+|\.\w+|\d+/gu) ??
    []
  ).flatMap((token) =>
    /^\d/u.test(token) ? ["0"] : isUnspaced.test(token) ? pairsOf(token) : [token.replace(/['’]/gu, "")]
  )

const conceptOf = new Map<string, ReadonlyArray<string>>()
const maxKnownWords = 20_000

/** A text repeats its words, so what each means is kept. */
const conceptsOf = (word: string): ReadonlyArray<string> => {
  const known = conceptOf.get(word)
  if (known) return known
  const found = concepts.flatMap(([name, pattern]) => (pattern.test(word) ? [name] : []))
  if (conceptOf.size >= maxKnownWords) conceptOf.clear()
  conceptOf.set(word, found)
  return found
}

const maxConcepts = 12

/** Distinct buckets of one window: its words, its concepts, each pair and three of them in order of name, and its signals. */
export const featuresOf = (window: string): ReadonlyArray<number> => {
  const words = tokens(window)
  const found = new Set<number>()
  const meant = new Set<string>()
  for (const word of words) {
    found.add(hash(`w ${word}`))
    for (const concept of conceptsOf(word)) meant.add(concept)
  }
  const statement = { text: window, spoken: window, around: window, line: 1, isMention: false, isCode: false }
  for (const { kind, weight } of [...proseSignals("", [statement], []), ...commandSignals("", [statement], ["sh"])]) {
    found.add(hash(`s ${kind}`))
    if (weight >= 0.7) found.add(hash(`S ${kind}`))
  }
  const names = [...meant].toSorted().slice(0, maxConcepts)
  for (let i = 0; i < names.length; i++) {
    found.add(hash(`1 ${names[i]}`))
    for (let j = i + 1; j < names.length; j++) {
      found.add(hash(`2 ${names[i]} ${names[j]}`))
      for (let k = j + 1; k < names.length; k++) found.add(hash(`3 ${names[i]} ${names[j]} ${names[k]}`))
    }
  }
  return [...found]
}

const maxWindows = 2_000

/** A chunk comes without its file's name. */
export const statementsIn = (text: string): ReadonlyArray<Statement> =>
  statementsOf(/^\s*[[{]/u.test(text) ? "text.json" : "text.md", text)

/** Sentences, without what they quote or only name. A chunk of 8 KiB has a few hundred at most. */
export const windowsOf = (text: string): ReadonlyArray<string> =>
  statementsIn(text)
    .filter(({ isMention, spoken }) => !isMention && /[\p{L}\p{N}]{2}/u.test(spoken))
    .slice(0, maxWindows)
    .map(({ spoken }) => spoken)
