import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The review queue, advisories and reports of abuse. A version that becomes
 * held gets its review by trigger, in the transaction that holds it, whoever
 * holds it; the same way a review closes when its version moves on.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE reviews (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version_id text NOT NULL REFERENCES versions,
    kind text NOT NULL CHECK (kind IN ('held', 'rescan', 'quarantine')),
    severity text NOT NULL CHECK (severity IN ('info', 'low', 'medium', 'high', 'critical')),
    findings jsonb NOT NULL,
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    claimed_by text,
    claimed_until timestamptz,
    approved_by text,
    approved_reason text,
    approved_at timestamptz,
    disputed_by text,
    disputed_reason text,
    disputed_at timestamptz
  )`
  yield* sql`CREATE UNIQUE INDEX reviews_open ON reviews (version_id) WHERE closed_at IS NULL`
  yield* sql`CREATE INDEX versions_held ON versions (progressed_at) WHERE status IN ('needs_review', 'quarantined')`
  yield* sql.unsafe(`
    CREATE FUNCTION worst_severity(findings jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT coalesce((
        SELECT f ->> 'severity' FROM jsonb_array_elements(findings) f
        ORDER BY array_position(ARRAY['critical', 'high', 'medium', 'low', 'info'], f ->> 'severity') LIMIT 1
      ), 'high')
    $$`)
  yield* sql.unsafe(`
    CREATE FUNCTION reviews_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      -- Yanked and taken back is the owner's doing and decides nothing.
      IF OLD.status IN ('published', 'yanked') AND NEW.status IN ('published', 'yanked') THEN RETURN NULL; END IF;
      -- Quarantined for a reason that is not decided yet: the review goes on.
      IF NEW.status = 'quarantined' THEN
        UPDATE reviews SET kind = 'quarantine', approved_by = NULL, approved_reason = NULL, approved_at = NULL
        WHERE version_id = NEW.id AND closed_at IS NULL;
        RETURN NULL;
      END IF;
      UPDATE reviews SET closed_at = NEW.progressed_at WHERE version_id = NEW.id AND closed_at IS NULL;
      IF NEW.status = 'needs_review' THEN
        INSERT INTO reviews (version_id, kind, severity, findings, opened_at)
        VALUES (NEW.id, 'held', worst_severity(coalesce(NEW.holding, '[]')), coalesce(NEW.holding, '[]'), NEW.progressed_at);
      END IF;
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER reviews_follow AFTER UPDATE OF status ON versions
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION reviews_follow()`
  yield* sql`INSERT INTO reviews (version_id, kind, severity, findings, opened_at)
    SELECT id, 'held', worst_severity(coalesce(holding, '[]')), coalesce(holding, '[]'), progressed_at FROM versions WHERE status = 'needs_review'`

  yield* sql`CREATE TABLE advisories (
    id text PRIMARY KEY,
    agent_id text NOT NULL REFERENCES agents ON DELETE CASCADE,
    state text NOT NULL CHECK (state IN ('draft', 'published', 'withdrawn')),
    severity text NOT NULL CHECK (severity IN ('info', 'low', 'medium', 'high', 'critical')),
    affected text NOT NULL,
    patched text,
    summary text NOT NULL,
    details text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    published_at timestamptz,
    withdrawn_at timestamptz,
    withdrawn_reason text
  )`
  yield* sql`CREATE INDEX advisories_agent ON advisories (agent_id, state)`
  yield* sql`CREATE INDEX advisories_newest ON advisories (created_at DESC, id DESC)`
  yield* sql`CREATE TABLE advisory_numbers (year integer PRIMARY KEY, last integer NOT NULL)`

  yield* sql`CREATE TABLE abuse_reports (
    id text PRIMARY KEY,
    agent_id text NOT NULL REFERENCES agents ON DELETE CASCADE,
    version text,
    reporter_id text NOT NULL,
    category text NOT NULL,
    text text NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'triaged', 'resolved')),
    resolution text CHECK (resolution IN ('actioned', 'dismissed')),
    reason text,
    handled_by text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  )`
  yield* sql`CREATE UNIQUE INDEX abuse_reports_one_open ON abuse_reports (agent_id, reporter_id) WHERE state <> 'resolved'`
  yield* sql`CREATE INDEX abuse_reports_reporter ON abuse_reports (reporter_id, created_at DESC)`
  yield* sql`CREATE INDEX abuse_reports_state ON abuse_reports (state, created_at)`
})
