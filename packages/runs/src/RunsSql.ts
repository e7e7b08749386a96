/** Rows of runs, their inputs and events. State changes name the state they leave. */
import { Batch } from "@quickagents/platform"
import type { Mode, Outcome, RunInputRecord, RunKind, RunReceipt, RunStatus, Tier } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

export interface RunRow {
  readonly id: string
  readonly accountId: string
  readonly payer: string
  readonly tier: Tier
  readonly unmetered: boolean
  readonly kind: RunKind
  readonly mode: Mode
  readonly versionId: string
  readonly ref: string
  readonly archiveDigest: string
  readonly status: RunStatus
  readonly capsSeconds: number
  readonly capsTurns: number
  readonly tokenCap: number
  readonly holdCredits: number
  readonly inputs: ReadonlyArray<RunInputRecord>
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly hostId: string | null
  readonly claimedAt: Date | null
  readonly startedAt: Date | null
  readonly cancelRequestedAt: Date | null
  readonly finishedAt: Date | null
  readonly outcome: Outcome | null
  readonly exitClass: string | null
  readonly errorClass: string | null
  readonly settledCredits: number | null
  readonly usageCredits: number | null
  readonly turns: number | null
  readonly wallMs: number | null
  readonly receipt: RunReceipt | null
  readonly outputObject: string | null
  readonly outputBytes: number | null
  readonly queuePosition: number | null
}

/** What opens the sealed parts of a run; read only where they are opened. */
export interface RunSecretsRow {
  readonly request: Uint8Array
  readonly requestKey: string
  readonly sealTo: string
  readonly openWith: Uint8Array
  readonly outputKey: string | null
}

export interface ClaimedRow {
  readonly id: string
  readonly attempts: number
}

export interface EventRow {
  readonly seq: number
  readonly event: "log" | "status" | "charge" | "error"
  readonly data: unknown
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const record = sql.literal(`
    id, account_id, payer, tier, unmetered, kind, mode, version_id, ref, archive_digest, status, caps_seconds, caps_turns,
    token_cap, hold_credits, inputs, created_at, expires_at, host_id, claimed_at, started_at, cancel_requested_at, finished_at, outcome,
    exit_class, error_class, settled_credits, usage_credits, turns, wall_ms, receipt, output_object, output_bytes::integer,
    CASE WHEN status = 'queued' THEN
      (SELECT count(*)::integer FROM runs ahead WHERE ahead.status = 'queued' AND (ahead.created_at, ahead.id) <= (runs.created_at, runs.id))
    END AS queue_position`)

  const one = <A>(rows: ReadonlyArray<A>): A | null => rows[0] ?? null
  const event = (status: string, at: Date) =>
    JSON.stringify({ status, at: at.toISOString(), ...(status === "queued" ? {} : { host: "sandbox" }) })

  const opened = yield* Batch.batched({
    key: (id: string) => id,
    load: (ids) => sql<RunRow & RunSecretsRow & Batch.Answer>`
      SELECT asked.n::integer AS ask, ${record}, request, request_key, seal_to, open_with, output_key
      FROM unnest(${ids}::text[]) WITH ORDINALITY AS asked (run_id, n) JOIN runs ON runs.id = asked.run_id`
  })

  return {
    byId: (id: string) => sql<RunRow>`SELECT ${record} FROM runs WHERE id = ${id}`.pipe(Effect.map(one)),
    byIdempotencyKey: (accountId: string, key: string) =>
      sql<RunRow>`SELECT ${record} FROM runs WHERE account_id = ${accountId} AND idempotency_key = ${key}`.pipe(
        Effect.map(one)
      ),
    /** A key is good for a day; then it may name another run. */
    expireIdempotencyKey: (accountId: string, key: string, since: Date) =>
      sql`UPDATE runs SET idempotency_key = NULL WHERE account_id = ${accountId} AND idempotency_key = ${key} AND created_at < ${since}`,
    newest: (accountId: string, limit: number) =>
      sql<RunRow>`SELECT ${record} FROM runs WHERE account_id = ${accountId} ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
    /** Record and secrets at once, for the person whose run it is. */
    opened,
    secretsOf: (id: string) =>
      sql<RunSecretsRow>`SELECT request, request_key, seal_to, open_with, output_key FROM runs WHERE id = ${id}`.pipe(
        Effect.map(one)
      ),
    queued: sql<{ queued: number }>`SELECT count(*)::integer AS queued FROM runs WHERE status = 'queued'`.pipe(
      Effect.map(([row]) => row.queued)
    ),

    /** First come, first served: the oldest queued run that this host can take, if it has room for it. */
    claim: (host: { readonly id: string; readonly capacity: number; readonly browser: boolean }, now: Date) =>
      sql<ClaimedRow>`
        WITH room AS (
          SELECT ${host.capacity}::integer - coalesce(sum(slots), 0) AS slots FROM runs WHERE host_id = ${host.id} AND status IN ('claimed', 'running')
        ), next AS (
          SELECT runs.id FROM runs, room
          WHERE runs.status = 'queued' AND runs.expires_at > ${now} AND runs.slots <= room.slots AND (${host.browser}::boolean OR NOT runs.needs_browser)
          ORDER BY runs.created_at, runs.id LIMIT 1 FOR UPDATE OF runs SKIP LOCKED
        ), claimed AS (
          UPDATE runs SET status = 'claimed', host_id = ${host.id}, claimed_at = ${now}, supervised_at = ${now},
            attempts = attempts + 1, event_seq = event_seq + 1
          FROM next WHERE runs.id = next.id AND runs.status = 'queued'
          RETURNING runs.id, runs.attempts, runs.event_seq
        ), event AS (
          INSERT INTO run_events (run_id, seq, event, data) SELECT id, event_seq, 'status', ${event("claimed", now)}::jsonb FROM claimed
        )
        SELECT id, attempts FROM claimed`.pipe(Effect.map(one)),

    /** The host did not take it: back to its old place in the queue. */
    requeue: (id: string, hostId: string, now: Date) =>
      sql`
        WITH back AS (
          UPDATE runs SET status = 'queued', host_id = NULL, claimed_at = NULL, event_seq = event_seq + 1
          WHERE id = ${id} AND status = 'claimed' AND host_id = ${hostId} RETURNING id, event_seq
        ), event AS (
          INSERT INTO run_events (run_id, seq, event, data) SELECT id, event_seq, 'status', ${event("queued", now)}::jsonb FROM back
        )
        SELECT pg_notify('runs_queued', id) FROM back`.pipe(Effect.map((rows) => rows.length === 1)),

    start: (id: string, now: Date) =>
      sql`
        WITH started AS (
          UPDATE runs SET status = 'running', started_at = ${now}, supervised_at = ${now}, event_seq = event_seq + 1
          WHERE id = ${id} AND status = 'claimed' RETURNING id, event_seq
        )
        INSERT INTO run_events (run_id, seq, event, data) SELECT id, event_seq, 'status', ${event("running", now)}::jsonb FROM started`,

    /** A sign of life of the supervisor; answers what it must know of the row. Null: the run has ended. */
    supervised: (id: string, now: Date) =>
      sql<{ cancelRequestedAt: Date | null }>`
        UPDATE runs SET supervised_at = ${now} WHERE id = ${id} AND status IN ('claimed', 'running') RETURNING cancel_requested_at`.pipe(
        Effect.map(one)
      ),

    requestCancel: (id: string, now: Date) =>
      sql`UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, ${now}) WHERE id = ${id} AND status IN ('claimed', 'running') RETURNING id`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),

    expired: (now: Date, limit: number) =>
      sql<RunRow>`SELECT ${record} FROM runs WHERE status = 'queued' AND expires_at <= ${now} ORDER BY expires_at LIMIT ${limit}`,
    /** Active runs whose host was last seen before `before`, or is retired. */
    onSilentHosts: (before: Date, limit: number) =>
      sql<RunRow>`
        SELECT ${record} FROM runs WHERE status IN ('claimed', 'running') AND host_id IN (
          SELECT id FROM hosts WHERE retired_at IS NOT NULL OR coalesce(seen_at, enrolled_at) < ${before}
        ) ORDER BY id LIMIT ${limit}`,
    unsupervised: (before: Date, limit: number) =>
      sql<ClaimedRow>`SELECT id, attempts FROM runs WHERE status IN ('claimed', 'running') AND supervised_at < ${before} ORDER BY supervised_at LIMIT ${limit}`,
    /** Claimed for the host and not known to have started there. */
    claimedFor: (hostId: string) =>
      sql<ClaimedRow>`SELECT id, attempts FROM runs WHERE host_id = ${hostId} AND status = 'claimed'`,
    activeOn: (hostId: string) =>
      sql<{ id: string }>`SELECT id FROM runs WHERE host_id = ${hostId} AND status IN ('claimed', 'running')`.pipe(
        Effect.map((rows) => new Set(rows.map(({ id }) => id)))
      ),

    events: (id: string, after: number, limit: number) =>
      sql<EventRow>`SELECT seq, event, data FROM run_events WHERE run_id = ${id} AND seq > ${after} ORDER BY seq LIMIT ${limit}`,

    insertInput: (input: RunInputRecord & { readonly accountId: string; readonly createdAt: Date }) =>
      sql`INSERT INTO run_inputs ${sql.insert(input)}`,
    inputs: (accountId: string, ids: ReadonlyArray<string>) =>
      sql<RunInputRecord>`
        SELECT id, name, bytes::integer, digest, object, data_key FROM run_inputs
        WHERE account_id = ${accountId} AND run_id IS NULL AND id IN ${sql.in(ids)}`,
    /** Removes uploads that no run took since `before`, and those whose run has ended; answers their objects, each sealed under a key of its own. */
    dropSpentInputs: (before: Date, limit: number) =>
      sql<{ object: string }>`
        DELETE FROM run_inputs WHERE id IN (
          SELECT i.id FROM run_inputs i LEFT JOIN runs r ON r.id = i.run_id
          WHERE (i.run_id IS NULL AND i.created_at < ${before}) OR r.status IN ('cancelled', 'finished') LIMIT ${limit}
        ) RETURNING object`
  }
})

export class RunsSql extends Context.Service<RunsSql, Effect.Success<typeof make>>()("runs/RunsSql") {
  static readonly layer = Layer.effect(RunsSql, make)
}
