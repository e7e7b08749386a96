/** What goes on, on stderr: on a terminal the running step is one line that changes; elsewhere each change is a line. */
const out = process.stderr
let pending = false
let shown = ""

const clear = () => {
  if (pending) out.write("\r\u001b[2K")
  pending = false
}

/** Stays on the screen. */
export const line = (text: string) => {
  clear()
  shown = ""
  out.write(`${text}\n`)
}

/** Replaces the step before it on a terminal. */
export const now = (text: string) => {
  if (text === shown) return
  shown = text
  if (!out.isTTY) return void out.write(`${text}\n`)
  clear()
  out.write(`${text} ...`.slice(0, Math.max(20, (out.columns || 80) - 1)))
  pending = true
}

/** Takes the running step off the terminal, before something else is written there. */
export const over = clear

/** What a terminal obeys, and what makes it show text in another order than it is written. */
const obeyed = "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"
const anywhere = new RegExp(`[${obeyed}]`, "gu")
const withinLines = new RegExp(`(?![\\n\\t])[${obeyed}]`, "gu")

/** A text of the registry or of a package as one line. */
export const plain = (text: string): string => text.replace(anywhere, " ")

/** A text of several lines that may quote the registry, a package or a model. */
export const plainLines = (text: string): string => text.replace(withinLines, " ")
