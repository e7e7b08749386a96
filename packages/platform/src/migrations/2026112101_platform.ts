import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Leases only: what a crash of PostgreSQL loses here is at most one window.
  yield* sql`CREATE UNLOGGED TABLE rate_windows (
    key text NOT NULL,
    window_start bigint NOT NULL,
    taken integer NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (key, window_start)
  )`
  yield* sql`CREATE INDEX rate_windows_ends_at ON rate_windows (ends_at)`
  yield* sql`CREATE TABLE idempotency_keys (
    account_id text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    status integer,
    headers jsonb,
    body bytea,
    PRIMARY KEY (account_id, key)
  )`
  yield* sql`CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at)`
  yield* sql`CREATE TABLE audit_entries (
    id text NOT NULL,
    at timestamptz NOT NULL,
    actor_type text NOT NULL,
    actor_id text NOT NULL,
    actor_handle text,
    action text NOT NULL,
    target text NOT NULL,
    org text,
    ip text,
    request_id text,
    detail jsonb NOT NULL,
    PRIMARY KEY (id, at)
  ) PARTITION BY RANGE (at)`
  yield* sql`CREATE INDEX audit_entries_org ON audit_entries (org, id DESC) WHERE org IS NOT NULL`
  yield* sql`CREATE TABLE audit_entries_default PARTITION OF audit_entries DEFAULT`
  yield* sql.unsafe(`
    CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'the audit log is append-only';
    END $$`)
  yield* sql`CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_refuse_change()`
  yield* sql.unsafe(`
    CREATE FUNCTION audit_make_partition(moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      first timestamptz := date_trunc('month', moment, 'UTC');
      name text := 'audit_entries_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMM');
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtext('audit_entries'));
      IF to_regclass(name) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF audit_entries FOR VALUES FROM (%L) TO (%L)', name, first, first + interval '1 month');
      END IF;
    END $$`)
  yield* sql.unsafe(`
    CREATE FUNCTION audit_drop_partitions(keep_from timestamptz) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      child record;
    BEGIN
      FOR child IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'audit_entries'::regclass AND c.relname ~ '^audit_entries_\\d{6}$'
      LOOP
        IF to_timestamp(right(child.relname, 6) || '01 00:00 +00', 'YYYYMMDD HH24:MI TZH') + interval '1 month' <= keep_from THEN
          EXECUTE format('DROP TABLE %I', child.relname);
        END IF;
      END LOOP;
    END $$`)
  yield* sql`SELECT audit_make_partition(now()), audit_make_partition(now() + interval '1 month')`
})
