/** Live progress: on a terminal the running step is one line that changes; elsewhere every change is a line of its own. */

export interface Progress {
  /** A heading. */
  readonly heading: (text: string) => void
  /** What goes on now; replaces the line before it on a terminal. */
  readonly now: (text: string) => void
  /** The running step came to its end, and stays on the screen. */
  readonly done: (text: string) => void
  readonly line: (text: string) => void
}

export const makeProgress = (out: NodeJS.WriteStream): Progress => {
  const terminal = out.isTTY
  let pending = false
  let shown = ""
  const clear = () => {
    if (pending) out.write("\r\u001b[2K")
    pending = false
  }
  const line = (text: string) => {
    clear()
    shown = ""
    out.write(`${text}\n`)
  }
  return {
    heading: (text) => line(terminal ? `\n\u001b[1m${text}\u001b[0m` : `\n${text}`),
    now: (text) => {
      if (text === shown) return
      shown = text
      if (!terminal) return void out.write(`  . ${text}\n`)
      clear()
      out.write(`  ${`\u25cc ${text}`.slice(0, Math.max(20, (out.columns ?? 80) - 3))}`)
      pending = true
    },
    done: (text) => line(`  ${terminal ? "\u001b[32m\u2713\u001b[0m" : "+"} ${text}`),
    line: (text) => line(`  ${text}`)
  }
}
