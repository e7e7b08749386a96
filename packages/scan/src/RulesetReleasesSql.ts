/** Rows of ruleset releases and of the rescans that they ask for. */
import type { Finding, Rescan, RulesetRelease, StageResult } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

export interface ReleaseRow {
  readonly id: string
  readonly rulesetVersion: string
  readonly rulesetHash: RulesetRelease["ruleset"]["hash"]
  readonly malwareRules: RulesetRelease["ruleset"]["malwareRules"]
  /** Hash of each rule by its id. */
  readonly rules: Readonly<Record<string, string>>
  readonly changes: RulesetRelease["changes"]
  readonly notes: string
  readonly state: RulesetRelease["state"]
  readonly listedTo: string
  readonly total: number
  readonly done: number
  readonly quarantined: number
  readonly flagged: number
  readonly failed: number
  readonly releasedBy: string
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

/** The stages that a ruleset release can change. */
export type RulesetStage = "S4" | "S8"

export interface RescanRow {
  readonly versionId: string
  readonly stages: ReadonlyArray<RulesetStage>
  readonly attempts: number
}

export type RescanOutcome = "unchanged" | "recorded" | "flagged" | "quarantined"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const one = <A>(rows: ReadonlyArray<A>): A | null => rows[0] ?? null
  const select = sql.literal(
    "SELECT l.*, coalesce(s.handle, 'deleted') AS released_by FROM ruleset_releases l LEFT JOIN accounts s ON s.id = l.created_by"
  )

  return {
    list: (offset: number, limit: number) =>
      sql<ReleaseRow>`${select} ORDER BY l.id DESC LIMIT ${limit} OFFSET ${offset}`,
    count: sql<{ count: number }>`SELECT count(*)::integer AS count FROM ruleset_releases`.pipe(
      Effect.map(([row]) => row.count)
    ),
    byId: (id: string) => sql<ReleaseRow>`${select} WHERE l.id = ${id}`.pipe(Effect.map(one)),
    /** One release after the other, for the rest of the transaction. */
    lock: sql`SELECT pg_advisory_xact_lock(hashtextextended('ruleset-releases', 0))`,
    last: sql<ReleaseRow>`${select} ORDER BY l.id DESC LIMIT 1`.pipe(Effect.map(one)),
    running: sql<ReleaseRow>`${select} WHERE l.state IN ('listing', 'rescanning')`.pipe(Effect.map(one)),
    /** For the rest of the transaction, before any row of a version. False: it does not run any more. */
    lockRunning: (id: string) =>
      sql`SELECT 1 FROM ruleset_releases WHERE id = ${id} AND state IN ('listing', 'rescanning') FOR UPDATE`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    insert: (row: {
      readonly id: string
      readonly rulesetVersion: string
      readonly rulesetHash: string
      readonly malwareRules: string
      readonly rules: Readonly<Record<string, string>>
      readonly changes: RulesetRelease["changes"]
      readonly notes: string
      readonly createdBy: string
      readonly createdAt: Date
    }) =>
      sql`INSERT INTO ruleset_releases ${sql.insert({
        ...row,
        rules: JSON.stringify(row.rules),
        changes: JSON.stringify(row.changes),
        state: "listing"
      })}`,
    /** What it had not got to is the next release's. */
    supersede: (id: string, now: Date) =>
      Effect.andThen(
        sql`UPDATE ruleset_releases SET state = 'superseded', finished_at = ${now} WHERE id = ${id}`,
        sql`DELETE FROM rescans WHERE release_id = ${id} AND state = 'queued'`
      ),
    /**
     * Queues those of the next `limit` versions that people can get and that no
     * scan has judged by the release's rules. Versions that were admitted without a scan stay so.
     */
    listNext: ({ id, listedTo, malwareRules, rulesetHash }: ReleaseRow, limit: number, now: Date) =>
      sql`
        WITH page AS (SELECT id, agent_id, status, scan_status, report FROM versions WHERE id > ${listedTo} ORDER BY id LIMIT ${limit}),
        live AS (
          SELECT page.id, report FROM page JOIN agents a ON a.id = agent_id AND a.deleted_at IS NULL
          WHERE status IN ('published', 'yanked') AND scan_status = 'scanned' AND report IS NOT NULL
        ),
        judged AS (
          SELECT live.id, s FROM live, jsonb_array_elements(live.report -> 'stages') s
          UNION ALL
          SELECT live.id, s FROM live JOIN rescans r ON r.version_id = live.id AND r.state = 'done', jsonb_array_elements(r.results) s
        ),
        wanted AS (
          SELECT live.id, array_remove(ARRAY[
            CASE WHEN NOT EXISTS (SELECT FROM judged j WHERE j.id = live.id AND j.s ->> 'stage' = 'S4' AND j.s #>> '{inputs,yaraRules}' = ${malwareRules}) THEN 'S4' END,
            CASE WHEN NOT EXISTS (SELECT FROM judged j WHERE j.id = live.id AND j.s ->> 'stage' = 'S8' AND j.s #>> '{inputs,ruleset}' = ${rulesetHash}) THEN 'S8' END
          ], NULL) AS stages FROM live
        ),
        queued AS (
          INSERT INTO rescans (release_id, version_id, stages, due_at)
          SELECT ${id}, id, stages, ${now}::timestamptz FROM wanted WHERE cardinality(stages) > 0 RETURNING 1
        )
        UPDATE ruleset_releases SET total = total + (SELECT count(*) FROM queued), listed_to = coalesce((SELECT max(id) FROM page), listed_to),
          state = CASE WHEN (SELECT count(*) FROM page) < ${limit} THEN 'rescanning' ELSE state END
        WHERE id = ${id}`,
    submissionsWait: sql`SELECT 1 FROM versions WHERE status = 'scanning' LIMIT 1`.pipe(
      Effect.map((rows) => rows.length > 0)
    ),
    /** Counts the attempt before it begins: a version that ends the process is not tried for ever. Until `leased` it is nobody else's. */
    next: (releaseId: string, leased: Date, now: Date) =>
      sql<RescanRow>`
        UPDATE rescans SET attempts = attempts + 1, due_at = ${leased} WHERE release_id = ${releaseId} AND version_id = (
          SELECT version_id FROM rescans WHERE release_id = ${releaseId} AND state = 'queued' AND due_at <= ${now}
          ORDER BY due_at, version_id LIMIT 1 FOR UPDATE SKIP LOCKED
        ) RETURNING version_id, stages, attempts`.pipe(Effect.map(one)),
    again: (releaseId: string, versionId: string, at: Date) =>
      sql`UPDATE rescans SET due_at = ${at} WHERE release_id = ${releaseId} AND version_id = ${versionId} AND state = 'queued'`,
    fail: (releaseId: string, versionId: string, now: Date) =>
      sql`
        WITH failed AS (
          UPDATE rescans SET state = 'failed', finished_at = ${now} WHERE release_id = ${releaseId} AND version_id = ${versionId} AND state = 'queued' RETURNING 1
        )
        UPDATE ruleset_releases SET done = done + 1, failed = failed + 1 WHERE id = ${releaseId} AND EXISTS (SELECT FROM failed)`,
    /** False: it is concluded already. */
    conclude: (
      releaseId: string,
      versionId: string,
      found: {
        readonly outcome: RescanOutcome
        readonly results: ReadonlyArray<StageResult>
        readonly newFindings: ReadonlyArray<Finding>
      },
      now: Date
    ) =>
      sql`
        WITH concluded AS (
          UPDATE rescans SET state = 'done', outcome = ${found.outcome}, results = ${JSON.stringify(found.results)}::jsonb,
            new_findings = ${JSON.stringify(found.newFindings)}::jsonb, finished_at = ${now}
          WHERE release_id = ${releaseId} AND version_id = ${versionId} AND state = 'queued' RETURNING 1
        )
        UPDATE ruleset_releases SET done = done + 1, flagged = flagged + ${found.outcome === "flagged" ? 1 : 0}::integer,
          quarantined = quarantined + ${found.outcome === "quarantined" ? 1 : 0}::integer
        WHERE id = ${releaseId} AND EXISTS (SELECT FROM concluded) RETURNING 1`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    finish: (id: string, now: Date) =>
      sql`UPDATE ruleset_releases SET state = 'done', finished_at = ${now}
        WHERE id = ${id} AND state = 'rescanning' AND NOT EXISTS (SELECT FROM rescans WHERE release_id = ${id} AND state = 'queued')`,
    /** What the first scan and the rescans since have found, whatever was decided about it. */
    knownFindings: (versionId: string) =>
      sql<{ finding: Finding }>`
        SELECT f AS finding FROM versions v, jsonb_array_elements(v.report -> 'stages') s, jsonb_array_elements(s -> 'findings') f WHERE v.id = ${versionId}
        UNION ALL
        SELECT f FROM rescans r, jsonb_array_elements(r.new_findings) f WHERE r.version_id = ${versionId} AND r.state = 'done'`.pipe(
        Effect.map((rows) => rows.map(({ finding }) => finding))
      ),
    rescansOf: (versionId: string) =>
      sql<Omit<Rescan, "finishedAt"> & { readonly finishedAt: Date }>`
        SELECT r.release_id AS release, l.ruleset_version, r.results AS stages, r.new_findings, r.outcome, r.finished_at
        FROM rescans r JOIN ruleset_releases l ON l.id = r.release_id
        WHERE r.version_id = ${versionId} AND r.state = 'done' ORDER BY r.finished_at DESC, r.release_id DESC LIMIT 100`,
    hold: (versionId: string, holding: ReadonlyArray<Finding>) =>
      sql`UPDATE versions SET holding = ${JSON.stringify(holding)}::jsonb WHERE id = ${versionId}`
  }
})

export class RulesetReleasesSql extends Context.Service<RulesetReleasesSql, Effect.Success<typeof make>>()(
  "scan/RulesetReleasesSql"
) {
  static readonly layer = Layer.effect(RulesetReleasesSql, make)
}
