/**
 * Wake-ups over PostgreSQL's LISTEN/NOTIFY: one connection a channel and node,
 * shared by everyone who waits. A wake-up may be lost (a connection that
 * breaks), so a waiter also looks by itself now and then. Channel names are
 * ours, never a caller's.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, PubSub, Queue, RcMap, Schedule, Stream } from "effect"

export class Notifications extends Context.Service<Notifications, {
  /** Payloads of the channel's notifications from now on. */
  readonly on: (channel: string) => Stream.Stream<string>
}>()("platform/Notifications") {
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function*() {
      const sql = yield* PgClient.PgClient
      const channels = yield* RcMap.make({
        lookup: (channel: string) =>
          Effect.gen(function*() {
            const hub = yield* PubSub.sliding<string>(1024)
            yield* Effect.gen(function*() {
              const notifications = yield* sql.listen(channel)
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
            return hub
          }),
        idleTimeToLive: "1 minute"
      })
      return Notifications.of({
        on: (channel) =>
          Stream.unwrap(Effect.map(RcMap.get(channels, channel), (hub) => Stream.fromPubSub(hub)))
      })
    })
  )
}
