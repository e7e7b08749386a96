import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // One key is one person: it is found by its fingerprint alone.
  yield* sql`CREATE TABLE ssh_keys (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    title text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL CONSTRAINT ssh_keys_fingerprint UNIQUE,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz
  )`
  yield* sql`CREATE INDEX ssh_keys_account ON ssh_keys (account_id)`
})
