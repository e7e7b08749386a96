import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE agents (
    id text PRIMARY KEY,
    namespace text NOT NULL REFERENCES namespaces,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    visibility text NOT NULL CHECK (visibility IN ('public', 'private')),
    builtin text,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT agents_name UNIQUE (namespace, name)
  )`
  yield* sql`CREATE INDEX agents_newest ON agents (created_at DESC, id DESC)`
  yield* sql`CREATE TABLE agent_grants (
    agent_id text NOT NULL REFERENCES agents,
    account_id text NOT NULL,
    level text NOT NULL CHECK (level IN ('read', 'write', 'manage')),
    PRIMARY KEY (agent_id, account_id)
  )`
  yield* sql`CREATE TABLE versions (
    id text PRIMARY KEY,
    agent_id text NOT NULL REFERENCES agents,
    version text NOT NULL,
    status text NOT NULL CHECK (status IN ('scanning', 'needs_review', 'published', 'quarantined', 'blocked', 'yanked')),
    archive_digest text NOT NULL,
    archive_bytes integer NOT NULL,
    manifest_schema_version integer NOT NULL,
    manifest jsonb,
    scan_status text NOT NULL CHECK (scan_status IN ('pending', 'scanned', 'skipped')),
    verdict text,
    finding_counts jsonb,
    holding jsonb,
    report jsonb,
    report_envelope jsonb,
    attestation jsonb,
    source_kind text NOT NULL CHECK (source_kind IN ('upload', 'git')),
    source_commit text,
    submitted_by text NOT NULL,
    event_seq integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    progressed_at timestamptz NOT NULL,
    published_at timestamptz,
    CONSTRAINT versions_once UNIQUE (agent_id, version)
  )`
  yield* sql`CREATE INDEX versions_newest ON versions (agent_id, created_at DESC, id DESC)`
  yield* sql`CREATE INDEX versions_published ON versions (agent_id, published_at DESC) WHERE status = 'published'`
  yield* sql`CREATE INDEX versions_scanning ON versions (progressed_at) WHERE status = 'scanning'`
  yield* sql`CREATE INDEX versions_review ON versions (created_at) WHERE status = 'needs_review'`
  yield* sql`CREATE INDEX versions_archive ON versions (archive_digest)`
  yield* sql.unsafe(`
    CREATE FUNCTION versions_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (NEW.id, NEW.agent_id, NEW.version, NEW.archive_digest, NEW.archive_bytes, NEW.submitted_by, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.agent_id, OLD.version, OLD.archive_digest, OLD.archive_bytes, OLD.submitted_by, OLD.created_at) THEN
        RAISE EXCEPTION 'a version is immutable';
      END IF;
      IF OLD.report IS NOT NULL AND (NEW.manifest, NEW.report, NEW.report_envelope) IS DISTINCT FROM (OLD.manifest, OLD.report, OLD.report_envelope) THEN
        RAISE EXCEPTION 'what a scan found is immutable';
      END IF;
      RETURN NEW;
    END $$`)
  yield* sql`CREATE TRIGGER versions_stay BEFORE UPDATE ON versions FOR EACH ROW EXECUTE FUNCTION versions_stay()`
  yield* sql.unsafe(`
    CREATE FUNCTION versions_never_go() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'a version is never deleted';
    END $$`)
  yield* sql`CREATE TRIGGER versions_never_go BEFORE DELETE ON versions FOR EACH ROW EXECUTE FUNCTION versions_never_go()`
  yield* sql`CREATE TABLE version_events (
    version_id text NOT NULL REFERENCES versions,
    seq integer NOT NULL,
    event text NOT NULL CHECK (event IN ('stage', 'status')),
    data jsonb NOT NULL,
    PRIMARY KEY (version_id, seq)
  )`
  yield* sql.unsafe(`
    CREATE FUNCTION version_events_notify() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('version_events', NEW.version_id);
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER version_events_notify AFTER INSERT ON version_events FOR EACH ROW EXECUTE FUNCTION version_events_notify()`
})
