/** The `quickagent` command. */
import { exitCodes } from "@quickagents/schema"
import { Effect, Exit } from "effect"
import { enableCompileCache } from "node:module"

const load = async () => {
  const line = process.argv.slice(2)
  const [command, ...flags] = line
  // A sandbox loads this form for every run, and without what only the command line needs.
  if (command === "run" && flags.includes("--hosted")) return (await import("./RunHosted.ts")).runHosted
  const { cacheFolder } = await import("./Places.ts")
  // A person waits for each command, and half of that was compiling the same modules again.
  enableCompileCache(cacheFolder())
  return (await import("./CommandLine.ts")).commandLine(line)
}

const exit = await Effect.runPromiseExit(await load())
if (Exit.isSuccess(exit)) process.exit(exit.value)
// A defect without text of a run.
process.stderr.write("quickagent failed\n")
process.exit(exitCodes.cli)
