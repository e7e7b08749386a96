import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Indexes of who may read what; erased agents whose bytes are still there; and two changes of one agent refresh its place in search one after the other. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE INDEX namespaces_owner ON namespaces (owner_id)`
  yield* sql`CREATE INDEX agent_grants_account ON agent_grants (account_id)`
  yield* sql`CREATE INDEX organizations_unseen ON organizations (handle) WHERE state IN ('suspended', 'erased')`
  yield* sql`ALTER TABLE agents ADD COLUMN erasing boolean NOT NULL DEFAULT false`
  yield* sql`CREATE INDEX agents_erasing ON agents (id) WHERE erasing`
  yield* sql`ALTER FUNCTION agent_search_refresh (text) RENAME TO agent_search_write`
  yield* sql.unsafe(`
    CREATE FUNCTION agent_search_refresh(wanted text) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      broken text;
    BEGIN
      -- As the row's foreign key does, but first: a transfer holds the agent and then comes here.
      PERFORM FROM agents WHERE id = wanted FOR KEY SHARE;
      LOOP
        BEGIN
          PERFORM agent_search_write(wanted);
          RETURN;
        EXCEPTION WHEN unique_violation THEN
          GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
          IF broken <> 'agent_search_pkey' THEN RAISE; END IF;
          -- Another version of the agent came at the same time and is committed now: again, with what it wrote.
        END;
      END LOOP;
    END $$`)
})
