/** The `quickagent` command. */
import { exitCodes } from "@quickagents/schema"
import { Cause, Effect, Exit } from "effect"
import { enableCompileCache } from "node:module"

const line = process.argv.slice(2)
const hosted = line[0] === "run" && line.includes("--hosted")

/** Who reads stdout went away, as `head` does, or its disk is full. */
const unwritten = (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") process.stderr.write(`stdout cannot be written (${error.code ?? "unknown"})\n`)
  process.exit(exitCodes.cli)
}

const load = async () => {
  // A sandbox loads this form for every run, and without what only the command line needs.
  if (hosted) return (await import("./RunHosted.ts")).runHosted
  process.stdout.on("error", unwritten)
  const { cacheFolder } = await import("./Places.ts")
  // A person waits for each command, and half of that was compiling the same modules again.
  enableCompileCache(cacheFolder())
  return (await import("./CommandLine.ts")).commandLine(line)
}

const exit = await Effect.runPromiseExit(await load())
if (Exit.isSuccess(exit)) process.exit(exit.value)
// A hosted run's defect is not repeated: it may hold text of the run.
const defect = hosted ? undefined : Cause.squash(exit.cause)
process.stderr.write(`quickagent failed${defect instanceof Error ? `: ${defect.message}` : ""}\n`)
process.exit(exitCodes.cli)
