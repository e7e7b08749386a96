/**
 * The registry's run services as they are, in one process, on a real database;
 * around them a stepped clock, seeded ids, simulated hosts and an in-memory
 * cluster that can be taken down and started again.
 */
import { Versions } from "@quickagents/catalog"
import { Orgs } from "@quickagents/orgs"
import {
  Audit,
  Authority,
  Database,
  KeyService,
  Notifications,
  ObjectNotFound,
  ObjectStore,
  Randomness,
  Settings,
  migrations as platformMigrations
} from "@quickagents/platform"
import { freshDatabaseUrl } from "@quickagents/platform/testing"
import {
  Faults,
  HostEntityLive,
  HostKeeper,
  HostsSql,
  Ledger,
  LedgerEntityLive,
  LedgerSql,
  migrations as runsMigrations,
  RunEntityLive,
  RunModel,
  Runs,
  RunsSql
} from "@quickagents/runs"
import type { FaultPoint } from "@quickagents/runs"
import { SigningKeys } from "@quickagents/scan"
import type { Digest } from "@quickagents/schema"
import { Clock, Effect, Exit, Fiber, Layer, Redacted, Scope, Stream, Tracer } from "effect"
import type { Context } from "effect"
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "effect/cluster"
import { SecureRandom } from "effect/crypto"
import { generateKeyPairSync } from "node:crypto"
import type { Chance } from "../faults/Chance.ts"
import type { makeSteppedClock } from "./SteppedClock.ts"
import { digestOf, makeSimulatedHosts } from "./SimulatedHosts.ts"

export const ref = "sim/steps@1.0.0"
const archive = new TextEncoder().encode("the archive")

/** Statements under way: time moves only when the database has nothing more to say. */
const makeStatements = () => {
  let open = 0
  class CountedSpan extends Tracer.NativeSpan {
    override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>) {
      open--
      super.end(endTime, exit)
    }
  }
  return {
    tracer: Tracer.make({
      span: (options) => {
        if (options.kind !== "client" || options.name !== "postgres") return new Tracer.NativeSpan(options)
        open++
        return new CountedSpan(options)
      }
    }),
    open: () => open
  }
}

const memoryObjects = () => {
  const objects = new Map<Digest, Uint8Array>([[digestOf(archive), archive]])
  const layer = Layer.succeed(ObjectStore, {
    put: (content) =>
      Effect.map(Stream.runCollect(content), (chunks) => {
        const bytes = new Uint8Array(Buffer.concat([...chunks]))
        objects.set(digestOf(bytes), bytes)
        return { digest: digestOf(bytes), bytes: bytes.length }
      }),
    get: (digest) => {
      const bytes = objects.get(digest)
      return bytes === undefined
        ? Effect.fail(new ObjectNotFound({ digest }))
        : Effect.succeed({ bytes: bytes.length, content: Stream.succeed(bytes) })
    },
    has: (digest) => Effect.succeed(objects.has(digest)),
    remove: (digest) => Effect.sync(() => void objects.delete(digest))
  })
  return { objects, layer }
}

const release = {
  versionId: "ver_sim",
  agentId: "agt_sim",
  ref,
  namespace: "sim",
  name: "steps",
  version: "1.0.0",
  status: "published" as const,
  archiveDigest: digestOf(archive),
  archiveBytes: archive.length,
  manifest: {
    schemaVersion: 2,
    name: "sim/steps",
    version: "1.0.0",
    description: "Steps",
    license: "Apache-2.0",
    modes: ["autonomous"]
  } as never,
  attestation: null,
  visibility: "public" as const,
  builtin: null,
  scanStatus: "scanned" as const
}

export const makeWorld = Effect.fnUntraced(function* (
  chance: Chance,
  hostIds: ReadonlyArray<string>,
  time: ReturnType<typeof makeSteppedClock>
) {
  const url = yield* freshDatabaseUrl
  const statements = makeStatements()
  const { layer: objectsLayer, objects } = memoryObjects()
  const network = makeSimulatedHosts(chance.fork("network"), hostIds)
  const randomness = chance.fork("ids")
  const crashes = { at: undefined as FaultPoint | undefined, passed: new Set<FaultPoint>(), count: 0 }

  const settings = Settings.read({
    environment: {
      DATABASE_URL: url,
      SERVICE_RUNS_STALE: "60s",
      SERVICE_RUNS_QUEUE_MAX: "120s",
      SERVICE_CREDITS_ALLOWANCE_STANDARD: "21"
    }
  })
  // One connection: its statements come one after the other, in the order in which they were asked for.
  const database = yield* Layer.build(
    Database.layer({
      url: Redacted.make(url),
      maxConnections: 1,
      applicationName: "simulation",
      migrations: { ...platformMigrations, ...runsMigrations }
    })
  )
  const outer = Layer.mergeAll(
    RunsSql.layer,
    HostsSql.layer,
    LedgerSql.layer,
    MessageStorage.layerMemory.pipe(Layer.provide(ShardingConfig.layer()))
  ).pipe(
    Layer.provideMerge(Layer.succeedContext(database)),
    Layer.provideMerge(
      Layer.mergeAll(
        network.layer,
        objectsLayer,
        KeyService.layerLocal({ sealingKey: Redacted.make(new Uint8Array(32)) }),
        Layer.succeed(Settings.Settings, settings),
        Layer.mock(Notifications)({ subscribe: () => Effect.succeed(Stream.never) }),
        Layer.mock(Versions)({ resolve: () => Effect.succeed(release), releaseById: () => Effect.succeed(release) }),
        Layer.mock(Orgs)({ membershipOf: () => Effect.succeed(null) }),
        Layer.mock(Audit.Audit)({ record: () => Effect.void }),
        Layer.mock(SigningKeys)({
          active: {
            keyId: "none",
            publicKey: new Uint8Array(32),
            privateKey: generateKeyPairSync("ed25519").privateKey
          },
          list: Effect.succeed([])
        }),
        Layer.mock(Authority)({ caCertificate: "" })
      )
    )
  )
  /** Now and then the message that opens a run comes twice, as when its first reader dies before it has answered. */
  const repeats = chance.fork("repeats")
  const ledger = Layer.effect(
    Ledger,
    Effect.map(Ledger, (once) => ({
      ...once,
      open: (run) => Effect.tap(once.open(run), () => (repeats.chance(0.3) ? once.open(run) : Effect.void))
    }))
  ).pipe(Layer.provide(Ledger.layer))
  const inner = Layer.mergeAll(
    Runs.layer,
    Layer.mergeAll(RunEntityLive, HostEntityLive, LedgerEntityLive, HostKeeper)
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(ledger, RunModel.layer)),
    Layer.provideMerge(Sharding.layer),
    Layer.provideMerge(Runners.layerNoop),
    Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
    Layer.provide(ShardingConfig.layer({ entityTerminationTimeout: "1 second", runnerJoinDebounce: 0 }))
  )

  const services = yield* Effect.provideService(Layer.build(outer), Clock.Clock, time.clock)
  const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
  /** Waits, without moving time, until nothing happens any more; a statement that itself waits for time is left to it. */
  const settle = Effect.gen(function* () {
    const since = performance.now()
    for (let quiet = 0; quiet < 3 && performance.now() - since < 5_000;) {
      yield* turn
      quiet = statements.open() === 0 ? quiet + 1 : 0
    }
  })
  const advance = (millis: number) => time.advance(millis, settle)
  /** Runs the effect to its end, with as much time as it needs. */
  const drive = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
    const fiber = yield* Effect.forkChild(effect)
    yield* settle
    for (let wakings = 0; fiber.pollUnsafe() === undefined; wakings++) {
      const next = time.untilNext()
      if (next === undefined || wakings > 20_000) return yield* Effect.die(new Error("an operation does not end"))
      yield* advance(next)
    }
    return yield* Fiber.await(fiber)
  })

  const faults = (point: FaultPoint) =>
    Effect.suspend(() => {
      crashes.passed.add(point)
      if (crashes.at !== point) return Effect.void
      crashes.at = undefined
      crashes.count++
      return Effect.die(new Error(`crashed at ${point}`))
    })
  const seeded = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(
        Randomness,
        SecureRandom.make((size) => Uint8Array.from({ length: size }, () => randomness.between(0, 255)))
      ),
      Effect.provideService(Faults, faults),
      Effect.provideService(Clock.Clock, time.clock),
      Effect.withTracer(statements.tracer)
    )
  type Node = { readonly context: Context.Context<Layer.Success<typeof inner>>; readonly scope: Scope.Closeable }
  const start = Effect.fnUntraced(function* () {
    const scope = yield* Scope.make()
    const built = yield* drive(seeded(Layer.buildWithScope(inner, scope).pipe(Effect.provideContext(services))))
    return { context: yield* built, scope } satisfies Node
  })
  let node: Node = yield* start()
  yield* Effect.addFinalizer(() => Scope.close(node.scope, Exit.void))

  return {
    network,
    objects,
    crashes,
    advance,
    /** On the node that runs now. */
    run: <A, E>(effect: Effect.Effect<A, E, Layer.Success<typeof inner> | Layer.Success<typeof outer>>) =>
      drive(seeded(Effect.provideContext(Effect.provideContext(effect, node.context), services))),
    /** Everything that the node was doing stops where it is; another one begins with what is stored. */
    restartNode: Effect.gen(function* () {
      yield* drive(Scope.close(node.scope, Exit.void))
      node = yield* start()
    })
  }
})

export type World = Effect.Success<ReturnType<typeof makeWorld>>
