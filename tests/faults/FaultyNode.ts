/**
 * A registry node that dies at a named point of a run: when the file
 * QUICKAGENTS_FAULT_FILE holds the name of the point that it passes, it takes
 * the file away and kills itself, so that the next start goes on without.
 */
import { Settings } from "@quickagents/platform"
import { Faults } from "@quickagents/runs"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Logger } from "effect"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { RegistryNode } from "@quickagents/registry"

const file = process.env["QUICKAGENTS_FAULT_FILE"]
if (file === undefined) throw new Error("QUICKAGENTS_FAULT_FILE is missing")

Layer.launch(RegistryNode).pipe(
  Effect.provideService(Settings.Settings, Settings.fromEnvironment(process.env)),
  Effect.provideService(Faults, (point) =>
    Effect.suspend(() => {
      if (!existsSync(file) || readFileSync(file, "utf8") !== point) return Effect.void
      rmSync(file)
      process.kill(process.pid, "SIGKILL")
      return Effect.never
    })
  ),
  Effect.provide(Logger.layer([Logger.consoleJson])),
  NodeRuntime.runMain
)
