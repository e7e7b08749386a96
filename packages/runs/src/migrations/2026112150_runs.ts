import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE credit_accounts (
    payer text PRIMARY KEY,
    tier text NOT NULL DEFAULT 'standard' CHECK (tier IN ('standard', 'pro', 'business', 'enterprise')),
    balance integer NOT NULL DEFAULT 0 CHECK (balance >= 0),
    held integer NOT NULL DEFAULT 0 CHECK (held >= 0),
    cycle_ends_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  )`
  yield* sql`CREATE INDEX credit_accounts_cycle ON credit_accounts (cycle_ends_at)`
  yield* sql`CREATE TABLE ledger_lines (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payer text NOT NULL REFERENCES credit_accounts,
    reason text NOT NULL CHECK (reason IN ('run_hold', 'run_release', 'run', 'run_refund', 'grant', 'cycle_grant')),
    subject text NOT NULL,
    balance_delta integer NOT NULL,
    held_delta integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    -- A finish that is reported twice cannot be booked twice.
    CONSTRAINT ledger_lines_once UNIQUE (reason, subject)
  )`
  yield* sql`CREATE INDEX ledger_lines_payer ON ledger_lines (payer, seq DESC)`

  yield* sql`CREATE TABLE hosts (
    id text PRIMARY KEY,
    name text NOT NULL,
    address text NOT NULL,
    capacity integer NOT NULL,
    features jsonb NOT NULL,
    version text,
    used_slots integer NOT NULL DEFAULT 0,
    draining boolean NOT NULL DEFAULT false,
    enrolled_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz,
    certificate_expires_at timestamptz,
    retired_at timestamptz
  )`
  yield* sql`CREATE INDEX hosts_in_use ON hosts (id) WHERE retired_at IS NULL`
  yield* sql`CREATE TABLE host_enrolments (
    id text PRIMARY KEY,
    name text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    revoked_at timestamptz,
    host_id text REFERENCES hosts
  )`
  yield* sql`CREATE TABLE run_model (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    provider text NOT NULL,
    base_url text,
    model text NOT NULL,
    api_key text,
    max_concurrent integer,
    set_at timestamptz NOT NULL DEFAULT now()
  )`

  yield* sql`CREATE TABLE runs (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    payer text NOT NULL,
    tier text NOT NULL,
    unmetered boolean NOT NULL,
    kind text NOT NULL,
    mode text NOT NULL,
    version_id text NOT NULL,
    ref text NOT NULL,
    archive_digest text NOT NULL,
    status text NOT NULL CHECK (status IN ('queued', 'claimed', 'running', 'cancelled', 'finished')),
    slots integer NOT NULL,
    needs_browser boolean NOT NULL,
    caps_seconds integer NOT NULL,
    caps_turns integer NOT NULL,
    token_cap integer NOT NULL,
    hold_credits integer NOT NULL,
    -- Task and intake answers, sealed; what opens them is wrapped by the key service.
    request bytea NOT NULL,
    request_key text NOT NULL,
    inputs jsonb NOT NULL,
    seal_to text NOT NULL,
    open_with bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    idempotency_key text,
    event_seq integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    host_id text REFERENCES hosts,
    claimed_at timestamptz,
    supervised_at timestamptz,
    started_at timestamptz,
    cancel_requested_at timestamptz,
    finished_at timestamptz,
    outcome text,
    exit_class text,
    error_class text,
    settled_credits integer,
    usage_credits integer,
    turns integer,
    wall_ms integer,
    receipt jsonb,
    output_object text,
    output_bytes bigint,
    output_key text,
    CHECK ((status = 'finished') = (outcome IS NOT NULL))
  )`
  // One active run per account, whoever asks, however often. Spec: Errors, run-active.
  yield* sql`CREATE UNIQUE INDEX runs_one_active ON runs (account_id) WHERE status IN ('queued', 'claimed', 'running')`
  yield* sql`CREATE UNIQUE INDEX runs_idempotency ON runs (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL`
  yield* sql`CREATE INDEX runs_queue ON runs (created_at, id) WHERE status = 'queued'`
  yield* sql`CREATE INDEX runs_on_hosts ON runs (host_id) WHERE status IN ('claimed', 'running')`
  yield* sql`CREATE INDEX runs_newest ON runs (account_id, created_at DESC, id DESC)`

  yield* sql`CREATE TABLE run_events (
    run_id text NOT NULL REFERENCES runs,
    seq integer NOT NULL,
    event text NOT NULL CHECK (event IN ('log', 'status', 'charge', 'error')),
    data jsonb NOT NULL,
    PRIMARY KEY (run_id, seq)
  )`
  yield* sql.unsafe(`
    CREATE FUNCTION run_events_notify() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('run_events', NEW.run_id);
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER run_events_notify AFTER INSERT ON run_events FOR EACH ROW EXECUTE FUNCTION run_events_notify()`

  yield* sql`CREATE TABLE run_inputs (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    name text NOT NULL,
    bytes bigint NOT NULL,
    digest text NOT NULL,
    object text NOT NULL,
    data_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    run_id text REFERENCES runs
  )`
  yield* sql`CREATE INDEX run_inputs_unclaimed ON run_inputs (created_at) WHERE run_id IS NULL`
  yield* sql`CREATE INDEX run_inputs_object ON run_inputs (object)`
})
