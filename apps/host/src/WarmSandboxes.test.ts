import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { hostedRequest } from "./HostedRun.ts"
import type { HostConfig } from "./HostConfig.ts"
import { prepareIsolation } from "./Isolation.ts"
import { aHost, aWaitingSandbox, eventually, sandboxesOf } from "./TestHost.ts"
import { handOffOf, plainProcesses, push, sealedInput, testConfig } from "./TestRegistry.ts"
import { keepWarm } from "./WarmSandboxes.ts"

const quietly = Effect.provide(Logger.layer([]))

/** Processes that were started with `path`. */
const processesOf = (path: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(path)
      } catch {
        return false
      }
    })
    .map(Number)

describe("a host with waiting sandboxes", () => {
  it.live("a run gets the sandbox that waited, its next one another, and nothing of the first is left", () =>
    Effect.gen(function* () {
      const { archive, client, config, exitOf, port, registry } = yield* aHost({ warmRunners: 1 })
      const input = sealedInput("notes.txt", "an input")
      const runIn = (sandbox: string) =>
        Effect.gen(function* () {
          yield* push(registry, port, input.sealed)
          const { handOff } = handOffOf(archive, { stayMs: 60_000 }, { inputs: [input.input] })
          assert.deepStrictEqual((yield* client.Health()).slots, { total: 2, used: 0 })
          yield* client.Take(handOff)
          yield* eventually(() => (existsSync(join(sandbox, "workspace/notes.txt")) ? true : undefined))
          yield* client.Cancel({ runId: handOff.runId, reason: "cancelled" })
          assert.isTrue((yield* exitOf(handOff.runId)).interrupted)
          assert.isFalse(existsSync(sandbox))
        })
      const first = yield* aWaitingSandbox(config)
      yield* runIn(first)
      const second = yield* aWaitingSandbox(config)
      assert.notStrictEqual(second, first)
      assert.deepStrictEqual(readdirSync(join(second, "workspace")), [])
      yield* runIn(second)
    }).pipe(Effect.scoped)
  )

  it.live("a runner that was killed while it waited is given no run", () =>
    Effect.gen(function* () {
      const { archive, client, config, exitOf } = yield* aHost({ warmRunners: 1 })
      const [runner] = config.runnerPaths
      yield* aWaitingSandbox(config)
      const pids = yield* eventually(() => {
        const found = processesOf(runner)
        return found.length > 0 ? found : undefined
      })
      for (const pid of pids) process.kill(pid, "SIGKILL")
      yield* eventually(() => (processesOf(runner).length === 0 ? true : undefined))
      const { handOff } = handOffOf(archive, {})
      yield* client.Take(handOff)
      assert.strictEqual((yield* exitOf(handOff.runId)).exitClass, "ok")
    }).pipe(Effect.scoped)
  )

  it.live("no more wait than slots are free, and none while the host drains", () =>
    Effect.gen(function* () {
      const { archive, client, config, watch } = yield* aHost({ capacity: 1, warmRunners: 3 })
      const sandbox = yield* aWaitingSandbox(config)
      const { handOff } = handOffOf(archive, { stayMs: 60_000 })
      yield* client.Take(handOff)
      // Beside the one that runs no other is made, until it has ended.
      yield* Effect.raceFirst(
        Stream.runDrain(Stream.take(watch(handOff.runId), 1)).pipe(Effect.andThen(Effect.sleep("300 millis"))),
        eventually(() => (sandboxesOf(config).length > 1 ? true : undefined))
      )
      assert.deepStrictEqual(sandboxesOf(config), [sandbox])
      yield* client.Cancel({ runId: handOff.runId, reason: "cancelled" })
      assert.notStrictEqual(yield* eventually(() => sandboxesOf(config).find((other) => other !== sandbox)), sandbox)
      yield* client.Drain()
      yield* eventually(() => (sandboxesOf(config).length === 0 ? true : undefined))
      assert.deepStrictEqual(processesOf(config.runnerPaths[0]), [])
    }).pipe(Effect.scoped)
  )
})

describe("a host's start", () => {
  it.live("ends what an earlier process of the host left half made, and removes its directory", () =>
    Effect.gen(function* () {
      const config = yield* testConfig(1)
      const left = join(config.workDir, "sandbox-0123456789abcdef")
      mkdirSync(left)
      const child = spawn("/bin/sh", ["-c", "read line", "sh", join(left, "workspace")])
      const ended = once(child, "exit")
      yield* Effect.promise(() => once(child, "spawn"))
      yield* prepareIsolation(config)
      assert.deepStrictEqual(yield* Effect.promise(() => ended), [null, "SIGKILL"])
      assert.deepStrictEqual(sandboxesOf(config), [])
    }).pipe(Effect.scoped)
  )
})

/** Sandboxes on the test clock. */
const sandboxes = (wanted: number) =>
  Effect.gen(function* () {
    const config = yield* testConfig(1)
    const state = { wanted, quiet: true }
    const { take } = yield* keepWarm(config, plainProcesses, { wanted: () => state.wanted, quiet: () => state.quiet })
    return { config, state, take }
  })

/** Lets the host compare until there are `count` sandboxes, none of them of `gone`, and some more times. */
const settled = (config: HostConfig, count: number, gone: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    for (let calm = 0; calm < 5;) {
      yield* TestClock.adjust("200 millis")
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))
      const found = sandboxesOf(config)
      calm = found.length === count && !found.some((sandbox) => gone.includes(sandbox)) ? calm + 1 : 0
    }
    return sandboxesOf(config)
  }).pipe(quietly)

describe("waiting sandboxes", () => {
  it.effect("without bubblewrap too a runner waits, and serves the one run that it is given", () =>
    Effect.gen(function* () {
      const { config, take } = yield* sandboxes(1)
      const [directory] = yield* settled(config, 1)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sandbox = yield* take
          assert.strictEqual(sandbox.places.workspace, join(directory, "workspace"))
          const { handOff } = handOffOf(Buffer.from("archive"), { echo: "heard" })
          yield* sandbox.give(hostedRequest(handOff, sandbox.seen, [], []))
          assert.include(yield* Stream.mkString(Stream.decodeText(sandbox.envelope)), '"echo":"heard"')
          yield* sandbox.ended
        })
      )
      assert.isFalse(existsSync(directory))
    }).pipe(Effect.scoped)
  )

  it.effect("they are replaced after ten minutes, and none is left when the host ends", () =>
    Effect.gen(function* () {
      const config = yield* Effect.scoped(
        Effect.gen(function* () {
          const { config } = yield* sandboxes(2)
          const before = yield* settled(config, 2)
          yield* TestClock.adjust("9 minutes")
          assert.sameMembers([...(yield* settled(config, 2))], [...before])
          yield* TestClock.adjust("1 minute")
          yield* settled(config, 2, before)
          return config
        })
      )
      assert.deepStrictEqual(processesOf(config.runnerPaths[0]), [])
    }).pipe(Effect.scoped)
  )

  it.effect("none is made when none is wanted or while a run starts, and one that is no longer wanted is ended", () =>
    Effect.gen(function* () {
      const none = yield* sandboxes(0)
      assert.deepStrictEqual(yield* settled(none.config, 0), [])
      const some = yield* sandboxes(1)
      some.state.quiet = false
      assert.deepStrictEqual(yield* settled(some.config, 0), [])
      some.state.quiet = true
      yield* settled(some.config, 1)
      some.state.wanted = 0
      yield* settled(some.config, 0)
    }).pipe(Effect.scoped)
  )
})
