import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The packages of MCP servers that published versions declare, what was last
 * known of each, and the alerts that follow. Whoever publishes a version has
 * its packages noted, and whoever ends it has its alerts closed, by trigger, in
 * the same transaction.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE mcp_packages (
    ecosystem text NOT NULL CHECK (ecosystem IN ('npm', 'pypi')),
    name text NOT NULL,
    version text NOT NULL,
    declared_at timestamptz NOT NULL,
    checked_at timestamptz,
    vulnerabilities jsonb NOT NULL DEFAULT '[]',
    PRIMARY KEY (ecosystem, name, version)
  )`
  yield* sql`CREATE INDEX mcp_packages_vulnerable ON mcp_packages (ecosystem, name, version) WHERE vulnerabilities <> '[]'`
  yield* sql`CREATE TABLE mcp_declarations (
    version_id text NOT NULL REFERENCES versions,
    ecosystem text NOT NULL,
    package text NOT NULL,
    package_version text NOT NULL,
    PRIMARY KEY (version_id, ecosystem, package, package_version),
    FOREIGN KEY (ecosystem, package, package_version) REFERENCES mcp_packages
  )`
  yield* sql`CREATE INDEX mcp_declarations_package ON mcp_declarations (ecosystem, package, package_version)`
  yield* sql`CREATE TABLE dependency_alerts (
    id text PRIMARY KEY,
    agent_id text NOT NULL REFERENCES agents,
    version_id text NOT NULL REFERENCES versions,
    ecosystem text NOT NULL,
    package text NOT NULL,
    package_version text NOT NULL,
    vulnerability text NOT NULL,
    severity text NOT NULL,
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    FOREIGN KEY (ecosystem, package, package_version) REFERENCES mcp_packages
  )`
  yield* sql`CREATE UNIQUE INDEX dependency_alerts_open ON dependency_alerts
    (version_id, ecosystem, package, package_version, vulnerability) WHERE closed_at IS NULL`
  yield* sql`CREATE INDEX dependency_alerts_agent ON dependency_alerts (agent_id) WHERE closed_at IS NULL`
  yield* sql`CREATE INDEX versions_submitter ON versions (submitted_by)`

  // PyPI takes a_b, a.b and A-b for one name.
  yield* sql.unsafe(`
    CREATE FUNCTION mcp_package_name(ecosystem text, name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE ecosystem WHEN 'pypi' THEN lower(regexp_replace(name, '[-_.]+', '-', 'g')) ELSE name END
    $$`)
  yield* sql.unsafe(`
    CREATE FUNCTION mcp_declare(wanted text, manifest jsonb, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE found record;
    BEGIN
      -- In one order, or two publications could wait for each other.
      FOR found IN
        SELECT DISTINCT p ->> 'ecosystem' AS ecosystem, mcp_package_name(p ->> 'ecosystem', p ->> 'name') AS package, p ->> 'version' AS version
        FROM jsonb_path_query(manifest, '$.mcpServers[*].package') p ORDER BY 1, 2, 3
      LOOP
        INSERT INTO mcp_packages (ecosystem, name, version, declared_at)
          VALUES (found.ecosystem, found.package, found.version, at) ON CONFLICT DO NOTHING;
        INSERT INTO mcp_declarations (version_id, ecosystem, package, package_version)
          VALUES (wanted, found.ecosystem, found.package, found.version) ON CONFLICT DO NOTHING;
      END LOOP;
    END $$`)
  yield* sql.unsafe(`
    CREATE FUNCTION mcp_packages_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.status = 'published' THEN
        PERFORM mcp_declare(NEW.id, NEW.manifest, NEW.progressed_at);
      ELSE
        UPDATE dependency_alerts SET closed_at = NEW.progressed_at WHERE version_id = NEW.id AND closed_at IS NULL;
      END IF;
      RETURN NULL;
    END $$`)
  yield* sql`CREATE TRIGGER mcp_packages_follow AFTER INSERT OR UPDATE OF status ON versions
    FOR EACH ROW EXECUTE FUNCTION mcp_packages_follow()`
  yield* sql`SELECT mcp_declare(id, manifest, published_at) FROM versions WHERE published_at IS NOT NULL ORDER BY id`
})
