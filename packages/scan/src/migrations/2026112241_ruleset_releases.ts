import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE ruleset_releases (
    id text PRIMARY KEY,
    ruleset_version text NOT NULL,
    ruleset_hash text NOT NULL,
    malware_rules text NOT NULL,
    rules jsonb NOT NULL,
    changes jsonb NOT NULL,
    notes text NOT NULL,
    state text NOT NULL CHECK (state IN ('listing', 'rescanning', 'done', 'superseded')),
    listed_to text NOT NULL DEFAULT '',
    total integer NOT NULL DEFAULT 0,
    done integer NOT NULL DEFAULT 0,
    quarantined integer NOT NULL DEFAULT 0,
    flagged integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
  )`
  // Nodes of two programs may be up at once; two rescans may not.
  yield* sql`CREATE UNIQUE INDEX ruleset_releases_one_running ON ruleset_releases ((true)) WHERE state IN ('listing', 'rescanning')`
  yield* sql`CREATE TABLE rescans (
    release_id text NOT NULL REFERENCES ruleset_releases,
    version_id text NOT NULL REFERENCES versions,
    stages text[] NOT NULL,
    state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'failed')),
    outcome text CHECK (outcome IN ('unchanged', 'recorded', 'flagged', 'quarantined')),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    results jsonb,
    new_findings jsonb,
    finished_at timestamptz,
    PRIMARY KEY (release_id, version_id)
  )`
  yield* sql`CREATE INDEX rescans_queue ON rescans (release_id, due_at, version_id) WHERE state = 'queued'`
  yield* sql`CREATE INDEX rescans_version ON rescans (version_id)`
  yield* sql.unsafe(`
    CREATE FUNCTION rescans_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.state <> 'queued' THEN RAISE EXCEPTION 'what a rescan found is immutable'; END IF;
      RETURN NEW;
    END $$`)
  yield* sql`CREATE TRIGGER rescans_stay BEFORE UPDATE ON rescans FOR EACH ROW EXECUTE FUNCTION rescans_stay()`
})
