import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE organizations (
    id text PRIMARY KEY,
    handle text NOT NULL UNIQUE REFERENCES namespaces (handle),
    display_name text NOT NULL,
    domain text,
    verified_domains jsonb NOT NULL DEFAULT '[]',
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'decommissioning', 'suspended')),
    decommission_at timestamptz,
    subscription text NOT NULL DEFAULT 'active',
    created_at timestamptz NOT NULL
  )`
  yield* sql`CREATE TABLE members (
    org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    since timestamptz NOT NULL,
    active boolean NOT NULL DEFAULT true,
    PRIMARY KEY (org_id, account_id)
  )`
  // Who pays for a run must never be open: one active membership an account.
  yield* sql`CREATE UNIQUE INDEX members_one_active ON members (account_id) WHERE active`
})
