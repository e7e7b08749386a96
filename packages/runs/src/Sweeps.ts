/** What time does to runs: each is a plain effect, called by a cron of the cluster and by tests. */
import { Settings } from "@quickagents/platform"
import { Clock, Effect } from "effect"
import { Ledger } from "./Ledger.ts"
import { endLost } from "./RunSupervisor.ts"
import { RunsSql } from "./RunsSql.ts"

const batch = 200

/** Cancels runs that nobody claimed in time, refunded in full. Spec: JOB-001. */
export const cancelExpiredRuns = Effect.gen(function* () {
  const rows = yield* RunsSql
  const ledger = yield* Ledger
  while (true) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const expired = yield* rows.expired(now, batch)
    yield* Effect.forEach(
      expired,
      (run) =>
        ledger.end({
          runId: run.id,
          payer: run.payer,
          from: "queued",
          status: "cancelled",
          outcome: null,
          charge: "nothing",
          holdCredits: run.holdCredits,
          exitClass: null,
          errorClass: "queue-timeout",
          usage: { input: 0, output: 0, total: 0, turns: 0, wallMs: 0 },
          inputsReviewed: false,
          receipt: null,
          output: null
        }),
      { concurrency: 8, discard: true }
    )
    if (expired.length < batch) return
  }
})

/** Ends active runs whose host is silent past the stale window or retired: error, refunded. Spec: JOB-002. */
export const closeStaleRuns = Effect.gen(function* () {
  const rows = yield* RunsSql
  const settings = yield* Settings.Settings
  while (true) {
    const before = new Date((yield* Clock.currentTimeMillis) - settings["runs.stale"])
    const stale = yield* rows.onSilentHosts(before, batch)
    yield* Effect.forEach(stale, (run) => endLost(run, "host-lost"), { concurrency: 8, discard: true })
    if (stale.length < batch) return
  }
})
