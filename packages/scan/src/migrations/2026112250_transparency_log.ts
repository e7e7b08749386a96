import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The transparency log. What is published is noted in `log_pending` by the
 * transaction that publishes it; the sequencer takes it from there into the
 * tree, of which no row ever changes.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE log_pending (
    version_id text PRIMARY KEY REFERENCES versions,
    place bigint GENERATED ALWAYS AS IDENTITY
  )`
  yield* sql`CREATE INDEX log_pending_place ON log_pending (place)`
  yield* sql`CREATE TABLE log_entries (
    leaf integer PRIMARY KEY,
    version_id text NOT NULL REFERENCES versions,
    hidden boolean NOT NULL,
    entry text NOT NULL,
    opening jsonb CHECK ((opening IS NOT NULL) = hidden),
    -- Crashes and second nodes: whatever happens, a version is logged once in clear and once as a commitment.
    CONSTRAINT log_entries_once UNIQUE (version_id, hidden)
  )`
  // Hashes of complete subtrees; leaves have level 0.
  yield* sql`CREATE TABLE log_nodes (
    level integer NOT NULL,
    index integer NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (level, index)
  )`
  yield* sql`CREATE INDEX log_nodes_leaf ON log_nodes (hash) WHERE level = 0`
  yield* sql`CREATE TABLE log_checkpoints (
    size integer PRIMARY KEY,
    root bytea NOT NULL CHECK (length(root) = 32),
    made_at timestamptz NOT NULL
  )`
  yield* sql`INSERT INTO log_checkpoints VALUES (0, sha256(''), now())`
  yield* sql.unsafe(`
    CREATE FUNCTION log_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'the log only grows';
    END $$`)
  for (const table of ["log_entries", "log_nodes", "log_checkpoints"]) {
    yield* sql.unsafe(`CREATE TRIGGER ${table}_stay BEFORE UPDATE OR DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION log_only_grows()`)
  }

  // The update on conflict does nothing but wait for a sequencer that is just taking the row, and then note it again.
  yield* sql.unsafe(`
    CREATE FUNCTION log_pending_on_version() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO log_pending (version_id) VALUES (NEW.id)
      ON CONFLICT (version_id) DO UPDATE SET version_id = EXCLUDED.version_id;
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER log_pending_on_publication AFTER UPDATE OF published_at, attestation ON versions FOR EACH ROW
    WHEN (NEW.published_at IS NOT NULL AND NEW.attestation IS NOT NULL AND (OLD.published_at IS NULL OR OLD.attestation IS NULL))
    EXECUTE FUNCTION log_pending_on_version()`
  yield* sql`CREATE TRIGGER log_pending_on_arrival AFTER INSERT ON versions FOR EACH ROW
    WHEN (NEW.published_at IS NOT NULL AND NEW.attestation IS NOT NULL)
    EXECUTE FUNCTION log_pending_on_version()`
  // A private agent that becomes public: what was a commitment is logged again in clear.
  yield* sql.unsafe(`
    CREATE FUNCTION log_pending_on_agent() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO log_pending (version_id)
      SELECT id FROM versions WHERE agent_id = NEW.id AND published_at IS NOT NULL AND attestation IS NOT NULL ORDER BY id
      ON CONFLICT (version_id) DO UPDATE SET version_id = EXCLUDED.version_id;
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER log_pending_on_opening AFTER UPDATE OF visibility ON agents FOR EACH ROW
    WHEN (NEW.visibility = 'public' AND OLD.visibility = 'private')
    EXECUTE FUNCTION log_pending_on_agent()`

  yield* sql`INSERT INTO log_pending (version_id)
    SELECT id FROM versions WHERE published_at IS NOT NULL AND attestation IS NOT NULL ORDER BY published_at, id`
})
