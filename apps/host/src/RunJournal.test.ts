import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { exitWithoutEnvelope, nothingNarrated } from "./RunExits.ts"
import { openRunJournal } from "./RunJournal.ts"
import { temporaryDirectory } from "./TestRegistry.ts"

const exited = {
  type: "exited" as const,
  exit: exitWithoutEnvelope({ exitClass: "cli", reason: "internal", interrupted: false }, nothingNarrated, 0)
}

describe("a run's journal", () => {
  it.effect(
    "numbers events from 1 without gaps, and a reader gets the stored ones and then the live ones until the end",
    () =>
      Effect.gen(function* () {
        const journal = yield* openRunJournal(join(yield* temporaryDirectory, "a.events"))
        yield* journal.record({ type: "started" })
        const reading = yield* Effect.forkScoped(Stream.runCollect(journal.after(0)))
        yield* Effect.yieldNow
        yield* journal.record({ type: "turn", turns: 1 })
        yield* journal.record(exited)
        yield* journal.record({ type: "turn", turns: 2 })
        const events = yield* Fiber.join(reading)
        assert.deepStrictEqual(
          events.map(({ event, seq }) => [seq, event.type]),
          [
            [1, "started"],
            [2, "turn"],
            [3, "exited"]
          ]
        )
        assert.deepStrictEqual(yield* Stream.runCollect(journal.after(2)), events.slice(2))
        assert.lengthOf(yield* Stream.runCollect(journal.after(3)), 0)
        assert.lengthOf(yield* Stream.runCollect(journal.after(9)), 0)
      }).pipe(Effect.scoped)
  )

  it.effect("opens again with all it held, without a line that a crash cut off, and goes on at the next number", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "a.events")
      const first = yield* openRunJournal(path)
      yield* first.record({ type: "started" })
      yield* first.record({ type: "turn", turns: 1 })
      const whole = readFileSync(path, "utf8")
      appendFileSync(path, `{"seq":3,"at":"2026-`)
      const second = yield* openRunJournal(path)
      assert.strictEqual(readFileSync(path, "utf8"), whole)
      assert.deepStrictEqual(second.events(), first.events())
      assert.isFalse(second.ended())
      yield* second.record(exited)
      const third = yield* openRunJournal(path)
      assert.isTrue(third.ended())
      assert.deepStrictEqual(
        third.events().map(({ seq }) => seq),
        [1, 2, 3]
      )
      yield* third.remove
      assert.isFalse(existsSync(path))
    }).pipe(Effect.scoped)
  )

  it.effect("does not trust what follows a line that is damaged", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "a.events")
      const first = yield* openRunJournal(path)
      yield* first.record({ type: "started" })
      appendFileSync(path, `{"seq":5,"at":"2026-11-21T07:00:00.000Z","event":{"type":"turn","turns":1}}\n`)
      const second = yield* openRunJournal(path)
      assert.lengthOf(second.events(), 1)
    }).pipe(Effect.scoped)
  )
})
