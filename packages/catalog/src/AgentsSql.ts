/** Rows of agents and versions. State changes name the state they leave and write their event with them. */
import { inRange, NotFound } from "@quickagents/schema"
import type {
  AdvisoryNote,
  Digest,
  DsseEnvelope,
  Finding,
  ForkState,
  Manifest,
  Mode,
  PipelineProgress,
  ScanReport,
  Severity,
  Verdict,
  VersionStatus
} from "@quickagents/schema"
import { unseen } from "@quickagents/orgs"
import { Batch } from "@quickagents/platform"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import type { Grant, Role } from "./AgentsPolicy.ts"

/** A published advisory beside the rows of its agent; which versions it affects is asked of `affecting`. */
export interface PublishedAdvisory extends AdvisoryNote {
  readonly affected: string
}

/** Of an agent's published advisories those that are about this version. */
export const affecting = (
  advisories: ReadonlyArray<PublishedAdvisory> | null,
  version: string | null
): { readonly advisories?: ReadonlyArray<AdvisoryNote> } => {
  const found =
    version === null
      ? []
      : (advisories ?? []).flatMap(({ affected, ...note }) => (inRange(affected, version) ? [note] : []))
  return found.length === 0 ? {} : { advisories: found }
}

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
  readonly dependencyAlerts: number
  readonly pipelineSkip: boolean
  /** Id of the source. */
  readonly forkedFrom: string | null
  readonly forkedVersion: string | null
  /** `ns/name` of the source when it was forked; null when it was private then. */
  readonly forkedAs: string | null
  readonly forkState: ForkState | null
  readonly forkDetail: string | null
  readonly forkArchive: Digest | null
  readonly forkArchiveBytes: number | null
  readonly forkCount: number
  /** `ns/name` of the source now; null when whoever reads this may not read it. */
  readonly source: string | null
  readonly latestVersion: string | null
  readonly modes: ReadonlyArray<Mode> | null
  readonly advisories: ReadonlyArray<PublishedAdvisory> | null
}

export interface VersionRow {
  readonly id: string
  readonly agentId: string
  readonly namespace: string
  /** The namespace, when it is an organization's. */
  readonly org: string | null
  readonly name: string
  readonly visibility: "public" | "private"
  readonly builtin: string | null
  readonly version: string
  /** `ns/name` that it was released under, when that is not the agent's any more. */
  readonly releasedAs: string | null
  readonly status: VersionStatus
  readonly archiveDigest: string
  readonly archiveBytes: number
  readonly manifestSchemaVersion: number
  readonly manifest: Manifest | null
  readonly scanStatus: "pending" | "scanned" | "skipped"
  readonly verdict: Verdict | null
  readonly findingCounts: Record<Severity, number> | null
  readonly holding: ReadonlyArray<Finding> | null
  readonly advisories: ReadonlyArray<PublishedAdvisory> | null
  readonly signed: boolean
  readonly sourceKind: "upload" | "git"
  readonly sourceCommit: string | null
  readonly submittedBy: string
  readonly submitter: string
  readonly createdAt: Date
  readonly publishedAt: Date | null
}

export type StageEvent = typeof PipelineProgress.Type

/** A fork whose copy is to be made. */
export interface CopyingFork {
  readonly id: string
  readonly namespace: string
  /** The namespace, when it is an organization's. */
  readonly org: string | null
  readonly name: string
  readonly forkedFrom: string
  readonly forkedVersion: string
}

/** A published version, to be copied into a fork. */
export interface CopiedVersion {
  readonly ref: string
  readonly version: string
  readonly archiveDigest: Digest
  readonly archiveBytes: number
  readonly publishedAt: Date
}

/** What a reader is to the agent of a row. */
export interface StandingRow {
  readonly namespaceKind: "account" | "org"
  readonly decommissionAt: Date | null
  readonly role: Role
  readonly granted: Grant
}

/** Whose reading it is; null without a credential. */
export interface Reader {
  readonly accountId: string | null
  readonly privateToo: boolean
}

export interface ScanOutcome {
  readonly status: VersionStatus
  readonly scanStatus: "scanned" | "skipped"
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

  const advisories = `
    (SELECT jsonb_agg(jsonb_build_object('id', w.id, 'severity', w.severity, 'summary', w.summary, 'affected', w.affected) ORDER BY w.id)
     FROM advisories w WHERE w.agent_id = a.id AND w.state = 'published') AS advisories`
  const agentColumns = sql.literal(`
    a.id, a.namespace, a.name, a.description, a.visibility, a.builtin, a.created_at, a.updated_at,
    a.retired_at, a.visibility_before, a.pipeline_skip, a.forked_from, a.forked_version, a.forked_as, a.fork_state, a.fork_detail,
    a.fork_archive, a.fork_archive_bytes, source.namespace || '/' || source.name AS source,
    (SELECT count(*)::integer FROM agents f WHERE f.forked_from = a.id AND f.fork_state = 'ready' AND f.deleted_at IS NULL) AS fork_count,
    (SELECT count(*)::integer FROM dependency_alerts d WHERE d.agent_id = a.id AND d.closed_at IS NULL) AS dependency_alerts,
    latest.version AS latest_version, latest.manifest -> 'modes' AS modes, ${advisories}`)
  const latestJoin = sql.literal(`
    LEFT JOIN LATERAL (
      SELECT version, manifest FROM versions v WHERE v.agent_id = a.id AND v.status = 'published' ORDER BY v.published_at DESC, v.id DESC LIMIT 1
    ) latest ON true`)
  const versionColumns = sql.literal(`
    v.id, v.agent_id, a.namespace, a.name, a.visibility, a.builtin, v.version, v.released_as, v.status, v.archive_digest, v.archive_bytes,
    v.manifest_schema_version, v.manifest, v.scan_status, v.verdict, v.finding_counts, v.holding, v.attestation IS NOT NULL AS signed,
    (SELECT o.handle FROM organizations o WHERE o.handle = a.namespace) AS org,
    v.source_kind, v.source_commit, v.submitted_by, coalesce(s.handle, 'deleted') AS submitter, v.created_at, v.published_at, ${advisories}`)
  const versionFrom = sql.literal(
    "versions v JOIN agents a ON a.id = v.agent_id LEFT JOIN accounts s ON s.id = v.submitted_by"
  )

  /** The condition under which `accountId` may read the agent `of`. */
  const readable = (accountId: string | null, privateToo: boolean, of: "a" | "source" = "a") => {
    const its = sql.literal(of)
    return accountId === null || !privateToo
      ? sql`${its}.visibility = 'public'`
      : sql`(${its}.visibility = 'public'
          OR EXISTS (SELECT FROM namespaces n WHERE n.handle = ${its}.namespace AND n.owner_id = ${accountId})
          OR EXISTS (SELECT FROM namespaces n JOIN members m ON m.org_id = n.owner_id WHERE n.handle = ${its}.namespace AND m.account_id = ${accountId} AND m.active)
          OR EXISTS (SELECT FROM agent_grants g WHERE g.agent_id = ${its}.id AND g.account_id = ${accountId}))`
  }
  const unlessSuspended = (of: "a" | "source") =>
    // Read once a statement, however many rows are asked.
    sql`${sql.literal(of)}.namespace NOT IN (SELECT o.handle FROM organizations o WHERE o.state IN ${unseen(sql)})`
  const notSuspended = unlessSuspended("a")
  /** The source of a fork, for those who may read it. */
  const sourceJoin = ({ accountId, privateToo }: Reader) => sql`
    LEFT JOIN agents source ON source.id = a.forked_from AND source.deleted_at IS NULL
      AND ${readable(accountId, privateToo, "source")} AND ${unlessSuspended("source")}`

  /** The id of the agent that has the name, deleted or not, or had it before a transfer. */
  const idOf = (namespace: string | Statement.Fragment, name: string | Statement.Fragment) => sql`coalesce(
    (SELECT id FROM agents WHERE namespace = ${namespace} AND name = ${name}),
    (SELECT agent_id FROM former_names WHERE namespace = ${namespace} AND name = ${name}))`
  const named = (namespace: string | Statement.Fragment, name: string | Statement.Fragment) =>
    sql`a.deleted_at IS NULL AND a.id = ${idOf(namespace, name)}`

  const agent = (reader: Reader, namespace: string, name: string) =>
    sql<AgentRow>`SELECT ${agentColumns} FROM agents a ${latestJoin} ${sourceJoin(reader)} WHERE ${named(namespace, name)}`.pipe(
      Effect.map(one)
    )

  /** Every level that an account was given on an agent: itself or, while it is a member of the organization, by its teams. */
  const given = (agentId: Statement.Fragment, accountId: string) => sql`
    SELECT level FROM agent_grants WHERE agent_id = ${agentId} AND account_id = ${accountId}
    UNION ALL
    SELECT g.level FROM agent_team_grants g JOIN teams ON teams.id = g.team_id
    JOIN team_members t ON t.team_id = g.team_id
    JOIN members m ON m.org_id = teams.org_id AND m.account_id = t.account_id AND m.active
    WHERE g.agent_id = ${agentId} AND t.account_id = ${accountId}`

  /** What the account is to the agent `a`, read with the agent itself: one statement for who may and what there is. */
  const standing = (accountId: string | null) => ({
    columns: sql`n.kind AS namespace_kind, o.decommission_at, ${
      accountId === null
        ? sql.literal("NULL AS role, NULL AS granted")
        : sql`CASE WHEN n.kind = 'org' THEN m.role WHEN n.owner_id = ${accountId} THEN 'owner' END AS role,
            (SELECT level FROM (${given(sql.literal("a.id"), accountId)}) given
             ORDER BY array_position(ARRAY['manage', 'write', 'read'], level) LIMIT 1) AS granted`
    }`,
    join: sql`JOIN namespaces n ON n.handle = a.namespace LEFT JOIN organizations o ON n.kind = 'org' AND o.id = n.owner_id ${
      accountId === null
        ? sql.literal("")
        : sql`LEFT JOIN members m ON m.org_id = o.id AND m.account_id = ${accountId} AND m.active`
    }`,
    /** A suspended organization, and everything under it, is not there. */
    there: sql`(o.id IS NULL OR o.state NOT IN ${unseen(sql)})`
  })
  const askedNames = named(sql.literal("asked.namespace"), sql.literal("asked.name"))
  const readerOfAll = ({ accountId, privateToo }: Reader) => JSON.stringify([accountId, privateToo])

  /** The agent with what the reader is to it; nothing of a suspended organization. */
  const seenAgent = yield* Batch.batched({
    group: ({ reader }) => readerOfAll(reader),
    key: ({ name, namespace }) => `${namespace}/${name}`,
    load: (asks: Batch.Asks<{ readonly reader: Reader; readonly namespace: string; readonly name: string }>) => {
      const [{ reader }] = asks
      const { columns, join, there } = standing(reader.accountId)
      return sql<AgentRow & StandingRow & Batch.Answer>`
        SELECT asked.n::integer AS ask, seen.*
        FROM unnest(${asks.map(({ namespace }) => namespace)}::text[], ${asks.map(({ name }) => name)}::text[])
          WITH ORDINALITY AS asked (namespace, name, n),
        LATERAL (
          SELECT ${agentColumns}, ${columns} FROM agents a ${join} ${latestJoin} ${sourceJoin(reader)}
          WHERE ${askedNames} AND ${there}
        ) seen`
    }
  })

  /** As `seenAgent`, of the version that `which` finds by what is asked for. */
  const seenVersion = <More = unknown>(which: Statement.Fragment, more: Statement.Fragment = sql.literal("")) =>
    Batch.batched({
      group: ({ accountId }) => accountId ?? "",
      key: ({ name, namespace, which }) => `${namespace}/${name} ${which}`,
      load: (
        asks: Batch.Asks<{
          readonly accountId: string | null
          readonly namespace: string
          readonly name: string
          readonly which: string
        }>
      ) => {
        const [{ accountId }] = asks
        const { columns, join, there } = standing(accountId)
        return sql<VersionRow & StandingRow & More & Batch.Answer>`
          SELECT asked.n::integer AS ask, seen.*
          FROM unnest(
            ${asks.map(({ namespace }) => namespace)}::text[], ${asks.map(({ name }) => name)}::text[], ${asks.map(({ which }) => which)}::text[]
          ) WITH ORDINALITY AS asked (namespace, name, which, n),
          LATERAL (
            SELECT ${versionColumns}, ${columns} ${more} FROM ${versionFrom} ${join}
            WHERE ${askedNames} AND ${there} AND ${which}
          ) seen`
      }
    })
  const byVersion = sql.literal("v.version = asked.which")
  const seenByVersion = yield* seenVersion(byVersion)
  const shownByVersion = yield* seenVersion<{ readonly pipeline: ReadonlyArray<StageEvent> }>(
    byVersion,
    sql.literal(`, (SELECT coalesce(jsonb_agg(data ORDER BY seq), '[]') FROM (
      SELECT DISTINCT ON (data ->> 'stage') data, seq FROM version_events e
      WHERE e.version_id = v.id AND e.event = 'stage' ORDER BY data ->> 'stage', seq DESC) last) AS pipeline`)
  )
  const seenLatest = yield* seenVersion(
    sql.literal("v.status = 'published' ORDER BY v.published_at DESC, v.id DESC LIMIT 1")
  )
  const seenByDigest = yield* seenVersion(
    sql.literal("v.archive_digest = asked.which ORDER BY v.created_at DESC LIMIT 1")
  )

  /**
   * For the rest of the transaction. Who locks more locks in this order: namespaces by their handles, the agent, an
   * archive; then rows: version, review, agent.
   */
  const lock = (...subjects: ReadonlyArray<string>) =>
    sql`SELECT ${sql.csv(subjects.map((subject) => sql`pg_advisory_xact_lock(hashtextextended(${subject}, 0))`))}`

  const lockedAgent = (id: string, ...also: ReadonlyArray<string>) =>
    Effect.andThen(
      lock(`agent:${id}`, ...also),
      // A statement of its own: it sees what was committed while this waited.
      sql<{
        namespace: string
        name: string
        visibility: "public" | "private"
        retiredAt: Date | null
        visibilityBefore: "public" | "private" | null
        builtin: string | null
        pipelineSkip: boolean
        forkArchive: Digest | null
        unscanned: number
      }>`
        SELECT namespace, name, visibility, retired_at, visibility_before, builtin, pipeline_skip, fork_archive,
          (SELECT count(*)::integer FROM versions WHERE agent_id = ${id} AND scan_status = 'skipped' AND status <> 'blocked') AS unscanned
        FROM agents WHERE id = ${id} AND deleted_at IS NULL`.pipe(Effect.map(one))
    )

  const orders = {
    name: "a.namespace, a.name",
    newest: "a.created_at DESC, a.id DESC",
    submitted: "a.submitted_at DESC NULLS LAST, a.id DESC",
    installs: "a.installs DESC, a.id DESC"
  }
  const order = (sort: keyof typeof orders) => sql.literal(orders[sort])

  return {
    agent,
    versionColumns,
    versionFrom,
    advisories: sql.literal(advisories),
    idOf,
    /** `ns/name` that the agent `a` of a statement had at a moment: who may not read it any more learns no newer one. */
    nameAt: (moment: string) =>
      sql`coalesce((SELECT f.namespace || '/' || f.name FROM former_names f WHERE f.agent_id = a.id AND f.since > ${sql.literal(moment)} ORDER BY f.since LIMIT 1), a.namespace || '/' || a.name)`,
    readable,
    notSuspended,
    /** Whether the account may read the agent `a` of a statement, suspended namespaces left out. */
    readableBy: (accountId: string) => sql`(${readable(accountId, true)} AND ${notSuspended})`,
    seenAgent: (reader: Reader, namespace: string, name: string) => seenAgent({ reader, namespace, name }),
    /** As `seenAgent`, of one version. */
    seenVersion: (accountId: string | null, namespace: string, name: string, version: string) =>
      seenByVersion({ accountId, namespace, name, which: version }),
    /** With the last event of each stage of its pipeline, in their order. */
    shownVersion: (accountId: string | null, namespace: string, name: string, version: string) =>
      shownByVersion({ accountId, namespace, name, which: version }),
    seenLatest: (accountId: string | null, namespace: string, name: string) =>
      seenLatest({ accountId, namespace, name, which: "" }),
    /** The newest version that has the archive. */
    seenArchive: (accountId: string | null, namespace: string, name: string, digest: string) =>
      seenByDigest({ accountId, namespace, name, which: digest }),
    /** Whether the account was given `manage` on the agent `a` of a statement. */
    givenManage: (accountId: string) =>
      sql`EXISTS (SELECT FROM (${given(sql.literal("a.id"), accountId)}) given WHERE level = 'manage')`,
    list: (filter: {
      readonly accountId: string | null
      readonly privateToo: boolean
      readonly namespace?: string | undefined
      readonly q?: string | undefined
      readonly mode?: Mode | undefined
      readonly state?: "active" | "retired" | undefined
      readonly forks?: "only" | "none" | undefined
      /** Id of their source; with null there are none. */
      readonly forkedFrom?: string | null | undefined
      readonly sort: keyof typeof orders
      readonly offset: number
      readonly limit: number
    }) =>
      // The latest version is looked up for the page alone: the total counts every agent that matches.
      sql<AgentRow & { readonly total: number }>`
        WITH page AS (
          SELECT a.id, count(*) OVER ()::integer AS total FROM agents a
          WHERE ${sql.and([
            readable(filter.accountId, filter.privateToo),
            notSuspended,
            sql`a.deleted_at IS NULL`,
            ...(filter.state === undefined
              ? []
              : [filter.state === "retired" ? sql`a.retired_at IS NOT NULL` : sql`a.retired_at IS NULL`]),
            ...(filter.forks === undefined
              ? []
              : [filter.forks === "only" ? sql`a.forked_from IS NOT NULL` : sql`a.forked_from IS NULL`]),
            ...(filter.forkedFrom === undefined
              ? []
              : [sql`a.forked_from = ${filter.forkedFrom} AND a.fork_state = 'ready'`]),
            ...(filter.namespace === undefined ? [] : [sql`a.namespace = ${filter.namespace}`]),
            ...(filter.q === undefined || filter.q === ""
              ? []
              : [
                  sql`(a.namespace || '/' || a.name || ' ' || a.description) ILIKE ${`%${filter.q.replace(/[\\%_]/g, "\\$&")}%`}`
                ]),
            // Search keeps the modes of every agent's latest published version.
            ...(filter.mode === undefined
              ? []
              : [
                  sql`a.id IN (SELECT s.agent_id FROM agent_search s WHERE s.facets_id IN (SELECT id FROM search_facets WHERE ${filter.mode} = ANY(modes)))`
                ])
          ])} ORDER BY ${order(filter.sort)} LIMIT ${filter.limit} OFFSET ${filter.offset}
        )
        SELECT ${agentColumns}, page.total FROM page JOIN agents a ON a.id = page.id ${latestJoin} ${sourceJoin(filter)} ORDER BY ${order(filter.sort)}`,
    /** In the order of the ids; one that is gone is left out. */
    agentsById: (ids: ReadonlyArray<string>, reader: Reader) =>
      ids.length === 0
        ? Effect.succeed<ReadonlyArray<AgentRow>>([])
        : sql<AgentRow>`
            SELECT ${agentColumns} FROM agents a ${latestJoin} ${sourceJoin(reader)} WHERE a.id IN ${sql.in(ids)} AND a.deleted_at IS NULL
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
      readonly forkedFrom?: string
      readonly forkedVersion?: string
      readonly forkedAs?: string | null
      readonly forkState?: ForkState
    }) => sql`INSERT INTO agents ${sql.insert({ ...row, updatedAt: row.createdAt })}`,
    patchAgent: (
      id: string,
      change: {
        readonly description?: string
        readonly visibility?: "public" | "private"
        readonly pipelineSkip?: boolean
        readonly builtin?: string | null
      },
      now: Date
    ) => sql`UPDATE agents SET ${sql.update({ ...change, updatedAt: now })} WHERE id = ${id}`,
    /** Who holds the name for good: an agent that was deleted, or one that had it before a transfer. */
    nameHeld: (namespace: string, name: string) =>
      sql<{ agentId: string; deleted: boolean }>`
        SELECT id AS agent_id, true AS deleted FROM agents WHERE namespace = ${namespace} AND name = ${name} AND deleted_at IS NOT NULL
        UNION ALL SELECT agent_id, false FROM former_names WHERE namespace = ${namespace} AND name = ${name}`.pipe(
        Effect.map(one)
      ),
    /**
     * Public agents of other namespaces that `name` may be taken for: those with at least `installs` that look the
     * same (`same`), and those with at least `many` of about its length. Most installed first.
     */
    mistakable: (
      namespace: string,
      name: string,
      { installs, many, own }: { readonly installs: number; readonly many: number; readonly own: string | undefined }
    ) =>
      sql<{ namespace: string; name: string; same: boolean }>`
        (SELECT namespace, name, true AS same FROM agents
          WHERE skeleton = name_skeleton(${name}) AND installs >= ${installs}
            AND namespace <> ${namespace} AND name <> ${name} AND id IS DISTINCT FROM ${own ?? null}::text AND visibility = 'public' AND deleted_at IS NULL
          ORDER BY installs DESC LIMIT 1)
        UNION ALL (SELECT namespace, name, false FROM agents
          WHERE installs >= ${many} AND length(name) BETWEEN ${name.length - 1}::integer AND ${name.length + 1}::integer
            AND namespace <> ${namespace} AND name <> ${name} AND id IS DISTINCT FROM ${own ?? null}::text AND visibility = 'public' AND deleted_at IS NULL
          ORDER BY installs DESC LIMIT 10000)`,
    /** For a change: locked for the rest of the transaction, with what is given besides, and as it is now. Null when it is gone. */
    lockedAgent,
    /** As `lockedAgent`; `NotFound` too when it has gone from the name that the change was asked for under. */
    lockedAs: Effect.fnUntraced(function* (
      { id }: Pick<AgentRow, "id">,
      name: { readonly namespace: string; readonly name: string },
      ...also: ReadonlyArray<string>
    ) {
      const agent = yield* lockedAgent(id, ...also)
      return agent?.namespace === name.namespace && agent.name === name.name ? agent : yield* new NotFound({})
    }),
    isPublic: (id: string) =>
      sql`SELECT 1 FROM agents WHERE id = ${id} AND visibility = 'public' AND deleted_at IS NULL`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** Its versions keep the name they were released under, and the old name leads to it. */
    rename: Effect.fnUntraced(function* (
      id: string,
      from: { readonly namespace: string; readonly name: string },
      to: { readonly namespace: string; readonly name: string },
      now: Date
    ) {
      yield* sql`UPDATE versions SET released_as = ${`${from.namespace}/${from.name}`} WHERE agent_id = ${id} AND released_as IS NULL`
      yield* sql`DELETE FROM former_names WHERE namespace = ${to.namespace} AND name = ${to.name} AND agent_id = ${id}`
      yield* sql`UPDATE agents SET ${sql.update({ ...to, updatedAt: now })} WHERE id = ${id}`
      yield* sql`INSERT INTO former_names ${sql.insert({ ...from, agentId: id, since: now })}`
      // Another namespace decides now; a name alone changes nobody's rights.
      if (to.namespace !== from.namespace) yield* sql`DELETE FROM agent_grants WHERE agent_id = ${id}`
    }),

    /** The next fork to copy, for the caller alone until `again`: also one whose copying ended a process is not tried at once. */
    claimFork: (now: Date, triedBefore: Date) =>
      sql<CopyingFork>`
        UPDATE agents SET fork_tried_at = ${now} WHERE id = (
          SELECT id FROM agents WHERE fork_state = 'copying' AND deleted_at IS NULL AND (fork_tried_at IS NULL OR fork_tried_at < ${triedBefore})
          ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED
        ) RETURNING id, namespace, name, forked_from, forked_version, (SELECT o.handle FROM organizations o WHERE o.handle = agents.namespace) AS org`.pipe(
        Effect.map(one)
      ),
    /** The forked version and the published ones before it, newest first. */
    versionsToCopy: (agentId: string, version: string, limit: number) =>
      sql<CopiedVersion>`
        SELECT coalesce(v.released_as, a.namespace || '/' || a.name) || '@' || v.version AS ref, v.version, v.archive_digest, v.archive_bytes, v.published_at
        FROM versions v JOIN agents a ON a.id = v.agent_id AND a.deleted_at IS NULL
        WHERE v.agent_id = ${agentId} AND v.status = 'published'
          AND (v.published_at, v.id) <= (SELECT published_at, id FROM versions WHERE agent_id = ${agentId} AND version = ${version})
        ORDER BY v.published_at DESC, v.id DESC LIMIT ${limit}`,
    /** The end of a copy, once. */
    endFork: (
      id: string,
      end: {
        readonly forkState: "ready" | "failed"
        readonly forkDetail: string
        readonly forkArchive?: Digest
        readonly forkArchiveBytes?: number
      },
      now: Date
    ) =>
      sql`UPDATE agents SET ${sql.update({ ...end, updatedAt: now })} WHERE id = ${id} AND fork_state = 'copying' AND deleted_at IS NULL RETURNING 1`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** Copies that were asked for before `before` and have not ended: oldest first. */
    unfinishedForks: (before: Date, limit: number) =>
      sql<CopyingFork>`
        SELECT id, namespace, name, forked_from, forked_version, (SELECT o.handle FROM organizations o WHERE o.handle = agents.namespace) AS org FROM agents
        WHERE fork_state = 'copying' AND deleted_at IS NULL AND created_at < ${before} ORDER BY created_at LIMIT ${limit}`,
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
    /** What stands open about the agent beside the state of its versions. */
    openMatters: (id: string) =>
      sql<{ advisories: boolean; abuseReports: boolean; reviews: boolean }>`
        SELECT EXISTS (SELECT FROM advisories WHERE agent_id = ${id} AND state <> 'withdrawn') AS advisories,
          EXISTS (SELECT FROM abuse_reports WHERE agent_id = ${id} AND state <> 'resolved') AS abuse_reports,
          EXISTS (SELECT FROM reviews r JOIN versions v ON v.id = r.version_id WHERE v.agent_id = ${id} AND r.closed_at IS NULL) AS reviews`.pipe(
        Effect.map(([row]) => row)
      ),
    /** An agent that has versions leaves a tombstone that holds its name. */
    bury: (id: string, now: Date) =>
      sql`UPDATE agents SET deleted_at = ${now}, visibility = 'private', updated_at = ${now} WHERE id = ${id} AND deleted_at IS NULL`,
    /** Every agent of a namespace as `bury` does it, without its grants; its bytes are to go too. Answers how many. */
    buryAll: Effect.fnUntraced(function* (namespace: string, now: Date) {
      const buried = yield* sql<{ id: string }>`
        UPDATE agents SET deleted_at = ${now}, visibility = 'private', description = '', updated_at = ${now}, erasing = true
        WHERE namespace = ${namespace} AND deleted_at IS NULL RETURNING id`
      yield* sql`DELETE FROM agent_grants g USING agents a WHERE a.id = g.agent_id AND a.namespace = ${namespace}`
      return buried.length
    }),
    /** Agents whose bytes are to go, with the digests of what they had in the object store. */
    erased: sql<{ id: string; archives: ReadonlyArray<Digest> }>`
      SELECT a.id, array_remove(ARRAY(SELECT DISTINCT archive_digest FROM versions WHERE agent_id = a.id) || a.fork_archive, NULL) AS archives
      FROM agents a WHERE a.erasing`,
    erasedWhole: (id: string) => sql`UPDATE agents SET erasing = false, fork_archive = NULL WHERE id = ${id}`,
    remove: Effect.fnUntraced(function* (id: string) {
      for (const table of ["agent_grants", "agent_stars", "install_log", "former_names"])
        yield* sql`DELETE FROM ${sql(table)} WHERE agent_id = ${id}`
      yield* sql`DELETE FROM agents WHERE id = ${id}`
    }),
    stats: (id: string, since: Date) =>
      sql<{ installsTotal: number; installs30d: number; stars: number }>`
        SELECT (SELECT count(*)::integer FROM install_log WHERE agent_id = ${id}) AS installs_total,
          (SELECT count(*)::integer FROM install_log WHERE agent_id = ${id} AND at > ${since}) AS installs30d,
          (SELECT count(*)::integer FROM agent_stars WHERE agent_id = ${id}) AS stars`.pipe(Effect.map(([row]) => row)),
    lock,

    version: (namespace: string, name: string, version: string) =>
      sql<VersionRow>`SELECT ${versionColumns} FROM ${versionFrom} WHERE ${named(namespace, name)} AND v.version = ${version}`.pipe(
        Effect.map(one)
      ),
    versionById: (id: string) =>
      sql<VersionRow>`SELECT ${versionColumns} FROM ${versionFrom} WHERE v.id = ${id}`.pipe(Effect.map(one)),
    /** What a range can mean, newest first. */
    publishedVersions: (namespace: string, name: string) =>
      sql<{ version: string }>`
        SELECT v.version FROM versions v JOIN agents a ON a.id = v.agent_id WHERE ${named(namespace, name)} AND v.status = 'published'
        ORDER BY v.published_at DESC, v.id DESC LIMIT 10000`.pipe(
        Effect.map((rows) => rows.map(({ version }) => version))
      ),
    versions: (agentId: string, all: boolean, offset: number, limit: number) =>
      sql<VersionRow & { readonly total: number }>`
        SELECT ${versionColumns}, count(*) OVER ()::integer AS total FROM ${versionFrom}
        WHERE v.agent_id = ${agentId} AND (${all}::boolean OR v.published_at IS NOT NULL)
        ORDER BY v.created_at DESC, v.id DESC LIMIT ${limit} OFFSET ${offset}`,
    /** Commits that versions were tagged at and that nobody gets any more. */
    withheldCommits: (agentId: string) =>
      sql<{ commit: string }>`
        SELECT DISTINCT source_commit AS commit FROM versions
        WHERE agent_id = ${agentId} AND source_commit IS NOT NULL AND status IN ('blocked', 'quarantined')`.pipe(
        Effect.map((rows) => rows.map(({ commit }) => commit))
      ),
    /** Whether any agent has these bytes, `but` left out. */
    holdsArchive: (digest: string, but = "") =>
      sql`SELECT 1 FROM versions WHERE archive_digest = ${digest} AND agent_id <> ${but}
        UNION ALL SELECT 1 FROM agents WHERE fork_archive = ${digest} AND id <> ${but} LIMIT 1`.pipe(
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
      /** `skipped`: to be admitted unscanned. */
      readonly scanStatus: "pending" | "skipped"
      readonly createdAt: Date
    }) =>
      Effect.andThen(
        sql`INSERT INTO versions ${sql.insert({ ...row, status: "scanning", progressedAt: row.createdAt })}`,
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
          UPDATE versions SET status = ${outcome.status}, scan_status = ${outcome.scanStatus}, manifest = ${json(outcome.manifest)}::jsonb,
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
      sql<{ id: string; org: string | null; ref: string }>`
        SELECT v.id, (SELECT o.handle FROM organizations o WHERE o.handle = a.namespace) AS org, a.namespace || '/' || a.name || '@' || v.version AS ref FROM ${versionFrom}
        WHERE v.status = 'scanning' AND v.created_at < ${before} ORDER BY v.created_at LIMIT ${limit}`
  }
})

const json = (value: unknown) => (value === null || value === undefined ? null : JSON.stringify(value))

export class AgentsSql extends Context.Service<AgentsSql, Effect.Success<typeof make>>()("catalog/AgentsSql") {
  static readonly layer = Layer.effect(AgentsSql, make)
}
