import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE agents
    ADD COLUMN retired_at timestamptz,
    ADD COLUMN visibility_before text CHECK (visibility_before IN ('public', 'private')),
    ADD COLUMN deleted_at timestamptz,
    ADD COLUMN submitted_at timestamptz,
    ADD CONSTRAINT agents_retired_private CHECK (retired_at IS NULL OR visibility = 'private')`
  yield* sql`CREATE TABLE agent_stars (
    agent_id text NOT NULL REFERENCES agents,
    account_id text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (agent_id, account_id)
  )`
  yield* sql`CREATE TABLE installs (
    account_id text NOT NULL,
    agent_id text NOT NULL REFERENCES agents,
    version_id text NOT NULL REFERENCES versions,
    accepted_unsigned boolean NOT NULL,
    accepted_unscanned boolean NOT NULL,
    installed_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, agent_id)
  )`
  yield* sql`CREATE INDEX installs_newest ON installs (account_id, updated_at DESC, agent_id)`
  // Every install that was ever made: what the statistics count, also after an uninstall.
  yield* sql`CREATE TABLE install_log (
    agent_id text NOT NULL REFERENCES agents,
    at timestamptz NOT NULL
  )`
  yield* sql`CREATE INDEX install_log_agent ON install_log (agent_id, at)`
})
