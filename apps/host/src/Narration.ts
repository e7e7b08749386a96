/**
 * From the runner's narration to events of the run. Totals come as often as the
 * model speaks; at most five a second go on, and the last one always does.
 */
import { Effect, Option, Schedule, Schema, type Scope, Stream } from "effect"
import { type Narrated, nothingNarrated } from "./RunExits.ts"
import type { RunJournal } from "./RunJournal.ts"

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** One line on descriptor 3 of the runner. */
const Line = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({ type: Schema.Literal("started") }),
    Schema.Struct({ type: Schema.Literal("tokens"), input: count, output: count, total: count }),
    Schema.Struct({ type: Schema.Literal("turn"), turns: count })
  ])
)

const decode = Schema.decodeUnknownOption(Line)
const interval = "200 millis"
/** A line is a few numbers. More without a line end is not narration, and is not kept in memory. */
const maxLineCharacters = 4_096

/** Splits text into lines; what is longer than a line of narration can be is dropped. */
const lines = (source: Stream.Stream<Uint8Array>): Stream.Stream<string> =>
  Stream.decodeText(source).pipe(
    Stream.mapAccum(
      () => "",
      (rest: string, text) => {
        const parts = (rest + text).split("\n")
        const last = parts.pop()!
        return [last.length > maxLineCharacters ? "" : last, parts]
      }
    )
  )

/**
 * Records what `source` narrates until it ends. `totals` and `started`
 * read what was narrated so far, also while it goes on.
 */
export const narrate = (
  journal: RunJournal
): Effect.Effect<{
  readonly from: (source: Stream.Stream<Uint8Array>) => Effect.Effect<void, never, Scope.Scope>
  readonly totals: () => Narrated
  readonly started: () => boolean
}> =>
  Effect.sync(() => {
    let totals = nothingNarrated
    let started = false
    let told = true
    const tellTotals = Effect.suspend(() => {
      if (told) return Effect.void
      told = true
      return journal.record({
        type: "tokens",
        input: totals.inputTokens,
        output: totals.outputTokens,
        total: totals.totalTokens
      })
    })
    const hear = (line: string) =>
      Effect.suspend(() => {
        const said = decode(line)
        if (Option.isNone(said)) return Effect.void
        switch (said.value.type) {
          case "started": {
            if (started) return Effect.void
            started = true
            return journal.record(said.value)
          }
          case "tokens": {
            // Totals only grow: a smaller number would take back what was already told.
            const { input, output, total } = said.value
            totals = {
              ...totals,
              inputTokens: Math.max(totals.inputTokens, input),
              outputTokens: Math.max(totals.outputTokens, output),
              totalTokens: Math.max(totals.totalTokens, total, input + output)
            }
            told = false
            return Effect.void
          }
          case "turn": {
            if (said.value.turns <= totals.turns) return Effect.void
            totals = { ...totals, turns: said.value.turns }
            return Effect.andThen(tellTotals, journal.record(said.value))
          }
        }
      })
    return {
      totals: () => totals,
      started: () => started,
      from: (source) =>
        Effect.gen(function* () {
          yield* Effect.forkScoped(Effect.repeat(tellTotals, Schedule.spaced(interval)))
          yield* Stream.runForEach(lines(source), hear)
          yield* tellTotals
        })
    }
  })
