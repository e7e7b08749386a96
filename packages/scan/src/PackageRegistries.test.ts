import { manifestYaml } from "@quickagents/archive/testing"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "vitest"
import { dependenciesStage } from "./stages/S7Dependencies.ts"
import { runStage, shown } from "./testing/TestPackages.ts"

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

/** As the npm registry answers `/{name}/{version}`. */
const npmVersion = (name: string, version: string, more: Record<string, unknown> = {}) => ({
  name,
  version,
  description: "MCP server",
  license: "MIT",
  bin: { mcp: "dist/index.js" },
  scripts: { build: "tsc", prepare: "npm run build" },
  dependencies: { "@modelcontextprotocol/sdk": "1.0.1" },
  _id: `${name}@${version}`,
  dist: { integrity: "sha512-x", tarball: "https://registry.example/x.tgz" },
  ...more
})
/** As it answers `/{name}`. */
const npmPackage = (name: string, time: Record<string, string>) => ({
  _id: name,
  name,
  "dist-tags": { latest: "1.0.0" },
  versions: {},
  time: { created: hoursAgo(10_000), modified: hoursAgo(1), ...time }
})
/** As PyPI answers `/pypi/{name}/{version}/json`. */
const pypiFile = (packagetype: string, more: Record<string, unknown> = {}) => ({
  filename: "x",
  packagetype,
  upload_time: "2020-01-01T00:00:00",
  upload_time_iso_8601: "2020-01-01T00:00:00.123456Z",
  yanked: false,
  yanked_reason: null,
  ...more
})
const pypiVersion = (urls: ReadonlyArray<unknown>, info: Record<string, unknown> = {}) => ({
  info: { license: "", license_expression: "MIT", classifiers: [], yanked: false, yanked_reason: null, ...info },
  last_serial: 1,
  urls,
  vulnerabilities: []
})

const documents: Record<string, unknown> = {
  "/calm-mcp": npmPackage("calm-mcp", { "1.0.0": hoursAgo(1_000), "1.1.0": hoursAgo(71) }),
  "/calm-mcp/1.0.0": npmVersion("calm-mcp", "1.0.0"),
  "/calm-mcp/1.1.0": npmVersion("calm-mcp", "1.1.0"),
  "/@acme%2fmcp": npmPackage("@acme/mcp", { "2.0.0": hoursAgo(73) }),
  "/@acme%2fmcp/2.0.0": npmVersion("@acme/mcp", "2.0.0", {
    scripts: { install: " ", preinstall: "node pre.js", postinstall: "node install.js" },
    deprecated: "Use another one",
    license: undefined
  }),
  "/flagged-mcp": {},
  "/flagged-mcp/1.0.0": npmVersion("flagged-mcp", "1.0.0", {
    hasInstallScript: true,
    deprecated: "",
    license: { type: "MIT", url: "https://example.com" }
  }),
  "/odd-mcp/1.0.0": ["not", "a", "package"],
  "/pypi/calm-mcp/1.0/json": pypiVersion([pypiFile("sdist"), pypiFile("bdist_wheel")]),
  "/pypi/sdist-mcp/1.0/json": pypiVersion([pypiFile("sdist", { upload_time_iso_8601: hoursAgo(1) })], {
    license_expression: null,
    license: null
  }),
  "/pypi/classified-mcp/1.0/json": pypiVersion([pypiFile("bdist_wheel", { yanked: true })], {
    license_expression: null,
    license: null,
    classifiers: ["License :: OSI Approved :: MIT License"]
  }),
  "/pypi/emptied-mcp/1.0/json": pypiVersion([])
}

/** Both registries at one address. */
const aRegistry = Effect.gen(function* () {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    const found = documents[request.url!]
    if (request.url?.startsWith("/down-mcp")) return response.writeHead(503).end()
    if (request.url?.startsWith("/moved-mcp")) return response.writeHead(403).end()
    if (found === undefined) return response.writeHead(404, { "content-type": "application/json" }).end('"Not Found"')
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found))
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.sync(() => server.close())
  )
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

const declaring = (ecosystem: "npm" | "pypi", name: string, version: string) => ({
  "agent.yaml": manifestYaml(
    `mcpServers:\n  - { name: s, package: { ecosystem: ${ecosystem}, name: '${name}', version: '${version}' } }\n`
  )
})

describe("S7 asks the registries", () => {
  const cases: ReadonlyArray<readonly [string, "npm" | "pypi", string, string, ReadonlyArray<string>]> = [
    ["a calm package", "npm", "calm-mcp", "1.0.0", []],
    ["one of 71 hours", "npm", "calm-mcp", "1.1.0", ["package-young medium"]],
    ["a version that is not there", "npm", "calm-mcp", "9.0.0", ["package-not-found high"]],
    ["a name that is not there", "npm", "@inside/mcp", "1.0.0", ["package-not-found high"]],
    [
      "install scripts, deprecated, without a licence",
      "npm",
      "@acme/mcp",
      "2.0.0",
      ["install-script medium", "package-deprecated low", "license-unknown info"]
    ],
    ["an install script that only the registry names", "npm", "flagged-mcp", "1.0.0", ["install-script medium"]],
    ["a calm Python package", "pypi", "Calm_MCP", "1.0", []],
    [
      "a young source distribution",
      "pypi",
      "sdist-mcp",
      "1.0",
      ["install-script medium", "package-young medium", "license-unknown info"]
    ],
    ["a yanked one", "pypi", "classified-mcp", "1.0", ["package-yanked medium"]],
    ["one without files", "pypi", "emptied-mcp", "1.0", ["package-not-found high"]]
  ]
  it.live.each(cases)("and says of %s what they say", ([, ecosystem, name, version, expected]) =>
    Effect.gen(function* () {
      const { url } = yield* aRegistry
      const result = yield* runStage(dependenciesStage, declaring(ecosystem, name, version), {
        registries: { npm: url, pypi: url }
      })
      expect(shown(result)).toEqual(expected)
      expect(result.inputs).toMatchObject({ npm: new URL(url).host, pypi: new URL(url).host })
      expect(result.detail).not.toContain("registry")
    }).pipe(Effect.scoped)
  )

  it.live("that are configured, and says which are not", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* aRegistry
      const result = yield* runStage(dependenciesStage, declaring("pypi", "nowhere-mcp", "1.0"), {
        registries: { npm: url }
      })
      expect([shown(result), asked]).toEqual([[], []])
      expect(result.detail).toContain("pypi packages are not checked, no registry is configured")
      expect(result.detail).not.toContain("npm packages")
    }).pipe(Effect.scoped)
  )

  it.live("about names alone: a hostile one reaches no other address of theirs", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* aRegistry
      for (const name of ["../calm-mcp", "calm-mcp?x=", "a/b/c", "@acme%2fmcp"])
        yield* runStage(dependenciesStage, declaring("npm", name, "1.0.0"), { registries: { npm: url } })
      yield* runStage(dependenciesStage, declaring("npm", "calm-mcp", "latest"), { registries: { npm: url } })
      expect(asked).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.live("and fails when one is down, refuses or answers something else", () =>
    Effect.gen(function* () {
      const { url } = yield* aRegistry
      const results = yield* Effect.forEach(
        ["down-mcp", "moved-mcp", "odd-mcp"],
        (name) => runStage(dependenciesStage, declaring("npm", name, "1.0.0"), { registries: { npm: url } }),
        { concurrency: "unbounded" }
      )
      expect(results.map(({ detail, status }) => [status, detail])).toEqual([
        ["failed", "registry of npm: status 503"],
        ["failed", "registry of npm: status 403"],
        ["failed", "registry of npm: no usable answer"]
      ])
    }).pipe(Effect.scoped)
  )
})
