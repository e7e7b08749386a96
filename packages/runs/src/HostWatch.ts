/**
 * The Host entity: watches one sandbox host and claims queued runs for it while
 * it has room. A queued run is a row; it is claimed by whoever has a free slot.
 * Spec: States and transitions, Run; Status answer, hostsOnline.
 */
import { Authority, wakeUps } from "@quickagents/platform"
import type { Notifications } from "@quickagents/platform"
import { SigningKeys } from "@quickagents/scan"
import { HostEntity, RunEntity } from "@quickagents/schema"
import type { HostHealth } from "@quickagents/schema"
import { Clock, Duration, Effect, FiberHandle, Schedule } from "effect"
import { Entity, Singleton } from "effect/cluster"
import { fault } from "./Faults.ts"
import type { HostRow } from "./HostsSql.ts"
import { HostsSql } from "./HostsSql.ts"
import type { HostConnection } from "@quickagents/client/rpc"
import { HostTransport } from "./HostTransport.ts"
import { type ClaimedRow, RunsSql } from "./RunsSql.ts"

/** Without a wake-up a host is asked this often; a wake-up is only faster, never needed. */
const pollEvery = "1 second"
/** A healthy host's row is written this often, not at every look. */
const showEveryMs = 5_000
/** A certificate with less life than this is renewed. */
const renewBefore = Duration.days(4)

type Services = RunsSql | HostsSql | HostTransport | Authority | SigningKeys | Notifications

const healthTimeout = "3 seconds"

const watch = Effect.fnUntraced(function* (hostId: string) {
  const hosts = yield* HostsSql
  const runs = yield* RunsSql
  const transport = yield* HostTransport
  const authority = yield* Authority
  const keys = yield* SigningKeys
  const runOf = yield* RunEntity.client
  const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
  let shownAt = 0
  let shown = ""
  let pinned = ""

  /** Runs the host holds that are not its runs any more: left over from a hand-off whose answer was lost, or ended without it. */
  const reconcile = Effect.fnUntraced(function* (connection: HostConnection, health: HostHealth) {
    if (health.runs.length === 0) return
    const active = yield* runs.activeOn(hostId)
    for (const runId of health.runs) {
      if (!active.has(runId)) {
        yield* connection.rpc.Cancel({ runId, reason: "cancelled" })
        yield* connection.rpc.Forget({ runId })
      }
    }
  })

  const renew = Effect.fnUntraced(function* (connection: HostConnection, host: HostRow, health: HostHealth) {
    if (
      new Date(health.certificateExpiresAt).getTime() - (yield* Clock.currentTimeMillis) >
      Duration.toMillis(renewBefore)
    )
      return
    const { csr } = yield* connection.rpc.RenewalRequest()
    const { certificate, expiresAt } = yield* authority.signHost(csr, hostId, host.address)
    yield* connection.rpc.Renew({ certificate, caChain: authority.caCertificate })
    yield* hosts.renewed(hostId, expiresAt)
  })

  const pinKeys = Effect.fnUntraced(function* (connection: HostConnection) {
    const list = (yield* keys.list).map(({ keyId, publicKey }) => ({ keyId, publicKey }))
    const text = JSON.stringify(list)
    if (text === pinned) return
    yield* connection.rpc.PinKeys({ keys: list })
    pinned = text
  })

  const show = Effect.fnUntraced(function* (health: HostHealth) {
    const at = yield* now
    const features = {
      sealedObjects: health.acceptsSealedObjects,
      browser: health.acceptsBrowser,
      inputReview: health.acceptsInputReview,
      sessions: health.acceptsSessions,
      fullIsolation: health.fullIsolation
    }
    const row = {
      version: health.version,
      usedSlots: health.slots.used,
      capacity: health.slots.total,
      draining: health.draining,
      features
    }
    const text = JSON.stringify(row)
    if (text === shown && at.getTime() - shownAt < showEveryMs) return
    yield* hosts.seen(hostId, row, at)
    shown = text
    shownAt = at.getTime()
  })

  const supervise = ({ attempts, id }: ClaimedRow) =>
    runOf(id).supervise({ runId: id, turn: String(attempts) }, { discard: true })

  /** Claims of a watch that died before it had told anyone. The message of a claim is one, however often it is sent. */
  const resume = Effect.gen(function* () {
    yield* Effect.forEach(yield* runs.claimedFor(hostId), supervise, { concurrency: 8, discard: true })
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("claims could not be resumed", cause)))

  const claim = Effect.fnUntraced(function* (health: HostHealth) {
    if (health.draining || !health.acceptsSealedObjects) return
    for (let free = health.slots.total - health.slots.used; free > 0; free--) {
      const claimed = yield* runs.claim(
        { id: hostId, capacity: health.slots.total, browser: health.acceptsBrowser },
        yield* now
      )
      if (claimed === null) return
      yield* fault("claim.claimed", claimed.id)
      yield* supervise(claimed)
      yield* fault("claim.supervised", claimed.id)
    }
  })

  /** False: the host is retired, nobody needs to watch it. */
  const look = Effect.gen(function* () {
    const host = yield* hosts.byId(hostId)
    if (host === null || host.retiredAt !== null) return false
    const connection = yield* transport.connect(host)
    const health = yield* connection.rpc.Health().pipe(Effect.timeout(healthTimeout))
    yield* show(health)
    yield* claim(health)
    yield* reconcile(connection, health)
    yield* pinKeys(connection)
    yield* renew(connection, host, health)
    return true
  }).pipe(
    Effect.scoped,
    // Also what should not happen: a watch that dies would leave its host without work until the entity moves.
    Effect.catchCause((cause) => Effect.as(Effect.logDebug("host does not answer", cause), true))
  )

  const waitForRuns = yield* wakeUps("runs_queued")
  yield* resume
  yield* Effect.gen(function* () {
    while (yield* look) yield* waitForRuns(pollEvery)
  })
})

export const HostEntityLive = HostEntity.toLayer(
  Effect.gen(function* () {
    const services = yield* Effect.context<Services>()
    const watching = yield* FiberHandle.make()
    const { entityId } = yield* Entity.CurrentAddress
    return HostEntity.of({
      wake: () =>
        FiberHandle.run(watching, Effect.provideContext(Effect.scoped(watch(entityId)), services), {
          onlyIfMissing: true
        }).pipe(Effect.asVoid)
    })
  }),
  { maxIdleTime: "1 minute" }
)

/** One node sees to it that every host in use is watched, wherever its entity lives. */
export const HostKeeper = Singleton.make(
  "HostKeeper",
  Effect.gen(function* () {
    const hosts = yield* HostsSql
    const of = yield* HostEntity.client
    yield* hosts.inUse.pipe(
      Effect.flatMap((ids) => Effect.forEach(ids, (id) => of(id).wake(), { concurrency: 16, discard: true })),
      Effect.catchCause((cause) => Effect.logWarning("hosts could not be woken", cause)),
      Effect.repeat(Schedule.spaced("2 seconds"))
    )
  })
)
