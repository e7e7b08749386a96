import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Counting and ordering what a common word matches visits a row of each match.
 * These rows are narrow: the words of all texts stay in `agent_search`, and only
 * the index over them is of the narrow rows.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE agent_search ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT agent_search_id UNIQUE`
  yield* sql.unsafe(`
    CREATE FUNCTION agent_search_replaced() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'a row of agent_search is replaced by another, never changed';
    END $$`)
  yield* sql`CREATE TRIGGER agent_search_replaced BEFORE UPDATE ON agent_search FOR EACH ROW EXECUTE FUNCTION agent_search_replaced()`
  yield* sql`CREATE TABLE search_entries (
    id bigint PRIMARY KEY REFERENCES agent_search (id) ON DELETE CASCADE,
    agent_id text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    visibility text NOT NULL,
    facets_id integer NOT NULL,
    published_at timestamptz NOT NULL,
    -- Of the name and the keywords, which decide how well an agent matches.
    name_words tsvector NOT NULL
  )`
  // A count takes milliseconds; starting processes for it takes longer.
  yield* sql`ALTER TABLE search_entries SET (parallel_workers = 0)`
  // REINDEX and VACUUM FULL take their snapshot and then wait for those who write, whose rows they index after all:
  // the words of these are looked up in a snapshot of now.
  yield* sql.unsafe(`
    CREATE FUNCTION search_words_now(entry bigint) RETURNS tsvector LANGUAGE plpgsql VOLATILE STRICT SET search_path FROM CURRENT AS $$
    BEGIN
      RETURN (SELECT words FROM agent_search WHERE id = entry);
    END $$`)
  // Immutable in truth: a row of agent_search keeps its id and its words for life.
  yield* sql.unsafe(`
    CREATE FUNCTION search_words(entry bigint) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT COST 1000 SET search_path FROM CURRENT AS $$
    BEGIN
      RETURN coalesce((SELECT words FROM agent_search WHERE id = entry), search_words_now(entry));
    END $$`)
  yield* sql.unsafe(`
    CREATE FUNCTION search_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO search_entries (id, agent_id, namespace, name, visibility, facets_id, published_at, name_words)
        VALUES (NEW.id, NEW.agent_id, NEW.namespace, NEW.name, NEW.visibility, NEW.facets_id, NEW.published_at, ts_filter(NEW.words, '{a,b}'));
      RETURN NULL;
    END $$`)
  yield* sql`INSERT INTO search_entries (id, agent_id, namespace, name, visibility, facets_id, published_at, name_words)
    SELECT id, agent_id, namespace, name, visibility, facets_id, published_at, ts_filter(words, '{a,b}') FROM agent_search`
  yield* sql`CREATE TRIGGER search_entry AFTER INSERT ON agent_search FOR EACH ROW EXECUTE FUNCTION search_entry()`
  yield* sql`CREATE INDEX search_entries_words ON search_entries USING gin (search_words(id))`
  yield* sql`CREATE INDEX search_entries_name ON search_entries USING gin (name gin_trgm_ops)`
  yield* sql`CREATE INDEX search_entries_newest ON search_entries (published_at DESC, agent_id DESC) WHERE visibility = 'public'`
  yield* sql`CREATE INDEX search_entries_facets ON search_entries (facets_id, namespace) WHERE visibility = 'public'`
  yield* sql`CREATE INDEX search_entries_namespaces ON search_entries (namespace) WHERE visibility = 'public'`
  // The release before searches slower without these, and right.
  yield* sql`DROP INDEX agent_search_words, agent_search_name, agent_search_newest, agent_search_namespaces`
})
