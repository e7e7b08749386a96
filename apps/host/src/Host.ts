/** A whole host: isolation, identity, journals and server, in the order in which each may rely on the one before. */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Option } from "effect"
import { join } from "node:path"
import { lockDataDir } from "./DataDirLock.ts"
import { type HeldRuns, openHeldRuns } from "./HeldRuns.ts"
import type { HostConfig } from "./HostConfig.ts"
import { enrol, loadIdentity } from "./HostIdentity.ts"
import { features, serveHost } from "./HostServer.ts"
import { prepareIsolation } from "./Isolation.ts"
import { openObjectCache } from "./ObjectCache.ts"

/** Between the end of a run and the registry's `Forget`, a host that goes away waits this long. */
const collectGrace = "5 seconds"
/** More than a runner may take to end after it was asked to. */
const endGrace = "20 seconds"

/**
 * Starts a host that serves until the scope closes, which ends its runs; a
 * later start on the same data directory reports those as lost. Fails with
 * `DataDirInUse`, `IsolationMissing`, `EnrolmentFailed` or `ServeError`.
 */
export const startHost = Effect.fn("Host.start")(function* (config: HostConfig) {
  yield* lockDataDir(config.dataDir)
  const isolation = yield* prepareIsolation(config)
  if (!isolation.full) {
    yield* Effect.logWarning("weak isolation is allowed").pipe(Effect.annotateLogs({ missing: isolation.missing }))
  }
  const stored = yield* loadIdentity(config.dataDir)
  const able = features(isolation)
  const identity = Option.isSome(stored)
    ? stored.value
    : yield* enrol(config, {
        sealedObjects: able.acceptsSealedObjects,
        browser: able.acceptsBrowser,
        inputReview: able.acceptsInputReview,
        sessions: able.acceptsSessions,
        fullIsolation: able.fullIsolation
      }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  const objects = yield* openObjectCache(join(config.dataDir, "objects"), config.objectCacheBytes)
  const runs = yield* openHeldRuns({ config, isolation, objects }, join(config.dataDir, "runs"))
  yield* Layer.build(serveHost({ config, isolation, objects, runs, identity }))
  yield* Effect.logInfo("host is up").pipe(
    Effect.annotateLogs({
      hostId: identity.hostId,
      address: config.advertisedAddress,
      slots: config.capacity,
      fullIsolation: isolation.full
    })
  )
  return { hostId: identity.hostId, runs }
})

/**
 * Takes no new run, lets held ones finish for `drainSeconds`, ends the rest and
 * gives the registry time to fetch what ended.
 */
export const drainHost = (runs: HeldRuns, drainSeconds: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* runs.drain
    const finished = yield* Effect.timeoutOption(runs.idle, `${drainSeconds} seconds`)
    if (Option.isNone(finished)) {
      yield* runs.endAll
      yield* Effect.timeoutOption(runs.idle, endGrace)
    }
    yield* Effect.sync(() => runs.held().length === 0).pipe(
      Effect.delay("100 millis"),
      Effect.repeat({ until: (collected) => collected }),
      Effect.timeoutOption(collectGrace)
    )
  })
