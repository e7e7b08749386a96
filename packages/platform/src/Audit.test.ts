import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Audit, maintainAuditPartitions } from "./Audit.ts"
import { migrations } from "./migrations/index.ts"
import * as Settings from "./Settings.ts"
import { layerDatabase } from "./testing/index.ts"

const dayMs = 86_400_000
const Live = Audit.layer.pipe(Layer.provideMerge(layerDatabase(migrations)))

const partitions = Effect.map(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ name: string }>`
      SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'audit_entries'::regclass ORDER BY 1`
  ),
  (rows) => rows.map(({ name }) => name)
)
/** `audit_entries_202611` for the month of a moment. */
const partitionOf = (at: Date) => `audit_entries_${at.toISOString().slice(0, 7).replace("-", "")}`

/** An entry of `at`, in the partition of its month. */
const entryAt = Effect.fnUntraced(function* (id: string, at: Date) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT audit_make_partition(${at})`
  yield* sql`INSERT INTO audit_entries ${sql.insert({
    id,
    at,
    actorType: "system",
    actorId: "registry",
    action: "test.entry",
    target: "test",
    org: "acme",
    detail: "{}"
  })}`
})

layer(Live)("the audit log", (it) => {
  it.effect("is append-only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* entryAt("aud_kept", new Date())
      for (const change of [
        sql`UPDATE audit_entries SET action = 'other' WHERE id = 'aud_kept'`,
        sql`DELETE FROM audit_entries WHERE id = 'aud_kept'`
      ]) {
        assert.isTrue((yield* Effect.exit(change))._tag === "Failure")
      }
    })
  )

  it.effect("[AUDIT-008] whole months past the retention are dropped, 400 days unless configured; 0 keeps all", () =>
    Effect.gen(function* () {
      const read = (value?: string) =>
        Settings.read({
          environment: {
            DATABASE_URL: "postgres://test",
            ...(value === undefined ? {} : { SERVICE_AUDIT_RETENTION_DAYS: value })
          }
        })["audit.retentionDays"]
      assert.strictEqual(read(), 400)
      assert.strictEqual(read("0"), 0)

      const sql = yield* SqlClient.SqlClient
      const now = Date.now()
      const edge = new Date(now - 400 * dayMs)
      // The month that the retention ends in holds entries that are kept: it stays as a whole.
      const firstOfEdge = new Date(Date.UTC(edge.getUTCFullYear(), edge.getUTCMonth(), 1))
      const lastBefore = new Date(firstOfEdge.getTime() - 1)
      const longAgo = new Date(now - 900 * dayMs)
      yield* entryAt("aud_long_ago", longAgo)
      yield* entryAt("aud_month_before", lastBefore)
      yield* entryAt("aud_edge", firstOfEdge)
      const ids = Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM audit_entries WHERE id IN ('aud_long_ago', 'aud_month_before', 'aud_edge') ORDER BY id`,
        (rows) => rows.map(({ id }) => id)
      )

      yield* maintainAuditPartitions(read("0"))
      assert.deepStrictEqual(yield* ids, ["aud_edge", "aud_long_ago", "aud_month_before"])
      yield* maintainAuditPartitions(read())
      assert.deepStrictEqual(yield* ids, ["aud_edge"])
      const left = yield* partitions
      assert.notIncludeMembers(left, [partitionOf(longAgo), partitionOf(lastBefore)])
      const nextMonth = new Date(new Date(now).setUTCMonth(new Date(now).getUTCMonth() + 1, 1))
      assert.includeMembers(left, [partitionOf(edge), partitionOf(new Date(now)), partitionOf(nextMonth)])
      // As often as it likes.
      yield* maintainAuditPartitions(read())
      assert.deepStrictEqual(yield* partitions, left)
    })
  )
})
