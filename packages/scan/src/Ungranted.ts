/**
 * Which tools an agent's texts tell it to use, and which of them its manifest
 * does not grant. Used by S6 and by the check of a finished draft.
 * Spec: Model input, check rules (`ungranted`).
 */
import type { Manifest } from "@quickagents/schema"

export interface UngrantedTool {
  readonly tool: string
  /** The manifest field that would grant it. */
  readonly grant: string
  readonly path: string
  /** Line, from 1, of the first instruction to use it. */
  readonly line: number
  /** That line, trimmed, at most 200 characters. */
  readonly instruction: string
  readonly reason: string
}

/** At most this many are listed. */
export const maxUngranted = 50

interface Mention {
  readonly tool: string
  readonly offset: number
}

/** Tools whose names no prose holds by chance. */
const plainTools =
  /(?<![\w./-])(run_command|fs_read|fs_list|fs_write|browser_[a-z]+(?:_[a-z]+)*|host_[a-z]+(?:_[a-z]+)*|[a-z][a-z0-9-]*(?:_[a-z0-9-]+)*__[a-z][A-Za-z0-9_-]*)(?![\w/-])/gu
/** `fetch` is an English word too: it is the tool when it is written as code, called, or named as a tool. */
const fetchTool =
  /(?:(?<!`,\s{0,2})`fetch`(?!\s+calls?\b|,\s{0,2}`(?!browser_|fs_|host_|run_))|`fetch\((?=[^`]*`)|\bfetch\(|["']fetch["']|\bfetch tool\b|\b(?:use|using|call|calling|with|via|invoke|through|run)\s+(?:the\s+)?fetch\b)/giu

/** Words that refuse what follows them in the same clause. */
const refusing =
  /\b(?:never|not|don['’]t|doesn['’]t|won['’]t|can['’]t|cannot|mustn['’]t|shouldn['’]t|avoid|without|instead of|rather than|refuse[sd]?(?: to)?|forbidden|no)\b/iu
/** Words behind a tool that refuse it: "`fetch` is not available". */
const refusedAfter =
  /^[`"')(]*(?:\s+(?:tools?|calls?))?\s+(?:is|are|will be|must be|must|may|should|can|does|do|has been)?\s*(?:not|never|unavailable|disabled|forbidden|off[- ]limits|out of scope|denied|prohibited)\b/iu
/** A clause ends where the sense may turn. */
const clauseEnd =
  /[.!?;:](?=\s|$)|,?\s(?:but|then|however|only|except|unless|instead)\b(?!\s+of)|\n\s*(?:[-*+]|\d+[.)])\s/giu

/** A clause longer than this is not read to its beginning: a paragraph may be a whole file. */
const maxClause = 1000

const isRefused = (paragraph: string, mention: Mention): boolean => {
  const before = paragraph.slice(Math.max(0, mention.offset - maxClause), mention.offset)
  let clauseStart = 0
  for (const match of before.matchAll(clauseEnd)) clauseStart = match.index + match[0].length
  const after = paragraph.slice(mention.offset, mention.offset + maxClause).replace(/^[`"']?[\w-]+(?:\([^)]*\))?/u, "")
  return refusing.test(before.slice(clauseStart)) || refusedAfter.test(after)
}

const mentions = (paragraph: string): ReadonlyArray<Mention> => [
  ...[...paragraph.matchAll(plainTools)].map((match) => ({ tool: match[1], offset: match.index })),
  ...[...paragraph.matchAll(fetchTool)].map((match) => ({
    tool: "fetch",
    offset: match.index + match[0].toLowerCase().indexOf("fetch")
  }))
]

/** A paragraph that tells about some other package says nothing about this one's tools. */
const isAboutAnother = (paragraph: string, ownName: string): boolean => {
  const refs = [
    ...paragraph.matchAll(
      /(?<![\w./@-])([a-z0-9][a-z0-9-]{0,38}\/[a-z0-9][a-z0-9-]{0,63})(?:@[0-9][\w.+-]*)?(?![\w/.-]*\.[a-z]|\/)/gu
    )
  ]
  const namesOther = refs.some(
    (match) =>
      match[1] !== ownName && (match[0].includes("@") || /\b(?:agent|package|release|quickagent)s?\b/iu.test(paragraph))
  )
  const namesOwn = paragraph.includes(ownName) || /\bthis (?:agent|package|release)\b/iu.test(paragraph)
  return (
    !namesOwn &&
    (namesOther ||
      /\b(?:an?other|different|sibling|companion|separate) (?:quick)?(?:agent|package|release)s?\b/iu.test(paragraph))
  )
}

/** Paragraphs with their offsets: blank lines and headings end one. */
const paragraphs = function* (text: string): Generator<{ readonly start: number; readonly text: string }> {
  const ends = /\n[ \t]*\n|\n(?=#{1,6}\s)/gu
  let start = 0
  for (const match of text.matchAll(ends)) {
    yield { start, text: text.slice(start, match.index) }
    start = match.index + match[0].length
  }
  yield { start, text: text.slice(start) }
}

interface Missing {
  readonly grant: string
  readonly reason: string
}

/** What `tool` lacks, or `undefined` when it is granted or is no tool that needs a grant. */
export const missingGrant = (tool: string, manifest: Manifest): Missing | undefined => {
  const { capabilities = {}, mcpServers = [] } = manifest
  const needs = (grant: string, isGranted: boolean, what: string): Missing | undefined =>
    isGranted ? undefined : { grant, reason: `The instructions use ${tool}, and the manifest ${what}.` }
  if (tool === "run_command")
    return needs("capabilities.exec.commands", (capabilities.exec?.commands.length ?? 0) > 0, "lists no command")
  if (tool === "fetch")
    return needs("capabilities.network.egress", (capabilities.network?.egress.length ?? 0) > 0, "lists no egress host")
  if (tool === "fs_write")
    return needs(
      "capabilities.filesystem.write",
      (capabilities.filesystem?.write?.length ?? 0) > 0,
      "grants no writing of files"
    )
  if (tool === "fs_read" || tool === "fs_list") {
    const { read = [], write = [] } = capabilities.filesystem ?? {}
    return needs("capabilities.filesystem.read", read.length + write.length > 0, "grants no access to files")
  }
  if (tool.startsWith("host_"))
    return needs("capabilities.targetHosts", (capabilities.targetHosts?.length ?? 0) > 0, "names no target host")
  const separator = tool.indexOf("__")
  if (separator > 0) {
    const server = mcpServers.find(({ name }) => name === tool.slice(0, separator))
    if (server === undefined) return needs("mcpServers", false, "declares no MCP server of that name")
    return needs(
      "mcpServers.tools",
      server.tools === undefined || server.tools.includes(tool.slice(separator + 2)),
      "does not list that tool of the server"
    )
  }
  if (tool.startsWith("browser_")) {
    if (capabilities.browser === undefined) return needs("capabilities.browser", false, "grants no browser")
    // A script in a page could read a secret that was typed into it.
    return needs(
      "capabilities.browser",
      !(tool === "browser_evaluate" && capabilities.browser.typeSecrets === true),
      "lets the browser type secrets, which rules out scripts in pages"
    )
  }
  return undefined
}

const lineOf = (text: string, offset: number) => {
  const end = text.indexOf("\n", offset)
  return text.slice(text.lastIndexOf("\n", offset) + 1, end === -1 ? undefined : end)
}

/** Tools that `files` instruct to use and `manifest` does not grant, each once, by its first instruction. */
export const ungrantedTools = (
  manifest: Manifest,
  files: ReadonlyArray<{ readonly path: string; readonly text: string }>
): ReadonlyArray<UngrantedTool> => {
  const found = new Map<string, UngrantedTool>()
  for (const file of files) {
    for (const paragraph of paragraphs(file.text)) {
      const used = mentions(paragraph.text)
      if (used.length === 0 || isAboutAnother(paragraph.text, manifest.name)) continue
      for (const mention of used) {
        // A row of a table about code calls its functions, not the agent's tool.
        if (mention.tool === "fetch" && /^\s*\|.*`fetch\([^`]+\)`/u.test(lineOf(paragraph.text, mention.offset)))
          continue
        const missing = found.has(mention.tool) ? undefined : missingGrant(mention.tool, manifest)
        if (missing === undefined || isRefused(paragraph.text, mention)) continue
        const at = paragraph.start + mention.offset
        const lineStart = file.text.lastIndexOf("\n", at) + 1
        const lineEnd = file.text.indexOf("\n", at)
        found.set(mention.tool, {
          tool: mention.tool,
          ...missing,
          path: file.path,
          line: file.text.slice(0, at).split("\n").length,
          instruction: file.text
            .slice(lineStart, lineEnd === -1 ? undefined : lineEnd)
            .trim()
            .slice(0, 200)
        })
        if (found.size === maxUngranted) return [...found.values()]
      }
    }
  }
  return [...found.values()]
}
