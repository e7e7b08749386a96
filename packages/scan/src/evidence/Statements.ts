/**
 * What a text says, statement by statement: wrapped lines are joined, quotations
 * are told from speech, and what stands in a list of things to look for is told
 * from what the agent is to do.
 */

import { prefilter } from "../rules/Prefilter.ts"

export interface Statement {
  /** At most `maxStatement` characters. */
  readonly text: string
  /** `text` with what it quotes blanked: another's words are no orders. */
  readonly spoken: string
  /** The paragraph or list item it belongs to, blanked likewise. */
  readonly around: string
  /** From 1. */
  readonly line: number
  /** Stands under words such as "look for" or "signs of", in a table, or explains what it names. */
  readonly isMention: boolean
  /** A command or address in its sentence is quoted, or an example in a text about attacks. */
  readonly isShown: boolean
  readonly isCode: boolean
}

/** A passage by itself, as it was said. */
export const statementOf = (said: string): Statement => ({
  text: said,
  spoken: said,
  around: said,
  line: 1,
  isMention: false,
  isShown: false,
  isCode: false
})

/** A line past this is S3's minified file; patterns are only tried on its beginning and its end. */
const maxLine = 4_000

export const bounded = (line: string): string =>
  line.length <= maxLine ? line : `${line.slice(0, maxLine / 2)} ${line.slice(-maxLine / 2)}`

const maxStatement = 600
const maxAround = 1200

/** Introduces examples of what others do. */
const frame =
  /\b(?:look(?:ing|s)? (?:for|at)|watch (?:out )?for|signs?(?: of)?|hints?|flag(?:ged|s)?|smells?|suspicious|remarkable|findings?|patterns?|detects?|indicators?|reviews?|audits?|samples?|examples?|e\.g\.|such as|typical|well-known|known (?:bad|attacks?|squats?|signs?)|explain(?:s|ed)?|attacks?|attackers?|quiz|lessons?|workshop|payloads?|quoted?|quotes|deserves?|distrust(?:ed)?|instead of|warn(?:s|ing)?|security first|commands such|check(?:s|list)?(?: and explain| for)?|usual suspects|mark by|what (?:counts|to look))\b/iu

/** A text about attacks, by its first heading or the description: what it gives in quotes or as code is shown. */
const topic =
  /\b(?:security|threats?|pen(?:etration)?[- ]?test\w*|red[- ]?team\w*|jail ?breaks?|phishing|malware|vulnerabilit\w*|audit\w*|hardening|incident|forensics?|moderation|spam|fraud|scams?|injections?|attacks?|exploits?|sudoers|secret[- ]?scann\w*|code[- ]?review\w*|linter|detection|awareness|abuse|safety|XSS|fuzz\w*|payloads?)\b/iu
export const isAboutAttacks = (text: string): boolean => topic.test(/^#{1,2}\s[^\n]{0,200}/mu.exec(text)?.[0] ?? "")

/** What testers type into fields: a list with one of them is a list of test data. */
const testValue =
  /<script>alert|onerror=alert|' OR '?1'?='?1|\.\.\/\.\.\/etc\/passwd|\{\{7\*7\}\}|\$\{jndi:|; DROP TABLE \w+; ?--/iu

/** Says in the sentence itself that what it names is another's. */
const named =
  /\b(?:look(?:ing)? (?:out )?for|(?:check|search|grep|scan|test)\b[^.]{0,40}\bfor|watch (?:out )?for|signs? of|flag(?:ged)?|smells?|suspicious|e\.g\.|such as|well-known|known (?:bad|attacks?|squats?)|attackers?|quoted?|quotes|distrust(?:ed)?|replace by|do not belong|never fine|almost never|why (?:not|block|is|are|does)|(?:admin|user|operator|attacker)s? (?:collects?|runs?|types?|pastes?|has (?:run|copied|put))|point (?:at|out)|in histories|malicious|malice|an? (?:stranger|attacker|supplier|criminal|scammer|thief)|one could|what can go wrong|what would (?:it|they|you) do if)\b|\bexample:/iu
/** `rm -rf` is ...: it explains. */
const explained = /\x60[^\x60]{3,200}\x60\s*(?::|\bis\b|\bare\b)/iu
const mayName = prefilter([named])
const isNamed = (said: string) =>
  (mayName(said).length > 0 && named.test(said)) || (said.includes("`") && explained.test(said))

/** Another's words: in quotation marks, a few dozen words at most. */
const quotation =
  /"[^"\n]{2,300}"|“[^”\n]{2,300}”|„[^“”\n]{2,300}[“”]|«[^»\n]{2,300}»|「[^」\n]{2,200}」|『[^』\n]{2,200}』/gu
/** The target of a link is for whoever follows it, and honest texts have many. */
const linkTarget =
  /\]\([^()\s]{4,400}(?:\s"[^"\n]{0,200}")?\)|<https?:\/\/[^>\s]{4,400}>|\[[^\]\n]{1,100}\]:\s*https?:\S+|\[https?:\/\/[^\]\s]{4,300}(?=\])/gu
const blanked = (text: string) =>
  text
    .replace(linkTarget, (link) => `]${" ".repeat(link.length - 1)}`)
    .replace(quotation, (quoted) => `"${" ".repeat(quoted.length - 2)}"`)

const codeExtension =
  /\.(?:m?[jt]sx?|c[jt]s|py|rb|sh|bash|zsh|ps1|psm1|bat|cmd|lua|pl|php|go|rs|java|sql|mk)$|(?:^|\/)(?:Makefile|Dockerfile|Justfile)$/iu
const dataExtension = /\.(?:json|jsonl|ya?ml|toml|ini|csv|tsv|xml)$/iu

export const isCodePath = (path: string, text = ""): boolean =>
  codeExtension.test(path) || (!/\.[a-z0-9]{1,5}$/iu.test(path) && text.startsWith("#!"))
export const isDataPath = (path: string): boolean => dataExtension.test(path)

const sentenceEnd = /(?<=[.!?]["')\]]?)\s+(?=\S)|(?<=[。！？])/u

/** Invisible characters between letters must not hide a word; S3 reports them. */
export const visible = (text: string): string =>
  text.normalize("NFKC").replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/gu, "")

interface Block {
  readonly text: string
  readonly line: number
  /** Offsets in `text` at which the lines after the first one begin. */
  readonly breaks?: ReadonlyArray<number>
  /** Of a text about attacks: code in a sentence is an example. */
  readonly isShown?: boolean
  readonly isMention: boolean
  readonly isCode: boolean
}

const listItem = /^\s*(?:[-*+•]|\d+[.)]|\(\d+\))\s+/u

const command = /^(?:\$ |sudo |[A-Z_]+=\S)|^[a-z][\w./-]* (?:[\w./-]+ )?--?\w|[|&]{1,2} \w|\$\(/u

/** Paragraphs, list items, table cells and fenced lines of prose. */
const blocksOf = (text: string): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  let open: { lines: Array<string>; line: number; isItem: boolean } | undefined
  let fence: string | undefined
  let heading = ""
  let intro = ""
  const isShown = isAboutAttacks(text)
  let wasItem = false
  const isFramed = () => frame.test(heading) || frame.test(intro)
  const close = () => {
    if (!open) return
    const joined = open.lines.join(" ")
    let length = 0
    const breaks = open.lines.slice(0, -1).map((part) => (length += part.length + 1))
    const isMention = (isFramed() && open.isItem) || testValue.test(joined)
    blocks.push({ text: joined, line: open.line, breaks, isMention, isShown, isCode: false })
    if (!open.isItem) intro = joined.slice(-300)
    wasItem = open.isItem
    open = undefined
  }
  text.split("\n").forEach((raw, index) => {
    const content = raw.trim()
    const line = index + 1
    const mark = /^(?:```|~~~)/u.exec(content)?.[0]
    if (mark !== undefined && (fence === undefined || content.startsWith(fence))) {
      close()
      fence = fence === undefined ? mark : undefined
      return
    }
    if (fence !== undefined) {
      if (content !== "") blocks.push({ text: content, line, isMention: isFramed(), isCode: true })
      return
    }
    if (content === "") return close()
    // Four blanks after an empty line make code, but for what goes on in a list.
    if (open === undefined && /^(?: {4}|\t)/u.test(raw) && (!wasItem || command.test(content))) {
      blocks.push({ text: content, line, isMention: isFramed(), isCode: true })
      return
    }
    if (/^#{1,6}\s/u.test(content)) {
      close()
      heading = content
      intro = ""
      blocks.push({ text: content, line, isMention: false, isCode: false })
      return
    }
    if (content.startsWith("|")) {
      close()
      for (const cell of content.split(/(?<!\\)\|/u))
        if (/\p{L}{2}/u.test(cell)) blocks.push({ text: cell.trim(), line, isMention: true, isCode: false })
      return
    }
    if (listItem.test(raw)) {
      close()
      open = { lines: [content.replace(listItem, "")], line, isItem: true }
      return
    }
    if (open && open.lines.length < 60) open.lines.push(content.replace(/^>\s?/u, ""))
    else {
      close()
      open = { lines: [content.replace(/^>\s?/u, "")], line, isItem: content.startsWith(">") }
    }
  })
  close()
  return blocks
}

/** Text in code that people read: comments, and strings of several words. */
const codeComment = /^\s*(?:#(?!!)|\/\/|\*|--|;|rem\b|"""|''')\s*(.*)$/iu

const statementsOfBlock = ({
  breaks = [],
  isCode,
  isMention,
  isShown = false,
  line: firstLine,
  text
}: Block): ReadonlyArray<Statement> => {
  const spokenBlock = blanked(text)
  let at = 0
  const around = spokenBlock.slice(0, maxAround)
  return spokenBlock.split(sentenceEnd).flatMap((sentence) => {
    const parts: Array<Statement> = []
    // Blanking and splitting keep offsets but for the blanks between sentences.
    const start = spokenBlock.indexOf(sentence, at)
    at = start + sentence.length
    const line = firstLine + breaks.filter((begins) => begins <= start).length
    for (let from = 0; from < sentence.length; from += maxStatement) {
      const spoken = sentence.slice(from, from + maxStatement)
      const said = text.slice(start + from, start + from + spoken.length)
      if (/[\p{L}\p{N}]{2}/u.test(said))
        parts.push({
          text: said,
          spoken,
          around,
          line,
          isCode,
          isShown,
          isMention: isMention || (!isCode && isNamed(said))
        })
    }
    return parts
  })
}

/** A row of test data, of JSON or YAML: what it says is said to whoever is tested. */
export const isQuotedCase = (row: string): boolean =>
  /(?:^|[\s{,"'-])(?:prompts?|input|question|attack|payload|case|query|utterance|user_message|sample|bad|wrong|given)["']?\s*:(?:\s|["'])/iu.test(
    row
  )

/** Prose of a file: a script gives its comments, data its values. */
export const statementsOf = (path: string, text: string): ReadonlyArray<Statement> => {
  if (isCodePath(path, text))
    return text.split("\n").flatMap((raw, index) => {
      const comment = codeComment.exec(raw.slice(0, maxStatement))?.[1]
      return comment === undefined || comment.length < 12
        ? []
        : statementsOfBlock({ text: comment, line: index + 1, isMention: false, isCode: false })
    })
  if (isDataPath(path))
    return text.split("\n").flatMap((raw, index) =>
      // Values stand in quotation marks; they are not quotations.
      statementsOfBlock({
        text: raw.replaceAll('"', " "),
        line: index + 1,
        isMention: isQuotedCase(raw),
        isCode: false
      })
    )
  return blocksOf(text).flatMap(statementsOfBlock)
}
