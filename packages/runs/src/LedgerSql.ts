/** Credit accounts, ledger lines, and the two statements that move a run and its hold together. */
import type { NewRun, Outcome, RunReceipt, Tier } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"

export interface AccountRow {
  readonly payer: string
  readonly tier: Tier
  readonly balance: number
  readonly held: number
  readonly cycleEndsAt: Date
}

export interface LineRow {
  readonly seq: number
  readonly reason: "run_hold" | "run_release" | "run" | "run_refund" | "grant" | "cycle_grant"
  readonly subject: string
  readonly balanceDelta: number
  readonly heldDelta: number
  readonly at: Date
}

export interface EndRow {
  readonly runId: string
  readonly from: ReadonlyArray<string>
  readonly status: string
  readonly outcome: Outcome | null
  readonly exitClass: string | null
  readonly errorClass: string | null
  /** Charged; the rest of the hold goes back. */
  readonly settledCredits: number
  readonly refunded: boolean
  readonly usageCredits: number
  readonly turns: number
  readonly wallMs: number
  readonly receipt: RunReceipt | null
  readonly output: { readonly object: string; readonly bytes: number; readonly key: string } | null
  readonly at: Date
  readonly event: string
}

const cycleSubject = (payer: string, end: Date) => `cycle:${payer}:${end.toISOString().slice(0, 10)}`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** The payer's row, made with its first cycle's allowance when there is none yet. */
  const account = Effect.fnUntraced(function* (payer: string, allowance: number, now: Date, cycleEndsAt: Date) {
    const find = sql<AccountRow>`SELECT payer, tier, balance, held, cycle_ends_at FROM credit_accounts WHERE payer = ${payer}`
    const [row] = yield* find
    if (row !== undefined) return row
    yield* sql`
      WITH made AS (
        INSERT INTO credit_accounts (payer, balance, cycle_ends_at, created_at) VALUES (${payer}, ${allowance}, ${cycleEndsAt}, ${now})
        ON CONFLICT DO NOTHING RETURNING payer
      )
      INSERT INTO ledger_lines (payer, reason, subject, balance_delta, held_delta, at)
      SELECT payer, 'cycle_grant', ${cycleSubject(payer, cycleEndsAt)}::text, ${allowance}::integer, 0, ${now}::timestamptz FROM made`
    const [made] = yield* find
    return made
  })

  /** Hold, run row, ledger line and first event in one statement, or nothing. False: the balance is short. */
  const open = (run: NewRun, now: Date): Effect.Effect<boolean, SqlError.SqlError> =>
    sql`
      WITH paid AS (
        UPDATE credit_accounts SET balance = balance - ${run.holdCredits}, held = held + ${run.holdCredits}
        WHERE payer = ${run.payer} AND balance >= ${run.holdCredits} AND NOT ${run.unmetered}::boolean
        RETURNING payer
      ), opened AS (
        INSERT INTO runs SELECT record.* FROM jsonb_populate_record(NULL::runs, ${JSON.stringify(rowOf(run, now))}::jsonb) record
        WHERE record.unmetered OR EXISTS (SELECT FROM paid)
        RETURNING id
      ), line AS (
        INSERT INTO ledger_lines (payer, reason, subject, balance_delta, held_delta, at)
        SELECT payer, 'run_hold', ${`run:${run.id}`}::text, ${-run.holdCredits}::integer, ${run.holdCredits}::integer, ${now}::timestamptz FROM paid
      ), claimed_inputs AS (
        UPDATE run_inputs SET run_id = opened.id FROM opened
        WHERE run_inputs.id = ANY(ARRAY(SELECT jsonb_array_elements_text(${JSON.stringify(run.inputs.map(({ id }) => id))}::jsonb)))
      ), event AS (
        INSERT INTO run_events (run_id, seq, event, data)
        SELECT id, 1, 'status', ${JSON.stringify({ status: "queued", at: now.toISOString() })}::jsonb FROM opened
      )
      SELECT pg_notify('runs_queued', id) FROM opened`.pipe(Effect.map((rows) => rows.length === 1))

  /** The run is stored, with its hold: a balance that is short now was not when it was opened. */
  const isOpened = (runId: string) =>
    sql`SELECT 1 FROM runs WHERE id = ${runId}`.pipe(Effect.map((rows) => rows.length === 1))

  /** Ends the run and books its hold, if it still is in one of `from`. False: it is not. */
  const end = (row: EndRow): Effect.Effect<boolean, SqlError.SqlError> =>
    sql`
      WITH ended AS (
        UPDATE runs SET
          status = ${row.status}, outcome = ${row.outcome}, exit_class = ${row.exitClass}, error_class = ${row.errorClass},
          settled_credits = CASE WHEN unmetered THEN 0 ELSE ${row.settledCredits}::integer END,
          usage_credits = ${row.usageCredits}, turns = ${row.turns}, wall_ms = ${row.wallMs},
          receipt = ${row.receipt === null ? null : JSON.stringify(row.receipt)}::jsonb,
          output_object = ${row.output?.object ?? null}, output_bytes = ${row.output?.bytes ?? null}::bigint, output_key = ${row.output?.key ?? null},
          finished_at = ${row.at}, event_seq = event_seq + 1
        WHERE id = ${row.runId} AND status IN ${sql.in(row.from)}
        RETURNING id, payer, hold_credits, unmetered, event_seq
      ), account AS (
        UPDATE credit_accounts SET
          balance = balance + ended.hold_credits - ${row.settledCredits}::integer, held = held - ended.hold_credits
        FROM ended WHERE credit_accounts.payer = ended.payer AND NOT ended.unmetered
      ), lines AS (
        INSERT INTO ledger_lines (payer, reason, subject, balance_delta, held_delta, at)
        SELECT payer, reason, 'run:' || id, balance_delta, held_delta, ${row.at}::timestamptz FROM ended, LATERAL (
          SELECT 'run_refund' AS reason, hold_credits AS balance_delta, -hold_credits AS held_delta WHERE ${row.refunded}
          UNION ALL SELECT 'run_release', hold_credits - ${row.settledCredits}::integer, ${row.settledCredits}::integer - hold_credits WHERE NOT ${row.refunded}
          UNION ALL SELECT 'run', 0, ${-row.settledCredits}::integer WHERE NOT ${row.refunded}
        ) booked WHERE NOT unmetered
      ), event AS (
        INSERT INTO run_events (run_id, seq, event, data) SELECT id, event_seq, 'status', ${row.event}::jsonb FROM ended
      )
      SELECT pg_notify('runs_queued', id) FROM ended`.pipe(Effect.map((rows) => rows.length === 1))

  const grant = (payer: string, reason: "grant" | "cycle_grant", subject: string, credits: number, now: Date) =>
    sql`
      WITH line AS (
        INSERT INTO ledger_lines (payer, reason, subject, balance_delta, held_delta, at)
        VALUES (${payer}, ${reason}, ${subject}, ${credits}, 0, ${now}) ON CONFLICT DO NOTHING RETURNING payer
      )
      UPDATE credit_accounts SET balance = balance + ${credits} FROM line WHERE credit_accounts.payer = line.payer
      RETURNING credit_accounts.payer`.pipe(Effect.map((rows) => rows.length === 1))

  const setTier = (payer: string, tier: Tier) => sql`UPDATE credit_accounts SET tier = ${tier} WHERE payer = ${payer}`

  const lines = (payer: string, before: number | null, limit: number) =>
    sql<LineRow>`
      SELECT seq::integer, reason, subject, balance_delta, held_delta, at FROM ledger_lines
      WHERE payer = ${payer} AND seq < ${before ?? Number.MAX_SAFE_INTEGER}::bigint
      ORDER BY seq DESC LIMIT ${limit}`

  const dueCycles = (now: Date, limit: number) =>
    sql<AccountRow>`SELECT payer, tier, balance, held, cycle_ends_at FROM credit_accounts WHERE cycle_ends_at <= ${now} ORDER BY cycle_ends_at LIMIT ${limit}`

  /** The new cycle's grant and its end, once for each cycle. */
  const renewCycle = (account: AccountRow, allowance: number, nextEnd: Date, now: Date) =>
    sql`
      WITH due AS (
        UPDATE credit_accounts SET cycle_ends_at = ${nextEnd}, balance = balance + ${allowance}
        WHERE payer = ${account.payer} AND cycle_ends_at = ${account.cycleEndsAt} RETURNING payer
      )
      INSERT INTO ledger_lines (payer, reason, subject, balance_delta, held_delta, at)
      SELECT payer, 'cycle_grant', ${cycleSubject(account.payer, nextEnd)}::text, ${allowance}::integer, 0, ${now}::timestamptz FROM due`

  return { account, open, isOpened, end, grant, setTier, lines, dueCycles, renewCycle }
})

/** The whole row, so that one JSON parameter carries it with its types. */
const rowOf = (run: NewRun, now: Date) => ({
  id: run.id,
  account_id: run.accountId,
  payer: run.payer,
  tier: run.tier,
  unmetered: run.unmetered,
  kind: run.kind,
  mode: run.mode,
  version_id: run.versionId,
  ref: run.ref,
  archive_digest: run.archiveDigest,
  status: "queued",
  slots: run.slots,
  needs_browser: run.needsBrowser,
  caps_seconds: run.capsSeconds,
  caps_turns: run.capsTurns,
  token_cap: run.tokenCap,
  hold_credits: run.holdCredits,
  request: `\\x${Buffer.from(run.request).toString("hex")}`,
  request_key: run.requestKey,
  inputs: run.inputs,
  seal_to: run.sealTo,
  open_with: `\\x${Buffer.from(run.openWith).toString("hex")}`,
  created_at: now.toISOString(),
  expires_at: run.expiresAt,
  idempotency_key: run.idempotencyKey,
  event_seq: 1,
  attempts: 0
})

export class LedgerSql extends Context.Service<LedgerSql, Effect.Success<typeof make>>()("runs/LedgerSql") {
  static readonly layer = Layer.effect(LedgerSql, make)
}
