/** Security advisories: drafted by staff or by who manages the agent, published and withdrawn by staff. */
import { Audit, Database } from "@quickagents/platform"
import { AdvisoryState, clamp, clampOffset, Forbidden, inRange, invalidField, NotFound } from "@quickagents/schema"
import type {
  Account,
  Advisory,
  AdvisoryQuery,
  CreateAdvisory,
  PatchAdvisory,
  Severity,
  Validation
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Agents } from "./Agents.ts"
import { canManage, readerOf } from "./AgentsPolicy.ts"
import { AgentsSql } from "./AgentsSql.ts"

interface Row {
  readonly id: string
  readonly agentId: string
  readonly namespace: string
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
    readonly list: (
      viewer: Account | null,
      query: AdvisoryQuery
    ) => Effect.Effect<{
      readonly items: ReadonlyArray<Advisory>
      readonly total: number
      readonly offset: number
      readonly limit: number
    }>
    readonly get: (viewer: Account | null, id: string) => Effect.Effect<Advisory, NotFound>
    readonly create: (
      actor: Account,
      ns: string,
      name: string,
      advisory: CreateAdvisory
    ) => Effect.Effect<Advisory, NotFound | Validation>
    readonly patch: (
      actor: Account,
      id: string,
      change: PatchAdvisory
    ) => Effect.Effect<Advisory, NotFound | Forbidden | AdvisoryState | Validation>
    readonly publish: (actor: Account, id: string) => Effect.Effect<Advisory, NotFound | AdvisoryState>
    /** A draft that is withdrawn is never shown. */
    readonly withdraw: (
      actor: Account,
      id: string,
      reason: string
    ) => Effect.Effect<Advisory, NotFound | Forbidden | AdvisoryState>
  }
>()("catalog/Advisories") {
  static readonly layer = Layer.effect(
    Advisories,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const columns = sql.literal(
        "w.id, w.agent_id, a.namespace, a.name, w.state, w.severity, w.affected, w.patched, w.summary, w.details, w.created_at, w.updated_at, w.published_at, w.withdrawn_at, w.withdrawn_reason"
      )
      /** What the viewer may read: what was published of agents it may read; drafts of agents that are its namespace's. */
      const visible = (viewer: Account | null) => {
        const readsPrivate = viewer !== null && (viewer.scopes === "all" || viewer.scopes.has("agent:read"))
        if (viewer !== null && isStaff(viewer)) return sql`TRUE`
        const published = sql`(w.published_at IS NOT NULL AND ${rows.readable(viewer?.accountId ?? null, readsPrivate)} AND ${rows.notSuspended})`
        return viewer === null || !readsPrivate
          ? published
          : sql`(${published} OR EXISTS (SELECT FROM namespaces n WHERE n.handle = a.namespace AND n.owner_id = ${viewer.accountId})
              OR EXISTS (SELECT FROM namespaces n JOIN members m ON m.org_id = n.owner_id WHERE n.handle = a.namespace AND m.account_id = ${viewer.accountId} AND m.active AND m.role IN ('owner', 'admin'))
              OR ${rows.givenManage(viewer.accountId)})`
      }
      const find = (viewer: Account | null, id: string) =>
        Effect.orDie(sql<Row>`
          SELECT ${columns} FROM advisories w JOIN agents a ON a.id = w.agent_id
          WHERE w.id = ${id} AND a.deleted_at IS NULL AND ${visible(viewer)}`).pipe(
          Effect.flatMap(([row]) => (row === undefined ? Effect.fail(new NotFound({})) : Effect.succeed(row)))
        )
      const ofManager = (actor: Account, ns: string, name: string) =>
        Effect.flatMap(agents.known(actor, ns, name), ({ agent, standing }) =>
          canManage(standing) ? Effect.succeed(agent) : Effect.fail(new NotFound({}))
        )
      /** Locked for the rest of the transaction, for one who may change it: what a token may do is said by the scope of the change. */
      const change = Effect.fnUntraced(function* (actor: Account, id: string) {
        const [row] = yield* Effect.orDie(sql<Row>`
          SELECT ${columns} FROM advisories w JOIN agents a ON a.id = w.agent_id
          WHERE w.id = ${id} AND a.deleted_at IS NULL FOR UPDATE OF w`)
        if (row === undefined) return yield* new NotFound({})
        if (isStaff(actor)) return row
        yield* ofManager(actor, row.namespace, row.name)
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
      const note = (actor: Account, action: string, row: Pick<Row, "id" | "namespace">, detail: object) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: row.id,
          org: row.namespace,
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
          const [offset, limit] = [clampOffset(query.offset), clamp(query.limit, 100, 20)]
          const page = (offset: number, limit: number) =>
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
          const found = yield* page(offset, limit)
          const [counted] = found.length > 0 || offset === 0 ? found : yield* page(0, 1)
          return { items: found.map(advisoryRecord), total: counted?.total ?? 0, offset, limit }
        }),
        get: (viewer, id) => Effect.map(find(viewer, id), advisoryRecord),
        create: Effect.fnUntraced(function* (actor, ns, name, advisory) {
          const agent = isStaff(actor) ? yield* Effect.orDie(rows.agent(readerOf(actor), ns, name)) : null
          const known = agent ?? (yield* ofManager(actor, ns, name))
          const patched = advisory.patched ?? null
          yield* patchedIsPatched(advisory.affected, patched)
          const at = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              // The lock of a deletion: an agent that goes takes no advisory with it.
              yield* Effect.orDie(rows.lock(`agent:${known.id}`))
              if ((yield* Effect.orDie(rows.agent(readerOf(actor), ns, name)))?.id !== known.id)
                return yield* new NotFound({})
              const year = at.getUTCFullYear()
              const [{ last }] = yield* Effect.orDie(sql<{ last: number }>`
                INSERT INTO advisory_numbers (year, last) VALUES (${year}, 1)
                ON CONFLICT (year) DO UPDATE SET last = advisory_numbers.last + 1 RETURNING last`)
              const id = `QASA-${year}-${String(last).padStart(4, "0")}`
              yield* Effect.orDie(
                sql`INSERT INTO advisories ${sql.insert({
                  id,
                  agentId: known.id,
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
              yield* note(actor, "advisory.create", { id, namespace: ns }, { agent: `${ns}/${name}` })
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
              const row = yield* Effect.catchTag(change(actor, id), "Forbidden", () => new NotFound({}))
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
