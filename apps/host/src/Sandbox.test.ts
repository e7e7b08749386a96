import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
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
