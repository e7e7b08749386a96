/**
 * Wake-ups over PostgreSQL's LISTEN/NOTIFY: one connection a channel and node,
 * shared by everyone who waits. A wake-up may be lost (a connection that
 * breaks), so a waiter also looks by itself now and then. Channel names are
 * ours, never a caller's.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Deferred, Effect, Layer, PubSub, Queue, RcMap, Schedule, Stream } from "effect"
import type { Duration, Scope } from "effect"

export class Notifications extends Context.Service<
  Notifications,
  {
    /**
     * Payloads of the channel's notifications. What is sent after this effect has
     * answered is heard: look at the rows after it, and nothing falls between.
     */
    readonly subscribe: (channel: string) => Effect.Effect<Stream.Stream<string>, never, Scope.Scope>
  }
>()("platform/Notifications") {
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      const channels = yield* RcMap.make({
        lookup: (channel: string) =>
          Effect.gen(function* () {
            const hub = yield* PubSub.sliding<string>(1024)
            const listening = yield* Deferred.make<void>()
            yield* Effect.gen(function* () {
              const notifications = yield* sql.listen(channel)
              yield* Deferred.succeed(listening, undefined)
              while (true) {
                const notification = yield* Queue.take(notifications)
                yield* PubSub.publish(hub, notification.payload)
              }
            }).pipe(
              Effect.scoped,
              Effect.tapCause((cause) => Effect.logWarning("listening stopped, starting again", cause)),
              Effect.retry(Schedule.spaced("1 second")),
              Effect.forkScoped
            )
            // A database that does not answer is no reason not to answer: who waits looks by itself, too.
            yield* Effect.timeoutOption(Deferred.await(listening), "2 seconds")
            return hub
          }),
        idleTimeToLive: "1 minute"
      })
      return Notifications.of({
        subscribe: (channel) =>
          Effect.map(Effect.flatMap(RcMap.get(channels, channel), PubSub.subscribe), (subscription) =>
            Stream.fromSubscription(subscription)
          )
      })
    })
  )
}

/** Waits until the channel says something, at most so long. What it said while nobody waited counts once. */
export const wakeUps = Effect.fnUntraced(function* (channel: string) {
  const notifications = yield* Notifications
  const said = yield* Stream.toQueue(yield* notifications.subscribe(channel), { capacity: 1, strategy: "sliding" })
  return (atMost: Duration.Input) => Effect.ignore(Effect.timeoutOption(Queue.take(said), atMost))
})
