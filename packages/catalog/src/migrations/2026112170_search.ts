import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * One row for each agent with a published version, kept by triggers: whatever
 * changes an agent or the state of a version changes its row in the same
 * transaction, so that a search never finds what is not there.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE EXTENSION IF NOT EXISTS pg_trgm`
  yield* sql`CREATE TABLE agent_search (
    agent_id text PRIMARY KEY REFERENCES agents ON DELETE CASCADE,
    namespace text NOT NULL,
    name text NOT NULL,
    visibility text NOT NULL,
    words tsvector NOT NULL,
    modes text[] NOT NULL,
    capabilities text[] NOT NULL,
    verdict text NOT NULL,
    license text,
    published_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX agent_search_words ON agent_search USING gin (words)`
  yield* sql`CREATE INDEX agent_search_name ON agent_search USING gin (name gin_trgm_ops)`
  yield* sql`CREATE UNIQUE INDEX agent_search_ref ON agent_search (namespace, name)`
  yield* sql`CREATE INDEX agent_search_newest ON agent_search (published_at DESC, agent_id DESC) WHERE visibility = 'public'`
  yield* sql.unsafe(`
    CREATE FUNCTION agent_search_refresh(wanted text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM agent_search WHERE agent_id = wanted;
      INSERT INTO agent_search (agent_id, namespace, name, visibility, words, modes, capabilities, verdict, license, published_at)
      SELECT a.id, a.namespace, a.name, a.visibility,
        setweight(to_tsvector('simple', replace(a.name, '-', ' ') || ' ' || a.name), 'A') ||
          setweight(to_tsvector('simple', coalesce((SELECT string_agg(k, ' ') FROM jsonb_array_elements_text(coalesce(v.manifest -> 'keywords', '[]')) k), '') || ' ' || a.namespace), 'B') ||
          setweight(to_tsvector('english', a.description || ' ' || coalesce(v.manifest ->> 'description', '')), 'C'),
        ARRAY(SELECT jsonb_array_elements_text(v.manifest -> 'modes')),
        ARRAY(SELECT kind FROM (VALUES
          ('filesystem.read', v.manifest #> '{capabilities,filesystem,read}'),
          ('filesystem.write', v.manifest #> '{capabilities,filesystem,write}'),
          ('exec', v.manifest #> '{capabilities,exec,commands}'),
          ('network', v.manifest #> '{capabilities,network,egress}'),
          ('targetHosts', v.manifest #> '{capabilities,targetHosts}'),
          ('mcp', v.manifest -> 'mcpServers'),
          ('secrets', v.manifest -> 'secrets')
        ) asked (kind, list) WHERE jsonb_array_length(coalesce(list, '[]')) > 0
        UNION ALL SELECT 'browser' WHERE v.manifest #> '{capabilities,browser}' IS NOT NULL),
        coalesce(v.verdict, 'unscanned'), v.manifest ->> 'license', v.published_at
      FROM agents a JOIN LATERAL (
        SELECT manifest, verdict, published_at FROM versions WHERE agent_id = a.id AND status = 'published' AND manifest IS NOT NULL
        ORDER BY published_at DESC, id DESC LIMIT 1
      ) v ON true
      WHERE a.id = wanted AND a.deleted_at IS NULL;
    END $$`)
  yield* sql.unsafe(`
    CREATE FUNCTION agent_search_on_version() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM agent_search_refresh(NEW.agent_id);
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER agent_search_on_version AFTER UPDATE OF status ON versions
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION agent_search_on_version()`
  yield* sql.unsafe(`
    CREATE FUNCTION agent_search_on_agent() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM agent_search_refresh(NEW.id);
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER agent_search_on_agent AFTER UPDATE OF description, visibility, deleted_at ON agents
    FOR EACH ROW EXECUTE FUNCTION agent_search_on_agent()`
  yield* sql`SELECT agent_search_refresh(id) FROM agents`
})
