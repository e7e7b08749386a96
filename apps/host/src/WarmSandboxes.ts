/**
 * Sandboxes that wait for a run: their runner has loaded before there is one,
 * which is most of the time between `Take` and `started`. Each serves one run
 * and is replaced by another.
 */
import { Clock, Effect, Exit, Scope, Semaphore } from "effect"
import { fillCompileCache, makeCompileCache } from "./CompileCache.ts"
import type { HostConfig } from "./HostConfig.ts"
import type { Isolation } from "./Isolation.ts"
import { prepareSandbox, type Sandbox } from "./Sandbox.ts"

/** The state is compared with what is wanted this often. */
const rhythm = "200 millis"
/** What the sandbox sees of the host is from the time it was made. */
const maxAgeMs = 10 * 60_000
/** A runner that does not say that it has loaded is left alone after this, and serves all the same. */
const loadingPatience = "30 seconds"
/** Between a sandbox that cannot be made, or whose runner ended without a run, and the next attempt. */
const failurePause = "10 seconds"

interface Waiting {
  readonly sandbox: Sandbox
  readonly scope: Scope.Closeable
  readonly since: number
}

export interface Warmth {
  /** How many shall wait. */
  readonly wanted: () => number
  /** No run is being started, which would take one and compete with the loading of another. */
  readonly quiet: () => boolean
}

export interface WarmSandboxes {
  /** A sandbox for one run, until the scope closes: one that waits, else one that is made now. */
  readonly take: Effect.Effect<Sandbox, never, Scope.Scope>
}

/** Keeps sandboxes waiting until the scope closes. They are made one after the other, never two at a time. */
export const keepWarm = (
  config: HostConfig,
  isolation: Isolation,
  warmth: Warmth
): Effect.Effect<WarmSandboxes, never, Scope.Scope> =>
  Effect.gen(function* () {
    const own = yield* Effect.scope
    const prepare = prepareSandbox(config, isolation)
    const waiting: Array<Waiting> = []
    // Whoever takes waits for the one that is being made, instead of making another beside it.
    const making = yield* Semaphore.make(1)

    const make = Effect.gen(function* () {
      const scope = yield* Scope.fork(own)
      const sandbox = yield* Scope.provide(prepare, scope).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      waiting.push({ sandbox, scope, since: yield* Clock.currentTimeMillis })
      return sandbox
    }).pipe(making.withPermits(1))
    /** Answers whether a runner had ended by itself. */
    const removeUnfit = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const alive = waiting.filter(({ sandbox }) => !sandbox.gone())
      const ended = alive.length < waiting.length
      const young = alive.filter(({ since }) => now - since < maxAgeMs)
      // A run that is being started has its slot already, and may be about to take one of these.
      const kept = warmth.quiet() ? young.slice(0, warmth.wanted()) : young
      const removed = waiting.filter((one) => !kept.includes(one))
      waiting.splice(0, waiting.length, ...kept)
      yield* Effect.forEach(removed, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
      return ended
    })
    const failed = Effect.logWarning("a waiting sandbox failed").pipe(Effect.andThen(Effect.sleep(failurePause)))
    const compare = Effect.gen(function* () {
      if (yield* removeUnfit) yield* failed
      else if (waiting.length < warmth.wanted() && warmth.quiet()) {
        const { loaded } = yield* make
        yield* Effect.timeoutOption(loaded, loadingPatience)
      }
    }).pipe(Effect.catchDefect(() => failed))

    yield* makeCompileCache(config)
    yield* Effect.forkScoped(
      Effect.andThen(fillCompileCache(config), Effect.forever(Effect.andThen(compare, Effect.sleep(rhythm))))
    )

    const takeWaiting = Effect.acquireRelease(
      Effect.sync(() => {
        const index = waiting.findIndex(({ sandbox }) => !sandbox.gone())
        return index === -1 ? undefined : waiting.splice(index, 1)[0]
      }).pipe(making.withPermits(1)),
      (taken, exit) => (taken === undefined ? Effect.void : Scope.close(taken.scope, exit))
    )
    return {
      take: Effect.flatMap(takeWaiting, (taken) => (taken === undefined ? prepare : Effect.succeed(taken.sandbox)))
    }
  })
