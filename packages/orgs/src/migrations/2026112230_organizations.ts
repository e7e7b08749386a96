import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Teams, mail domains, and the end of an organization's life. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organizations
    DROP CONSTRAINT organizations_state_check,
    ADD CONSTRAINT organizations_state_check CHECK (state IN ('active', 'decommissioning', 'suspended', 'erased')),
    ADD CONSTRAINT organizations_hold CHECK (state <> 'decommissioning' OR decommission_at IS NOT NULL)`
  yield* sql`CREATE INDEX organizations_decommission_at ON organizations (decommission_at) WHERE state = 'decommissioning'`
  yield* sql`CREATE TABLE teams (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT teams_name UNIQUE (org_id, name)
  )`
  yield* sql`CREATE TABLE team_members (
    team_id text NOT NULL REFERENCES teams ON DELETE CASCADE,
    account_id text NOT NULL REFERENCES accounts ON DELETE CASCADE,
    since timestamptz NOT NULL,
    PRIMARY KEY (team_id, account_id)
  )`
  yield* sql`CREATE INDEX team_members_account ON team_members (account_id)`
  yield* sql`CREATE TABLE domain_claims (
    org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
    domain text NOT NULL CHECK (domain = lower(domain)),
    challenge text NOT NULL,
    created_at timestamptz NOT NULL,
    verified_at timestamptz,
    PRIMARY KEY (org_id, domain)
  )`
  // Many may say that a domain is theirs; one has proven it.
  yield* sql`CREATE UNIQUE INDEX domain_claims_one_holder ON domain_claims (domain) WHERE verified_at IS NOT NULL`
  yield* sql`CREATE TABLE access_requests (
    account_id text PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
    requested_at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX access_requests_org ON access_requests (org_id, requested_at)`
})
