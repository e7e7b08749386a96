/** The `quickagent` command as a person types it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { exitCodes } from "@quickagents/schema"
import { Effect } from "effect"
import { CliError, Command } from "effect/cli"
import { runCommand } from "./commands/Run.ts"
import { verifyCommand } from "./commands/Verify.ts"

const quickagent = Command.make("quickagent").pipe(
  Command.withDescription("Run QuickAgents."),
  Command.withSubcommands([runCommand, verifyCommand])
)

/** Answers the process exit code. A command line that is wrong is explained here. */
export const commandLine: Effect.Effect<number, unknown> = Command.run(quickagent, { version: "0.1.0" }).pipe(
  Effect.map(() => Number(process.exitCode ?? 0)),
  Effect.catchIf(CliError.isCliError, () => Effect.succeed(exitCodes.usage)),
  Effect.provide(NodeServices.layer)
)
