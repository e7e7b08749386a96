/**
 * What is known of the packages that MCP servers start from: the last check of
 * one, and the alerts on versions that declare them. Spec: Registry core routes.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated, Identified } from "../Callers.ts"
import { AgentName, DependencyAlertId, Handle, Timestamp, Version } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { NotFound } from "../Problems.ts"
import { Severity } from "../ScanReport.ts"
import { access } from "../Scopes.ts"

const Ecosystem = Schema.Literals(["npm", "pypi"])
const PackageName = Schema.String.pipe(
  Schema.annotate({ description: "Name in its ecosystem", examples: ["@modelcontextprotocol/server-memory"] })
)
const PackageVersion = Schema.String.pipe(Schema.annotate({ description: "Exact version", examples: ["2025.4.25"] }))
const printable = Schema.isPattern(/^[!-~]+$/u)

/** By its id at OSV: `GHSA-...`, `PYSEC-...`, `MAL-...`. */
export const KnownVulnerability = Schema.Struct({ id: Schema.String, severity: Severity }).annotate({
  identifier: "KnownVulnerability"
})
export type KnownVulnerability = typeof KnownVulnerability.Type

export const McpPackageScan = Schema.Struct({
  ecosystem: Ecosystem,
  package: PackageName,
  version: PackageVersion,
  /** Null: declared, and not checked yet. */
  checkedAt: Schema.NullOr(Timestamp),
  /** Worst first; what OSV has withdrawn is left out. */
  vulnerabilities: Schema.Array(KnownVulnerability)
}).annotate({
  identifier: "McpPackageScan",
  examples: [
    {
      ecosystem: "npm" as const,
      package: "@modelcontextprotocol/server-memory",
      version: "2025.4.25",
      checkedAt: "2026-11-21T07:00:00.000Z",
      vulnerabilities: [{ id: "GHSA-aaaa-bbbb-cccc", severity: "high" as const }]
    }
  ]
})
export type McpPackageScan = typeof McpPackageScan.Type

export const DependencyAlert = Schema.Struct({
  id: DependencyAlertId,
  namespace: Handle,
  name: AgentName,
  /** The agent's version that declares the package. */
  version: Version,
  package: Schema.Struct({ ecosystem: Ecosystem, name: PackageName, version: PackageVersion }),
  vulnerability: KnownVulnerability,
  openedAt: Timestamp
}).annotate({ identifier: "DependencyAlert" })
export type DependencyAlert = typeof DependencyAlert.Type

export class McpServersGroup extends HttpApiGroup.make("mcpServers")
  .add(
    HttpApiEndpoint.get("scan", "/api/v1/mcp-servers/scan", {
      query: {
        ecosystem: Ecosystem,
        package: PackageName.check(printable, Schema.isMaxLength(214)),
        version: PackageVersion.check(printable, Schema.isMaxLength(128))
      },
      success: McpPackageScan,
      error: NotFound
    })
      .middleware(Identified)
      .annotateMerge(access.anyone("agent:read"))
      .annotate(OpenApi.Summary, "The last vulnerability check of one version of an MCP server's package")
      .annotate(
        OpenApi.Description,
        "404 unless a version that was once published, of an agent that the caller may read, declares the package."
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "MCP servers", description: "Packages that agents declare" })) {}

export class DependencyAlertsGroup extends HttpApiGroup.make("dependencyAlerts")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/user/dependency-alerts", {
      query: pageQuery(100, 50),
      success: Paged(DependencyAlert).annotate({ identifier: "DependencyAlertList" })
    })
      .middleware(Authenticated)
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "Open dependency alerts on versions that the caller submitted, newest first")
      .annotate(
        OpenApi.Description,
        "A vulnerability of at least high severity in a package that a published version declares. An alert changes nothing of the version; it closes when the vulnerability is withdrawn or the version is no longer published."
      )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Dependency alerts", description: "Known vulnerabilities under published versions" })
  ) {}
