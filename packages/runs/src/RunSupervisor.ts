/**
 * The Run entity: hands a claimed run to its host, follows the host's narration
 * to the end and books the end. It holds nothing that its row and the host do
 * not hold too: a supervisor that dies is started again from them.
 * Spec: States and transitions, Run.
 */
import { Versions } from "@quickagents/catalog"
import { KeyService, ObjectStore, Sealing, Settings } from "@quickagents/platform"
import { RunEntity } from "@quickagents/schema"
import type { Digest, HostEvent, Manifest, Outcome, RunEnd, RunExit, RunReceipt } from "@quickagents/schema"
import { Clock, Effect, Metric, Queue, Schedule, Stream } from "effect"
import type { Scope } from "effect"
import { Rpc } from "effect/rpc"
import { fault } from "./Faults.ts"
import { stage } from "./HandOff.ts"
import { HostsSql } from "./HostsSql.ts"
import type { HostConnection } from "@quickagents/client/rpc"
import { HostUnreachable } from "@quickagents/client/rpc"
import { HostTransport } from "./HostTransport.ts"
import { Ledger } from "./Ledger.ts"
import { endingOf } from "./Outcomes.ts"
import { receiptOf } from "./Receipts.ts"
import { RunModel } from "./RunModel.ts"
import type { RunRow } from "./RunsSql.ts"
import { RunsSql } from "./RunsSql.ts"

/** A host that says nothing for so long, though it sends a heartbeat each second, is asked again. */
const silence = "5 seconds"
const silent = { duration: silence, orElse: () => Stream.fail(new HostUnreachable({ cause: "silent" })) } as const
/** How often the supervisor shows in the row that it lives. */
const signOfLife = "5 seconds"
/** The host stops a run at its wall-clock cap by itself; this is for one that does not. */
const overtimeMs = 60_000

const inputTokens = Metric.counter("RunsHostedInputTokens", { incremental: true })
const outputTokens = Metric.counter("RunsHostedOutputTokens", { incremental: true })

const nothingUsed = { inputTokens: 0, outputTokens: 0, totalTokens: 0, cachedTokens: 0, turns: 0, wallMs: 0 }

/** An end that is not the runner's own: the exit class `cli` is the outcome `error`, refunded. */
const lost: RunExit = { exitClass: "cli", reason: "internal", interrupted: false, usage: nothingUsed, receipt: null }

/** The end of an active run, ready to be booked. */
export const endOf = (
  run: Pick<RunRow, "id" | "payer" | "holdCredits">,
  exit: RunExit,
  ending: { readonly outcome: Outcome; readonly charge: RunEnd["charge"] },
  details: {
    readonly errorClass: string | null
    readonly receipt: RunReceipt | null
    readonly output: RunEnd["output"]
  }
): RunEnd => ({
  runId: run.id,
  payer: run.payer,
  from: "active",
  status: "finished",
  outcome: ending.outcome,
  charge: ending.charge,
  holdCredits: run.holdCredits,
  exitClass: exit.exitClass,
  usage: {
    input: exit.usage.inputTokens,
    output: exit.usage.outputTokens,
    total: exit.usage.totalTokens,
    turns: exit.usage.turns,
    wallMs: exit.usage.wallMs
  },
  inputsReviewed: false,
  ...details
})

/** Closes a run whose host is gone: error, refunded. */
export const endLost = (run: RunRow, errorClass: string) =>
  Effect.flatMap(Ledger, (ledger) =>
    ledger.end(endOf(run, lost, { outcome: "error", charge: "nothing" }, { errorClass, receipt: null, output: null }))
  )

/** What this run's narration has told so far. All of it can be told again from the host's first event. */
interface Progress {
  seq: number
  tokens: { input: number; output: number; total: number }
  turns: number
  overTokens: boolean
  output: { object: Digest; bytes: number; key: string } | null
  outputRefused: boolean
  exit: RunExit | null
}

type Services =
  | RunsSql
  | HostsSql
  | Ledger
  | HostTransport
  | KeyService
  | ObjectStore
  | RunModel
  | Settings.Settings
  | Versions

const supervise = Effect.fnUntraced(function* (
  run: RunRow,
  cancels: Queue.Dequeue<void>
): Effect.fn.Return<void, HostUnreachable, Services | Scope.Scope> {
  const rows = yield* RunsSql
  const ledger = yield* Ledger
  const objects = yield* ObjectStore
  const settings = yield* Settings.Settings
  const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
  const host = run.hostId === null ? null : yield* Effect.orDie((yield* HostsSql).byId(run.hostId))
  // A retired host's runs are closed by the sweep, which alone decides that.
  if (host === null || host.retiredAt !== null) return
  const connection = yield* (yield* HostTransport).connect(host)
  const unreachable = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.mapError(effect, (cause) => new HostUnreachable({ cause }))

  let manifest: Manifest | null = null
  if (run.status === "claimed") {
    // Handed over by a supervisor that died: what ran there is followed and settled, not lost.
    const held =
      run.cancelRequestedAt === null ? false : (yield* unreachable(connection.rpc.Health())).runs.includes(run.id)
    if (run.cancelRequestedAt !== null && !held) {
      yield* ledger.end(
        endOf(
          run,
          { ...lost, interrupted: true },
          { outcome: "interrupted", charge: "nothing" },
          {
            errorClass: "cancelled",
            receipt: null,
            output: null
          }
        )
      )
      return
    }
    const taken = yield* handOver(run, connection)
    if (taken === null) return
    manifest = taken
  } else {
    manifest = (yield* (yield* Versions).releaseById(run.versionId))?.manifest ?? null
  }

  const progress: Progress = {
    seq: 0,
    tokens: { input: 0, output: 0, total: 0 },
    turns: 0,
    overTokens: false,
    output: null,
    outputRefused: false,
    exit: null
  }
  let cancelled = run.cancelRequestedAt !== null
  const interrupt = (reason: "cancelled" | "tokens") => unreachable(connection.rpc.Cancel({ runId: run.id, reason }))

  const fetchOutput = Effect.fnUntraced(function* (event: Extract<HostEvent["event"], { readonly type: "sealed" }>) {
    const maxBytes = settings["runs.outputMaxBytes"]
    if (event.plainBytes > maxBytes || event.bytes > Sealing.sealedSize(maxBytes)) {
      progress.outputRefused = true
      return
    }
    const stored = yield* objects
      .put(Stream.timeoutOrElse(connection.output(run.id), silent), { maxBytes: event.bytes })
      .pipe(unreachable)
    if (stored.digest !== event.digest)
      return yield* new HostUnreachable({ cause: "the output is not what the host said" })
    yield* fault("finish.stored", run.id)
    progress.output = { object: stored.digest, bytes: event.plainBytes, key: event.key }
  })

  const follow = Effect.fnUntraced(function* ({ event, seq }: HostEvent) {
    switch (event.type) {
      case "started":
        if (run.status === "claimed") {
          yield* Effect.orDie(rows.start(run.id, yield* now))
          yield* fault("watch.started", run.id)
        }
        break
      case "tokens":
        progress.tokens = event
        if (event.total > run.tokenCap && !progress.overTokens) {
          progress.overTokens = true
          yield* interrupt("tokens")
        }
        break
      case "turn":
        progress.turns = event.turns
        break
      case "sealed":
        yield* fetchOutput(event)
        break
      case "exited":
        progress.exit = event.exit
    }
    // Last, so that an event whose handling failed is told again.
    progress.seq = seq
  })

  const watch = Effect.suspend(() =>
    Stream.fromEffect(Effect.void).pipe(
      Stream.flatMap(() => connection.rpc.Watch({ runId: run.id, afterSeq: progress.seq })),
      Stream.timeoutOrElse(silent),
      Stream.runForEach((item) => ("heartbeat" in item ? Effect.void : follow(item)))
    )
  )

  /** Watches until the host told the exit; a broken connection is only a pause. */
  const watchToTheEnd = Effect.gen(function* () {
    while (progress.exit === null) {
      yield* watch.pipe(
        Effect.catch((error) => {
          if (error._tag === "RunUnknown") {
            progress.exit = lost
            return Effect.void
          }
          return Effect.andThen(Effect.logDebug("host does not tell", error), Effect.sleep("500 millis"))
        })
      )
    }
  })

  const cancelOnRequest = Effect.gen(function* () {
    if (cancelled) yield* Effect.ignore(interrupt("cancelled"))
    while (true) {
      yield* Queue.take(cancels)
      cancelled = true
      yield* Effect.ignore(Effect.retry(interrupt("cancelled"), { schedule: Schedule.spaced("1 second"), times: 5 }))
    }
  })

  /** Ends when the run was ended by someone else, such as the stale sweep. */
  const watchRow = Effect.gen(function* () {
    let overtime = false
    while (true) {
      yield* Effect.sleep(signOfLife)
      const at = yield* now
      const row = yield* Effect.orDie(rows.supervised(run.id, at))
      if (row === null) return
      if (row.cancelRequestedAt !== null && !cancelled) {
        cancelled = true
        yield* Effect.ignore(interrupt("cancelled"))
      }
      if (!overtime && at.getTime() > run.claimedAt!.getTime() + run.capsSeconds * 1000 + overtimeMs) {
        overtime = true
        yield* Effect.ignore(interrupt("cancelled"))
      }
    }
  })

  yield* Effect.raceFirst(watchToTheEnd, Effect.raceFirst(watchRow, cancelOnRequest))
  if (progress.exit !== null) {
    const exit = withNarrated(progress.exit, progress)
    // Past its size the output does not exist, and neither does a success that has none.
    const broken = progress.outputRefused || (exit.exitClass === "ok" && progress.output === null)
    const ending = broken
      ? ({ outcome: "error", charge: "nothing" } as const)
      : endingOf(exit, { cancelled, overTokens: progress.overTokens })
    yield* ledger.end(
      endOf(run, exit, ending, {
        errorClass: broken
          ? progress.outputRefused
            ? "output-too-large"
            : "output-lost"
          : ending.outcome === "succeeded"
            ? null
            : (exit.reason ?? exit.exitClass),
        receipt: receiptOf(exit, manifest),
        output: broken ? null : progress.output
      })
    )
    yield* fault("settle.settled", run.id)
    const kind = { kind: run.kind, tier: run.tier }
    yield* Metric.update(Metric.withAttributes(inputTokens, kind), exit.usage.inputTokens)
    yield* Metric.update(Metric.withAttributes(outputTokens, kind), exit.usage.outputTokens)
  } else yield* Effect.ignore(interrupt("cancelled"))
  yield* Effect.ignore(
    Effect.retry(connection.rpc.Forget({ runId: run.id }), { schedule: Schedule.spaced("200 millis"), times: 3 })
  )
  yield* fault("settle.forgotten", run.id)
})

/** A runner that was killed reports less than it narrated. */
const withNarrated = (exit: RunExit, { tokens, turns }: Progress): RunExit => ({
  ...exit,
  usage: {
    ...exit.usage,
    inputTokens: Math.max(exit.usage.inputTokens, tokens.input),
    outputTokens: Math.max(exit.usage.outputTokens, tokens.output),
    totalTokens: Math.max(exit.usage.totalTokens, tokens.total),
    turns: Math.max(exit.usage.turns, turns)
  }
})

/** Gives the run to its host. Null: it went back to the queue, or ended. */
const handOver = Effect.fnUntraced(function* (run: RunRow, connection: HostConnection) {
  const rows = yield* RunsSql
  const requeue = Effect.gen(function* () {
    yield* Effect.orDie(rows.requeue(run.id, run.hostId!, new Date(yield* Clock.currentTimeMillis)))
    return null
  })
  return yield* Effect.gen(function* () {
    const { handOff, manifest } = yield* stage(run, connection)
    yield* fault("handOff.staged", run.id)
    // Idempotent on the host: a lost answer is asked for again.
    yield* connection.rpc.Take(handOff).pipe(
      Effect.retry({
        schedule: Schedule.spaced("500 millis"),
        times: 3,
        while: (error) => error._tag !== "TakeRefused"
      })
    )
    yield* fault("handOff.taken", run.id)
    return manifest
  }).pipe(
    Effect.catchTags({
      HandOffImpossible: (error) => (error.retry ? requeue : Effect.as(endLost(run, error.reason), null)),
      TakeRefused: () => requeue,
      HostUnreachable: () => requeue,
      RpcClientError: () => requeue
    })
  )
})

export const RunEntityLive = RunEntity.toLayer(
  Effect.gen(function* () {
    const rows = yield* RunsSql
    const cancels = yield* Queue.unbounded<void>()
    const services = yield* Effect.context<Services>()
    let supervising = false
    return RunEntity.of({
      supervise: ({ payload: { runId } }) =>
        Rpc.fork(
          Effect.suspend(() => {
            if (supervising) return Effect.void
            supervising = true
            return Effect.gen(function* () {
              const run = yield* Effect.orDie(rows.byId(runId))
              if (run === null || (run.status !== "claimed" && run.status !== "running")) return
              yield* supervise(run, cancels)
            }).pipe(
              Effect.scoped,
              // The row stays as it is; the sweep finds a run without a supervisor.
              Effect.catch((error) => Effect.logWarning("supervision stopped", error)),
              Effect.ensuring(Effect.sync(() => (supervising = false))),
              Effect.annotateLogs({ run: runId }),
              Effect.provideContext(services)
            )
          })
        ),
      cancel: () => Effect.asVoid(Queue.offer(cancels, undefined))
    })
  }),
  { maxIdleTime: "30 seconds", concurrency: "unbounded" }
)

/** Claimed runs that nobody has supervised for `sinceMs`: a supervisor for each. Called every few seconds. */
export const resumeUnsupervised = Effect.fnUntraced(function* (sinceMs: number) {
  const rows = yield* RunsSql
  const of = yield* RunEntity.client
  const now = yield* Clock.currentTimeMillis
  const found = yield* rows.unsupervised(new Date(now - sinceMs), 500)
  yield* Effect.forEach(
    found,
    ({ attempts, id }) => of(id).supervise({ runId: id, turn: `${attempts}.${now}` }, { discard: true }),
    { concurrency: 8, discard: true }
  )
  return found.length
})
