/** What must hold of runs, holds and ledger lines whatever has died on the way. Each statement answers what breaks its rule. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

export interface Rule {
  readonly name: string
  /** True for a rule that may be broken while runs are under way. */
  readonly atTheEnd: boolean
  /** Rows are the violations. */
  readonly broken: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>
}

export const rules: ReadonlyArray<Rule> = [
  {
    name: "every run has ended",
    atTheEnd: true,
    broken: (sql) => sql`SELECT id, status, attempts FROM runs WHERE status NOT IN ('cancelled', 'finished')`
  },
  {
    name: "a run that ended tells its end once, as its last event, and its events have no gap",
    atTheEnd: false,
    broken: (sql) => sql`
      SELECT runs.id, runs.status, array_agg(e.data->>'status' ORDER BY e.seq) AS events, array_agg(e.seq ORDER BY e.seq) AS seqs
      FROM runs LEFT JOIN run_events e ON e.run_id = runs.id
      GROUP BY runs.id
      HAVING count(e.seq) <> runs.event_seq OR max(e.seq) <> runs.event_seq
        OR count(*) FILTER (WHERE e.data->>'status' IN ('cancelled', 'finished')) <> CASE WHEN runs.status IN ('cancelled', 'finished') THEN 1 ELSE 0 END
        OR (array_agg(e.data->>'status' ORDER BY e.seq DESC))[1] <> runs.status`
  },
  {
    name: "each hold is settled or refunded exactly once, and only when its run has ended",
    atTheEnd: false,
    broken: (sql) => sql`
      SELECT runs.id, runs.status, runs.outcome, coalesce(string_agg(l.reason, '+' ORDER BY l.seq), '') AS lines,
        sum(l.balance_delta) AS balance, sum(l.held_delta) AS held
      FROM runs LEFT JOIN ledger_lines l ON l.subject = 'run:' || runs.id
      WHERE NOT runs.unmetered
      GROUP BY runs.id
      HAVING NOT CASE
        WHEN runs.status NOT IN ('cancelled', 'finished') THEN
          array_agg(l.reason ORDER BY l.reason) = ARRAY['run_hold'] AND sum(l.held_delta) = runs.hold_credits AND sum(l.balance_delta) = -runs.hold_credits
        ELSE
          array_agg(l.reason ORDER BY l.reason) IN (ARRAY['run_hold', 'run_refund'], ARRAY['run', 'run_hold', 'run_release'])
          AND sum(l.held_delta) = 0 AND sum(l.balance_delta) = -runs.settled_credits
          AND (runs.status = 'finished' AND runs.outcome IN ('succeeded', 'failed', 'timeout', 'budget') OR 'run_refund' = ANY(array_agg(l.reason))
            OR runs.outcome IN ('interrupted', 'blocked', 'refused'))
      END`
  },
  {
    name: "no ledger line of a run is without its run",
    atTheEnd: false,
    broken: (sql) =>
      sql`SELECT reason, subject FROM ledger_lines l WHERE subject LIKE 'run:%' AND NOT EXISTS (SELECT FROM runs WHERE 'run:' || runs.id = l.subject)`
  },
  {
    name: "an account's ledger lines add up to its balance and to what it holds",
    atTheEnd: false,
    broken: (sql) => sql`
      SELECT a.payer, a.balance, a.held, sum(l.balance_delta) AS lines_balance, sum(l.held_delta) AS lines_held
      FROM credit_accounts a LEFT JOIN ledger_lines l USING (payer)
      GROUP BY a.payer HAVING a.balance <> coalesce(sum(l.balance_delta), 0) OR a.held <> coalesce(sum(l.held_delta), 0)`
  },
  {
    name: "what an account holds is what its active runs hold",
    atTheEnd: false,
    broken: (sql) => sql`
      SELECT a.payer, a.held, coalesce(sum(runs.hold_credits), 0) AS active
      FROM credit_accounts a LEFT JOIN runs ON runs.payer = a.payer AND NOT runs.unmetered AND runs.status NOT IN ('cancelled', 'finished')
      GROUP BY a.payer HAVING a.held <> coalesce(sum(runs.hold_credits), 0)`
  },
  {
    name: "nobody ever had two active runs",
    atTheEnd: false,
    broken: (sql) => sql`
      WITH life AS (
        SELECT runs.id, runs.account_id, min((e.data->>'at')::timestamptz) AS began,
          CASE WHEN runs.status IN ('cancelled', 'finished') THEN max((e.data->>'at')::timestamptz) ELSE 'infinity' END AS ended
        FROM runs JOIN run_events e ON e.run_id = runs.id GROUP BY runs.id
      )
      SELECT one.account_id, one.id, other.id AS other FROM life one JOIN life other ON one.account_id = other.account_id AND one.id < other.id
      WHERE one.began < other.ended AND other.began < one.ended`
  },
  {
    name: "a run that succeeded has an output",
    atTheEnd: false,
    broken: (sql) =>
      sql`SELECT id FROM runs WHERE outcome = 'succeeded' AND (output_object IS NULL OR output_key IS NULL)`
  }
]

/** One line for each broken rule, with the first rows that break it. */
export const violations = (sql: SqlClient.SqlClient, options: { readonly atTheEnd: boolean }) =>
  Effect.map(
    Effect.forEach(
      rules.filter((rule) => options.atTheEnd || !rule.atTheEnd),
      (rule) =>
        Effect.map(rule.broken(sql), (rows) =>
          rows.length === 0
            ? []
            : [`not so: ${rule.name}: ${rows.length} times, such as ${JSON.stringify(rows.slice(0, 3))}`]
        )
    ),
    (found) => found.flat()
  )

/** The constraint that stops a second active run of an account, asked directly; undefined when nothing stops it. Changes nothing. */
export const guardOfSecondRun = (sql: SqlClient.SqlClient) =>
  sql
    .withTransaction(
      Effect.gen(function* () {
        const copy = (id: string) => sql`
      INSERT INTO runs SELECT made.* FROM (SELECT runs FROM runs ORDER BY id LIMIT 1) any_run (row), LATERAL jsonb_populate_record(any_run.row,
        jsonb_build_object('id', ${id}::text, 'status', 'queued', 'outcome', NULL, 'idempotency_key', NULL, 'account_id', 'acc_of_the_guard')) made`
        yield* copy("run_first")
        yield* copy("run_second")
        return yield* Effect.fail("nothing stopped it" as const)
      })
    )
    .pipe(
      Effect.match({
        onSuccess: () => undefined,
        onFailure: (error) =>
          error !== "nothing stopped it" && error.reason._tag === "UniqueViolation"
            ? error.reason.constraint
            : undefined
      })
    )
