import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { hostedRequest } from "./HostedRun.ts"
import { prepareSandbox } from "./Sandbox.ts"
import { archiveOf, handOffOf, plainProcesses, testConfig } from "./TestRegistry.ts"

/** More than one read of a pipe, and less than a pipe holds. */
const outputBytes = 100_000

/** A runner that wrote its output and ended, and nobody has read yet. */
const unread = Effect.gen(function* () {
  const sandbox = yield* prepareSandbox(yield* testConfig(1), plainProcesses)
  const archive = yield* archiveOf({})
  const { handOff } = handOffOf(archive, { outputBytes })
  yield* sandbox.give(hostedRequest(handOff, sandbox.seen, [], []))
  yield* sandbox.ended
  return sandbox
})

const sizeOf = (output: Stream.Stream<Uint8Array>) =>
  Stream.runFold(
    output,
    () => 0,
    (total, { length }) => total + length
  )

describe("the output of a runner", () => {
  it.live("is whole when the runner ended before anybody read it", () =>
    Effect.gen(function* () {
      const { output } = yield* unread
      yield* Effect.sleep("50 millis")
      assert.strictEqual(yield* sizeOf(output), outputBytes)
    }).pipe(Effect.scoped)
  )

  it.live("is whole for a reader that is slow", () =>
    Effect.gen(function* () {
      const { output } = yield* unread
      const slow = Stream.mapEffect(output, (chunk) => Effect.delay(Effect.succeed(chunk), "1500 millis"))
      assert.strictEqual(yield* sizeOf(slow), outputBytes)
    }).pipe(Effect.scoped)
  )
})

const openPipes = () => process.getActiveResourcesInfo().filter((kind) => kind === "PipeWrap").length

describe("a sandbox that is given up", () => {
  it.live("leaves no pipe open, though nobody read what its runner wrote", () =>
    Effect.gen(function* () {
      const before = openPipes()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { loaded } = yield* prepareSandbox(yield* testConfig(1), plainProcesses)
          yield* loaded
        })
      )
      yield* Effect.scoped(unread)
      yield* Effect.sleep("50 millis")
      assert.isAtMost(openPipes(), before)
    })
  )
})

/** Takes every descriptor that is left, asks for a sandbox and says how that went. */
const starved = `
  import { Effect } from "effect"
  import { openSync } from "node:fs"
  import { prepareSandbox } from "${import.meta.resolve("./Sandbox.ts")}"
  const config = { workDir: process.env.TMPDIR ?? "/tmp", dataDir: "/nowhere", runnerCommand: ["/bin/true"], runnerPaths: [] }
  try { for (;;) openSync("/dev/null") } catch {}
  const exit = await Effect.runPromiseExit(Effect.scoped(prepareSandbox(config, { namespaces: false })))
  process.stdout.write(exit._tag)
`

describe("a host that has no descriptors left", () => {
  it("makes no sandbox, and lives on", async () => {
    const run = ["-c", 'ulimit -n 300 && exec "$@"', "sh", process.execPath, "--input-type=module", "-e", starved]
    const { stdout } = await promisify(execFile)("/bin/sh", run, { cwd: import.meta.dirname })
    assert.strictEqual(stdout, "Failure")
  })
})
