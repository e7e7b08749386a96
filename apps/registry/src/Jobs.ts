/** What time does, each job a cron of the cluster: it runs on one node, whichever is there. Spec: Events 8. */
import { copyForks, eraseDecommissioned, failUnfinishedForks, McpPackagesSql } from "@quickagents/catalog"
import { sweepSessions } from "@quickagents/identity"
import { Audit, Idempotency, Settings, sweepRateWindows, wakeUps } from "@quickagents/platform"
import { cancelExpiredRuns, closeStaleRuns, renewCycles, resumeUnsupervised, sweepInputs } from "@quickagents/runs"
import { appendToLog, mcpSweep, reattest, reconcileScans, sweepRuleset } from "@quickagents/scan"
import { Cron, Effect, Layer, Schedule } from "effect"
import { ClusterCron, Singleton } from "effect/cluster"

const minutely = Cron.parseUnsafe("* * * * *")
const hourly = Cron.parseUnsafe("7 * * * *")
const tenMinutely = Cron.parseUnsafe("*/10 * * * *")
const daily = Cron.parseUnsafe("23 3 * * *")

/** A job that fails is tried again at its next time; its failure is logged, not hidden. */
const job = <E, R>(name: string, cron: Cron.Cron, execute: Effect.Effect<unknown, E, R>) =>
  ClusterCron.make({
    name,
    cron,
    skipIfOlderThan: "5 minutes",
    execute: execute.pipe(
      Effect.retry({ schedule: Schedule.exponential("1 second"), times: 4 }),
      Effect.catchCause((cause) => Effect.logError("job failed", cause)),
      Effect.annotateLogs({ job: name }),
      Effect.asVoid
    )
  })

/** Seconds matter where a process died: a singleton looks more often than a cron can. */
const watchdog = <E, R>(name: string, every: "2 seconds" | "5 seconds", execute: Effect.Effect<unknown, E, R>) =>
  Singleton.make(
    name,
    execute.pipe(
      Effect.catchCause((cause) => Effect.logWarning("watchdog failed", cause)),
      Effect.annotateLogs({ job: name }),
      Effect.repeat(Schedule.spaced(every)),
      Effect.asVoid
    )
  )

/** What is noted within this time is taken together. */
const gatherFor = "100 millis"

/** Looks when the channel says that there is something, and by itself as a watchdog does: a notification may be lost. */
const woken = <E, R>(name: string, channel: string, every: "2 seconds", execute: Effect.Effect<unknown, E, R>) =>
  Singleton.make(
    name,
    Effect.gen(function* () {
      const wait = yield* wakeUps(channel)
      return yield* execute.pipe(
        Effect.catchCause((cause) => Effect.logWarning("watchdog failed", cause)),
        Effect.andThen(wait(every)),
        Effect.andThen(Effect.sleep(gatherFor)),
        Effect.forever
      )
    }).pipe(Effect.scoped, Effect.annotateLogs({ job: name }))
  )

/** A supervisor shows itself every 5 seconds; one that has not for this long is gone. */
const unsupervisedMs = 15_000

export const RunJobs = Layer.mergeAll(
  job("runs.cancel_expired", minutely, cancelExpiredRuns),
  job("runs.close_stale", minutely, closeStaleRuns),
  watchdog("runs.resume_unsupervised", "5 seconds", resumeUnsupervised(unsupervisedMs)),
  job("runs.sweep_inputs", daily, sweepInputs),
  job("credits.renew_cycles", hourly, renewCycles)
)

/** At the start of whichever node runs it: a configured key may be a new one. */
const Reattest = Singleton.make(
  "scan.reattest_sweep",
  reattest.pipe(
    Effect.tap(({ refused, signed }) =>
      signed + refused === 0
        ? Effect.void
        : Effect.logInfo("attestations countersigned").pipe(Effect.annotateLogs({ refused, signed }))
    ),
    Effect.retry({ schedule: Schedule.exponential("1 second"), times: 4 }),
    Effect.catchCause((cause) => Effect.logError("job failed", cause)),
    Effect.annotateLogs({ job: "scan.reattest_sweep" }),
    Effect.asVoid
  )
)

/** Each package once a day. Looks every ten minutes for what is due, so that a new one does not wait and a crash or a silent OSV costs no day. */
const McpSweep = Layer.unwrap(
  Effect.gen(function* () {
    const osvUrl = (yield* Settings.Settings)["scan.osvUrl"]
    if (osvUrl === null) {
      yield* Effect.logInfo("scan.mcp_sweep does nothing: no OSV service is configured")
      return Layer.empty
    }
    return job(
      "scan.mcp_sweep",
      tenMinutely,
      mcpSweep(osvUrl).pipe(
        Effect.tap((done) =>
          done.checked + done.failed + done.opened === 0
            ? Effect.void
            : Effect.logInfo("MCP packages checked").pipe(Effect.annotateLogs(done))
        )
      )
    )
  })
).pipe(Layer.provide(McpPackagesSql.layer))

export const CoreJobs = Layer.mergeAll(
  Reattest,
  McpSweep,
  woken("log.append", "log_pending", "2 seconds", appendToLog),
  job("scan.reconcile", minutely, reconcileScans),
  watchdog("scan.ruleset_sweep", "5 seconds", sweepRuleset),
  watchdog("forks.copy", "2 seconds", copyForks),
  job("forks.fail_unfinished", minutely, failUnfinishedForks),
  job("orgs.erase_decommissioned", hourly, eraseDecommissioned),
  job("identity.sweep_sessions", hourly, sweepSessions),
  job("platform.sweep_rate_windows", hourly, sweepRateWindows),
  job("platform.sweep_idempotency_keys", hourly, Idempotency.sweepIdempotencyKeys),
  job(
    "audit.partitions",
    daily,
    Effect.flatMap(Settings.Settings, (settings) => Audit.maintainAuditPartitions(settings["audit.retentionDays"]))
  )
)
