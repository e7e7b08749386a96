import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * An index over `search_words` may be built anew while agents are published. REINDEX and VACUUM FULL take their
 * snapshot and then wait for those who write, whose rows they index after all: the words of these are looked up in a
 * snapshot of now.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    CREATE FUNCTION search_words_now(entry bigint) RETURNS tsvector LANGUAGE plpgsql VOLATILE STRICT SET search_path FROM CURRENT AS $$
    BEGIN
      RETURN (SELECT words FROM agent_search WHERE id = entry);
    END $$`)
  yield* sql.unsafe(`
    CREATE OR REPLACE FUNCTION search_words(entry bigint) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 SET search_path FROM CURRENT AS $$
    BEGIN
      RETURN coalesce((SELECT words FROM agent_search WHERE id = entry), search_words_now(entry));
    END $$`)
})
