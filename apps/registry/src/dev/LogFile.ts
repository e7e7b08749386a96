/** The log of one process: appended to, and moved aside once when it grows large, so that it never fills a disk. */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs"
import { dirname } from "node:path"

const maxBytes = 10 * 1024 * 1024

export interface LogFile {
  readonly path: string
  /** The line is in the file when this returns: who is told of a failure reads its last lines there. */
  readonly write: (line: string) => void
  readonly close: () => void
}

export const openLogFile = (path: string): LogFile => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const open = () => openSync(path, "a", 0o600)
  /** None after the close: another file may have the number by then. */
  let file: number | undefined = open()
  let written = fstatSync(file).size
  return {
    path,
    write: (line) => {
      if (file === undefined) return
      // A full disk must not take the stack down.
      try {
        if (written > maxBytes) {
          renameSync(path, `${path}.1`)
          const next = open()
          closeSync(file)
          file = next
          written = 0
        }
        written += writeSync(file, `${line}\n`)
      } catch {
        // The line is lost; the next one may fit.
      }
    },
    close: () => {
      if (file !== undefined) closeSync(file)
      file = undefined
    }
  }
}
