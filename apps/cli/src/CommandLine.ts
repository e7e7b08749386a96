/** The `quickagent` command as a person types it. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { exitCodes } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { CliError, Command } from "effect/cli"
import { exitCodesText } from "./CommandFailed.ts"
import { checkCommand, packCommand } from "./commands/Check.ts"
import { disputeCommand } from "./commands/Dispute.ts"
import { forkCommand } from "./commands/Fork.ts"
import { importCommand } from "./commands/Import.ts"
import { initCommand } from "./commands/Init.ts"
import { installCommand } from "./commands/Install.ts"
import { keysCommand } from "./commands/Keys.ts"
import { listCommand, pinCommand, uninstallCommand, unpinCommand } from "./commands/Locked.ts"
import { loginCommand, logoutCommand, whoamiCommand } from "./commands/Login.ts"
import { publishCommand } from "./commands/Publish.ts"
import { reportCommand } from "./commands/Report.ts"
import { runCommand } from "./commands/Run.ts"
import { searchCommand, showCommand } from "./commands/Search.ts"
import { transferCommand } from "./commands/Transfer.ts"
import { updateCommand } from "./commands/Update.ts"
import { verifyCommand } from "./commands/Verify.ts"
import { yankCommand } from "./commands/Yank.ts"
import { patientHttp } from "./Patience.ts"
import { RegistryFlag } from "./Registry.ts"

const quickagent = Command.make("quickagent").pipe(
  Command.withDescription(
    `Write, publish, install and run QuickAgents. ${exitCodesText} A run ends with its own classes: quickagent run --help.`
  ),
  Command.withSubcommands([
    { group: "Sign in", commands: [loginCommand, logoutCommand, whoamiCommand, keysCommand] },
    {
      group: "Write and publish",
      commands: [
        initCommand,
        importCommand,
        checkCommand,
        packCommand,
        publishCommand,
        disputeCommand,
        yankCommand,
        forkCommand,
        transferCommand
      ]
    },
    {
      group: "Find and use",
      commands: [
        searchCommand,
        showCommand,
        verifyCommand,
        installCommand,
        updateCommand,
        listCommand,
        pinCommand,
        unpinCommand,
        uninstallCommand,
        runCommand,
        reportCommand
      ]
    }
  ]),
  Command.withGlobalFlags([RegistryFlag])
)

const runWith = Command.runWith(quickagent, { version: "0.1.0" })

/** What follows `quickagent` on the line. Answers the process exit code; a line that is wrong is explained here. */
export const commandLine = (line: ReadonlyArray<string>): Effect.Effect<number, unknown> =>
  Effect.suspend(() => {
    process.exitCode = exitCodes.ok
    return runWith(line)
  }).pipe(
    Effect.map(() => Number(process.exitCode)),
    Effect.catchIf(CliError.isCliError, () => Effect.succeed(exitCodes.usage)),
    Effect.provide(Layer.mergeAll(NodeServices.layer, Layer.provide(patientHttp, NodeHttpClient.layerUndici)))
  )
