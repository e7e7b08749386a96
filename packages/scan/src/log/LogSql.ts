/** Rows of the transparency log. Nothing here changes a row of the tree. */
import type { Digest, DsseEnvelope, LogOpening } from "@quickagents/schema"
import { Array as Arr, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Hash, Position, Range, TreeNode } from "./MerkleTree.ts"
import { subtreesOf } from "./MerkleTree.ts"

export interface PendingRow {
  readonly versionId: string
  readonly ref: string
  readonly archiveDigest: Digest
  readonly attestation: DsseEnvelope
  readonly visibility: "public" | "private"
  readonly inClear: boolean
  readonly hidden: boolean
}

export interface EntryRow {
  readonly leaf: number
  readonly versionId: string
  readonly hidden: boolean
  readonly entry: string
  readonly opening: LogOpening | null
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const insertAll = (table: string, rows: ReadonlyArray<Record<string, unknown>>) =>
    Arr.match(rows, {
      onEmpty: () => Effect.void,
      onNonEmpty: (rows) => Effect.asVoid(sql`INSERT INTO ${sql(table)} ${sql.insert(rows)}`)
    })
  return {
    /** One sequencer at a time, for the rest of the transaction; readers do not wait. */
    lock: sql`LOCK TABLE log_checkpoints IN EXCLUSIVE MODE`,
    checkpoint: sql<{ size: number; root: Uint8Array }>`
      SELECT size, root FROM log_checkpoints ORDER BY size DESC LIMIT 1`.pipe(
      Effect.map(([{ root, size }]) => ({ size, root: Buffer.from(root) }))
    ),
    /** Oldest first, locked until the transaction ends. What another transaction is just writing is left for the next time. */
    pending: (limit: number) =>
      Effect.gen(function* () {
        const taken = yield* sql<{ versionId: string }>`
          SELECT version_id FROM log_pending ORDER BY place LIMIT ${limit} FOR UPDATE SKIP LOCKED`
        if (taken.length === 0) return []
        // Not in one statement: this one must see what was committed before the rows were locked. And the agent
        // stays as it is until the entry is there, or a change of its visibility would not know of the version.
        return yield* sql<PendingRow>`
          SELECT v.id AS version_id, coalesce(v.released_as, a.namespace || '/' || a.name) || '@' || v.version AS ref, v.archive_digest, v.attestation, a.visibility,
            EXISTS (SELECT FROM log_entries e WHERE e.version_id = v.id AND NOT e.hidden) AS in_clear,
            EXISTS (SELECT FROM log_entries e WHERE e.version_id = v.id AND e.hidden) AS hidden
          FROM log_pending p JOIN versions v ON v.id = p.version_id JOIN agents a ON a.id = v.agent_id
          WHERE v.id IN ${sql.in(taken.map(({ versionId }) => versionId))}
          ORDER BY p.place FOR SHARE OF a SKIP LOCKED`
      }),
    settled: (versionIds: ReadonlyArray<string>) =>
      sql`DELETE FROM log_pending WHERE version_id IN ${sql.in(versionIds)}`,
    grow: Effect.fnUntraced(function* (
      entries: ReadonlyArray<EntryRow>,
      nodes: ReadonlyArray<TreeNode>,
      checkpoint: { readonly size: number; readonly root: Buffer; readonly madeAt: Date }
    ) {
      yield* insertAll(
        "log_entries",
        entries.map((row) => ({ ...row, opening: row.opening === null ? null : JSON.stringify(row.opening) }))
      )
      yield* insertAll(
        "log_nodes",
        nodes.map(({ hash, index, level }) => ({ level, index, hash }))
      )
      yield* sql`INSERT INTO log_checkpoints ${sql.insert(checkpoint)}`
    }),

    /** What knows the hashes of the complete subtrees of `ranges`. */
    hashesUnder: Effect.fnUntraced(function* (ranges: ReadonlyArray<Range>) {
      const positions = ranges.flatMap(subtreesOf)
      const nodes =
        positions.length === 0
          ? []
          : yield* sql<
              Position & { readonly hash: Uint8Array }
            >`SELECT level, index, hash FROM log_nodes WHERE ${sql.or(
              positions.map(({ index, level }) => sql`(level = ${level} AND index = ${index})`)
            )}`
      const found = new Map(nodes.map(({ hash, index, level }) => [`${level}/${index}`, Buffer.from(hash)]))
      return ({ index, level }: Position): Hash => {
        const hash = found.get(`${level}/${index}`)
        if (hash === undefined) throw new Error(`the log has lost its node ${level}/${index}`)
        return hash
      }
    }),
    hashes: (level: number, from: number, count: number) =>
      sql<{ hash: Uint8Array }>`
        SELECT hash FROM log_nodes WHERE level = ${level} AND index >= ${from} AND index < ${from + count} ORDER BY index`.pipe(
        Effect.map((rows) => rows.map(({ hash }) => hash))
      ),
    entries: (from: number, count: number) =>
      sql<{ entry: string }>`
        SELECT entry FROM log_entries WHERE leaf >= ${from} AND leaf < ${from + count} ORDER BY leaf`.pipe(
        Effect.map((rows) => rows.map(({ entry }) => Buffer.from(entry)))
      ),
    /** The leaf of a release, by the name that its agent has or had: the one in clear, or of a private agent its commitment. */
    entryOf: (namespace: string, name: string, version: string) =>
      sql<EntryRow>`
        SELECT e.leaf, e.version_id, e.hidden, e.entry, e.opening
        FROM agents a JOIN versions v ON v.agent_id = a.id JOIN log_entries e ON e.version_id = v.id
        WHERE a.id = coalesce(
            (SELECT id FROM agents WHERE namespace = ${namespace} AND name = ${name}),
            (SELECT agent_id FROM former_names WHERE namespace = ${namespace} AND name = ${name}))
          AND v.version = ${version} AND (NOT e.hidden OR a.visibility = 'private')
        ORDER BY e.hidden LIMIT 1`.pipe(Effect.map((rows) => rows[0] ?? null)),
    entryWith: (leafHash: Buffer) =>
      sql<EntryRow>`
        SELECT e.leaf, e.version_id, e.hidden, e.entry, NULL AS opening
        FROM log_nodes n JOIN log_entries e ON e.leaf = n.index WHERE n.level = 0 AND n.hash = ${leafHash} ORDER BY e.leaf LIMIT 1`.pipe(
        Effect.map((rows) => rows[0] ?? null)
      )
  }
})

export class LogSql extends Context.Service<LogSql, Effect.Success<typeof make>>()("scan/LogSql") {
  static readonly layer = Layer.effect(LogSql, make)
}
