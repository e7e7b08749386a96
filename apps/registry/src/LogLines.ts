/**
 * The log: one JSON line a message on standard output. A request writes a line,
 * and a write is a system call: the lines of one turn of the event loop leave in
 * one write, before the next turn begins.
 */
import { Logger } from "effect"

let lines: Array<string> = []

const flush = () => {
  if (lines.length === 0) return
  const text = `${lines.join("\n")}\n`
  lines = []
  process.stdout.write(text)
}

process.on("exit", flush)

export const logLines: Logger.Logger<unknown, void> = Logger.map(Logger.formatJson, (line) => {
  if (lines.push(line) === 1) setImmediate(flush)
})
