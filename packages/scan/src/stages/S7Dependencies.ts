import type { Finding, McpServer, Severity } from "@quickagents/schema"
import { manifestFile, Version } from "@quickagents/schema"
import { Clock, Effect, Schema } from "effect"
import { isIP } from "node:net"
import { osvQuery } from "../Osv.ts"
import { registryRecord } from "../PackageRegistries.ts"
import type { RegistryRecord } from "../PackageRegistries.ts"
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

type Package = NonNullable<McpServer["package"]>

const isName = ({ ecosystem, name }: Package) => (ecosystem === "npm" ? npmName : pypiName).test(name)
const isPinned = ({ ecosystem, version }: Package) => (ecosystem === "npm" ? isSemVer(version) : isExactPyPi(version))

const judgePackage = (pkg: Package, report: Report) => {
  const { ecosystem, name } = pkg
  if (!isName(pkg)) report("package-name-invalid", "high", `The server's package is no ${ecosystem} name`)
  if (!isPinned(pkg)) report("package-not-pinned", "high", "The server's package is not pinned to one exact version")
  const popular = imitates(ecosystem, name)
  if (popular) report("typosquat", "high", `The server's package is named almost like ${popular}`)
}

/** A package this young was seen by nobody yet: most malicious ones are taken down within days. */
const youngMs = 72 * 3_600_000

const judgeRecord = (record: RegistryRecord | undefined, now: number, report: Report) => {
  if (record === undefined)
    return report(
      "package-not-found",
      "high",
      "Its registry has no such version of the server's package: anyone could publish it"
    )
  if (record.installScripts.length > 0)
    report(
      "install-script",
      "medium",
      `Installing the server's package runs its code (${record.installScripts.join(", ")})`
    )
  if (record.yanked) report("package-yanked", "medium", "The server's package was yanked at this version")
  if (record.deprecated) report("package-deprecated", "low", "The server's package is deprecated at this version")
  if (record.publishedAt !== undefined && now - record.publishedAt.getTime() < youngMs)
    report("package-young", "medium", "The server's package was published less than 72 hours ago")
  if (record.license === undefined) report("license-unknown", "info", "The server's package names no licence")
}

/** Strangers read a report: of an operator's address, which may carry a name and password, only the host. */
const hostOf = (address: string | undefined) => (address === undefined ? "none" : new URL(address).host)

/** S7: the MCP servers a release starts or calls. A known critical vulnerability blocks. */
export const dependenciesStage = defineStage("S7", "3", ({ manifest, manifestSource }, context) =>
  Effect.gen(function* () {
    const { osvBaseUrl, registries = {} } = context
    if (manifest === undefined || manifestSource === undefined) {
      return { findings: [], status: "skipped" as const, detail: "The manifest cannot be read" }
    }
    const servers = manifest.mcpServers ?? []
    const inputs = {
      popularPackages: digestOf(JSON.stringify([popularPackages, popularScopes])),
      osv: osvBaseUrl ?? "none",
      npm: hostOf(registries.npm),
      pypi: hostOf(registries.pypi)
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
    const unasked = (["npm", "pypi"] as const).filter(
      (ecosystem) =>
        registries[ecosystem] === undefined && servers.some((server) => server.package?.ecosystem === ecosystem)
    )
    const notLookedUp = [
      ...(osvBaseUrl === undefined ? ["Known vulnerabilities: not checked, no OSV service is configured"] : []),
      ...unasked.map(
        (ecosystem) =>
          `existence, install scripts, age and licences of ${ecosystem} packages are not checked, no registry is configured`
      )
    ]
    const now = yield* Clock.currentTimeMillis
    const lookUp = Effect.fnUntraced(function* (server: McpServer, index: number) {
      if (server.package === undefined) return
      if (osvBaseUrl !== undefined) {
        for (const { id, severity } of yield* osvQuery(osvBaseUrl, server.package))
          reportAt(index)("known-vulnerability", severity, `${id} is known for this version`)
      }
      const registry = registries[server.package.ecosystem]
      // Anything else a registry cannot be asked for.
      if (registry !== undefined && isName(server.package) && isPinned(server.package))
        judgeRecord(yield* registryRecord(registry, server.package), now, reportAt(index))
    })
    const failed = (reason: string) => Effect.succeed({ findings, inputs, status: "failed" as const, detail: reason })
    return yield* Effect.forEach(servers, lookUp, { discard: true, concurrency: 4 }).pipe(
      Effect.as({ findings, inputs, ...(notLookedUp.length === 0 ? {} : { detail: notLookedUp.join("; ") }) }),
      Effect.catchTags({
        OsvFailed: ({ reason }) => failed(`OSV: ${reason}`),
        RegistryFailed: ({ ecosystem, reason }) => failed(`registry of ${ecosystem}: ${reason}`)
      })
    )
  })
)
