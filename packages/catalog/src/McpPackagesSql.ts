/** Rows of the packages of MCP servers, what is known of them, and the alerts that follow. Declarations are noted by trigger. */
import type { KnownVulnerability } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AgentsSql } from "./AgentsSql.ts"

/** A PyPI name as PyPI compares names: lowercase, one `-` for each run of separators. */
export interface McpPackage {
  readonly ecosystem: "npm" | "pypi"
  readonly name: string
  readonly version: string
}

export interface CheckedPackage extends McpPackage {
  readonly checkedAt: Date | null
  readonly vulnerabilities: ReadonlyArray<KnownVulnerability>
}

/** An alert that ought to be open and is not. */
export interface MissingAlert {
  readonly agentId: string
  readonly versionId: string
  /** The organization whose audit log shows it; null for a person's agent. */
  readonly org: string | null
  readonly ref: string
  readonly ecosystem: "npm" | "pypi"
  readonly package: string
  readonly packageVersion: string
  readonly vulnerability: string
  readonly severity: KnownVulnerability["severity"]
}

export interface AlertRow extends Omit<MissingAlert, "agentId" | "versionId" | "org" | "ref"> {
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly openedAt: Date
  readonly total: number
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const agents = yield* AgentsSql
  const alerting = sql.literal("('high', 'critical')")
  /** Who uses a release of the agent `a` can still get the version `v` by its range. */
  const live = sql.literal("v.status = 'published' AND a.deleted_at IS NULL")

  return {
    /** Null also when no agent that the reader may know of declares it: what private agents use is told to no one else. */
    lastCheck: (pkg: McpPackage, accountId: string | null, privateToo: boolean) =>
      sql<CheckedPackage>`
        SELECT p.ecosystem, p.name, p.version, p.checked_at, p.vulnerabilities FROM mcp_packages p
        WHERE p.ecosystem = ${pkg.ecosystem} AND p.name = mcp_package_name(${pkg.ecosystem}, ${pkg.name}) AND p.version = ${pkg.version}
          AND EXISTS (
            SELECT FROM mcp_declarations d JOIN versions v ON v.id = d.version_id JOIN agents a ON a.id = v.agent_id
            WHERE (d.ecosystem, d.package, d.package_version) = (p.ecosystem, p.name, p.version)
              AND a.deleted_at IS NULL AND ${agents.readable(accountId, privateToo)} AND ${agents.notSuspended})`.pipe(
        Effect.map((rows) => rows[0] ?? null)
      ),
    openAlerts: (accountId: string, privateToo: boolean, offset: number, limit: number) =>
      sql<AlertRow>`
        SELECT o.id, a.namespace, a.name, v.version, o.ecosystem, o.package, o.package_version, o.vulnerability, o.severity, o.opened_at,
          count(*) OVER ()::integer AS total
        FROM versions v JOIN dependency_alerts o ON o.version_id = v.id AND o.closed_at IS NULL JOIN agents a ON a.id = v.agent_id
        WHERE v.submitted_by = ${accountId} AND a.deleted_at IS NULL
          AND ${agents.readable(accountId, privateToo)} AND ${agents.notSuspended}
        ORDER BY o.opened_at DESC, o.id DESC LIMIT ${limit} OFFSET ${offset}`,

    /** Packages of live versions without a check since `before`, after `after` in the order of their keys. */
    due: (before: Date, after: McpPackage | undefined, limit: number) =>
      sql<McpPackage>`
        SELECT p.ecosystem, p.name, p.version FROM mcp_packages p
        WHERE (p.checked_at IS NULL OR p.checked_at < ${before})
          AND (p.ecosystem, p.name, p.version) > (${after?.ecosystem ?? ""}, ${after?.name ?? ""}, ${after?.version ?? ""})
          AND EXISTS (
            SELECT FROM mcp_declarations d JOIN versions v ON v.id = d.version_id JOIN agents a ON a.id = v.agent_id
            WHERE (d.ecosystem, d.package, d.package_version) = (p.ecosystem, p.name, p.version) AND ${live})
        ORDER BY p.ecosystem, p.name, p.version LIMIT ${limit}`,
    checked: (pkg: McpPackage, vulnerabilities: ReadonlyArray<KnownVulnerability>, at: Date) =>
      sql`UPDATE mcp_packages SET checked_at = ${at}, vulnerabilities = ${JSON.stringify(vulnerabilities)}::jsonb
        WHERE ecosystem = ${pkg.ecosystem} AND name = ${pkg.name} AND version = ${pkg.version}`,
    /** The versions are held until the transaction ends: none is yanked between the look and its alert. */
    missingAlerts: (limit: number) =>
      sql<MissingAlert>`
        SELECT v.agent_id, v.id AS version_id, (SELECT o.handle FROM organizations o WHERE o.handle = a.namespace) AS org,
          coalesce(v.released_as, a.namespace || '/' || a.name) || '@' || v.version AS ref,
          p.ecosystem, p.name AS package, p.version AS package_version, k ->> 'id' AS vulnerability, k ->> 'severity' AS severity
        FROM mcp_packages p CROSS JOIN LATERAL jsonb_array_elements(p.vulnerabilities) k
          JOIN mcp_declarations d ON (d.ecosystem, d.package, d.package_version) = (p.ecosystem, p.name, p.version)
          JOIN versions v ON v.id = d.version_id JOIN agents a ON a.id = v.agent_id
        WHERE p.vulnerabilities <> '[]' AND k ->> 'severity' IN ${alerting} AND ${live}
          AND NOT EXISTS (
            SELECT FROM dependency_alerts o
            WHERE (o.version_id, o.ecosystem, o.package, o.package_version, o.vulnerability) = (v.id, p.ecosystem, p.name, p.version, k ->> 'id')
              AND o.closed_at IS NULL)
        ORDER BY v.id LIMIT ${limit} FOR SHARE OF v`,
    /** False: it is open already. */
    openAlert: (id: string, { org: _, ref: __, ...alert }: MissingAlert, at: Date) =>
      sql`INSERT INTO dependency_alerts ${sql.insert({ id, ...alert, openedAt: at })} ON CONFLICT DO NOTHING RETURNING id`.pipe(
        Effect.map((rows) => rows.length === 1)
      ),
    /** Alerts whose vulnerability was withdrawn or rated lower since, or whose agent is deleted. A version that ends closes its own. */
    closeAlerts: (at: Date) =>
      sql`UPDATE dependency_alerts o SET closed_at = ${at} WHERE o.closed_at IS NULL AND (
        EXISTS (SELECT FROM agents a WHERE a.id = o.agent_id AND a.deleted_at IS NOT NULL)
        OR NOT EXISTS (
          SELECT FROM mcp_packages p CROSS JOIN LATERAL jsonb_array_elements(p.vulnerabilities) k
          WHERE (p.ecosystem, p.name, p.version) = (o.ecosystem, o.package, o.package_version)
            AND k ->> 'id' = o.vulnerability AND k ->> 'severity' IN ${alerting}))`
  }
})

export class McpPackagesSql extends Context.Service<McpPackagesSql, Effect.Success<typeof make>>()(
  "catalog/McpPackagesSql"
) {
  static readonly layer = Layer.effect(McpPackagesSql, make)
}
