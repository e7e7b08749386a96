/** Time that stands still until it is moved, and then stops at each sleeper on the way, in the order of their waking. */
import { Clock, Duration, Effect } from "effect"

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export const makeSteppedClock = (start: number) => {
  let now = start
  const sleepers: Array<Sleeper> = []
  const nanos = () => BigInt(now) * 1_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const sleeper = {
          at: now + Math.max(1, Math.ceil(Duration.toMillis(duration))),
          wake: () => resume(Effect.void)
        }
        const after = sleepers.findIndex(({ at }) => at > sleeper.at)
        sleepers.splice(after === -1 ? sleepers.length : after, 0, sleeper)
        return Effect.sync(() => void sleepers.splice(sleepers.indexOf(sleeper) >>> 0, 1))
      })
  }
  /** Moves on by `millis`; `settle` runs after every waking. */
  const advance = Effect.fnUntraced(function* (millis: number, settle: Effect.Effect<void>) {
    const end = now + millis
    while (true) {
      const next = sleepers[0]
      if (next === undefined || next.at > end) break
      sleepers.shift()
      now = Math.max(now, next.at)
      next.wake()
      yield* settle
    }
    now = end
  })
  return {
    clock,
    advance,
    /** Milliseconds until somebody wakes. */ untilNext: () =>
      sleepers[0] === undefined ? undefined : Math.max(0, sleepers[0].at - now)
  }
}
