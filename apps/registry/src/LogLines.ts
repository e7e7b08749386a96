/**
 * The log: one JSON line a message on standard output. A request writes a line
 * and a write is a system call, so lines are gathered for a moment and leave in
 * one write; what is an error leaves at once, with all before it.
 */
import { Logger, LogLevel } from "effect"

const gatherMs = 20
let lines: Array<string> = []

const flush = () => {
  if (lines.length === 0) return
  const text = `${lines.join("\n")}\n`
  lines = []
  process.stdout.write(text)
}

process.on("exit", flush)

export const logLines: Logger.Logger<unknown, void> = Logger.make((options) => {
  lines.push(Logger.formatJson.log(options))
  if (LogLevel.isGreaterThanOrEqualTo(options.logLevel, "Error")) flush()
  else if (lines.length === 1) setTimeout(flush, gatherMs)
})
