import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE agent_team_grants (
    agent_id text NOT NULL REFERENCES agents ON DELETE CASCADE,
    team_id text NOT NULL REFERENCES teams ON DELETE CASCADE,
    level text NOT NULL CHECK (level IN ('read', 'write', 'manage')),
    PRIMARY KEY (agent_id, team_id)
  )`
  yield* sql`CREATE INDEX agent_team_grants_team ON agent_team_grants (team_id)`
  // Only teams of the organization that owns an agent: in another namespace it is without them.
  yield* sql.unsafe(`
    CREATE FUNCTION agent_team_grants_stay_behind() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM agent_team_grants WHERE agent_id = NEW.id;
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER agent_team_grants_stay_behind AFTER UPDATE OF namespace ON agents
    FOR EACH ROW WHEN (OLD.namespace IS DISTINCT FROM NEW.namespace) EXECUTE FUNCTION agent_team_grants_stay_behind()`
})
