import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Accounts and organizations share one name space; the primary key is what makes a handle unique.
  yield* sql`CREATE TABLE namespaces (
    handle text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('account', 'org')),
    owner_id text NOT NULL
  )`
  yield* sql`CREATE TABLE accounts (
    id text PRIMARY KEY,
    handle text NOT NULL UNIQUE REFERENCES namespaces (handle),
    display_name text NOT NULL,
    email text NOT NULL CHECK (email = lower(email)),
    email_verified boolean NOT NULL,
    created_at timestamptz NOT NULL
  )`
  // Not unique: an address is what the provider says at each sign-in, and two people may come to share one.
  yield* sql`CREATE INDEX accounts_email ON accounts (email)`
  yield* sql`CREATE TABLE identities (
    subject text PRIMARY KEY,
    account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    linked_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX identities_account ON identities (account_id)`
  yield* sql`CREATE TABLE sessions (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash text NOT NULL UNIQUE,
    csrf_token text NOT NULL,
    user_agent text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX sessions_account ON sessions (account_id)`
  yield* sql`CREATE INDEX sessions_expires_at ON sessions (expires_at)`
  yield* sql`CREATE TABLE tokens (
    id text PRIMARY KEY,
    account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name text NOT NULL,
    token_hash text NOT NULL UNIQUE,
    hint text NOT NULL,
    scopes jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz
  )`
  yield* sql`CREATE INDEX tokens_account ON tokens (account_id)`
  yield* sql`CREATE TABLE sign_in_attempts (
    state_hash text PRIMARY KEY,
    browser_hash text NOT NULL,
    nonce text NOT NULL,
    code_verifier text NOT NULL,
    next text NOT NULL,
    expires_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX sign_in_attempts_expires_at ON sign_in_attempts (expires_at)`
})
