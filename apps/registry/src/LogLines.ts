/**
 * The log: one JSON line a message on standard output. A request writes a line
 * and a write is a system call, so lines are gathered for a moment and leave in
 * one write; what is an error leaves at once, with all before it.
 */
import type { AccessEntry } from "@quickagents/platform"
import { Effect, Logger, LogLevel } from "effect"

const gatherMs = 20
let lines: Array<string> = []

const flush = () => {
  if (lines.length === 0) return
  const text = `${lines.join("\n")}\n`
  lines = []
  process.stdout.write(text)
}

process.on("exit", flush)

const write = (line: string) => {
  if (lines.push(line) === 1) setTimeout(flush, gatherMs)
}

export const logLines: Logger.Logger<unknown, void> = Logger.make((options) => {
  write(Logger.formatJson.log(options))
  if (LogLevel.isGreaterThanOrEqualTo(options.logLevel, "Error")) flush()
})

/**
 * The same form as every other line, without the way through the logger. Only the path can hold what must be escaped:
 * methods are those that Node's parser knows, ids are ours.
 */
export const accessLine = ({ method, ms, path, request, status }: AccessEntry): Effect.Effect<void> =>
  Effect.sync(() =>
    write(
      `{"message":"request","level":"INFO","timestamp":"${new Date().toISOString()}","annotations":{"method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${ms},"request":"${request}"}}`
    )
  )
