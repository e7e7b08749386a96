/** Rows of agents and versions. State changes name the state they leave and write their event with them. */
import type {
  DsseEnvelope,
  Finding,
  Manifest,
  Mode,
  PipelineProgress,
  ScanReport,
  Severity,
  Verdict,
  VersionStatus
} from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Grant } from "./AgentsPolicy.ts"

export interface AgentRow {
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly description: string
  readonly visibility: "public" | "private"
  readonly builtin: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly retiredAt: Date | null
  readonly visibilityBefore: "public" | "private" | null
  readonly latestVersion: string | null
  readonly modes: ReadonlyArray<Mode> | null
}

export interface VersionRow {
  readonly id: string
  readonly agentId: string
  readonly namespace: string
  readonly name: string
  readonly visibility: "public" | "private"
  readonly builtin: string | null
  readonly version: string
  readonly status: VersionStatus
  readonly archiveDigest: string
  readonly archiveBytes: number
  readonly manifestSchemaVersion: number
  readonly manifest: Manifest | null
  readonly scanStatus: "pending" | "scanned" | "skipped"
  readonly verdict: Verdict | null
  readonly findingCounts: Record<Severity, number> | null
  readonly holding: ReadonlyArray<Finding> | null
  readonly signed: boolean
  readonly sourceKind: "upload" | "git"
  readonly sourceCommit: string | null
  readonly submittedBy: string
  readonly submitter: string
  readonly createdAt: Date
  readonly publishedAt: Date | null
}

export type StageEvent = typeof PipelineProgress.Type

export interface ScanOutcome {
  readonly status: VersionStatus
  readonly manifest: Manifest | null
  readonly manifestSchemaVersion: number
  readonly verdict: Verdict
  readonly findingCounts: Record<Severity, number>
  readonly holding: ReadonlyArray<Finding>
  readonly report: ScanReport
  readonly reportEnvelope: typeof DsseEnvelope.Type
  /** Null when there is no manifest to attest. */
  readonly attestation: typeof DsseEnvelope.Type | null
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const one = <A>(rows: ReadonlyArray<A>): A | null => rows[0] ?? null

  const agentColumns = sql.literal(`
    a.id, a.namespace, a.name, a.description, a.visibility, a.builtin, a.created_at, a.updated_at,
    a.retired_at, a.visibility_before,
    latest.version AS latest_version, latest.manifest -> 'modes' AS modes`)
  const latestJoin = sql.literal(`
    LEFT JOIN LATERAL (
      SELECT version, manifest FROM versions v WHERE v.agent_id = a.id AND v.status = 'published' ORDER BY v.published_at DESC, v.id DESC LIMIT 1
    ) latest ON true`)
  const versionColumns = sql.literal(`
    v.id, v.agent_id, a.namespace, a.name, a.visibility, a.builtin, v.version, v.status, v.archive_digest, v.archive_bytes,
    v.manifest_schema_version, v.manifest, v.scan_status, v.verdict, v.finding_counts, v.holding, v.attestation IS NOT NULL AS signed,
    v.source_kind, v.source_commit, v.submitted_by, coalesce(s.handle, 'deleted') AS submitter, v.created_at, v.published_at`)
  const versionFrom = sql.literal(
    "versions v JOIN agents a ON a.id = v.agent_id LEFT JOIN accounts s ON s.id = v.submitted_by"
  )

  const agent = (namespace: string, name: string) =>
    sql<AgentRow>`SELECT ${agentColumns} FROM agents a ${latestJoin} WHERE a.namespace = ${namespace} AND a.name = ${name} AND a.deleted_at IS NULL`.pipe(
      Effect.map(one)
    )

  /** The condition under which `viewer` may read the agent `a`. */
  const readable = (accountId: string | null, privateToo: boolean) =>
    accountId === null || !privateToo
      ? sql`a.visibility = 'public'`
      : sql`(a.visibility = 'public'
          OR EXISTS (SELECT FROM namespaces n WHERE n.handle = a.namespace AND n.owner_id = ${accountId})
          OR EXISTS (SELECT FROM namespaces n JOIN members m ON m.org_id = n.owner_id WHERE n.handle = a.namespace AND m.account_id = ${accountId} AND m.active)
          OR EXISTS (SELECT FROM agent_grants g WHERE g.agent_id = a.id AND g.account_id = ${accountId}))`
  const orders = {
    name: "a.namespace, a.name",
    newest: "a.created_at DESC, a.id DESC",
    submitted: "a.submitted_at DESC NULLS LAST, a.id DESC",
    installs: "(SELECT count(*) FROM install_log l WHERE l.agent_id = a.id) DESC, a.id DESC"
  }
  const order = (sort: keyof typeof orders) => sql.literal(orders[sort])
  const notSuspended = sql`NOT EXISTS (SELECT FROM organizations o WHERE o.handle = a.namespace AND o.state = 'suspended')`

  return {
    agent,
    agentColumns,
    latestJoin,
    readable,
    notSuspended,
    /** Whether the account may read the agent `a` of a statement, suspended namespaces left out. */
    readableBy: (accountId: string) => sql`(${readable(accountId, true)} AND ${notSuspended})`,
    grant: (agentId: string, accountId: string) =>
      sql<{
        level: Exclude<Grant, null>
      }>`SELECT level FROM agent_grants WHERE agent_id = ${agentId} AND account_id = ${accountId}`.pipe(
        Effect.map((rows): Grant => rows[0]?.level ?? null)
      ),
    list: (filter: {
      readonly accountId: string | null
      readonly privateToo: boolean
      readonly namespace?: string | undefined
      readonly q?: string | undefined
      readonly mode?: Mode | undefined
      readonly state?: "active" | "retired" | undefined
      readonly sort: keyof typeof orders
      readonly offset: number
      readonly limit: number
    }) =>
      // The latest version is looked up for the page alone: the total counts every agent that matches.
      sql<AgentRow & { readonly total: number }>`
        WITH page AS (
          SELECT a.id, count(*) OVER ()::integer AS total FROM agents a ${filter.mode === undefined ? sql.literal("") : latestJoin}
          WHERE ${sql.and([
            readable(filter.accountId, filter.privateToo),
            notSuspended,
            sql`a.deleted_at IS NULL`,
            ...(filter.state === undefined
              ? []
              : [filter.state === "retired" ? sql`a.retired_at IS NOT NULL` : sql`a.retired_at IS NULL`]),
            ...(filter.namespace === undefined ? [] : [sql`a.namespace = ${filter.namespace}`]),
            ...(filter.q === undefined || filter.q === ""
              ? []
              : [
                  sql`(a.namespace || '/' || a.name || ' ' || a.description) ILIKE ${`%${filter.q.replace(/[\\%_]/g, "\\$&")}%`}`
                ]),
            ...(filter.mode === undefined ? [] : [sql`latest.manifest -> 'modes' ? ${filter.mode}`])
          ])} ORDER BY ${order(filter.sort)} LIMIT ${filter.limit} OFFSET ${filter.offset}
        )
        SELECT ${agentColumns}, page.total FROM page JOIN agents a ON a.id = page.id ${latestJoin} ORDER BY ${order(filter.sort)}`,
    /** In the order of the ids; one that is gone is left out. */
    agentsById: (ids: ReadonlyArray<string>) =>
      ids.length === 0
        ? Effect.succeed<ReadonlyArray<AgentRow>>([])
        : sql<AgentRow>`
            SELECT ${agentColumns} FROM agents a ${latestJoin} WHERE a.id IN ${sql.in(ids)} AND a.deleted_at IS NULL
            ORDER BY array_position(${ids}::text[], a.id)`,
    countIn: (namespace: string) =>
      sql<{ all: number; private: number }>`
        SELECT count(*)::integer AS all, count(*) FILTER (WHERE visibility = 'private' AND retired_at IS NULL)::integer AS private FROM agents WHERE namespace = ${namespace} AND deleted_at IS NULL`.pipe(
        Effect.map(([row]) => row)
      ),
    insertAgent: (row: {
      readonly id: string
      readonly namespace: string
      readonly name: string
      readonly description: string
      readonly visibility: "public" | "private"
      readonly createdBy: string
      readonly createdAt: Date
    }) => sql`INSERT INTO agents ${sql.insert({ ...row, updatedAt: row.createdAt })}`,
    patchAgent: (
      id: string,
      change: {
        readonly description?: string
        readonly visibility?: "public" | "private"
        readonly builtin?: string | null
      },
      now: Date
    ) => sql`UPDATE agents SET ${sql.update({ ...change, updatedAt: now })} WHERE id = ${id}`,
    /** True also for a tombstone. */
    nameHeld: (namespace: string, name: string) =>
      sql`SELECT 1 FROM agents WHERE namespace = ${namespace} AND name = ${name} AND deleted_at IS NOT NULL`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    retire: (id: string, now: Date) =>
      sql`UPDATE agents SET retired_at = ${now}, visibility_before = visibility, visibility = 'private', updated_at = ${now}
        WHERE id = ${id} AND retired_at IS NULL AND deleted_at IS NULL RETURNING id`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    restore: (id: string, now: Date) =>
      sql`UPDATE agents SET retired_at = NULL, visibility = visibility_before, visibility_before = NULL, updated_at = ${now}
        WHERE id = ${id} AND retired_at IS NOT NULL AND deleted_at IS NULL RETURNING id`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    versionStates: (id: string) =>
      sql<{ status: VersionStatus }>`SELECT DISTINCT status FROM versions WHERE agent_id = ${id}`.pipe(
        Effect.map((rows) => rows.map(({ status }) => status))
      ),
    /** An agent that has versions leaves a tombstone that holds its name. */
    bury: (id: string, now: Date) =>
      sql`UPDATE agents SET deleted_at = ${now}, visibility = 'private', updated_at = ${now} WHERE id = ${id} AND deleted_at IS NULL`,
    remove: Effect.fnUntraced(function* (id: string) {
      for (const table of ["agent_grants", "agent_stars", "install_log"])
        yield* sql`DELETE FROM ${sql(table)} WHERE agent_id = ${id}`
      yield* sql`DELETE FROM agents WHERE id = ${id}`
    }),
    stats: (id: string, since: Date) =>
      sql<{ installsTotal: number; installs30d: number; stars: number }>`
        SELECT (SELECT count(*)::integer FROM install_log WHERE agent_id = ${id}) AS installs_total,
          (SELECT count(*)::integer FROM install_log WHERE agent_id = ${id} AND at > ${since}) AS installs30d,
          (SELECT count(*)::integer FROM agent_stars WHERE agent_id = ${id}) AS stars`.pipe(Effect.map(([row]) => row)),
    /** Serializes what counts agents of a namespace or versions of an agent, for the rest of the transaction. */
    lock: (subject: string) => sql`SELECT pg_advisory_xact_lock(hashtextextended(${subject}, 0))`,

    version: (namespace: string, name: string, version: string) =>
      sql<VersionRow>`SELECT ${versionColumns} FROM ${versionFrom} WHERE a.namespace = ${namespace} AND a.name = ${name} AND a.deleted_at IS NULL AND v.version = ${version}`.pipe(
        Effect.map(one)
      ),
    versionById: (id: string) =>
      sql<VersionRow>`SELECT ${versionColumns} FROM ${versionFrom} WHERE v.id = ${id}`.pipe(Effect.map(one)),
    latestPublished: (namespace: string, name: string) =>
      sql<VersionRow>`
        SELECT ${versionColumns} FROM ${versionFrom} WHERE a.namespace = ${namespace} AND a.name = ${name} AND a.deleted_at IS NULL AND v.status = 'published'
        ORDER BY v.published_at DESC, v.id DESC LIMIT 1`.pipe(Effect.map(one)),
    byArchive: (agentId: string, digest: string) =>
      sql<VersionRow>`SELECT ${versionColumns} FROM ${versionFrom} WHERE v.agent_id = ${agentId} AND v.archive_digest = ${digest} ORDER BY v.created_at DESC LIMIT 1`.pipe(
        Effect.map(one)
      ),
    versions: (agentId: string, all: boolean, offset: number, limit: number) =>
      sql<VersionRow & { readonly total: number }>`
        SELECT ${versionColumns}, count(*) OVER ()::integer AS total FROM ${versionFrom}
        WHERE v.agent_id = ${agentId} AND (${all}::boolean OR v.published_at IS NOT NULL)
        ORDER BY v.created_at DESC, v.id DESC LIMIT ${limit} OFFSET ${offset}`,
    inReview: (limit: number) =>
      sql<VersionRow>`SELECT ${versionColumns} FROM ${versionFrom} WHERE v.status = 'needs_review' ORDER BY v.created_at, v.id LIMIT ${limit}`,
    holdsArchive: (digest: string) =>
      sql`SELECT 1 FROM versions WHERE archive_digest = ${digest} LIMIT 1`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    submittedSince: (agentId: string, since: Date) =>
      sql<{
        count: number
      }>`SELECT count(*)::integer AS count FROM versions WHERE agent_id = ${agentId} AND created_at > ${since}`.pipe(
        Effect.map(([row]) => row.count)
      ),
    insertVersion: (row: {
      readonly id: string
      readonly agentId: string
      readonly version: string
      readonly archiveDigest: string
      readonly archiveBytes: number
      readonly manifestSchemaVersion: number
      readonly sourceKind: "upload" | "git"
      readonly sourceCommit: string | null
      readonly submittedBy: string
      readonly createdAt: Date
    }) =>
      Effect.andThen(
        sql`INSERT INTO versions ${sql.insert({ ...row, status: "scanning", scanStatus: "pending", progressedAt: row.createdAt })}`,
        sql`UPDATE agents SET submitted_at = ${row.createdAt} WHERE id = ${row.agentId}`
      ),

    signatures: (id: string) =>
      sql<{
        report: ScanReport | null
        reportEnvelope: typeof DsseEnvelope.Type | null
        attestation: typeof DsseEnvelope.Type | null
      }>`
        SELECT report, report_envelope, attestation FROM versions WHERE id = ${id}`.pipe(Effect.map(one)),
    /** The grants of the release before, for what a new version widens. */
    lastPublishedManifest: (agentId: string) =>
      sql<{ version: string; manifest: Manifest; archiveDigest: string }>`
        SELECT version, manifest, archive_digest FROM versions WHERE agent_id = ${agentId} AND status IN ('published', 'yanked') AND manifest IS NOT NULL
        ORDER BY published_at DESC LIMIT 1`.pipe(Effect.map(one)),

    /** `to` only from one of `from`, with its event. False: someone else was faster. */
    move: (id: string, from: ReadonlyArray<VersionStatus>, to: VersionStatus, now: Date) =>
      sql`
        WITH moved AS (
          UPDATE versions SET status = ${to}, event_seq = event_seq + 1, progressed_at = ${now},
            published_at = CASE WHEN ${to} = 'published' THEN coalesce(published_at, ${now}::timestamptz) ELSE published_at END
          WHERE id = ${id} AND status IN ${sql.in(from)} RETURNING id, event_seq
        )
        INSERT INTO version_events (version_id, seq, event, data)
        SELECT id, event_seq, 'status', ${JSON.stringify({ status: to, at: now.toISOString() })}::jsonb FROM moved RETURNING seq`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** What the version was before it was moved to where it is. */
    statusBefore: (id: string) =>
      sql<{ status: VersionStatus }>`
        SELECT data ->> 'status' AS status FROM version_events WHERE version_id = ${id} AND event = 'status' ORDER BY seq DESC OFFSET 1 LIMIT 1`.pipe(
        Effect.map((rows) => one(rows)?.status ?? null)
      ),
    /** The end of a scan, once. */
    concludeScan: (id: string, outcome: ScanOutcome, now: Date) =>
      sql`
        WITH moved AS (
          UPDATE versions SET status = ${outcome.status}, scan_status = 'scanned', manifest = ${json(outcome.manifest)}::jsonb,
            manifest_schema_version = ${outcome.manifestSchemaVersion}, verdict = ${outcome.verdict},
            finding_counts = ${json(outcome.findingCounts)}::jsonb, holding = ${json(outcome.holding)}::jsonb,
            report = ${json(outcome.report)}::jsonb, report_envelope = ${json(outcome.reportEnvelope)}::jsonb,
            attestation = ${json(outcome.attestation)}::jsonb, event_seq = event_seq + 1, progressed_at = ${now},
            published_at = CASE WHEN ${outcome.status} = 'published' THEN ${now}::timestamptz END
          WHERE id = ${id} AND status = 'scanning' RETURNING id, event_seq
        )
        INSERT INTO version_events (version_id, seq, event, data)
        SELECT id, event_seq, 'status', ${json({ status: outcome.status, verdict: outcome.verdict, at: now.toISOString() })}::jsonb FROM moved RETURNING seq`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** A pipeline that did not end in time, to a person. */
    concludeBroken: (id: string, holding: ReadonlyArray<Finding>, now: Date) =>
      sql`
        WITH moved AS (
          UPDATE versions SET status = 'needs_review', holding = ${json(holding)}::jsonb, event_seq = event_seq + 1, progressed_at = ${now}
          WHERE id = ${id} AND status = 'scanning' RETURNING id, event_seq
        )
        INSERT INTO version_events (version_id, seq, event, data)
        SELECT id, event_seq, 'status', ${json({ status: "needs_review", at: now.toISOString() })}::jsonb FROM moved RETURNING seq`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** What a scan tells. False: the version is not `scanning` any more, and nothing was told. */
    addEvent: (id: string, event: "stage" | "status", data: unknown, now: Date) =>
      sql`
        WITH next AS (
          UPDATE versions SET event_seq = event_seq + 1, progressed_at = ${now} WHERE id = ${id} AND status = 'scanning' RETURNING id, event_seq
        )
        INSERT INTO version_events (version_id, seq, event, data)
        SELECT id, event_seq, ${event}::text, ${json(data)}::jsonb FROM next RETURNING seq`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    events: (id: string, after: number) =>
      sql<{ seq: number; event: "stage" | "status"; data: Record<string, unknown> }>`
        SELECT seq, event, data FROM version_events WHERE version_id = ${id} AND seq > ${after} ORDER BY seq LIMIT 500`,
    stageEvents: (ids: ReadonlyArray<string>) =>
      sql<{ versionId: string; seq: number; data: StageEvent }>`
        SELECT DISTINCT ON (version_id, data ->> 'stage') version_id, data, seq FROM version_events
        WHERE version_id IN ${sql.in(ids.length === 0 ? [""] : ids)} AND event = 'stage'
        ORDER BY version_id, data ->> 'stage', seq DESC`.pipe(
        // In the order of the pipeline, which is that of the last event of each stage.
        Effect.map((rows) => rows.toSorted((a, b) => a.seq - b.seq))
      ),
    /** Scans without progress since `before`: oldest first. */
    idleScans: (before: Date, limit: number) =>
      sql<{
        id: string
      }>`SELECT id FROM versions WHERE status = 'scanning' AND progressed_at < ${before} ORDER BY progressed_at LIMIT ${limit}`,
    /** Scans of versions that were submitted before `before`, whether they get on or not. */
    scansOlderThan: (before: Date, limit: number) =>
      sql<{ id: string; namespace: string; ref: string }>`
        SELECT v.id, a.namespace, a.namespace || '/' || a.name || '@' || v.version AS ref FROM ${versionFrom}
        WHERE v.status = 'scanning' AND v.created_at < ${before} ORDER BY v.created_at LIMIT ${limit}`
  }
})

const json = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(value))

export class AgentsSql extends Context.Service<AgentsSql, Effect.Success<typeof make>>()("catalog/AgentsSql") {
  static readonly layer = Layer.effect(AgentsSql, make)
}
