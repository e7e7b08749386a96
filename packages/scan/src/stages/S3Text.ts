import type { Severity } from "@quickagents/schema"
import { Effect } from "effect"
import { domainToUnicode } from "node:url"
import { isConfusableHost, isMixedScript } from "../Confusables.ts"
import type { PackageFile } from "@quickagents/archive"
import { isImagePath } from "@quickagents/archive"
import { defineStage, judgeFiles, lineAt, maxFindings } from "../Stage.ts"

interface Hit {
  readonly rule: string
  readonly severity: Severity
  readonly message: string
  /** Character offset; without it the finding is about the whole file. */
  readonly at?: number
}

const extensionOf = (path: string) => /\.([a-z0-9]+)$/iu.exec(path)?.[1]?.toLowerCase() ?? ""
const codeExtensions = new Set([
  "js",
  "mjs",
  "cjs",
  "ts",
  "mts",
  "cts",
  "jsx",
  "tsx",
  "py",
  "rb",
  "sh",
  "bash",
  "ps1",
  "lua",
  "pl",
  "php",
  "go",
  "rs",
  "java",
  "c",
  "h",
  "cpp"
])
const textExtensions = new Set([
  ...codeExtensions,
  "md",
  "markdown",
  "txt",
  "yaml",
  "yml",
  "json",
  "jsonl",
  "toml",
  "ini",
  "csv",
  "tsv",
  "html",
  "htm",
  "css",
  "xml",
  "svg",
  ""
])
const markupExtensions = new Set(["html", "htm", "svg", "css", "vue", "jsx", "tsx"])
/** Binary files that an agent package has a use for. */
const dataExtensions = new Set([
  "pdf",
  "woff",
  "woff2",
  "ttf",
  "otf",
  "ico",
  "mp3",
  "mp4",
  "wav",
  "ogg",
  "parquet",
  "sqlite",
  "docx",
  "xlsx",
  "pptx"
])

const startsWith = (bytes: Uint8Array, ...prefix: ReadonlyArray<number>) =>
  prefix.every((byte, index) => bytes[index] === byte)

const isProgram = (bytes: Uint8Array) =>
  startsWith(bytes, 0x7f, 0x45, 0x4c, 0x46) ||
  startsWith(bytes, 0x4d, 0x5a) ||
  startsWith(bytes, 0x00, 0x61, 0x73, 0x6d) ||
  startsWith(bytes, 0xca, 0xfe, 0xba, 0xbe) ||
  startsWith(bytes, 0xfe, 0xed, 0xfa, 0xce) ||
  startsWith(bytes, 0xfe, 0xed, 0xfa, 0xcf) ||
  startsWith(bytes, 0xcf, 0xfa, 0xed, 0xfe)

const isArchive = (bytes: Uint8Array) =>
  startsWith(bytes, 0x50, 0x4b, 0x03, 0x04) ||
  startsWith(bytes, 0x1f, 0x8b) ||
  startsWith(bytes, 0x37, 0x7a, 0xbc, 0xaf) ||
  startsWith(bytes, 0x52, 0x61, 0x72, 0x21) ||
  startsWith(bytes, 0x42, 0x5a, 0x68) ||
  startsWith(bytes, 0xfd, 0x37, 0x7a, 0x58) ||
  startsWith(bytes, 0x28, 0xb5, 0x2f, 0xfd)

const imageMagic: Record<string, (bytes: Uint8Array) => boolean> = {
  png: (bytes) => startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
  jpg: (bytes) => startsWith(bytes, 0xff, 0xd8, 0xff),
  jpeg: (bytes) => startsWith(bytes, 0xff, 0xd8, 0xff),
  gif: (bytes) => startsWith(bytes, 0x47, 0x49, 0x46, 0x38),
  webp: (bytes) => startsWith(bytes, 0x52, 0x49, 0x46, 0x46) && startsWith(bytes.subarray(8), 0x57, 0x45, 0x42, 0x50)
}

/** What a file's bytes say about it, whatever its name says. */
const judgeKind = (file: PackageFile): ReadonlyArray<Hit> => {
  const extension = extensionOf(file.path)
  if (isProgram(file.bytes))
    return [{ rule: "executable-file", severity: "high", message: "The file is a compiled program" }]
  const magic = imageMagic[extension]
  if (magic)
    return magic(file.bytes)
      ? []
      : [
          {
            rule: "disguised-file",
            severity: "high",
            message: `The file is named .${extension} and is not such an image`
          }
        ]
  if (
    extension === "svg" &&
    file.text !== undefined &&
    /<script|<foreignObject|\son[a-z]+\s*=|javascript:/iu.test(file.text)
  ) {
    return [{ rule: "active-svg", severity: "high", message: "The image carries script" }]
  }
  if (file.text !== undefined) return []
  // Office documents are zip files.
  if (isArchive(file.bytes) && !dataExtensions.has(extension))
    return [
      { rule: "nested-archive", severity: "high", message: "The file is an archive, whose content is not scanned" }
    ]
  if (textExtensions.has(extension))
    return [{ rule: "not-utf8", severity: "high", message: "The file is named as text and is not UTF-8" }]
  if (dataExtensions.has(extension))
    return [{ rule: "binary-file", severity: "low", message: "The file is binary; its content is not read as text" }]
  return [{ rule: "binary-file", severity: "medium", message: "The file is binary and of no known kind" }]
}

/** The three flags that Unicode writes with tag characters: England, Scotland, Wales. */
const flagSequence =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/gu
const tagCharacters = /[\u{e0000}-\u{e007f}]+/gu
const bidiOverrides = /[\u202a-\u202e\u2066-\u2069]/gu
const invisible =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2060-\u206f\u3164\uffa0\ufeff]+/gu
/** Joiners shape Indic, Arabic and emoji text; between ASCII they only hide something. */
const joinerInAscii = /[\x20-\x7e](?:[\u200c\u200d]+[\x20-\x7e]|[\u200c\u200d]{2,})/gu
/** One variation selector picks a glyph; a row of them is a known way to carry bytes. */
const selectorRun = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{3,}|[\u{e0100}-\u{e01ef}]{2,}/gu
const terminalControl = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu

const first = (
  text: string,
  pattern: RegExp
): { readonly at: number; readonly count: number; readonly longest: number } | undefined => {
  let found: { at: number; count: number; longest: number } | undefined
  for (const match of text.matchAll(pattern)) {
    const length = Array.from(match[0]).length
    found ??= { at: match.index, count: 0, longest: 0 }
    found.count++
    found.longest = Math.max(found.longest, length)
  }
  return found
}

const judgeCharacters = (text: string): ReadonlyArray<Hit> => {
  const hits: Array<Hit> = []
  const bidi = first(text, bidiOverrides)
  if (bidi)
    hits.push({
      rule: "bidi-control",
      severity: "high",
      at: bidi.at,
      message: `${bidi.count} bidirectional control characters make text read otherwise than it is`
    })
  const tags = first(
    text.replace(flagSequence, (flag) => " ".repeat(flag.length)),
    tagCharacters
  )
  if (tags)
    hits.push({
      rule: "tag-characters",
      severity: "high",
      at: tags.at,
      message: "Invisible tag characters, which models read as letters"
    })
  const selectors = first(text, selectorRun)
  if (selectors)
    hits.push({
      rule: "variation-selectors",
      severity: "high",
      at: selectors.at,
      message: "A row of variation selectors carries hidden data"
    })
  const hidden = first(text.startsWith("\ufeff") ? ` ${text.slice(1)}` : text, invisible)
  if (hidden) {
    hits.push({
      rule: "invisible-character",
      severity: hidden.longest > 1 || hidden.count > 8 ? "high" : "medium",
      at: hidden.at,
      message: `${hidden.count} places with invisible characters`
    })
  }
  const joiner = first(text, joinerInAscii)
  if (joiner)
    hits.push({
      rule: "invisible-character",
      severity: joiner.count > 8 || joiner.longest > 6 ? "high" : "medium",
      at: joiner.at,
      message: `${joiner.count} joiners inside plain text`
    })
  const control = first(text, terminalControl)
  if (control) {
    hits.push({
      rule: "control-character",
      severity: /[\u001b\u009b\u0008]/u.test(text) ? "high" : "medium",
      at: control.at,
      message: "Control characters, which a terminal may obey"
    })
  }
  if (text.startsWith("\ufeff"))
    hits.push({ rule: "byte-order-mark", severity: "info", at: 0, message: "The file starts with a byte order mark" })
  return hits
}

const urls = /\bhttps?:\/\/([^\s/?#"'<>)\]`]{1,300})/giu
const words = /[\p{L}\p{M}\p{Nd}]{3,64}/gu

const judgeConfusables = (text: string): ReadonlyArray<Hit> => {
  const hits: Array<Hit> = []
  for (const match of text.matchAll(urls)) {
    const authority = match[1]
    if (authority.includes("@"))
      hits.push({
        rule: "url-userinfo",
        severity: "high",
        at: match.index,
        message: "A url has a name before its host, which hides where it goes"
      })
    const host = authority
      .slice(authority.lastIndexOf("@") + 1)
      .replace(/:\d*$/u, "")
      .toLowerCase()
    const shown = /xn--/u.test(host) ? domainToUnicode(host) : host
    if (isConfusableHost(shown))
      hits.push({
        rule: "confusable-url",
        severity: "high",
        at: match.index,
        message: "A url's host mixes letters that look alike"
      })
  }
  // Plain ASCII, the usual case, cannot mix scripts.
  const mixed = /[^\x00-\x7f]/u.test(text) ? [...text.matchAll(words)].filter((match) => isMixedScript(match[0])) : []
  if (mixed.length > 0) {
    hits.push({
      rule: "mixed-script-word",
      severity: mixed.length > 2 ? "high" : "medium",
      at: mixed[0].index,
      message: `${mixed.length} words mix letters of scripts that look alike`
    })
  }
  return hits
}

const comments = /<!--([\s\S]*?)(?:-->|(?![\s\S]))|^\[(?:\/\/|comment|_)\]:\s*(?:#|<>)\s*[("'](.*)[)"']\s*$/gmu
const toolComment =
  /^\s*(?:prettier|eslint|markdownlint|toc|tocstop|spdx|copyright|license|vale|textlint|more|end|start|begin|\/?[a-z-]+-(?:start|end|ignore))\b/iu
const spokenTo =
  /\b(?:ignore|disregard|instructions?|(?:AI|LLM|assistant|agent|model)s?\s*(?:only|:|,|should|must|shall|will|has to|note)|(?:for|to) (?:the |any |all )?(?:AI|LLMs?|assistants?|agents?|models?|scanners?|judges?|reviewers?)|system prompt|secretly|passwords?|tokens?|secrets?|approve|whenever|hidden|can['’]t see|upload|run|execute|send|https?:)\b|\b(?:AI|LLM|SYSTEM)\b/iu
/** One of them is in many a note; three make an order. */
const directing = /\b(?:you|your|must|always|never|do not|don't|before|after|every|each|without|also|user)\b/gu
/** A note of one maintainer to another. */
const maintainers =
  /^(?:TODO|FIXME|NOTE|HACK|XXX|Maintainers?|Editors?|Authors?|Translators?|Contributors?|Generated|Auto-?generated|Do not edit|keep in sync)\b/iu
const hiddenStyle =
  /(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])|text-indent\s*:\s*-\d{3,}|<[a-z][^<>]{0,200}\shidden(?=[\s>=]))/giu

const judgeHidden = (file: PackageFile, text: string): ReadonlyArray<Hit> => {
  if (codeExtensions.has(extensionOf(file.path))) return []
  const hits: Array<Hit> = []
  for (const match of text.matchAll(comments)) {
    const body = (match[1] ?? match[2] ?? "").trim()
    if (body === "" || toolComment.test(body)) continue
    const speaks =
      (spokenTo.test(body) || new Set(body.toLowerCase().match(directing)).size > 2) &&
      body.split(/\s+/u).length >= 4 &&
      !(maintainers.test(body) && body.length < 160)
    hits.push(
      speaks || body.length > 400
        ? {
            rule: "hidden-comment",
            severity: "high",
            at: match.index,
            message: "A comment that no reader sees speaks to the agent"
          }
        : { rule: "hidden-comment", severity: "low", at: match.index, message: "A comment that no reader sees" }
    )
  }
  // A style that is shown as code hides nothing.
  const shown = text.replace(/```[\s\S]{0,20000}?```|`[^`\n]{1,300}`/gu, (code) => " ".repeat(code.length))
  const style = shown.search(hiddenStyle)
  if (style !== -1) {
    const isMarkup = markupExtensions.has(extensionOf(file.path))
    hits.push({
      rule: "hidden-html",
      severity: isMarkup ? "low" : "high",
      at: style,
      message: "Text is styled so that no reader sees it"
    })
  }
  return hits
}

const minBlob = 160
const base64Run = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{40,}\r?\n[ \t]*)*[A-Za-z0-9+/_-]{4,}={0,2}/gu
const hexRun = /(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}[\s:]?){80,}/gu
const escapeRun = /(?:(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,6};)){24,}/gu

/** Whether decoded bytes are prose or code: then encoding them hid it. */
const isReadable = (bytes: Uint8Array): boolean => {
  const sample = bytes.subarray(0, 4096)
  const readable = sample.reduce(
    (count, byte) => count + (byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127) ? 1 : 0),
    0
  )
  return sample.length > 40 && readable / sample.length > 0.95
}

/** Real base64 mixes cases and digits; a long path or identifier does not. */
const looksEncoded = (run: string) =>
  /[a-z]/u.test(run) && /[A-Z]/u.test(run) && /\d/u.test(run) && !/[-_/]{2}/u.test(run)

const judgeBlobs = (text: string): ReadonlyArray<Hit> => {
  const hits: Array<Hit> = []
  const blob = (at: number, encoding: string, decoded: Uint8Array) => {
    hits.push(
      isReadable(decoded)
        ? { rule: "encoded-text", severity: "high", at, message: `${encoding} hides readable text` }
        : { rule: "encoded-blob", severity: "medium", at, message: `A long ${encoding} blob` }
    )
  }
  for (const match of text.matchAll(hexRun))
    blob(match.index, "hex", Buffer.from(match[0].replace(/[\s:]/gu, ""), "hex"))
  for (const match of text.matchAll(base64Run)) {
    const run = match[0].replace(/\s/gu, "")
    if (run.length < minBlob || /^[0-9a-f]+$/iu.test(run) || !looksEncoded(run)) continue
    const isImage = /data:(?:image|font)\/[a-z+.-]+;base64,$/iu.test(
      text.slice(Math.max(0, match.index - 60), match.index)
    )
    if (!isImage) blob(match.index, "base64", Buffer.from(run, "base64"))
  }
  const escapes = text.search(escapeRun)
  if (escapes !== -1)
    hits.push({ rule: "escaped-text", severity: "high", at: escapes, message: "A long run of escapes hides text" })
  return hits
}

/** Blanks that push what follows out of the window of an editor. */
const pushedAside = /\S[ \t\u00a0\u2000-\u200a\u3000]{80,}(?=\S)/u

const judgeShape = (file: PackageFile, text: string): ReadonlyArray<Hit> => {
  const maxLine = codeExtensions.has(extensionOf(file.path)) ? 2_000 : 20_000
  if (!codeExtensions.has(extensionOf(file.path)) && !["csv", "tsv"].includes(extensionOf(file.path))) {
    const aside = text.search(pushedAside)
    if (aside !== -1)
      return [
        {
          rule: "off-screen-text",
          severity: "high",
          at: aside,
          message: "A long row of blanks pushes text out of sight"
        }
      ]
  }
  let start = 0
  while (start < text.length) {
    const end = text.indexOf("\n", start)
    const stop = end === -1 ? text.length : end
    if (stop - start > maxLine)
      return [
        {
          rule: "minified-file",
          severity: "medium",
          at: start,
          message: `A line of ${stop - start} characters: no person can review it`
        }
      ]
    start = stop + 1
  }
  return []
}

const judgeName = (file: PackageFile): ReadonlyArray<Hit> =>
  file.path.split(/[/.\-_ ]/u).some(isMixedScript)
    ? [{ rule: "confusable-name", severity: "high", message: "The file name mixes letters that look alike" }]
    : []

const judgeFile = (file: PackageFile): ReadonlyArray<Hit> => {
  const { text } = file
  return [
    ...judgeName(file),
    ...judgeKind(file),
    ...(text === undefined
      ? []
      : [
          ...judgeCharacters(text),
          ...judgeConfusables(text),
          ...judgeHidden(file, text),
          ...(isImagePath(file.path) ? [] : judgeBlobs(text)),
          ...judgeShape(file, text)
        ])
  ]
}

/** S3: what a reader does not see and a model does. */
export const textStage = defineStage("S3", "3", (pkg) =>
  judgeFiles(pkg, (file) =>
    judgeFile(file)
      .slice(0, maxFindings)
      .map(({ rule, severity, message, at }) => ({
        stage: "S3",
        rule,
        severity,
        file: file.path,
        ...(at === undefined || file.text === undefined ? {} : { line: lineAt(file.text, at) }),
        message
      }))
  ).pipe(Effect.map((findings) => ({ findings })))
)
