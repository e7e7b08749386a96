/** What a run says of itself while it goes on: numbers, never text of the run. */
import { writeSync } from "node:fs"

export type NarrationLine =
  | { readonly type: "started" }
  /** Running totals. */
  | { readonly type: "tokens"; readonly input: number; readonly output: number; readonly total: number }
  | { readonly type: "turn"; readonly turns: number }

export type Narrate = (line: NarrationLine) => void

/** For a run that nobody follows. */
export const silent: Narrate = () => {}

/** NDJSON on a descriptor. Who stopped listening does not stop the run. */
export const narrateTo = (fd: number): Narrate => {
  let open = true
  return (line) => {
    if (!open) return
    try {
      writeSync(fd, `${JSON.stringify(line)}\n`)
    } catch {
      open = false
    }
  }
}
