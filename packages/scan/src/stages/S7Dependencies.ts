import type { Finding, McpServer, Severity } from "@quickagents/schema"
import { manifestFile, Version } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { isIP } from "node:net"
import { osvQuery } from "../Osv.ts"
import { digestOf } from "@quickagents/archive"
import { imitates } from "../Lookalikes.ts"
import { popularPackages, popularScopes } from "../PopularPackages.ts"
import { defineStage } from "../Stage.ts"

const isSemVer = Schema.is(Version)
/** PEP 440, a single release and nothing that a resolver may choose. */
const isExactPyPi = (version: string) =>
  /^(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9.]+)?$/u.test(version)

const npmName = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/u
const pypiName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/u

type Report = (rule: string, severity: Severity, message: string) => void

const judgeUrl = (source: string, report: Report) => {
  if (!URL.canParse(source)) return report("mcp-url-invalid", "high", "The server's url cannot be read")
  const url = new URL(source)
  if (url.protocol !== "https:") report("mcp-url-not-https", "high", "The server's url is not https")
  if (url.username !== "" || url.password !== "")
    report("mcp-url-userinfo", "high", "The server's url carries a name or password")
  const host = url.hostname.replace(/^\[|\]$/gu, "")
  if (isIP(host) !== 0) report("mcp-url-address", "high", "The server's url is a bare address")
  else if (!host.includes(".") || /\.(?:local|localhost|internal|lan|home|test|invalid)$/u.test(host))
    report("mcp-url-private", "high", "The server's url names a private host")
}

const judgePackage = ({ ecosystem, name, version }: NonNullable<McpServer["package"]>, report: Report) => {
  if (!(ecosystem === "npm" ? npmName : pypiName).test(name))
    report("package-name-invalid", "high", `The server's package is no ${ecosystem} name`)
  if (!(ecosystem === "npm" ? isSemVer(version) : isExactPyPi(version)))
    report("package-not-pinned", "high", "The server's package is not pinned to one exact version")
  const popular = imitates(ecosystem, name)
  if (popular) report("typosquat", "high", `The server's package is named almost like ${popular}`)
}

const notLookedUp = "existence, install scripts and licences of packages are not checked"

/** S7: the MCP servers a release starts or calls. A known critical vulnerability blocks. */
export const dependenciesStage = defineStage("S7", "2", ({ manifest, manifestSource }, { osvBaseUrl }) =>
  Effect.gen(function* () {
    if (manifest === undefined || manifestSource === undefined) {
      return { findings: [], status: "skipped" as const, detail: "The manifest cannot be read" }
    }
    const servers = manifest.mcpServers ?? []
    const inputs = {
      popularPackages: digestOf(JSON.stringify([popularPackages, popularScopes])),
      osv: osvBaseUrl ?? "none"
    }
    if (servers.length === 0) return { findings: [], inputs, detail: "The package declares no MCP server" }
    const findings: Array<Finding> = []
    const reportAt =
      (index: number): Report =>
      (rule, severity, message) => {
        findings.push({
          stage: "S7",
          rule,
          severity,
          file: manifestFile,
          line: manifestSource.lineOf(["mcpServers", index]),
          message: `${servers[index].name}: ${message}`
        })
      }
    servers.forEach((server, index) => {
      if (server.package) judgePackage(server.package, reportAt(index))
      if (server.url !== undefined) judgeUrl(server.url, reportAt(index))
    })
    if (osvBaseUrl === undefined)
      return {
        findings,
        inputs,
        detail: `Known vulnerabilities: not checked, no OSV service is configured; ${notLookedUp}`
      }
    return yield* Effect.forEach(
      servers,
      (server, index) =>
        server.package === undefined
          ? Effect.void
          : osvQuery(osvBaseUrl, server.package).pipe(
              Effect.map((vulnerabilities) => {
                for (const { id, severity } of vulnerabilities)
                  reportAt(index)("known-vulnerability", severity, `${id} is known for this version`)
              })
            ),
      { discard: true, concurrency: 4 }
    ).pipe(
      Effect.as({ findings, inputs, detail: notLookedUp }),
      Effect.catchTag("OsvFailed", ({ reason }) =>
        Effect.succeed({ findings, inputs, status: "failed" as const, detail: `OSV: ${reason}` })
      )
    )
  })
)
