/**
 * Server-sent events that outlive their connection: a stream that ends without
 * `done`, times out, breaks or falls silent is opened again after the last event
 * that was seen. Spec: Hosted runs, SSE rules.
 */
import { Data, Duration, Effect, Schedule, Stream } from "effect"

export interface ServerEvent {
  readonly id: string
  readonly event: string
  /** JSON. */
  readonly data: string
}

/** The stream could not be kept open, `attempts` times in a row without a single event. */
export class EventsLost extends Data.TaggedError("EventsLost")<{ readonly cause: unknown }> {}

class Reopen extends Data.TaggedError("Reopen")<{ readonly cause: unknown }> {}

/** Reconnections in a row that bring no event. */
export const attempts = 4
/** A server or a proxy that says nothing for so long is taken for gone; a quiet stream costs one more request. */
export const silence = Duration.minutes(2)

const backoff = Schedule.upTo(Schedule.jittered(Schedule.exponential("200 millis")), { times: attempts })

/**
 * All events after `after`, each once, without the closing `done`.
 *
 * @param open connects; `after` is the number of the last event that was seen
 * @param isFinal errors of `open` that no reconnection mends, such as a 404
 */
export const resumingEvents = <E extends ServerEvent, OpenError, StreamError>(options: {
  readonly open: (after: number | undefined) => Effect.Effect<Stream.Stream<E, StreamError>, OpenError>
  readonly isFinal: (error: OpenError) => boolean
  readonly after?: number | undefined
}): Stream.Stream<E, EventsLost | OpenError> =>
  Stream.suspend(() => {
    let last = options.after
    let ended = false
    let refused: { readonly error: OpenError } | undefined

    const open = Effect.suspend(() => options.open(last)).pipe(
      Effect.map(Stream.mapError((cause) => new Reopen({ cause }))),
      Effect.catch((error) => {
        if (!options.isFinal(error)) return Effect.fail(new Reopen({ cause: error }))
        refused = { error }
        ended = true
        return Effect.succeed(Stream.empty)
      })
    )

    const connection = Stream.unwrap(open).pipe(
      Stream.timeoutOrElse({ duration: silence, orElse: () => Stream.fail(new Reopen({ cause: "silence" })) }),
      Stream.takeUntil(({ event }) => event === "done" || event === "timeout"),
      Stream.filter((event) => {
        if (event.event === "done") ended = true
        if (event.event === "done" || event.event === "timeout") return false
        const number = Number(event.id)
        // A server that starts over must not make the caller see an event twice.
        if (last !== undefined && number <= last) return false
        last = number
        return true
      }),
      Stream.concat(Stream.suspend(() => (ended ? Stream.empty : Stream.fail(new Reopen({ cause: "ended early" })))))
    )

    return connection.pipe(
      Stream.retry(backoff),
      Stream.mapError(({ cause }) => new EventsLost({ cause })),
      Stream.concat(Stream.suspend(() => (refused === undefined ? Stream.empty : Stream.fail(refused.error))))
    )
  })
