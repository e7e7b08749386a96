/**
 * `scan.mcp_sweep`: asks OSV again about each package of an MCP server that a
 * published version declares, once a day, and keeps the alerts in step with
 * what is known. An alert is a message to who submitted the version: it
 * changes nothing of the version, whatever its severity; quarantine is staff's
 * decision. Spec: Events 8; Registry core routes.
 */
import { McpPackagesSql } from "@quickagents/catalog"
import type { McpPackage } from "@quickagents/catalog"
import { Audit, Database, newId } from "@quickagents/platform"
import { Clock, Effect, Metric, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { osvQuery } from "./Osv.ts"
import { isAtLeast } from "./Stage.ts"

/** A little less than a day, so that a package keeps its hour. */
const checkedForMs = 23 * 3_600_000
const batch = 100
/** Four questions at once with a pause after each: an OSV service is shared with the rest of the world. */
const atOnce = 4
const pause = "250 millis"
/** Questions without an answer, one after the other, that mean the service is down. */
const failuresInRow = 8
const alertsAtOnce = 200

/** OSV does not answer; what was checked before is stored, and the rest is still due. */
class OsvDown extends Schema.TaggedError<OsvDown>()("OsvDown", { failures: Schema.Int }) {}

const sweeps = Metric.counter("McpSweepRuns", { incremental: true })

const openAlerts = Effect.gen(function* () {
  const rows = yield* McpPackagesSql
  const audit = yield* Audit.Audit
  const at = new Date(yield* Clock.currentTimeMillis)
  return yield* Database.transaction(yield* SqlClient.SqlClient)(
    Effect.gen(function* () {
      const missing = yield* Effect.orDie(rows.missingAlerts(alertsAtOnce))
      let opened = 0
      for (const alert of missing) {
        if (!(yield* Effect.orDie(rows.openAlert(yield* newId("dep"), alert, at)))) continue
        opened++
        yield* audit.record({
          actor: Audit.system,
          action: "agent.dependency_alert",
          target: alert.ref,
          org: alert.org ?? undefined,
          detail: {
            ecosystem: alert.ecosystem,
            package: alert.package,
            version: alert.packageVersion,
            vulnerability: alert.vulnerability,
            severity: alert.severity
          }
        })
      }
      return { opened, isLast: missing.length < alertsAtOnce }
    })
  )
})

/** Opens and closes alerts by what is stored. Doing it again changes nothing, so a crash loses nothing. */
const alignAlerts = Effect.gen(function* () {
  const rows = yield* McpPackagesSql
  yield* Effect.orDie(rows.closeAlerts(new Date(yield* Clock.currentTimeMillis)))
  let opened = 0
  while (true) {
    const turn = yield* openAlerts
    opened += turn.opened
    if (turn.isLast) return opened
  }
})

/** Goes on where an earlier sweep stopped: what was checked today is not asked about again. Answers what it did. */
export const mcpSweep = Effect.fn("scan/mcpSweep")(
  function* (osvBaseUrl: string) {
    const rows = yield* McpPackagesSql
    const before = new Date((yield* Clock.currentTimeMillis) - checkedForMs)
    const done = { checked: 0, failed: 0, opened: 0 }
    let inRow = 0
    const check = Effect.fnUntraced(function* (pkg: McpPackage) {
      const answer = yield* Effect.result(osvQuery(osvBaseUrl, pkg))
      if (Result.isFailure(answer)) {
        done.failed++
        if (++inRow >= failuresInRow) return yield* new OsvDown({ failures: inRow })
      } else {
        inRow = 0
        const worstFirst = answer.success.toSorted((a, b) =>
          a.severity === b.severity ? 0 : isAtLeast(a.severity, b.severity) ? -1 : 1
        )
        yield* Effect.orDie(rows.checked(pkg, worstFirst, new Date(yield* Clock.currentTimeMillis)))
        done.checked++
      }
      yield* Effect.sleep(pause)
    })
    let after: McpPackage | undefined
    while (true) {
      const due = yield* Effect.orDie(rows.due(before, after, batch))
      yield* Effect.forEach(due, check, { concurrency: atOnce, discard: true })
      // Also when nothing is due: a version may have been published since with a package that was checked before.
      done.opened += yield* alignAlerts
      if (due.length < batch) break
      after = due[due.length - 1]
    }
    yield* Metric.update(Metric.withAttributes(sweeps, { outcome: done.failed === 0 ? "ok" : "partial" }), 1)
    return done
  },
  Effect.tapError(() => Metric.update(Metric.withAttributes(sweeps, { outcome: "failed" }), 1))
)
