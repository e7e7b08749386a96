/**
 * The audit log: append-only, in monthly partitions. Entries are written in the
 * transaction of what they tell about, so there is never one without the other.
 * Spec: Events 3; Registry-wide limits, audit retention.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { CurrentRequest } from "./CurrentRequest.ts"
import { newId } from "./Ids.ts"

export interface AuditActor {
  readonly type: "account" | "host" | "system"
  readonly id: string
  readonly handle?: string | undefined
}

export interface AuditRecord {
  readonly actor: AuditActor
  /** For example `agent.publish`. */
  readonly action: string
  /** What was acted on: a ref, a handle or an id. */
  readonly target: string
  /** Handle of the organization whose log shows the entry. */
  readonly org?: string | undefined
  readonly detail?: Readonly<Record<string, unknown>> | undefined
}

export interface AuditRow {
  readonly id: string
  readonly at: Date
  readonly actorType: string
  readonly actorId: string
  readonly actorHandle: string | null
  readonly action: string
  readonly target: string
  readonly org: string | null
  readonly ip: string | null
  readonly requestId: string | null
  readonly detail: Record<string, unknown>
}

export const system: AuditActor = { type: "system", id: "registry" }

export class Audit extends Context.Service<
  Audit,
  {
    readonly record: (entry: AuditRecord) => Effect.Effect<void>
    /** Newest first; `before` is the id of the last entry of the page before, `from` is of the page and `to` is not. */
    readonly list: (page: {
      /** Entries of this organization's log only. */
      readonly org: string | undefined
      readonly before: string | undefined
      readonly limit: number
      readonly action: string | undefined
      /** Handle of who acted. */
      readonly actor: string | undefined
      readonly from: Date | undefined
      readonly to: Date | undefined
    }) => Effect.Effect<ReadonlyArray<AuditRow>>
  }
>()("platform/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return Audit.of({
        record: Effect.fnUntraced(function* (entry) {
          const request = yield* CurrentRequest
          const id = yield* newId("aud")
          yield* sql`INSERT INTO audit_entries ${sql.insert({
            id,
            at: new Date(),
            actorType: entry.actor.type,
            actorId: entry.actor.id,
            actorHandle: entry.actor.handle ?? null,
            action: entry.action,
            target: entry.target,
            org: entry.org ?? null,
            ip: request?.ip ?? null,
            requestId: request?.id ?? null,
            detail: JSON.stringify(entry.detail ?? {})
          })}`
        }, Effect.orDie),
        list: ({ action, actor, before, from, limit, org, to }) =>
          sql<AuditRow>`
            SELECT * FROM audit_entries
            WHERE ${sql.and([
              sql`true`,
              ...(org === undefined ? [] : [sql`org = ${org}`]),
              ...(before === undefined ? [] : [sql`id < ${before}`]),
              ...(action === undefined ? [] : [sql`action = ${action}`]),
              ...(actor === undefined ? [] : [sql`actor_handle = ${actor}`]),
              ...(from === undefined ? [] : [sql`at >= ${from}`]),
              ...(to === undefined ? [] : [sql`at < ${to}`])
            ])} ORDER BY id DESC LIMIT ${limit}`.pipe(Effect.orDie)
      })
    })
  )
}

/** Makes the partitions of this month and the next, and drops whole months past the retention (0 keeps all). */
export const maintainAuditPartitions = (
  retentionDays: number
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`SELECT audit_make_partition(now()), audit_make_partition(now() + interval '1 month')`
    if (retentionDays > 0) yield* sql`SELECT audit_drop_partitions(now() - ${retentionDays} * interval '1 day')`
  })
