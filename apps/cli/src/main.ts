/** The `quickagent` command. */
import { NodeServices } from "@effect/platform-node"
import { exitCodes } from "@quickagents/schema"
import { Cause, Effect, Exit } from "effect"
import { CliError, Command } from "effect/cli"
import { runCommand } from "./commands/Run.ts"

const quickagent = Command.make("quickagent").pipe(
  Command.withDescription("Run QuickAgents."),
  Command.withSubcommands([runCommand])
)

const exit = await Effect.runPromiseExit(
  Command.run(quickagent, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer))
)
if (Exit.isFailure(exit)) {
  const error = Cause.squash(exit.cause)
  // The command line itself was wrong and is already explained; anything else is a defect without text of a run.
  if (CliError.isCliError(error)) process.exitCode = exitCodes.usage
  else {
    process.stderr.write("quickagent failed\n")
    process.exitCode = exitCodes.cli
  }
}
process.exit()
