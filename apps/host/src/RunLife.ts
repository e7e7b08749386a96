/**
 * The life of one run on this host: open the inputs, start gateway, proxy and
 * sandbox, narrate, seal the output, say how it ended, leave nothing behind.
 */
import { sealKeyTo } from "@quickagents/platform/sealing"
import type { HandOff, Manifest, RunExit } from "@quickagents/schema"
import { Cause, Clock, Deferred, Effect, Option, type Scope, Stream } from "effect"
import { copyFile, rm } from "node:fs/promises"
import { serveEgressProxy } from "./EgressProxy.ts"
import { hostedRequest } from "./HostedRun.ts"
import type { PinnedKey } from "./HostIdentity.ts"
import type { Isolation } from "./Isolation.ts"
import { serveModelGateway } from "./ModelGateway.ts"
import { narrate } from "./Narration.ts"
import type { ObjectCache } from "./ObjectCache.ts"
import {
  exitWithoutEnvelope,
  maxEnvelopeBytes,
  nothingNarrated,
  readEnvelope,
  runExitOf,
  type StopReason
} from "./RunExits.ts"
import { openInput } from "./RunInputs.ts"
import type { RunJournal } from "./RunJournal.ts"
import type { Sandbox } from "./Sandbox.ts"
import { outputContext, type SealedOutput, sealOutput } from "./SealedOutput.ts"

/** The runner keeps the wall clock itself; the host only ends what did not. */
const wallGrace = "5 seconds"
/** Between asking a runner to end and ending it. */
const killGrace = "10 seconds"

export interface RunLife {
  /** One that no other run has or had, until the scope closes. */
  readonly sandbox: Effect.Effect<Sandbox, never, Scope.Scope>
  readonly isolation: Isolation
  readonly objects: ObjectCache
}

export interface RunOrder {
  readonly handOff: HandOff
  /** None when the release's manifest cannot be read, which the runner then refuses. */
  readonly manifest: Option.Option<Manifest>
  readonly pinnedKeys: ReadonlyArray<PinnedKey>
  readonly journal: RunJournal
  /** Where the sealed output goes. */
  readonly outputPath: string
  /** Completed to end the run before it ends by itself. */
  readonly stop: Deferred.Deferred<StopReason>
}

const enforceStop = (
  runner: Pick<Sandbox, "kill" | "terminate">,
  stop: Deferred.Deferred<StopReason>,
  started: () => boolean
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const reason = yield* Deferred.await(stop)
    // Before it said that it started, a signal may find nobody who listens yet, and there is nothing to settle.
    if (reason !== "output-too-large" && started()) {
      yield* runner.terminate
      yield* Effect.sleep(killGrace)
    }
    yield* runner.kill
  })

/** Reads on past the limit, so that the runner is not left waiting at a full pipe. */
const readText = (source: Stream.Stream<Uint8Array>): Effect.Effect<string> =>
  Stream.runFold(
    source,
    () => ({ chunks: new Array<Uint8Array>(), size: 0 }),
    (read, chunk) => {
      read.size += chunk.length
      if (read.size <= maxEnvelopeBytes) read.chunks.push(chunk)
      return read
    }
  ).pipe(Effect.map(({ chunks, size }) => (size <= maxEnvelopeBytes ? Buffer.concat(chunks).toString() : "")))

const runInSandbox = (life: RunLife, order: RunOrder): Effect.Effect<RunExit, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { handOff, journal, stop } = order
    const beganAt = yield* Clock.currentTimeMillis
    const runner = yield* life.sandbox
    const { places } = runner
    const archive = yield* life.objects.path(handOff.archive)
    // The sandbox sees its own directory only, not where the objects of all runs lie.
    yield* Effect.promise(() => copyFile(archive, places.archive))
    const opened = yield* Effect.forEach(handOff.inputs, (input) => openInput(life.objects, places.workspace, input), {
      discard: true
    }).pipe(
      Effect.as(true),
      Effect.catchTag("InputBroken", () => Effect.succeed(false))
    )
    if (!opened) {
      return exitWithoutEnvelope(
        { exitClass: "cli", reason: "digest-mismatch", interrupted: false },
        nothingNarrated,
        0
      )
    }
    yield* serveModelGateway(places.modelSocket, handOff.model)
    const egress = Option.match(order.manifest, {
      onNone: () => [],
      onSome: ({ capabilities }) => capabilities?.network?.egress ?? []
    })
    const egressUse = yield* serveEgressProxy(places.egressSocket, egress)
    const narration = yield* narrate(journal)

    let envelope = ""
    let sealed: SealedOutput | undefined
    if (!(yield* Deferred.isDone(stop))) {
      yield* runner.give(hostedRequest(handOff, runner.seen, order.pinnedKeys, life.isolation.sentences))
      yield* Effect.forkScoped(enforceStop(runner, stop, narration.started))
      yield* Effect.forkScoped(
        Effect.sleep(`${handOff.caps.seconds} seconds`).pipe(
          Effect.andThen(Effect.sleep(wallGrace)),
          Effect.andThen(Deferred.succeed(stop, "wall-time"))
        )
      )
      const output = sealOutput(
        order.outputPath,
        outputContext(handOff.runId),
        handOff.maxOutputBytes,
        runner.output
      ).pipe(Effect.catchTag("OutputTooLarge", () => Effect.as(Deferred.succeed(stop, "output-too-large"), undefined)))
      const ends = yield* Effect.all(
        {
          narrated: narration.from(runner.narration),
          sealed: output,
          envelope: readText(runner.envelope),
          ended: runner.ended
        },
        { concurrency: "unbounded" }
      )
      envelope = ends.envelope
      sealed = ends.sealed
    }
    const endedAt = yield* Clock.currentTimeMillis
    const stopped = (yield* Deferred.isDone(stop)) ? yield* Deferred.await(stop) : undefined
    const read = readEnvelope(envelope)
    // Without an envelope the tar may be cut; a run that wrote nothing has no output.
    if (sealed !== undefined && sealed.plainBytes > 0 && Option.isSome(read)) {
      const key = sealKeyTo(handOff.sealTo, outputContext(handOff.runId), sealed.dataKey)
      yield* journal.record({
        type: "sealed",
        bytes: sealed.bytes,
        plainBytes: sealed.plainBytes,
        digest: sealed.digest,
        key
      })
    } else yield* Effect.promise(() => rm(order.outputPath, { force: true }))
    yield* Effect.logInfo("run egress").pipe(Effect.annotateLogs({ runId: handOff.runId, ...egressUse() }))
    return runExitOf({ envelope: read, stopped, narrated: narration.totals(), wallMs: endedAt - beganAt })
  })

/** A failure inside this host. Its message may quote text of the run, so only its kind is logged. */
const kindOf = (cause: Cause.Cause<never>): string => {
  const error = Cause.squash(cause)
  if (!(error instanceof Error)) return "unknown"
  return "code" in error && typeof error.code === "string" ? error.code : error.name
}

/**
 * Runs the order to its end and records it. `exited` is recorded when process,
 * sockets and workspace are gone. An interruption records nothing: the host is
 * going down, or the run was forgotten.
 */
export const liveRun = (life: RunLife, order: RunOrder): Effect.Effect<void> =>
  Effect.scoped(runInSandbox(life, order)).pipe(
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterruptsOnly(cause),
      (cause) =>
        Effect.logError("run failed in the host").pipe(
          Effect.annotateLogs({ runId: order.handOff.runId, kind: kindOf(cause) }),
          Effect.as(
            exitWithoutEnvelope({ exitClass: "cli", reason: "internal", interrupted: false }, nothingNarrated, 0)
          )
        )
    ),
    Effect.tap((exit) => order.journal.record({ type: "exited", exit })),
    Effect.flatMap(({ exitClass, interrupted }) =>
      Effect.logInfo("run ended").pipe(Effect.annotateLogs({ runId: order.handOff.runId, exitClass, interrupted }))
    )
  )
