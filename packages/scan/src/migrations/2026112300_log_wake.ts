import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What waits to be logged wakes the job that takes it. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE FUNCTION log_pending_wakes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('log_pending', '');
      RETURN NULL;
    END $$`
  yield* sql`CREATE TRIGGER log_pending_wakes AFTER INSERT ON log_pending FOR EACH STATEMENT EXECUTE FUNCTION log_pending_wakes()`
})
