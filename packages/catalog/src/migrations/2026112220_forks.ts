import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Forks, transfers, versions that are admitted unscanned, and what keeps names apart. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // How a name looks: what people take for each other is the same.
  yield* sql.unsafe(`
    CREATE FUNCTION name_skeleton(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT replace(replace(translate(replace(name, '-', ''), '01i5', 'olls'), 'rn', 'm'), 'vv', 'w')
    $$`)
  yield* sql`ALTER TABLE agents
    ADD COLUMN pipeline_skip boolean NOT NULL DEFAULT false,
    ADD COLUMN forked_from text REFERENCES agents,
    ADD COLUMN forked_version text,
    ADD COLUMN forked_as text,
    ADD COLUMN fork_state text CHECK (fork_state IN ('copying', 'ready', 'failed')),
    ADD COLUMN fork_detail text,
    ADD COLUMN fork_tried_at timestamptz,
    ADD COLUMN fork_archive text,
    ADD COLUMN fork_archive_bytes integer,
    ADD COLUMN installs integer NOT NULL DEFAULT 0,
    ADD COLUMN skeleton text GENERATED ALWAYS AS (name_skeleton(name)) STORED,
    ADD CONSTRAINT agents_fork CHECK ((forked_from IS NULL) = (fork_state IS NULL)),
    ADD CONSTRAINT agents_skip_private CHECK (NOT pipeline_skip OR visibility = 'private')`
  yield* sql`CREATE INDEX agents_forks ON agents (forked_from) WHERE fork_state = 'ready' AND deleted_at IS NULL`
  yield* sql`CREATE INDEX agents_copying ON agents (created_at) WHERE fork_state = 'copying'`
  yield* sql`CREATE INDEX agents_fork_archive ON agents (fork_archive) WHERE fork_archive IS NOT NULL`
  yield* sql`CREATE INDEX agents_most_installed ON agents (installs DESC, id DESC)`
  yield* sql`CREATE INDEX agents_skeleton ON agents (skeleton)`
  yield* sql.unsafe(`
    CREATE FUNCTION install_log_counts() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE agents SET installs = installs + 1 WHERE id = NEW.agent_id;
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER install_log_counts AFTER INSERT ON install_log FOR EACH ROW EXECUTE FUNCTION install_log_counts()`
  yield* sql`UPDATE agents a SET installs = l.count FROM (SELECT agent_id, count(*) AS count FROM install_log GROUP BY agent_id) l WHERE l.agent_id = a.id`

  // Null while it is the agent's own name: set by a transfer, for what was released before it.
  yield* sql`ALTER TABLE versions ADD COLUMN released_as text`
  yield* sql`CREATE TABLE former_names (
    namespace text NOT NULL REFERENCES namespaces,
    name text NOT NULL,
    agent_id text NOT NULL REFERENCES agents,
    since timestamptz NOT NULL,
    PRIMARY KEY (namespace, name)
  )`
  yield* sql`CREATE INDEX former_names_agent ON former_names (agent_id)`
  yield* sql`DROP TRIGGER agent_search_on_agent ON agents`
  yield* sql`CREATE TRIGGER agent_search_on_agent AFTER UPDATE OF namespace, name, description, visibility, deleted_at ON agents
    FOR EACH ROW EXECUTE FUNCTION agent_search_on_agent()`
})
