import { assert, describe, it } from "@effect/vitest"
import type { HostEvent } from "@quickagents/schema"
import { Deferred, Effect, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { openObjectCache } from "./ObjectCache.ts"
import type { StopReason } from "./RunExits.ts"
import { openRunJournal } from "./RunJournal.ts"
import { liveRun } from "./RunLife.ts"
import { prepareSandbox } from "./Sandbox.ts"
import {
  archiveOf,
  digestOf,
  handOffOf,
  manifestText,
  plainProcesses,
  temporaryDirectory,
  testConfig
} from "./TestRegistry.ts"

/** A run of `act` on the test clock, as a fiber that is past the event `until`. */
const aRun = (act: Readonly<Record<string, unknown>>, until: HostEvent["event"]["type"] = "started") =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const config = yield* testConfig(1)
    const objects = yield* openObjectCache(join(directory, "objects"), 1_000_000)
    const archive = yield* archiveOf({ "agent.yaml": manifestText(), "AGENT.md": "Take notes." })
    yield* objects.put(digestOf(archive), Stream.make(archive))
    const { handOff } = handOffOf(archive, act)
    const journal = yield* openRunJournal(join(directory, "run.events"))
    const stop = yield* Deferred.make<StopReason>()
    const outputPath = join(directory, "run.output")
    const fiber = yield* Effect.forkScoped(
      liveRun(
        { sandbox: prepareSandbox(config, plainProcesses), isolation: plainProcesses, objects },
        {
          handOff,
          manifest: Option.none(),
          pinnedKeys: [],
          journal,
          outputPath,
          stop
        }
      )
    )
    yield* journal.after(0).pipe(
      Stream.takeUntil(({ event }) => event.type === until),
      Stream.runDrain
    )
    const exit = Effect.map(Fiber.join(fiber), () => {
      const last = journal.events().at(-1)!.event
      assert(last.type === "exited")
      return last.exit
    })
    return { config, exit, fiber, handOff, journal, outputPath, stop }
  })

describe("ending a run", () => {
  it.effect("a runner past its wall clock is asked to end, and its interruption is told as a timeout", () =>
    Effect.gen(function* () {
      const { exit, handOff } = yield* aRun({ stayMs: 60_000 })
      yield* TestClock.adjust(`${handOff.caps.seconds} seconds`)
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude(yield* exit, { exitClass: "timeout", reason: "wall-time", interrupted: false })
    }).pipe(Effect.scoped)
  )

  it.effect("a runner that does not listen is killed ten seconds later, with what it had narrated", () =>
    Effect.gen(function* () {
      const { config, exit, journal, stop } = yield* aRun(
        {
          stayMs: 60_000,
          deaf: true,
          narrate: [
            { type: "tokens", input: 4, output: 2, total: 6 },
            { type: "turn", turns: 1 }
          ]
        },
        "turn"
      )
      yield* Deferred.succeed(stop, "cancelled")
      yield* TestClock.adjust("9 seconds")
      assert.isFalse(journal.ended())
      yield* TestClock.adjust("1 seconds")
      const told = yield* exit
      assert.deepInclude(told, { exitClass: "harness", reason: "interrupted", interrupted: true, receipt: null })
      assert.strictEqual(told.usage.totalTokens, 6)
      assert.deepStrictEqual(readdirSync(config.workDir), [])
    }).pipe(Effect.scoped)
  )

  it.effect("a run that ends because its host goes away is the class cli, which is refunded", () =>
    Effect.gen(function* () {
      const { exit, stop } = yield* aRun({ stayMs: 60_000 })
      yield* Deferred.succeed(stop, "drained")
      assert.deepInclude(yield* exit, { exitClass: "cli", reason: "internal", interrupted: false })
    }).pipe(Effect.scoped)
  )

  it.effect("a run that finished before the cancel reached it keeps its result and its output", () =>
    Effect.gen(function* () {
      const { exit, journal, outputPath, stop } = yield* aRun({ output: "tar" })
      const told = yield* exit
      yield* Deferred.succeed(stop, "cancelled")
      assert.deepInclude(told, { exitClass: "ok", interrupted: false })
      assert.deepStrictEqual(
        journal.events().map(({ event }) => event.type),
        ["started", "sealed", "exited"]
      )
      assert.isTrue(existsSync(outputPath))
    }).pipe(Effect.scoped)
  )

  it.effect("an interruption of the host's own fiber kills the runner and records no end", () =>
    Effect.gen(function* () {
      const { config, fiber, journal } = yield* aRun({ stayMs: 60_000, deaf: true })
      yield* Fiber.interrupt(fiber)
      assert.isFalse(journal.ended())
      assert.deepStrictEqual(readdirSync(config.workDir), [])
    }).pipe(Effect.scoped)
  )
})
