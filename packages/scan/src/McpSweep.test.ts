import { NodeHttpClient, NodeHttpServer, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { digestOf } from "@quickagents/archive"
import {
  Agents,
  AgentsSql,
  CatalogHttp,
  Forks,
  Grants,
  Installs,
  McpPackagesHttp,
  McpPackagesSql,
  migrations as catalogMigrations,
  Reviews,
  ReviewsSql,
  ScanStarter,
  Search,
  Transfers,
  Versions
} from "@quickagents/catalog"
import * as Identity from "@quickagents/identity"
import { aPerson as anAccount } from "@quickagents/identity/testing"
import { memberships, migrations as orgsMigrations, Orgs } from "@quickagents/orgs"
import {
  Audit,
  DirectoryObjectStore,
  HttpEdge,
  Idempotency,
  migrations as platformMigrations,
  newId,
  Notifications,
  RateLimits,
  Settings
} from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import {
  AgentChangesGroup,
  AgentReadsGroup,
  DependencyAlertsGroup,
  InstallsGroup,
  McpServersGroup,
  PlatformGroup
} from "@quickagents/schema"
import type { Account, KnownVulnerability, McpServer, Scope } from "@quickagents/schema"
import { Effect, Exit, FileSystem, Layer, Logger } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mcpSweep } from "./McpSweep.ts"

class TestApi extends HttpApi.make("registry")
  .add(AgentReadsGroup)
  .add(AgentChangesGroup)
  .add(InstallsGroup)
  .add(PlatformGroup)
  .add(McpServersGroup)
  .add(DependencyAlertsGroup) {}

const settings: Settings.Values = {
  ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
  "limits.anonymousPerMin": 100_000,
  "limits.authedBurstPerMin": 100_000,
  "limits.authedPerHour": 100_000
}

const Objects = Layer.unwrap(
  Effect.map(
    Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()),
    (directory) => DirectoryObjectStore.layer({ directory })
  )
)

const services = Layer.mergeAll(
  Reviews.layer,
  Installs.layer,
  Search.layer,
  Grants.layer,
  Forks.layer,
  Transfers.layer,
  McpPackagesSql.layer
).pipe(
  Layer.provideMerge(Layer.mergeAll(Versions.layer, ReviewsSql.layer)),
  Layer.provideMerge(Agents.layer),
  Layer.provideMerge(
    Layer.mergeAll(AgentsSql.layer, Orgs.layer, Layer.succeed(ScanStarter, { start: () => Effect.void }))
  ),
  Layer.provideMerge(Identity.layer),
  Layer.provideMerge(memberships),
  Layer.provideMerge(Layer.mergeAll(Audit.Audit.layer, RateLimits.layer, Notifications.layer, Objects)),
  Layer.provideMerge(
    layerDatabase({ ...platformMigrations, ...Identity.migrations, ...orgsMigrations, ...catalogMigrations })
  ),
  Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings.Settings, settings), NodeHttpClient.layerUndici)),
  Layer.provideMerge(NodeServices.layer),
  Layer.provideMerge(Logger.layer([]))
)

const Live = HttpRouter.serve(
  HttpApiBuilder.layer(TestApi).pipe(
    Layer.provide([CatalogHttp, McpPackagesHttp]),
    Layer.provide([Identity.authentication, Idempotency.layer]),
    Layer.provideMerge(HttpEdge.layer(TestApi))
  ),
  { disableLogger: true, disableListenLog: true }
).pipe(
  Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provideMerge(services)
)

/** An OSV service that knows what it is told; a package without an entry has no vulnerabilities, `"down"` is an error. */
const anOsv = Effect.gen(function* () {
  const known: Record<string, ReadonlyArray<KnownVulnerability> | "down"> = {}
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    let text = ""
    request.on("data", (chunk: Buffer) => (text += chunk.toString()))
    request.on("end", () => {
      const { package: pkg, version } = JSON.parse(text) as {
        package: { name: string; ecosystem: string }
        version: string
      }
      const key = `${pkg.ecosystem}:${pkg.name}@${version}`
      asked.push(key)
      const found = known[key] ?? []
      if (found === "down") return response.writeHead(503).end()
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          vulns: found.map(({ id, severity }) => ({ id, database_specific: { severity: severity.toUpperCase() } }))
        })
      )
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.sync(() => server.close())
  )
  return { known, asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

interface Person {
  readonly account: Account
  readonly headers: Record<string, string>
}
const aPerson = Effect.fnUntraced(function* (handle: string) {
  const account = yield* anAccount(handle)
  const session = yield* (yield* Identity.Sessions).open(account.accountId, null)
  return { account, headers: { cookie: `session=${session.token}`, "x-csrf-token": session.csrfToken } }
})
const withToken = Effect.fnUntraced(function* ({ account }: Person, ...scopes: ReadonlyArray<Scope>) {
  const { token } = yield* (yield* Identity.Tokens).create(account, { name: "test", scopes })
  return { account, headers: { authorization: `Bearer ${token}` } }
})

const call = (person: Pick<Person, "headers"> | null, method: string, path: string, body?: unknown) =>
  HttpServer.addressFormattedWith((url) =>
    Effect.promise(async () => {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { ...person?.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, any> }
    })
  )
const alerts = (person: Person, query = "") => call(person, "GET", `/user/dependency-alerts${query}`)
const scanOf = (person: Person | null, ecosystem: string, name: string, version: string) =>
  call(person, "GET", `/mcp-servers/scan?ecosystem=${ecosystem}&package=${encodeURIComponent(name)}&version=${version}`)

type Package = NonNullable<McpServer["package"]>
const npm = (name: string, version = "1.0.0"): Package => ({ ecosystem: "npm", name, version })

/** A version whose scan is over but for its end: it is published by the state that it leaves. */
const held = Effect.fnUntraced(function* (
  person: Person,
  name: string,
  version: string,
  ...packages: ReadonlyArray<Package>
) {
  const sql = yield* SqlClient.SqlClient
  const ns = person.account.handle
  const id = yield* newId("ver")
  const manifest = {
    schemaVersion: 2,
    name: `${ns}/${name}`,
    version,
    description: "x",
    modes: ["autonomous"],
    mcpServers: [
      { name: "remote", url: "https://mcp.example.com" },
      ...packages.map((pkg, n) => ({ name: `s${n}`, package: pkg }))
    ]
  }
  yield* sql`INSERT INTO versions (id, agent_id, version, status, archive_digest, archive_bytes, manifest_schema_version, manifest, scan_status,
      source_kind, submitted_by, created_at, progressed_at)
    SELECT ${id}, a.id, ${version}, 'needs_review', ${digestOf(id)}, 1, 2, ${JSON.stringify(manifest)}::jsonb, 'scanned', 'upload',
      ${person.account.accountId}, now(), now() FROM agents a WHERE a.namespace = ${ns} AND a.name = ${name}`
  return id
}, Effect.orDie)
const moved = (id: string, to: "published" | "blocked" | "quarantined") =>
  Effect.gen(function* () {
    assert.isTrue(
      yield* Effect.orDie((yield* AgentsSql).move(id, ["needs_review", "published", "quarantined"], to, new Date()))
    )
  })
const publish = Effect.fnUntraced(function* (
  person: Person,
  name: string,
  version: string,
  ...packages: ReadonlyArray<Package>
) {
  const id = yield* held(person, name, version, ...packages)
  yield* moved(id, "published")
  return id
})
const anAgent = (person: Person, name: string, visibility: "public" | "private" = "public") =>
  Effect.map(
    call(person, "POST", "/agents/", { namespace: person.account.handle, name, visibility }),
    ({ body, status }) => assert.strictEqual(status, 201, JSON.stringify(body))
  )
const openOf = (person: Person, name: string) =>
  Effect.map(
    call(person, "GET", `/agents/${person.account.handle}/${name}`),
    ({ body }) => body["dependencyAlerts"] as number
  )
const idsOf = (person: Person) =>
  Effect.map(alerts(person), ({ body }) =>
    (body["items"] as Array<any>)
      .map((alert) => `${alert.namespace}/${alert.name}@${alert.version} ${alert.vulnerability.id}`)
      .toSorted()
  )
/** As if the last checks were of yesterday. */
const nextDay = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE mcp_packages SET checked_at = checked_at - interval '1 day'`
).pipe(Effect.orDie)
const audited = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ target: string; org: string | null; detail: Record<string, unknown> }>`
    SELECT target, org, detail FROM audit_entries WHERE action = 'agent.dependency_alert' ORDER BY at, id`
).pipe(Effect.orDie)

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("packages of MCP servers", (it) => {
  it.effect(
    "[SCAN-008] [SCAN-009] are checked again each day: what is newly known opens an alert, and what is withdrawn closes it",
    () =>
      Effect.gen(function* () {
        const osv = yield* anOsv
        const ada = yield* aPerson("ada")
        const ben = yield* aPerson("ben")
        yield* anAgent(ada, "notes")
        yield* publish(ada, "notes", "1.0.0", npm("left-mcp"), { ecosystem: "pypi", name: "Right_MCP", version: "2.0" })
        const waiting = yield* held(ada, "notes", "2.0.0", npm("left-mcp"), npm("held-mcp"))

        assert.strictEqual((yield* scanOf(null, "npm", "never-mcp", "1.0.0")).status, 404)
        assert.strictEqual((yield* scanOf(null, "npm", "left-mcp", "1.0.1")).status, 404)
        assert.strictEqual((yield* scanOf(ada, "npm", "held-mcp", "1.0.0")).status, 404)
        assert.deepStrictEqual((yield* scanOf(null, "pypi", "right.mcp", "2.0")).body, {
          ecosystem: "pypi",
          package: "right-mcp",
          version: "2.0",
          checkedAt: null,
          vulnerabilities: []
        })

        assert.deepStrictEqual(yield* mcpSweep(osv.url), { checked: 2, failed: 0, opened: 0 })
        assert.deepStrictEqual(osv.asked.toSorted(), ["PyPI:right-mcp@2.0", "npm:left-mcp@1.0.0"])
        assert.deepStrictEqual(yield* mcpSweep(osv.url), { checked: 0, failed: 0, opened: 0 })
        assert.match((yield* scanOf(null, "npm", "left-mcp", "1.0.0")).body["checkedAt"] as string, /^\d{4}-/u)
        assert.deepStrictEqual(yield* idsOf(ada), [])

        osv.known["npm:left-mcp@1.0.0"] = [
          { id: "GHSA-medium", severity: "medium" },
          { id: "GHSA-critical", severity: "critical" },
          { id: "GHSA-high", severity: "high" }
        ]
        yield* nextDay
        assert.deepStrictEqual(yield* mcpSweep(osv.url), { checked: 2, failed: 0, opened: 2 })
        assert.deepStrictEqual((yield* scanOf(null, "npm", "left-mcp", "1.0.0")).body["vulnerabilities"], [
          { id: "GHSA-critical", severity: "critical" },
          { id: "GHSA-high", severity: "high" },
          { id: "GHSA-medium", severity: "medium" }
        ])
        assert.deepStrictEqual(yield* idsOf(ada), ["ada/notes@1.0.0 GHSA-critical", "ada/notes@1.0.0 GHSA-high"])
        const page = (yield* alerts(ada, "?limit=1&offset=1")).body
        assert.deepStrictEqual([page["items"].length, page["total"], page["offset"], page["limit"]], [1, 2, 1, 1])
        assert.deepStrictEqual((yield* alerts(ada, "?offset=50")).body["total"], 2)
        assert.match(page["items"][0].id as string, /^dep_/u)
        assert.deepStrictEqual(page["items"][0].package, { ecosystem: "npm", name: "left-mcp", version: "1.0.0" })
        assert.deepStrictEqual(yield* idsOf(ben), [])
        assert.strictEqual(yield* openOf(ada, "notes"), 2)
        // An alert is a message: also a critical one leaves the version as it was.
        assert.strictEqual((yield* call(null, "GET", "/agents/ada/notes")).body["latestVersion"], "1.0.0")

        // A version that is published later with a package that is known already.
        yield* moved(waiting, "published")
        assert.strictEqual((yield* mcpSweep(osv.url)).opened, 2)
        assert.strictEqual(yield* openOf(ada, "notes"), 4)

        osv.known["npm:left-mcp@1.0.0"] = [{ id: "GHSA-high", severity: "high" }]
        yield* nextDay
        assert.strictEqual((yield* mcpSweep(osv.url)).opened, 0)
        assert.deepStrictEqual(yield* idsOf(ada), ["ada/notes@1.0.0 GHSA-high", "ada/notes@2.0.0 GHSA-high"])
      }).pipe(Effect.scoped)
  )

  it.effect("[SCAN-008] an alert closes with its version and is audited once each time that it opens", () =>
    Effect.gen(function* () {
      const osv = yield* anOsv
      const cleo = yield* aPerson("cleo")
      yield* anAgent(cleo, "notes")
      yield* publish(cleo, "notes", "1.0.0", npm("cleo-mcp"))
      const second = yield* publish(cleo, "notes", "2.0.0", npm("cleo-mcp"))
      osv.known["npm:cleo-mcp@1.0.0"] = [{ id: "MAL-1", severity: "critical" }]
      // Two nodes at once: the alert of each version opens once.
      const sweeps = yield* Effect.all([mcpSweep(osv.url), mcpSweep(osv.url)], { concurrency: 2 })
      assert.strictEqual(sweeps[0].opened + sweeps[1].opened, 2)
      const entries = (yield* audited).filter(({ target }) => target.startsWith("cleo/"))
      assert.deepStrictEqual(entries.map(({ target }) => target).toSorted(), ["cleo/notes@1.0.0", "cleo/notes@2.0.0"])
      assert.deepStrictEqual(entries[0].detail, {
        ecosystem: "npm",
        package: "cleo-mcp",
        version: "1.0.0",
        vulnerability: "MAL-1",
        severity: "critical"
      })

      assert.strictEqual((yield* call(cleo, "POST", "/agents/cleo/notes/versions/1.0.0/yank")).status, 200)
      assert.deepStrictEqual(yield* idsOf(cleo), ["cleo/notes@2.0.0 MAL-1"])
      yield* moved(second, "blocked")
      assert.deepStrictEqual(yield* idsOf(cleo), [])
      assert.strictEqual(yield* openOf(cleo, "notes"), 0)
      assert.strictEqual((yield* scanOf(null, "npm", "cleo-mcp", "1.0.0")).status, 200)
      // Nobody uses it any more: it is not asked about.
      yield* nextDay
      osv.asked.length = 0
      yield* mcpSweep(osv.url)
      assert.notInclude(osv.asked, "npm:cleo-mcp@1.0.0")

      assert.strictEqual((yield* call(cleo, "POST", "/agents/cleo/notes/versions/1.0.0/unyank")).status, 200)
      yield* mcpSweep(osv.url)
      assert.deepStrictEqual(yield* idsOf(cleo), ["cleo/notes@1.0.0 MAL-1"])
      assert.strictEqual((yield* audited).filter(({ target }) => target.startsWith("cleo/")).length, 3)
    }).pipe(Effect.scoped)
  )

  it.effect("[AUDIT-007] an alert is audited as installs, uninstalls and stars are", () =>
    Effect.gen(function* () {
      const osv = yield* anOsv
      const gina = yield* aPerson("gina")
      const hugo = yield* aPerson("hugo")
      yield* anAgent(gina, "notes")
      yield* publish(gina, "notes", "1.0.0", npm("gina-mcp"))
      const install = { version: "1.0.0", acceptCapabilities: [], acceptUnsigned: true }
      const changes = [
        yield* call(hugo, "PUT", "/user/installs/gina/notes", install),
        yield* call(hugo, "PUT", "/user/stars/gina/notes"),
        yield* call(hugo, "DELETE", "/user/installs/gina/notes")
      ]
      assert.deepStrictEqual(
        changes.map(({ status }) => status),
        [200, 204, 204]
      )
      osv.known["npm:gina-mcp@1.0.0"] = [{ id: "GHSA-gina", severity: "high" }]
      yield* mcpSweep(osv.url)
      const sql = yield* SqlClient.SqlClient
      const entries = yield* Effect.orDie(sql<{ action: string; actor: string; target: string }>`
        SELECT action, coalesce(actor_handle, actor_type) AS actor, target FROM audit_entries
        WHERE target LIKE 'gina/notes%' AND (actor_handle = 'hugo' OR actor_type = 'system') ORDER BY action`)
      assert.deepStrictEqual(
        entries.map(({ action, actor, target }) => [action, actor, target.split("@")[0]]),
        [
          ["agent.dependency_alert", "system", "gina/notes"],
          ["agent.install", "hugo", "gina/notes"],
          ["agent.star", "hugo", "gina/notes"],
          ["agent.uninstall", "hugo", "gina/notes"]
        ]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("of a private agent are told to its readers alone", () =>
    Effect.gen(function* () {
      const osv = yield* anOsv
      const dora = yield* aPerson("dora")
      const eve = yield* aPerson("eve")
      yield* anAgent(dora, "secret", "private")
      yield* publish(dora, "secret", "1.0.0", npm("dora-mcp"))
      osv.known["npm:dora-mcp@1.0.0"] = [{ id: "GHSA-dora", severity: "high" }]
      yield* mcpSweep(osv.url)
      const statuses = Effect.forEach([null, eve, dora], (who) =>
        Effect.map(scanOf(who, "npm", "dora-mcp", "1.0.0"), ({ status }) => status)
      )
      assert.deepStrictEqual(yield* statuses, [404, 404, 200])
      // A token reads what is private with agent:read alone, here as elsewhere.
      assert.deepStrictEqual(yield* idsOf(yield* withToken(dora, "user:profile")), [])
      const alerting = ["dora/secret@1.0.0 GHSA-dora"]
      assert.deepStrictEqual(yield* idsOf(yield* withToken(dora, "user:profile", "agent:read")), alerting)
      assert.deepStrictEqual(yield* idsOf(dora), alerting)
      yield* anAgent(eve, "open")
      yield* publish(eve, "open", "1.0.0", npm("dora-mcp"))
      assert.deepStrictEqual(yield* statuses, [200, 200, 200])
    }).pipe(Effect.scoped)
  )

  it.effect("a question that cannot be asked is refused", () =>
    Effect.gen(function* () {
      for (const query of [
        "ecosystem=cargo&package=a&version=1",
        "ecosystem=npm&package=&version=1",
        `ecosystem=npm&package=${"a".repeat(215)}&version=1`,
        "ecosystem=npm&package=a%00b&version=1",
        "ecosystem=npm&package=a"
      ]) {
        const { body, status } = yield* call(null, "GET", `/mcp-servers/scan?${query}`)
        assert.deepStrictEqual([query, status, body["type"]], [query, 422, "/problems/validation"])
      }
    })
  )

  it.effect("go on where a sweep broke off, and one without an answer does not stop the others", () =>
    Effect.gen(function* () {
      const osv = yield* anOsv
      const finn = yield* aPerson("finn")
      yield* anAgent(finn, "notes")
      yield* publish(finn, "notes", "1.0.0", ...["a", "b", "c"].map((letter) => npm(`finn-${letter}`)))
      osv.known["npm:finn-a@1.0.0"] = "down"
      osv.known["npm:finn-c@1.0.0"] = [{ id: "GHSA-finn", severity: "high" }]
      const first = yield* mcpSweep(osv.url)
      assert.strictEqual(first.failed, 1)
      assert.deepStrictEqual(yield* idsOf(finn), ["finn/notes@1.0.0 GHSA-finn"])
      delete osv.known["npm:finn-a@1.0.0"]
      osv.asked.length = 0
      assert.deepStrictEqual(yield* mcpSweep(osv.url), { checked: 1, failed: 0, opened: 0 })
      assert.deepStrictEqual(osv.asked, ["npm:finn-a@1.0.0"])

      // A service that is down altogether is not asked for ever.
      yield* anAgent(finn, "many")
      const names = Array.from({ length: 20 }, (_, n) => npm(`many-${n}`))
      yield* publish(finn, "many", "1.0.0", ...names)
      for (const { name } of names) osv.known[`npm:${name}@1.0.0`] = "down"
      osv.asked.length = 0
      assert.isTrue(Exit.isFailure(yield* Effect.exit(mcpSweep(osv.url))))
      assert.isBelow(new Set(osv.asked).size, 16)
    }).pipe(Effect.scoped)
  )
})
