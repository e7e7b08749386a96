import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Codes that work once: of a verification mail, and of a desktop program's sign-in. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Beside what the provider says at each sign-in: an address that its holder proved to the registry stays verified.
  yield* sql`ALTER TABLE accounts ADD COLUMN verified_email text`
  // One an account: a new mail makes the one before worthless.
  yield* sql`CREATE TABLE email_verifications (
    account_id text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    email text NOT NULL,
    token_hash text NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL
  )`
  yield* sql`CREATE TABLE desktop_grants (
    code_hash text PRIMARY KEY,
    account_id text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX desktop_grants_account ON desktop_grants (account_id)`
})
