import { assert, layer } from "@effect/vitest"
import { migrations as catalogMigrations } from "@quickagents/catalog"
import { migrations as identityMigrations } from "@quickagents/identity"
import { migrations as orgsMigrations } from "@quickagents/orgs"
import { Database, migrations as platformMigrations } from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import { Effect, Exit, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../migrations/index.ts"
import { LogSql } from "./LogSql.ts"
import { grown, leafHash, rangeHash } from "./MerkleTree.ts"
import { appendToLog } from "./Sequencer.ts"

const whole: Database.Migrations = {
  ...platformMigrations,
  ...identityMigrations,
  ...orgsMigrations,
  ...catalogMigrations,
  ...migrations
}
const before: Database.Migrations = Object.fromEntries(
  Object.entries(whole).filter(([name]) => name < "2026112250_transparency_log")
)

const Live = LogSql.layer.pipe(Layer.provideMerge(layerDatabase(before)), Layer.provideMerge(Logger.layer([])))

const agents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO namespaces VALUES ('ada', 'account', 'acc')`
  for (const [id, name, visibility] of [
    ["agt_open", "open", "public"],
    ["agt_secret", "secret", "private"]
  ] as const) {
    yield* sql`INSERT INTO agents (id, namespace, name, visibility, created_by, created_at, updated_at)
      VALUES (${id}, 'ada', ${name}, ${visibility}, 'acc', now(), now())`
  }
})

/** Published versions `from` up to and without `to`, as the gate leaves them. */
const published = (agent: string, from: number, to: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (
      sql
    ) => sql`INSERT INTO versions (id, agent_id, version, status, archive_digest, archive_bytes, manifest_schema_version, scan_status,
      attestation, source_kind, submitted_by, created_at, progressed_at, published_at)
    SELECT ${agent} || '_' || n, ${agent}, '1.0.' || n, 'published', 'sha256:' || lpad(to_hex(n), 64, '0'), 1, 2, 'scanned',
      jsonb_build_object('payloadType', 't', 'payload', n::text, 'signatures', jsonb_build_array(jsonb_build_object('keyid', 'k', 'sig', n::text))),
      'upload', 'acc', now(), now(), now() FROM generate_series(${from}::integer, ${to - 1}::integer) n`
  )

interface Logged {
  readonly leaf: number
  readonly versionId: string
  readonly hidden: boolean
  readonly entry: string
}
const log = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const entries = yield* sql<Logged>`SELECT leaf, version_id, hidden, entry FROM log_entries ORDER BY leaf`
  const pending = yield* sql<{ versionId: string }>`SELECT version_id FROM log_pending`
  return { entries, pending: pending.length, checkpoint: yield* (yield* LogSql).checkpoint }
})

/** Leaves without a gap, and the root over exactly these. */
const holds = Effect.gen(function* () {
  const found = yield* log
  assert.deepStrictEqual(
    found.entries.map(({ leaf }) => leaf),
    found.entries.map((_, index) => index)
  )
  const nodes = new Map(
    grown(
      0,
      found.entries.map(({ entry }) => leafHash(Buffer.from(entry))),
      () => assert.fail("an empty tree has no nodes")
    ).map(({ hash, index, level }) => [`${level}/${index}`, hash])
  )
  const size = found.entries.length
  assert.strictEqual(found.checkpoint.size, size)
  assert.deepStrictEqual(
    rangeHash({ from: 0, to: size }, ({ index, level }) => nodes.get(`${level}/${index}`)!),
    found.checkpoint.root
  )
  return found
})

layer(Live, { excludeTestServices: true })("the sequencer", (it) => {
  it.effect("logs what was published before there was a log", () =>
    Effect.gen(function* () {
      yield* agents
      yield* published("agt_open", 0, 20)
      yield* Database.migrate(whole)
      yield* appendToLog
      const { entries, pending } = yield* holds
      assert.strictEqual(pending, 0)
      assert.lengthOf(entries, 20)
      assert.match(
        entries[0].entry,
        /^\{"archive":"sha256:0{64}","attestation":"sha256:[0-9a-f]{64}","ref":"ada\/open@1\.0\.0"\}$/
      )
    })
  )

  it.effect("loses and doubles nothing, whoever else appends and whenever it is cut off", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 8; round++) {
        const appending = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(appendToLog))
        yield* published("agt_open", 20 + round * 250, 20 + (round + 1) * 250)
        // The later the round, the further it got.
        const sql = yield* SqlClient.SqlClient
        yield* Effect.repeat(sql`SELECT 1`, { times: round })
        yield* Fiber.interrupt(appending[round % 3])
        const ends = yield* Effect.forEach(appending, (fiber) => Fiber.await(fiber))
        assert.isTrue(ends.every((end) => Exit.isSuccess(end) || Exit.hasInterrupts(end)))
      }
      yield* appendToLog
      const { entries, pending } = yield* holds
      assert.strictEqual(pending, 0)
      assert.lengthOf(new Set(entries.map(({ versionId }) => versionId)), 2_020)
      assert.lengthOf(entries, 2_020)
    })
  )

  it.effect("hides a private agent, and shows it once when it becomes public", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* published("agt_secret", 0, 2)
      yield* appendToLog
      const ofSecret = Effect.map(holds, ({ entries }) => entries.filter(({ versionId }) => /secret/.test(versionId)))
      const hidden = yield* ofSecret
      assert.lengthOf(hidden, 2)
      for (const { entry } of hidden) assert.match(entry, /^\{"commitment":"sha256:[0-9a-f]{64}"\}$/)
      const visible = (visibility: "public" | "private") =>
        Effect.andThen(sql`UPDATE agents SET visibility = ${visibility} WHERE id = 'agt_secret'`, appendToLog)
      yield* visible("public")
      yield* visible("private")
      yield* visible("public")
      assert.deepStrictEqual(
        (yield* ofSecret).map(({ hidden }) => hidden),
        [true, true, false, false]
      )
    })
  )

  it.effect("leaves for later what another transaction is just deciding", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* published("agt_secret", 2, 3)
      // Of another fiber, and so with a connection of its own: it must not wait for the transaction.
      const elsewhere = Effect.runPromiseWith(yield* Effect.context<LogSql | SqlClient.SqlClient>())
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`UPDATE agents SET visibility = 'private' WHERE id = 'agt_secret'`
          yield* Effect.promise(() => elsewhere(appendToLog))
          assert.strictEqual((yield* log).pending, 1)
        })
      )
      yield* appendToLog
      const { entries } = yield* holds
      assert.match(entries.at(-1)!.entry, /commitment/)
    })
  )

  it.effect("builds on no tree but the one that was signed, and no row of it changes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const refused = yield* Effect.exit(sql`UPDATE log_entries SET entry = '{}' WHERE leaf = 7`)
      assert.isTrue(Exit.isFailure(refused))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(sql`DELETE FROM log_nodes WHERE level = 0 AND index = 7`)))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(sql`DELETE FROM log_checkpoints`)))

      yield* published("agt_open", 9_000, 9_001)
      const size = (yield* log).entries.length
      yield* sql`ALTER TABLE log_nodes DISABLE TRIGGER log_nodes_stay`
      const root = yield* sql<{ hash: Uint8Array }>`SELECT hash FROM log_nodes ORDER BY level DESC, index LIMIT 1`
      const set = (hash: Uint8Array) =>
        sql`UPDATE log_nodes SET hash = ${hash} WHERE (level, index) = (SELECT level, index FROM log_nodes ORDER BY level DESC, index LIMIT 1)`
      yield* set(Buffer.alloc(32))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(appendToLog)))
      assert.lengthOf((yield* log).entries, size)
      assert.strictEqual((yield* log).pending, 1)
      yield* set(root[0].hash)
      yield* appendToLog
      assert.lengthOf((yield* holds).entries, size + 1)
    })
  )
})
