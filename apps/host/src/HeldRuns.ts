/** The runs that this host holds, running or ended, until the registry forgets them; and the slots they run in. */
import { type HandOff, type HostEvent, RunId, RunUnknown, TakeRefused, type WatchItem } from "@quickagents/schema"
import { Deferred, Effect, Fiber, FiberSet, Option, Schema, type Scope, Semaphore, Stream } from "effect"
import { existsSync } from "node:fs"
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { bubblewrap } from "./Bubblewrap.ts"
import type { HostConfig } from "./HostConfig.ts"
import type { PinnedKey } from "./HostIdentity.ts"
import type { Isolation } from "./Isolation.ts"
import { readManifest } from "./ManifestReading.ts"
import type { ObjectCache } from "./ObjectCache.ts"
import { exitWithoutEnvelope, type StopReason } from "./RunExits.ts"
import { openRunJournal, type RunJournal } from "./RunJournal.ts"
import { liveRun } from "./RunLife.ts"
import { keepWarm } from "./WarmSandboxes.ts"

const journalSuffix = ".events"
const outputSuffix = ".output"
/** A registry that forgets nothing fills no disk without end. */
const maxHeldRuns = 1_000

interface HeldRun {
  readonly journal: RunJournal
  readonly stop: Deferred.Deferred<StopReason>
  /** Completed by `forget`: whoever still watches is let go. */
  readonly forgotten: Deferred.Deferred<void>
  /** None for a run of an earlier host process. */
  fiber: Option.Option<Fiber.Fiber<void>>
}

export interface HeldRuns {
  readonly take: (handOff: HandOff, pinnedKeys: ReadonlyArray<PinnedKey>) => Effect.Effect<void, TakeRefused>
  /** Ends after `exited`, or when the run is forgotten. */
  readonly watch: (runId: string, afterSeq: number) => Stream.Stream<WatchItem, RunUnknown>
  readonly cancel: (runId: string, reason: "cancelled" | "tokens") => Effect.Effect<void>
  readonly forget: (runId: string) => Effect.Effect<void>
  /** Takes no new run from now on. */
  readonly drain: Effect.Effect<void>
  /** Ends all that run, because the host goes away. */
  readonly endAll: Effect.Effect<void>
  /** Answers when nothing runs. */
  readonly idle: Effect.Effect<void>
  readonly draining: () => boolean
  readonly held: () => ReadonlyArray<string>
  readonly slots: () => { readonly total: number; readonly used: number }
  /** Path and size of the sealed output of a run that has one. */
  readonly output: (runId: string) => Option.Option<{ readonly path: string; readonly bytes: number }>
}

/** The running totals that were recorded last, for a run whose runner cannot be asked any more. */
const recordedTotals = (events: ReadonlyArray<HostEvent>) => {
  const tokens = events.findLast(({ event }) => event.type === "tokens")?.event
  const turn = events.findLast(({ event }) => event.type === "turn")?.event
  return {
    inputTokens: tokens?.type === "tokens" ? tokens.input : 0,
    outputTokens: tokens?.type === "tokens" ? tokens.output : 0,
    totalTokens: tokens?.type === "tokens" ? tokens.total : 0,
    turns: turn?.type === "turn" ? turn.turns : 0
  }
}

const elapsedMs = (events: ReadonlyArray<HostEvent>) =>
  events.length === 0 ? 0 : Date.parse(events.at(-1)!.at) - Date.parse(events[0].at)

export interface HostParts {
  readonly config: HostConfig
  readonly isolation: Isolation
  readonly objects: ObjectCache
}

/**
 * Reads the journals in `directory`. A run without an end was running when the
 * host's process died, and died with it: that is recorded here.
 */
export const openHeldRuns = (
  { config, isolation, objects }: HostParts,
  directory: string
): Effect.Effect<HeldRuns, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runs = new Map<string, HeldRun>()
    const oneAtATime = yield* Semaphore.make(1)
    let draining = false

    const journalPath = (runId: string) => join(directory, runId + journalSuffix)
    const outputPath = (runId: string) => join(directory, runId + outputSuffix)
    const hold = (runId: string) =>
      Effect.gen(function* () {
        const run: HeldRun = {
          journal: yield* openRunJournal(journalPath(runId)),
          stop: yield* Deferred.make<StopReason>(),
          forgotten: yield* Deferred.make<void>(),
          fiber: Option.none()
        }
        runs.set(runId, run)
        return run
      })
    const sealedIn = (journal: RunJournal) =>
      Option.fromUndefinedOr(
        journal
          .events()
          .map(({ event }) => event)
          .find((event) => event.type === "sealed")
      )

    const names = yield* Effect.promise(async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      return readdir(directory)
    })
    for (const name of names.filter((name) => name.endsWith(journalSuffix))) {
      const runId = name.slice(0, -journalSuffix.length)
      if (!Schema.is(RunId)(runId)) continue
      const { journal } = yield* hold(runId)
      if (!journal.ended()) {
        const events = journal.events()
        yield* journal.record({
          type: "exited",
          exit: exitWithoutEnvelope(
            { exitClass: "cli", reason: "internal", interrupted: false },
            recordedTotals(events),
            elapsedMs(events)
          )
        })
        yield* Effect.logWarning("run lost in a restart").pipe(Effect.annotateLogs({ runId }))
      }
    }
    for (const name of names.filter((name) => name.endsWith(outputSuffix))) {
      const run = runs.get(name.slice(0, -outputSuffix.length))
      if (run === undefined || Option.isNone(sealedIn(run.journal))) {
        yield* Effect.promise(() => rm(join(directory, name), { force: true }))
      }
    }

    const used = () => [...runs.values()].filter(({ journal }) => !journal.ended()).length
    const sandboxes = yield* keepWarm(config, isolation, {
      wanted: () => (draining ? 0 : Math.min(config.warmRunners, config.capacity - used())),
      quiet: () => [...runs.values()].every(({ journal }) => journal.events().length > 0)
    })
    // Made after the sandboxes, so that the runs end first.
    const fibers = yield* FiberSet.make<void>()

    const refusalOf = (handOff: HandOff): TakeRefused["reason"] | undefined => {
      if (draining) return "draining"
      if (used() >= config.capacity || runs.size >= maxHeldRuns) return "no-slot"
      if (isolation.namespaces && !existsSync(bubblewrap)) return "isolation-unavailable"
      if (handOff.mode === "interactive" || handOff.secrets.some(({ deliver }) => deliver === "browser"))
        return "unsupported"
      return undefined
    }

    const take = (handOff: HandOff, pinnedKeys: ReadonlyArray<PinnedKey>): Effect.Effect<void, TakeRefused> =>
      Effect.gen(function* () {
        const { runId } = handOff
        if (runs.has(runId)) return
        const refusal = refusalOf(handOff)
        if (refusal !== undefined) return yield* new TakeRefused({ reason: refusal })
        const inputs = handOff.inputs.map(({ sealed }) => sealed.object)
        const needed = [handOff.archive, ...inputs]
        if (!needed.every((object) => objects.has(object))) return yield* new TakeRefused({ reason: "object-missing" })
        objects.hold(needed)
        const letGo = Effect.suspend(() => {
          objects.release(needed)
          // Sealed under a key of this run alone: nobody will ask for them again.
          return Effect.forEach(inputs, objects.discard, { discard: true })
        })
        const manifest = yield* readManifest(yield* objects.path(handOff.archive))
        if (Option.isSome(manifest) && manifest.value.capabilities?.browser !== undefined) {
          yield* letGo
          return yield* new TakeRefused({ reason: "unsupported" })
        }
        const run = yield* hold(runId)
        const lived = liveRun(
          { sandbox: sandboxes.take, isolation, objects },
          {
            handOff,
            manifest,
            pinnedKeys,
            journal: run.journal,
            outputPath: outputPath(runId),
            stop: run.stop
          }
        )
        run.fiber = Option.some(yield* FiberSet.run(fibers, Effect.ensuring(lived, letGo)))
        yield* Effect.logInfo("run taken").pipe(Effect.annotateLogs({ runId }))
      }).pipe(Effect.uninterruptible, oneAtATime.withPermits(1))

    return {
      take,
      watch: (runId, afterSeq) =>
        Stream.suspend(() => {
          const run = runs.get(runId)
          if (run === undefined) return Stream.fail(new RunUnknown({ runId }))
          const heartbeats = Stream.map(Stream.tick("1 second"), () => ({ heartbeat: true as const }))
          return Stream.merge(run.journal.after(afterSeq), heartbeats, { haltStrategy: "left" }).pipe(
            Stream.interruptWhen(Deferred.await(run.forgotten))
          )
        }),
      cancel: (runId, reason) =>
        Effect.suspend(() => {
          const run = runs.get(runId)
          return run === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(run.stop, reason))
        }),
      forget: (runId) =>
        Effect.gen(function* () {
          const run = runs.get(runId)
          if (run === undefined) return
          if (Option.isSome(run.fiber)) yield* Fiber.interrupt(run.fiber.value)
          // Gone from the map before the journal is, so that nobody records into a removed file.
          runs.delete(runId)
          yield* run.journal.remove
          yield* Effect.promise(() => rm(outputPath(runId), { force: true }))
          yield* Deferred.succeed(run.forgotten, undefined)
        }).pipe(Effect.uninterruptible),
      drain: Effect.sync(() => {
        draining = true
      }),
      endAll: Effect.forEach(runs.values(), ({ stop }) => Deferred.succeed(stop, "drained"), { discard: true }),
      idle: FiberSet.awaitEmpty(fibers),
      draining: () => draining,
      held: () => [...runs.keys()],
      slots: () => ({ total: config.capacity, used: used() }),
      output: (runId) =>
        Option.fromUndefinedOr(runs.get(runId)).pipe(
          Option.flatMap(({ journal }) => sealedIn(journal)),
          Option.map(({ bytes }) => ({ path: outputPath(runId), bytes }))
        )
    }
  })
