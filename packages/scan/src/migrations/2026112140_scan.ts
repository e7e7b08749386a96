import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // What a stage decided; a scan that starts again does not ask it twice.
  yield* sql`CREATE TABLE scan_stages (
    version_id text NOT NULL REFERENCES versions,
    stage text NOT NULL,
    result jsonb NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (version_id, stage)
  )`
  yield* sql`CREATE TABLE signing_keys (
    key_id text PRIMARY KEY,
    public_key text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'retired')),
    created_at timestamptz NOT NULL,
    retired_at timestamptz
  )`
  yield* sql`CREATE INDEX versions_signatures ON versions USING gin ((attestation -> 'signatures') jsonb_path_ops)`
  yield* sql`CREATE UNIQUE INDEX signing_keys_one_active ON signing_keys (status) WHERE status = 'active'`
})
