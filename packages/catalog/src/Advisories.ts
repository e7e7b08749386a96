/** Security advisories: drafted by staff or by who manages the agent, published and withdrawn by staff. */
import { Orgs } from "@quickagents/orgs"
import { Audit, Database, pageOf } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import { AdvisoryState, Forbidden, inRange, invalidField, NotFound } from "@quickagents/schema"
import type {
  Account,
  Advisory,
  AdvisoryQuery,
  CreateAdvisory,
  OrgDecommissioning,
  PatchAdvisory,
  Severity,
  Validation
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Agents } from "./Agents.ts"
import { readerOf } from "./AgentsPolicy.ts"
import { AgentsSql } from "./AgentsSql.ts"

interface Row {
  readonly id: string
  readonly namespace: string
  /** The namespace, when it is an organization's. */
  readonly org: string | null
  readonly name: string
  readonly state: Advisory["state"]
  readonly severity: Severity
  readonly affected: string
  readonly patched: string | null
  readonly summary: string
  readonly details: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly publishedAt: Date | null
  readonly withdrawnAt: Date | null
  readonly withdrawnReason: string | null
}

const advisoryRecord = (row: Row): Advisory => ({
  id: row.id,
  namespace: row.namespace,
  name: row.name,
  state: row.state,
  severity: row.severity,
  affected: row.affected,
  patched: row.patched,
  summary: row.summary,
  details: row.details,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  publishedAt: row.publishedAt?.toISOString() ?? null,
  withdrawnAt: row.withdrawnAt?.toISOString() ?? null,
  withdrawnReason: row.withdrawnReason
})

/** Staff acts by session alone: a token that leaks must not speak for the platform. */
const isStaff = (actor: Account) => actor.staff && actor.credential.kind === "session"

export class Advisories extends Context.Service<
  Advisories,
  {
    readonly list: (viewer: Account | null, query: AdvisoryQuery) => Effect.Effect<Page<Advisory>>
    readonly get: (viewer: Account | null, id: string) => Effect.Effect<Advisory, NotFound>
    readonly create: (
      actor: Account,
      ns: string,
      name: string,
      advisory: CreateAdvisory
    ) => Effect.Effect<Advisory, NotFound | Validation | OrgDecommissioning>
    readonly patch: (
      actor: Account,
      id: string,
      change: PatchAdvisory
    ) => Effect.Effect<Advisory, NotFound | Forbidden | AdvisoryState | Validation | OrgDecommissioning>
    readonly publish: (actor: Account, id: string) => Effect.Effect<Advisory, NotFound | AdvisoryState>
    /** A draft that is withdrawn is never shown. */
    readonly withdraw: (
      actor: Account,
      id: string,
      reason: string
    ) => Effect.Effect<Advisory, NotFound | Forbidden | AdvisoryState | OrgDecommissioning>
  }
>()("catalog/Advisories") {
  static readonly layer = Layer.effect(
    Advisories,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const orgs = yield* Orgs
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const columns = sql.literal(
        "w.id, a.namespace, (SELECT o.handle FROM organizations o WHERE o.handle = a.namespace) AS org, a.name, w.state, w.severity, w.affected, w.patched, w.summary, w.details, w.created_at, w.updated_at, w.published_at, w.withdrawn_at, w.withdrawn_reason"
      )
      /** What the viewer may read: what was published of agents it may read; drafts of agents that are its namespace's. */
      const visible = (viewer: Account | null) => {
        if (viewer !== null && isStaff(viewer)) return rows.notSuspended
        const { accountId, privateToo } = readerOf(viewer)
        const published = sql`(w.published_at IS NOT NULL AND ${rows.readable(accountId, privateToo)})`
        return accountId === null || !privateToo
          ? sql`(${published} AND ${rows.notSuspended})`
          : sql`(${rows.notSuspended} AND (${published} OR EXISTS (SELECT FROM namespaces n WHERE n.handle = a.namespace AND n.owner_id = ${accountId})
              OR EXISTS (SELECT FROM namespaces n JOIN members m ON m.org_id = n.owner_id WHERE n.handle = a.namespace AND m.account_id = ${accountId} AND m.active AND m.role IN ('owner', 'admin'))
              OR ${rows.givenManage(accountId)}))`
      }
      const find = (viewer: Account | null, id: string) =>
        Effect.orDie(sql<Row>`
          SELECT ${columns} FROM advisories w JOIN agents a ON a.id = w.agent_id
          WHERE w.id = ${id} AND a.deleted_at IS NULL AND ${visible(viewer)}`).pipe(
          Effect.flatMap(([row]) => (row === undefined ? Effect.fail(new NotFound({})) : Effect.succeed(row)))
        )
      /** Staff writes of every agent, also of private ones. */
      const ofStaff = Effect.fnUntraced(function* (ns: string, name: string) {
        const agent = yield* Effect.orDie(rows.agent(readerOf(null), ns, name))
        const owner = agent === null ? null : yield* orgs.namespace(agent.namespace)
        if (agent === null || owner === null) return yield* new NotFound({})
        return { agent, org: owner.kind === "org" ? owner.handle : null }
      })
      /** Locked for the rest of the transaction, for one who may change it: what a token may do is said by the scope of the change. */
      const change = Effect.fnUntraced(function* (actor: Account, id: string) {
        const [row] = yield* Effect.orDie(sql<Row>`
          SELECT ${columns} FROM advisories w JOIN agents a ON a.id = w.agent_id
          WHERE w.id = ${id} AND a.deleted_at IS NULL AND ${rows.notSuspended} FOR UPDATE OF w`)
        if (row === undefined) return yield* new NotFound({})
        if (isStaff(actor)) return row
        yield* agents.changeable(actor, row.namespace, row.name)
        if (row.state === "published") {
          return yield* new Forbidden({ detail: "A published advisory is changed by the platform's staff" })
        }
        return row
      })
      const reread = (id: string) =>
        Effect.orDie(sql<Row>`
          SELECT ${columns} FROM advisories w JOIN agents a ON a.id = w.agent_id WHERE w.id = ${id}`).pipe(
          Effect.map(([row]) => advisoryRecord(row))
        )
      const note = (actor: Account, action: string, row: Pick<Row, "id" | "org">, detail: object) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: row.id,
          org: row.org ?? undefined,
          detail: { ...detail }
        })
      const update = Effect.fnUntraced(function* (id: string, values: Record<string, unknown>) {
        yield* Effect.orDie(sql`UPDATE advisories SET ${sql.update(values)} WHERE id = ${id}`)
        return yield* reread(id)
      })
      const patchedIsPatched = (affected: string, patched: string | null) =>
        patched !== null && inRange(affected, patched)
          ? Effect.fail(invalidField("/patched", "is one of the affected versions"))
          : Effect.void
      const wrongState = (row: Row, needs: string) =>
        new AdvisoryState({ detail: `The advisory is ${row.state}; this needs ${needs}`, state: row.state })

      return Advisories.of({
        list: Effect.fnUntraced(function* (viewer, query) {
          const { page, rows: found } = yield* pageOf(query, { max: 100, standard: 20 }, (offset, limit) =>
            Effect.orDie(sql<Row & { readonly total: number }>`
              SELECT ${columns}, count(*) OVER ()::integer AS total FROM advisories w JOIN agents a ON a.id = w.agent_id
              WHERE ${sql.and([
                sql`a.deleted_at IS NULL`,
                visible(viewer),
                ...(query.namespace === undefined ? [] : [sql`a.namespace = ${query.namespace}`]),
                ...(query.name === undefined ? [] : [sql`a.name = ${query.name}`]),
                ...(query.severity === undefined ? [] : [sql`w.severity = ${query.severity}`]),
                ...(query.state === undefined ? [] : [sql`w.state = ${query.state}`])
              ])} ORDER BY w.created_at DESC, w.id DESC LIMIT ${limit} OFFSET ${offset}`)
          )
          return { items: found.map(advisoryRecord), ...page }
        }),
        get: (viewer, id) => Effect.map(find(viewer, id), advisoryRecord),
        create: Effect.fnUntraced(function* (actor, ns, name, advisory) {
          const { agent, org } = yield* isStaff(actor) ? ofStaff(ns, name) : agents.changeable(actor, ns, name)
          const patched = advisory.patched ?? null
          yield* patchedIsPatched(advisory.affected, patched)
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              // An agent that goes takes no advisory with it.
              yield* rows.lockedAs(agent, agent)
              const year = at.getUTCFullYear()
              const [{ last }] = yield* Effect.orDie(sql<{ last: number }>`
                INSERT INTO advisory_numbers (year, last) VALUES (${year}, 1)
                ON CONFLICT (year) DO UPDATE SET last = advisory_numbers.last + 1 RETURNING last`)
              const id = `QASA-${year}-${String(last).padStart(4, "0")}`
              yield* Effect.orDie(
                sql`INSERT INTO advisories ${sql.insert({
                  id,
                  agentId: agent.id,
                  state: "draft",
                  severity: advisory.severity,
                  affected: advisory.affected,
                  patched,
                  summary: advisory.summary,
                  details: advisory.details ?? "",
                  createdBy: actor.accountId,
                  createdAt: at,
                  updatedAt: at
                })}`
              )
              yield* note(actor, "advisory.create", { id, org }, { agent: `${agent.namespace}/${agent.name}` })
              return yield* reread(id)
            })
          )
        }),
        patch: Effect.fnUntraced(function* (actor, id, changed) {
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const row = yield* change(actor, id)
              if (row.state === "withdrawn") return yield* wrongState(row, "draft or published")
              yield* patchedIsPatched(
                changed.affected ?? row.affected,
                changed.patched === undefined ? row.patched : changed.patched
              )
              yield* note(actor, "advisory.update", row, { fields: Object.keys(changed) })
              return yield* update(id, { ...changed, updatedAt: at })
            })
          )
        }),
        publish: Effect.fnUntraced(function* (actor, id) {
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const row = yield* Effect.catchTags(change(actor, id), {
                Forbidden: () => new NotFound({}),
                OrgDecommissioning: () => new NotFound({})
              })
              if (row.state !== "draft") return yield* wrongState(row, "draft")
              yield* note(actor, "advisory.publish", row, { severity: row.severity, affected: row.affected })
              return yield* update(id, { state: "published", publishedAt: at, updatedAt: at })
            })
          )
        }),
        withdraw: Effect.fnUntraced(function* (actor, id, reason) {
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const row = yield* change(actor, id)
              if (row.state === "withdrawn") return yield* wrongState(row, "draft or published")
              yield* note(actor, "advisory.withdraw", row, { reason, from: row.state })
              return yield* update(id, { state: "withdrawn", withdrawnAt: at, withdrawnReason: reason, updatedAt: at })
            })
          )
        })
      })
    })
  )
}
