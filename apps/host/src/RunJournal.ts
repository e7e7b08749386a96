/**
 * The numbered events of one run, kept in a file until the registry has stored
 * the finish, so that a registry that lost its stream, and a host that was
 * started again, both still know what happened. An event holds no text of a run.
 */
import { HostEvent } from "@quickagents/schema"
import { Clock, Effect, Option, Schema, Stream, SubscriptionRef } from "effect"
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, truncateSync, writeSync } from "node:fs"

const decodeEvent = Schema.decodeUnknownOption(Schema.fromJsonString(HostEvent))

export interface RunJournal {
  /** Numbers, stores and announces one event. After `exited` nothing is recorded any more. */
  readonly record: (event: HostEvent["event"]) => Effect.Effect<void>
  /** Events after `seq`, then live ones; ends after `exited`. */
  readonly after: (seq: number) => Stream.Stream<HostEvent>
  readonly events: () => ReadonlyArray<HostEvent>
  readonly ended: () => boolean
  readonly remove: Effect.Effect<void>
}

/**
 * Opens the journal at `path`, an existing one with what it holds. A last line
 * that a crash cut off is dropped: nobody was told of it.
 */
export const openRunJournal = (path: string): Effect.Effect<RunJournal> =>
  Effect.gen(function* () {
    const file = yield* Effect.sync(() => openSync(path, "a+", 0o600))
    const text = readFileSync(path, "utf8")
    const events: Array<HostEvent> = []
    let kept = 0
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", kept)) {
      const event = decodeEvent(text.slice(kept, end))
      if (Option.isNone(event) || event.value.seq !== events.length + 1) break
      events.push(event.value)
      kept = end + 1
    }
    if (kept < text.length) truncateSync(path, Buffer.byteLength(text.slice(0, kept)))

    const length = yield* SubscriptionRef.make(events.length)
    const ended = () => events.at(-1)?.event.type === "exited"
    let open = true
    const close = () => {
      if (open) closeSync(file)
      open = false
    }
    if (ended()) close()

    /** False on a full disk: the registry still hears the event, and after a restart the run is told as lost. */
    const append = (entry: HostEvent): boolean => {
      try {
        writeSync(file, `${JSON.stringify(entry)}\n`)
        // What settles a run must outlive the machine; running totals need not.
        if (entry.event.type === "sealed" || entry.event.type === "exited") fsyncSync(file)
        return true
      } catch {
        return false
      }
    }

    return {
      events: () => events,
      ended,
      record: (event) =>
        Effect.gen(function* () {
          if (ended() || !open) return
          const at = new Date(yield* Clock.currentTimeMillis).toISOString()
          const entry: HostEvent = { seq: events.length + 1, at, event }
          const written = append(entry)
          events.push(entry)
          if (event.type === "exited") close()
          yield* SubscriptionRef.set(length, entry.seq)
          if (!written) yield* Effect.logError("an event is not on disk")
        }),
      after: (seq) =>
        Stream.suspend(() => {
          let sent = seq
          if (ended() && sent >= events.length) return Stream.empty
          return SubscriptionRef.changes(length).pipe(
            Stream.flatMap(() => {
              const fresh = events.slice(sent)
              sent = Math.max(sent, events.length)
              return Stream.fromIterable(fresh)
            }),
            Stream.takeUntil((entry) => entry.event.type === "exited")
          )
        }),
      remove: Effect.sync(() => {
        close()
        rmSync(path, { force: true })
      })
    }
  })
