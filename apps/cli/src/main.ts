/** The `quickagent` command. */
import { exitCodes } from "@quickagents/schema"
import { Effect, Exit } from "effect"

const [command, ...flags] = process.argv.slice(2)
// A sandbox loads this form for every run, and without what only the command line needs.
const program =
  command === "run" && flags.includes("--hosted")
    ? (await import("./RunHosted.ts")).runHosted
    : (await import("./CommandLine.ts")).commandLine

const exit = await Effect.runPromiseExit(program)
if (Exit.isSuccess(exit)) process.exit(exit.value)
// A defect without text of a run.
process.stderr.write("quickagent failed\n")
process.exit(exitCodes.cli)
