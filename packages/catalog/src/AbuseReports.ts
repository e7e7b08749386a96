/** Reports of abuse. The owner of what is reported never learns who reported it: no entry of its audit log says so. */
import { Audit, Database, newId, pageOf, Settings } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import { AbuseReportOpen, AbuseReportResolved, AbuseReportsPerDay, invalidField, NotFound } from "@quickagents/schema"
import type {
  AbuseReport,
  AbuseReportQuery,
  Account,
  CreateAbuseReport,
  StaffAbuseReport,
  Validation
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Agents } from "./Agents.ts"
import { AgentsSql } from "./AgentsSql.ts"

interface Row {
  readonly id: string
  readonly namespace: string
  readonly name: string
  /** `ns/name` that the agent had when it was reported. */
  readonly reported: string
  readonly version: string | null
  readonly category: AbuseReport["category"]
  readonly text: string
  readonly state: AbuseReport["state"]
  readonly resolution: AbuseReport["resolution"]
  readonly reason: string | null
  readonly reporter: string
  readonly handledBy: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const dayMs = 86_400_000

/** Under the name that the reporter knows: where the agent went, they may not be allowed to read. */
const ofReporter = (row: Row): AbuseReport => {
  const [namespace, name] = row.reported.split("/") as [string, string]
  return {
    id: row.id,
    namespace,
    name,
    version: row.version,
    category: row.category,
    text: row.text,
    state: row.state,
    resolution: row.resolution,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString()
  }
}
const ofStaff = (row: Row): StaffAbuseReport => ({
  ...ofReporter(row),
  namespace: row.namespace,
  name: row.name,
  reporter: row.reporter,
  handledBy: row.handledBy,
  reason: row.reason
})

export class AbuseReports extends Context.Service<
  AbuseReports,
  {
    readonly create: (
      actor: Account,
      ns: string,
      name: string,
      report: CreateAbuseReport
    ) => Effect.Effect<AbuseReport, NotFound | AbuseReportOpen | AbuseReportsPerDay | Validation>
    readonly mine: (
      actor: Account,
      page: { readonly offset?: number; readonly limit?: number }
    ) => Effect.Effect<Page<AbuseReport>>
    readonly list: (query: AbuseReportQuery) => Effect.Effect<Page<StaffAbuseReport>>
    readonly triage: (
      actor: Account,
      id: string,
      reason: string
    ) => Effect.Effect<StaffAbuseReport, NotFound | AbuseReportResolved>
    readonly resolve: (
      actor: Account,
      id: string,
      resolution: "actioned" | "dismissed",
      reason: string
    ) => Effect.Effect<StaffAbuseReport, NotFound | AbuseReportResolved>
  }
>()("catalog/AbuseReports") {
  static readonly layer = Layer.effect(
    AbuseReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const audit = yield* Audit.Audit
      const settings = yield* Settings.Settings
      const transaction = Database.transaction(sql)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const select = sql`
        SELECT b.id, a.namespace, a.name, ${rows.nameAt("b.created_at")} AS reported, b.version, b.category, b.text, b.state, b.resolution, b.reason,
          coalesce(p.handle, 'deleted') AS reporter, CASE WHEN b.handled_by IS NULL THEN NULL ELSE coalesce(h.handle, 'deleted') END AS handled_by,
          b.created_at, b.updated_at, count(*) OVER ()::integer AS total
        FROM abuse_reports b JOIN agents a ON a.id = b.agent_id
          LEFT JOIN accounts p ON p.id = b.reporter_id LEFT JOIN accounts h ON h.id = b.handled_by`
      type Counted = Row & { readonly total: number }
      const limits = { max: 100, standard: 50 }
      const byId = (id: string) => Effect.map(Effect.orDie(sql<Counted>`${select} WHERE b.id = ${id}`), ([row]) => row)
      const note = (actor: Account, action: string, target: string, detail: Record<string, unknown>) =>
        audit.record({ actor: { type: "account", id: actor.accountId, handle: actor.handle }, action, target, detail })

      const handle = Effect.fnUntraced(function* (
        actor: Account,
        id: string,
        action: string,
        change: {
          readonly state: "triaged" | "resolved"
          readonly resolution: AbuseReport["resolution"]
          readonly reason: string
        }
      ) {
        const at = yield* now
        return yield* transaction(
          Effect.gen(function* () {
            const changed = yield* Effect.orDie(sql`
              UPDATE abuse_reports SET ${sql.update({ ...change, handledBy: actor.accountId, updatedAt: at })}
              WHERE id = ${id} AND state <> 'resolved' RETURNING 1`)
            const row = yield* byId(id)
            if (row === undefined) return yield* new NotFound({})
            if (changed.length === 0) return yield* new AbuseReportResolved({})
            yield* note(actor, action, id, {
              reason: change.reason,
              ...(change.resolution === null ? {} : { resolution: change.resolution })
            })
            return ofStaff(row)
          })
        )
      })

      return AbuseReports.of({
        create: Effect.fnUntraced(function* (actor, ns, name, report) {
          const { agent } = yield* agents.seen(actor, ns, name)
          if (report.version !== undefined) {
            const version = yield* Effect.orDie(rows.version(ns, name, report.version))
            // What was never published is not there for those who only read.
            if (version === null || version.publishedAt === null) {
              return yield* invalidField("/version", "is not a version that was published")
            }
          }
          const id = yield* newId("abr")
          const at = yield* now
          const perDay = settings["limits.abuseReportsPerDay"]
          return yield* transaction(
            Effect.gen(function* () {
              // It is not deleted meanwhile; and of the account's own reports each counts those before it.
              if ((yield* Effect.orDie(rows.lockedAgent(agent.id, `abuse:${actor.accountId}`))) === null)
                return yield* new NotFound({})
              const [mine] = yield* Effect.orDie(sql<{ open: number; today: number }>`
                SELECT count(*) FILTER (WHERE agent_id = ${agent.id} AND state <> 'resolved')::integer AS open,
                  count(*) FILTER (WHERE created_at > ${new Date(at.getTime() - dayMs)})::integer AS today
                FROM abuse_reports WHERE reporter_id = ${actor.accountId}`)
              if (mine.open > 0) return yield* new AbuseReportOpen({})
              if (mine.today >= perDay) {
                return yield* new AbuseReportsPerDay({
                  detail: `An account reports at most ${perDay} times in 24 hours`
                })
              }
              yield* Effect.orDie(
                sql`INSERT INTO abuse_reports ${sql.insert({
                  id,
                  agentId: agent.id,
                  version: report.version ?? null,
                  reporterId: actor.accountId,
                  category: report.category,
                  text: report.text,
                  state: "open",
                  createdAt: at,
                  updatedAt: at
                })}`
              )
              yield* note(actor, "abuse_report.create", id, { agent: `${ns}/${name}`, category: report.category })
              return ofReporter(yield* byId(id))
            })
          )
        }),
        mine: Effect.fnUntraced(function* (actor, asked) {
          const { page, rows: mine } = yield* pageOf(asked, limits, (offset, limit) =>
            Effect.orDie(
              sql<Counted>`${select} WHERE b.reporter_id = ${actor.accountId} ORDER BY b.created_at DESC, b.id DESC LIMIT ${limit} OFFSET ${offset}`
            )
          )
          return { items: mine.map(ofReporter), ...page }
        }),
        list: Effect.fnUntraced(function* (query) {
          const { page, rows: found } = yield* pageOf(query, limits, (offset, limit) =>
            Effect.orDie(
              sql<Counted>`${select} WHERE ${sql.and([
                sql`TRUE`,
                ...(query.state === undefined ? [] : [sql`b.state = ${query.state}`]),
                ...(query.category === undefined ? [] : [sql`b.category = ${query.category}`]),
                ...(query.namespace === undefined ? [] : [sql`a.namespace = ${query.namespace}`])
              ])} ORDER BY b.created_at, b.id LIMIT ${limit} OFFSET ${offset}`
            )
          )
          return { items: found.map(ofStaff), ...page }
        }),
        triage: (actor, id, reason) =>
          handle(actor, id, "abuse_report.triage", { state: "triaged", resolution: null, reason }),
        resolve: (actor, id, resolution, reason) =>
          handle(actor, id, "abuse_report.resolve", { state: "resolved", resolution, reason })
      })
    })
  )
}
