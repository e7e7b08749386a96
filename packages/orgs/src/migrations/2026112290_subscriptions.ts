import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What an admission extension tells about an organization, and who created one that awaits payment. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organizations
    ADD COLUMN created_by text REFERENCES accounts (id) ON DELETE SET NULL,
    ADD COLUMN seats integer CHECK (seats > 0),
    ADD COLUMN features jsonb,
    ADD COLUMN subscription_told_at timestamptz`
  yield* sql`CREATE INDEX organizations_pending ON organizations (created_by) WHERE subscription = 'pending-payment'`
})
