import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Names and keywords are stemmed as descriptions are, so that one query asks for
 * all of them: a word may stand in the keywords and its plural in the text, and
 * a word that is not wanted is found wherever it stands. The query of the
 * release before, which asks for stems too, finds the same.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    CREATE OR REPLACE FUNCTION agent_search_write(wanted text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM agent_search WHERE agent_id = wanted;
      INSERT INTO agent_search (agent_id, namespace, name, visibility, words, modes, capabilities, verdict, license, published_at)
      SELECT a.id, a.namespace, a.name, a.visibility,
        setweight(to_tsvector('english', replace(a.name, '-', ' ') || ' ' || a.name), 'A') ||
          setweight(to_tsvector('english', coalesce((SELECT string_agg(k, ' ') FROM jsonb_array_elements_text(coalesce(v.manifest -> 'keywords', '[]')) k), '') || ' ' || a.namespace), 'B') ||
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
  yield* sql`SELECT agent_search_refresh(agent_id) FROM (SELECT agent_id FROM agent_search) found`
})
