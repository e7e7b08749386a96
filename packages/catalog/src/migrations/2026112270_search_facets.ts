import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * What a search counts by becomes one small number of each agent: the few
 * combinations of modes, capabilities, verdict and licence stand in a table of
 * their own, so that counting every agent reads an index and no text. The
 * columns of before stay filled: the release before reads them.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE search_facets (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    modes text[] NOT NULL,
    capabilities text[] NOT NULL,
    verdict text NOT NULL,
    license text,
    CONSTRAINT search_facets_once UNIQUE NULLS NOT DISTINCT (modes, capabilities, verdict, license)
  )`
  yield* sql`ALTER TABLE agent_search ADD COLUMN facets_id integer REFERENCES search_facets`
  // Not by a join of its own in the function below: the row is written first, whoever writes it.
  yield* sql.unsafe(`
    CREATE FUNCTION agent_search_facets() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      LOOP
        SELECT id INTO NEW.facets_id FROM search_facets f
          WHERE (f.modes, f.capabilities, f.verdict) = (NEW.modes, NEW.capabilities, NEW.verdict) AND f.license IS NOT DISTINCT FROM NEW.license;
        EXIT WHEN FOUND;
        INSERT INTO search_facets (modes, capabilities, verdict, license)
          VALUES (NEW.modes, NEW.capabilities, NEW.verdict, NEW.license) ON CONFLICT DO NOTHING;
      END LOOP;
      RETURN NEW;
    END $$`)
  yield* sql`CREATE TRIGGER agent_search_facets BEFORE INSERT OR UPDATE OF modes, capabilities, verdict, license ON agent_search
    FOR EACH ROW EXECUTE FUNCTION agent_search_facets()`
  yield* sql`UPDATE agent_search SET verdict = verdict`
  yield* sql`CREATE INDEX agent_search_facets ON agent_search (facets_id, namespace) WHERE visibility = 'public'`
  yield* sql`CREATE INDEX agent_search_namespaces ON agent_search (namespace) WHERE visibility = 'public'`
  yield* sql`CREATE INDEX agents_private ON agents (namespace) WHERE visibility = 'private'`
})
