import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What one person did is asked of a log that may be years long. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE INDEX audit_entries_actor ON audit_entries (actor_handle, id DESC) WHERE actor_handle IS NOT NULL`
})
