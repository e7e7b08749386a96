/**
 * What `GET run record` is compared with: Fastify and pg, as small as they come.
 * It selects what the registry's route selects, prepared by name as the
 * registry's are, and answers the same JSON, the same headers that a client relies on; no
 * log, no rate limit, no decryption. The task is at hand, as a service that
 * does not seal it would have it in a column.
 */
import Fastify from "fastify"
import pg from "pg"
import { createHash } from "node:crypto"

const env = (name: string) => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

interface CallerRow {
  readonly account_id: string
  readonly scopes: ReadonlyArray<string>
}

interface RunRow {
  readonly id: string
  readonly account_id: string
  readonly payer: string
  readonly kind: string
  readonly mode: string
  readonly ref: string
  readonly archive_digest: string
  readonly status: string
  readonly caps_seconds: number
  readonly caps_turns: number
  readonly hold_credits: number
  readonly inputs: ReadonlyArray<{ readonly name: string; readonly bytes: number; readonly digest: string }>
  readonly created_at: Date
  readonly expires_at: Date
  readonly claimed_at: Date | null
  readonly started_at: Date | null
  readonly cancel_requested_at: Date | null
  readonly finished_at: Date | null
  readonly outcome: string | null
  readonly exit_class: string | null
  readonly error_class: string | null
  readonly settled_credits: number | null
  readonly usage_credits: number | null
  readonly turns: number | null
  readonly wall_ms: number | null
  readonly receipt: unknown
  readonly output_object: string | null
  readonly output_bytes: number | null
  readonly queue_position: number | null
}

const pool = new pg.Pool({ connectionString: env("DATABASE_URL"), max: Number(env("POOL")) })
const task = env("TASK")

const caller = `
  SELECT t.id, t.scopes, t.last_used_at, a.id AS account_id, a.handle, a.email_verified, EXISTS (
    SELECT 1 FROM members sm JOIN organizations so ON so.id = sm.org_id
    WHERE sm.account_id = a.id AND sm.active AND so.handle = $1 AND so.state <> 'suspended') AS staff
  FROM tokens t JOIN accounts a ON a.id = t.account_id
  WHERE t.token_hash = $2 AND (t.expires_at IS NULL OR t.expires_at > $3)`

const run = `
  SELECT id, account_id, payer, tier, unmetered, kind, mode, version_id, ref, archive_digest, status, caps_seconds, caps_turns,
    token_cap, hold_credits, inputs, created_at, expires_at, host_id, claimed_at, started_at, cancel_requested_at, finished_at, outcome,
    exit_class, error_class, settled_credits, usage_credits, turns, wall_ms, receipt, output_object, output_bytes::integer,
    CASE WHEN status = 'queued' THEN
      (SELECT count(*)::integer FROM runs ahead WHERE ahead.status = 'queued' AND (ahead.created_at, ahead.id) <= (runs.created_at, runs.id))
    END AS queue_position, request, request_key, seal_to, open_with, output_key
  FROM runs WHERE id = $1`

const iso = (date: Date | null) => date?.toISOString() ?? null

const recordOf = (row: RunRow) => ({
  id: row.id,
  ref: row.ref,
  archiveDigest: row.archive_digest,
  kind: row.kind,
  mode: row.mode,
  status: row.status,
  caps: { seconds: row.caps_seconds, turns: row.caps_turns },
  holdCredits: row.hold_credits,
  payer: row.payer,
  queuePosition: row.queue_position,
  expiresAt: row.expires_at.toISOString(),
  createdAt: row.created_at.toISOString(),
  claimedAt: iso(row.claimed_at),
  startedAt: iso(row.started_at),
  finishedAt: iso(row.finished_at),
  cancelRequestedAt: iso(row.cancel_requested_at),
  outcome: row.outcome,
  exitClass: row.exit_class,
  settledCredits: row.settled_credits,
  usage:
    row.finished_at === null
      ? null
      : { turns: row.turns ?? 0, wallMs: row.wall_ms ?? 0, credits: row.usage_credits ?? 0 },
  receipt: row.receipt,
  error: row.error_class === null ? null : { class: row.error_class, message: `The run ended with ${row.exit_class}` },
  outputs: row.output_object === null ? [] : [{ name: "output.tar", bytes: row.output_bytes }],
  task,
  intake: {},
  inputs: row.inputs.map(({ bytes, digest, name }) => ({ name, bytes, digest })),
  secrets: [],
  knowledge: [],
  voice: null,
  inputReview: 0
})

const app = Fastify()
app.get<{ Params: { id: string } }>("/api/v1/x/runs/:id", async (request, reply) => {
  const token = (request.headers.authorization ?? "").replace(/^Bearer /, "")
  const callers = await pool.query<CallerRow>({
    name: "caller",
    text: caller,
    values: ["staff", createHash("sha256").update(token).digest("hex"), new Date()]
  })
  const found = callers.rows[0]
  if (found === undefined || !found.scopes.includes("run:read"))
    return reply.code(401).send({ title: "Authentication required" })
  const rows = await pool.query<RunRow>({ name: "run", text: run, values: [request.params.id] })
  const row = rows.rows[0]
  if (row === undefined || row.account_id !== found.account_id) return reply.code(404).send({ title: "Not found" })
  return reply.header("cache-control", "no-store").send(recordOf(row))
})
await app.listen({ host: "127.0.0.1", port: Number(env("PORT")) })
