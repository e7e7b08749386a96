/** Rows of sandbox hosts and their enrolments. */
import { Context, Effect, Layer } from "effect"
import type { HostFeatures } from "@quickagents/schema"
import { SqlClient } from "effect/sql"

export interface HostRow {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly capacity: number
  readonly features: typeof HostFeatures.Type
  readonly version: string | null
  readonly usedSlots: number
  readonly draining: boolean
  readonly enrolledAt: Date
  readonly seenAt: Date | null
  readonly certificateExpiresAt: Date | null
  readonly retiredAt: Date | null
}

export interface EnrolmentRow {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly usedAt: Date | null
  readonly revokedAt: Date | null
  readonly hostId: string | null
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const enrolment = sql.literal("id, name, created_at, expires_at, used_at, revoked_at, host_id")
  const one = <A>(rows: ReadonlyArray<A>): A | null => rows[0] ?? null
  return {
    byId: (id: string) => sql<HostRow>`SELECT * FROM hosts WHERE id = ${id}`.pipe(Effect.map(one)),
    list: sql<HostRow>`SELECT * FROM hosts ORDER BY id DESC LIMIT 1000`,
    inUse: sql<{ id: string }>`SELECT id FROM hosts WHERE retired_at IS NULL`.pipe(
      Effect.map((rows) => rows.map(({ id }) => id))
    ),
    /** Hosts that take runs: seen since `since`, neither retired nor draining, with capacity. */
    online: (since: Date) =>
      sql<{ online: number }>`
        SELECT count(*)::integer AS online FROM hosts
        WHERE retired_at IS NULL AND NOT draining AND capacity > 0 AND seen_at >= ${since}`.pipe(
        Effect.map(([row]) => row.online)
      ),
    seen: (
      id: string,
      health: {
        readonly version: string
        readonly usedSlots: number
        readonly capacity: number
        readonly draining: boolean
        readonly features: typeof HostFeatures.Type
      },
      now: Date
    ) =>
      sql`
        UPDATE hosts SET seen_at = ${now}, version = ${health.version}, used_slots = ${health.usedSlots}, capacity = ${health.capacity},
          draining = ${health.draining}, features = ${JSON.stringify(health.features)}::jsonb
        WHERE id = ${id}`,
    renewed: (id: string, expiresAt: Date) =>
      sql`UPDATE hosts SET certificate_expires_at = ${expiresAt} WHERE id = ${id}`,
    retire: (id: string, now: Date) =>
      sql<HostRow>`UPDATE hosts SET retired_at = ${now} WHERE id = ${id} AND retired_at IS NULL RETURNING *`.pipe(
        Effect.map(one)
      ),

    enrolments: sql<EnrolmentRow>`SELECT ${enrolment} FROM host_enrolments ORDER BY id DESC LIMIT 1000`,
    insertEnrolment: (row: {
      readonly id: string
      readonly name: string
      readonly tokenHash: Uint8Array
      readonly createdAt: Date
      readonly expiresAt: Date
    }) =>
      sql<EnrolmentRow>`INSERT INTO host_enrolments ${sql.insert(row)} RETURNING ${enrolment}`.pipe(
        Effect.map(([made]) => made)
      ),
    enrolmentById: (id: string) =>
      sql<EnrolmentRow>`SELECT ${enrolment} FROM host_enrolments WHERE id = ${id}`.pipe(Effect.map(one)),
    enrolmentByToken: (tokenHash: Uint8Array) =>
      sql<EnrolmentRow>`SELECT ${enrolment} FROM host_enrolments WHERE token_hash = ${tokenHash}`.pipe(Effect.map(one)),
    revoke: (id: string, now: Date) =>
      sql<EnrolmentRow>`
        UPDATE host_enrolments SET revoked_at = ${now} WHERE id = ${id} AND used_at IS NULL AND revoked_at IS NULL RETURNING ${enrolment}`.pipe(
        Effect.map(one)
      ),
    /** Uses the enrolment up and makes its host, or neither: of two hosts with one token, one comes in. */
    enrol: (
      enrolmentId: string,
      host: Pick<HostRow, "id" | "name" | "address" | "capacity" | "features"> & {
        readonly certificateExpiresAt: Date
      },
      now: Date
    ) =>
      sql`
        WITH host AS (
          INSERT INTO hosts (id, name, address, capacity, features, enrolled_at, certificate_expires_at)
          SELECT ${host.id}::text, name, ${host.address}::text, ${host.capacity}::integer, ${JSON.stringify(host.features)}::jsonb, ${now}::timestamptz, ${host.certificateExpiresAt}::timestamptz
          FROM host_enrolments WHERE id = ${enrolmentId} AND used_at IS NULL AND revoked_at IS NULL AND expires_at > ${now}
          FOR UPDATE
          RETURNING id
        )
        UPDATE host_enrolments SET used_at = ${now}, host_id = host.id FROM host WHERE host_enrolments.id = ${enrolmentId} RETURNING host_enrolments.id`.pipe(
        Effect.map((rows) => rows.length === 1)
      )
  }
})

export class HostsSql extends Context.Service<HostsSql, Effect.Success<typeof make>>()("runs/HostsSql") {
  static readonly layer = Layer.effect(HostsSql, make)
}
