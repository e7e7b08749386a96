/**
 * A registry node. `main.ts` serves; `main.ts config` prints the effective
 * configuration, secrets left out, and ends.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { AccessLog, Settings } from "@quickagents/platform"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Logger, References } from "effect"
import { accessLine, logLines } from "./LogLines.ts"
import { RegistryNode } from "./Node.ts"

const settings = (() => {
  try {
    return Settings.fromEnvironment(process.env)
  } catch (error) {
    if (!(error instanceof Settings.SettingsInvalid)) throw error
    console.error(error.message)
    process.exit(2)
  }
})()

if (process.argv[2] === "config") {
  console.log(Settings.show(settings))
} else {
  Layer.launch(RegistryNode).pipe(
    Effect.provideService(Settings.Settings, settings),
    Effect.provideService(AccessLog, accessLine),
    // Nobody collects spans yet, and each costs a stack trace.
    Effect.provideService(References.TracerEnabled, false),
    Effect.provide(Logger.layer([logLines])),
    NodeRuntime.runMain
  )
}
