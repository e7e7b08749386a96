import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ServerEvent } from "./ResumingEvents.ts"
import { attempts, resumingEvents } from "./ResumingEvents.ts"

const event = (id: number, name = "status"): ServerEvent => ({ id: String(id), event: name, data: "{}" })

/** A server that serves one connection after the other, and notes where each one starts. */
const serving = (connections: ReadonlyArray<Stream.Stream<ServerEvent, string>>) => {
  const starts: Array<number | undefined> = []
  const open = (after: number | undefined) =>
    Effect.suspend(() => {
      const connection = connections[starts.length]
      starts.push(after)
      return connection === undefined ? Effect.fail("down" as const) : Effect.succeed(connection)
    })
  return { starts, open }
}

const read = (open: ReturnType<typeof serving>["open"]) =>
  resumingEvents({ open, isFinal: () => false }).pipe(
    Stream.map(({ id }) => Number(id)),
    Stream.runCollect
  )

/** Lets the test clock run for as long as `effect` does, which must be no more than an hour. */
const letPass = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    for (let second = 0; second < 3_600 && fiber.pollUnsafe() === undefined; second++) {
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })

describe("a stream of events", () => {
  it.effect("ends with done, which is not handed out", () =>
    Effect.gen(function* () {
      const { open, starts } = serving([Stream.make(event(1), event(2), event(3, "done"), event(4))])
      assert.deepStrictEqual(yield* letPass(read(open)), [1, 2])
      assert.deepStrictEqual(starts, [undefined])
    })
  )

  it.effect("goes on after the last event when it breaks, ends early, times out or falls silent", () =>
    Effect.gen(function* () {
      const { open, starts } = serving([
        Stream.make(event(1)).pipe(Stream.concat(Stream.fail("reset"))),
        Stream.make(event(2)),
        Stream.make(event(3), event(4, "timeout")),
        Stream.make(event(4)).pipe(Stream.concat(Stream.never)),
        Stream.make(event(5), event(6, "done"))
      ])
      assert.deepStrictEqual(yield* letPass(read(open)), [1, 2, 3, 4, 5])
      assert.deepStrictEqual(starts, [undefined, 1, 2, 3, 4])
    })
  )

  it.effect("hands out each event once, even when the server starts over", () =>
    Effect.gen(function* () {
      const { open } = serving([
        Stream.make(event(1), event(2)),
        Stream.make(event(1), event(2), event(3), event(4, "done"))
      ])
      assert.deepStrictEqual(yield* letPass(read(open)), [1, 2, 3])
    })
  )

  it.effect("is given up after so many connections without an event", () =>
    Effect.gen(function* () {
      const { open, starts } = serving([])
      const error = yield* letPass(Effect.flip(read(open)))
      assert.deepInclude(error, { _tag: "EventsLost", cause: "down" })
      assert.strictEqual(starts.length, attempts + 1)
    })
  )

  it.effect("fails at once with an answer that asking again does not change", () =>
    Effect.gen(function* () {
      let asked = 0
      const events = resumingEvents({
        open: () => Effect.suspend(() => (asked++, Effect.fail("not found" as const))),
        isFinal: (error) => error === "not found"
      })
      assert.strictEqual(yield* Effect.flip(Stream.runDrain(events)), "not found")
      assert.strictEqual(asked, 1)
    })
  )
})
