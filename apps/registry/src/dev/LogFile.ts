/** The log of one process: appended to, and moved aside once when it grows large, so that it never fills a disk. */
import { createWriteStream, mkdirSync, renameSync, statSync } from "node:fs"
import type { WriteStream } from "node:fs"
import { dirname } from "node:path"

const maxBytes = 10 * 1024 * 1024

export interface LogFile {
  readonly path: string
  readonly write: (line: string) => void
  readonly close: () => void
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

export const openLogFile = (path: string): LogFile => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let stream: WriteStream
  let written: number
  const open = () => {
    written = sizeOf(path)
    stream = createWriteStream(path, { flags: "a", mode: 0o600 })
    // A full disk must not take the stack down.
    stream.on("error", () => {})
  }
  open()
  return {
    path,
    write: (line) => {
      if (written > maxBytes) {
        stream.end()
        renameSync(path, `${path}.1`)
        open()
      }
      written += line.length + 1
      stream.write(`${line}\n`)
    },
    close: () => void stream.end()
  }
}
