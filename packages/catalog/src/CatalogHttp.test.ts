import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { entry } from "@quickagents/archive/testing"
import * as Identity from "@quickagents/identity"
import { aPerson as anAccount } from "@quickagents/identity/testing"
import { memberships, migrations as orgsMigrations, Orgs } from "@quickagents/orgs"
import {
  Audit,
  DirectoryObjectStore,
  HttpEdge,
  Idempotency,
  migrations as platformMigrations,
  Notifications,
  ObjectStore,
  RateLimits,
  Settings
} from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import {
  AbuseReportsGroup,
  AdvisoriesGroup,
  AgentChangesGroup,
  AgentReadsGroup,
  DisputesGroup,
  GrantsGroup,
  InstallsGroup,
  PlatformGroup,
  ReviewGroup
} from "@quickagents/schema"
import type { Scope, VersionStatus } from "@quickagents/schema"
import { Clock, Deferred, Effect, Fiber, FileSystem, Layer, Logger } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { gzipSync } from "node:zlib"
import {
  AbuseReports,
  Advisories,
  Agents,
  AgentsSql,
  CatalogHttp,
  copyForks,
  eraseDecommissioned,
  Forks,
  GovernanceHttp,
  Grants,
  Installs,
  migrations,
  Reviews,
  ReviewsSql,
  ScanStarter,
  Search,
  Transfers,
  Versions
} from "./index.ts"
import { archiveOf, digestOf, manifestOf, packed as packedEntries } from "./testing/TestArchives.ts"

class TestApi extends HttpApi.make("registry")
  .add(AgentReadsGroup)
  .add(AgentChangesGroup)
  .add(GrantsGroup)
  .add(InstallsGroup)
  .add(ReviewGroup)
  .add(DisputesGroup)
  .add(AdvisoriesGroup)
  .add(AbuseReportsGroup)
  .add(PlatformGroup) {}

const standard = Settings.read({ environment: { DATABASE_URL: "postgres://test" } })
const settings: Settings.Values = {
  ...standard,
  "orgs.staff": "the-staff",
  "review.fourEyes": [],
  "limits.anonymousPerMin": 100_000,
  "limits.authedBurstPerMin": 100_000,
  "limits.authedPerHour": 100_000,
  "limits.archiveMaxBytes": 20_000,
  "limits.agentsPerUserNamespace": 3,
  "limits.agentsPerOrgNamespace": 4,
  "limits.privateAgentsPerNamespace": 1,
  "limits.versionsPerDay": 3
}

/** The scan itself is another package's: here its start is only noted. */
const started: Array<string> = []
const NotedStarts = Layer.succeed(ScanStarter, { start: (id: string) => Effect.sync(() => void started.push(id)) })

const Objects = Layer.unwrap(
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return DirectoryObjectStore.layer({ directory: yield* fs.makeTempDirectoryScoped() })
  })
)

const services = Layer.mergeAll(
  Reviews.layer,
  Installs.layer,
  Grants.layer,
  Search.layer,
  Advisories.layer,
  AbuseReports.layer,
  Forks.layer,
  Transfers.layer
).pipe(
  Layer.provideMerge(Layer.mergeAll(Versions.layer, ReviewsSql.layer)),
  Layer.provideMerge(Agents.layer),
  Layer.provideMerge(Layer.mergeAll(AgentsSql.layer, NotedStarts, Orgs.layer)),
  Layer.provideMerge(Identity.layer),
  Layer.provideMerge(memberships),
  Layer.provideMerge(Layer.mergeAll(Audit.Audit.layer, RateLimits.layer, Notifications.layer, Objects)),
  Layer.provideMerge(
    layerDatabase({ ...platformMigrations, ...Identity.migrations, ...orgsMigrations, ...migrations })
  ),
  Layer.provideMerge(Layer.succeed(Settings.Settings, settings)),
  Layer.provideMerge(NodeServices.layer),
  Layer.provideMerge(Logger.layer([]))
)

const routes = HttpApiBuilder.layer(TestApi).pipe(
  Layer.provide([CatalogHttp, GovernanceHttp]),
  Layer.provide([Identity.authentication, Idempotency.layer]),
  Layer.provideMerge(HttpEdge.layer(TestApi))
)

const Live = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provideMerge(services)
)

type Person = { readonly headers: Record<string, string> }
const nobody: Person = { headers: {} }

const send = (
  person: Person,
  method: string,
  path: string,
  body?: string | FormData,
  headers: Record<string, string> = {}
) =>
  HttpServer.addressFormattedWith((url) =>
    Effect.promise(async () => {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { ...person.headers, ...headers },
        ...(body === undefined ? {} : { body })
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      const isJson = response.headers.get("content-type")?.includes("json") === true
      return {
        status: response.status,
        headers: response.headers,
        bytes,
        body: isJson ? JSON.parse(bytes.toString()) : null
      }
    })
  )
const call = (person: Person, method: string, path: string, body?: unknown) =>
  body === undefined
    ? send(person, method, path)
    : send(person, method, path, JSON.stringify(body), { "content-type": "application/json" })
const status = (answer: Effect.Effect<{ readonly status: number }, never, HttpServer.HttpServer>) =>
  Effect.map(answer, (a) => a.status)
const type = ({ body }: { readonly body: { readonly type: string } }) => body.type

/** A person with a session of the site. */
const aPerson = Effect.fnUntraced(function* (handle: string) {
  const account = yield* anAccount(handle)
  const session = yield* (yield* Identity.Sessions).open(account.accountId, null)
  return { account, handle, headers: { cookie: `session=${session.token}`, "x-csrf-token": session.csrfToken } }
})
type AccountPerson = Effect.Success<ReturnType<typeof aPerson>>
/** A token of the person's with just these scopes. */
const aToken = Effect.fnUntraced(function* (person: AccountPerson, ...scopes: ReadonlyArray<Scope>) {
  const { token } = yield* (yield* Identity.Tokens).create(person.account, { name: "test", scopes })
  return { headers: { authorization: `Bearer ${token}` } }
})
const aMember = Effect.fnUntraced(function* (
  owner: AccountPerson,
  org: string,
  handle: string,
  role: "admin" | "member"
) {
  const person = yield* aPerson(handle)
  yield* Effect.orDie((yield* Orgs).putMember(owner.account, org, handle, role))
  return person
})
const aStaff = Effect.gen(function* () {
  const first = yield* aPerson("staff-one")
  yield* (yield* Orgs).ensure({ handle: "the-staff", ownerId: first.account.accountId }).pipe(Effect.orDie)
  return first
})

const packed = (...entries: ReadonlyArray<readonly [string, string]>) =>
  packedEntries(...entries.map(([name, data]) => ({ name, data })))

const submit = (person: Person, path: string, archive: Uint8Array, headers: Record<string, string> = {}) => {
  const form = new FormData()
  form.append("archive", new Blob([new Uint8Array(archive)]), "archive.tgz")
  return send(person, "POST", `/agents/${path}/versions`, form, headers)
}

const anAgent = Effect.fnUntraced(function* (
  owner: Person,
  namespace: string,
  name: string,
  visibility: "public" | "private" = "public"
) {
  const made = yield* call(owner, "POST", "/agents/", { namespace, name, visibility })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
})

/** What the end of a scan writes, without the scan. */
const concluded = Effect.fnUntraced(function* (id: string, name: string, version: string, to: VersionStatus) {
  const envelope = { payloadType: "test", payload: "e30=", signatures: [{ keyid: "k", sig: "s" }] }
  const counts = { info: 0, low: 0, medium: 0, high: 0, critical: 0 }
  const rows = yield* AgentsSql
  const done = yield* rows
    .concludeScan(
      id,
      {
        status: to,
        scanStatus: "scanned",
        manifest: manifestOf(name, version),
        manifestSchemaVersion: 2,
        verdict: "clean",
        findingCounts: counts,
        holding: [{ stage: "S5", rule: "secret", severity: "high", message: "A credential" }],
        report: {
          version: 1,
          ref: `${name}@${version}`,
          archive: digestOf(archiveOf(name, version)),
          manifest: null,
          verdict: "clean",
          stages: [],
          findingCounts: counts,
          startedAt: "2026-01-01T00:00:00.000Z",
          finishedAt: "2026-01-01T00:00:00.000Z"
        },
        reportEnvelope: envelope,
        attestation: envelope
      },
      new Date(yield* Clock.currentTimeMillis)
    )
    .pipe(Effect.orDie)
  assert.isTrue(done)
})
const submitted = Effect.fnUntraced(function* (owner: Person, path: string, version: string) {
  const answer = yield* submit(owner, path, archiveOf(path, version))
  assert.strictEqual(answer.status, 202, JSON.stringify(answer.body))
  return answer.body as { readonly id: string; readonly archive: { readonly digest: string; readonly href: string } }
})
const published = Effect.fnUntraced(function* (
  owner: Person,
  path: string,
  version: string,
  to: VersionStatus = "published"
) {
  const answer = yield* submitted(owner, path, version)
  yield* concluded(answer.id, path, version, to)
  return answer
})

/** Reads a stream of events until it ends by itself. */
const eventsOf = (person: Person, path: string, headers: Record<string, string> = {}) =>
  Effect.map(send(person, "GET", path, undefined, headers), ({ bytes, status }) => {
    assert.strictEqual(status, 200)
    return bytes
      .toString()
      .split("\n\n")
      .filter((text) => text.includes("data:"))
      .map((text) => {
        const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(text)?.[1]
        return {
          id: Number(field("id")),
          event: field("event"),
          data: JSON.parse(field("data") ?? "null") as Record<string, unknown>
        }
      })
  })

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("agents", (it) => {
  it.effect("are created in a namespace of one's own and read by anyone while public", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const made = yield* call(ada, "POST", "/agents/", { namespace: "ada", name: "notes", description: "Notes." })
      assert.strictEqual(made.status, 201)
      assert.deepInclude(made.body, {
        namespace: "ada",
        name: "notes",
        visibility: "public",
        builtin: false,
        modes: [],
        latestVersion: null
      })
      assert.deepStrictEqual((yield* call(nobody, "GET", "/agents/ada/notes")).body, made.body)
      assert.strictEqual(
        type(yield* call(ada, "POST", "/agents/", { namespace: "ada", name: "notes" })),
        "/problems/name-taken"
      )
      const eve = yield* aPerson("eve")
      // Another's namespace and none at all look the same.
      for (const namespace of ["ada", "no-such"]) {
        assert.strictEqual(yield* status(call(eve, "POST", "/agents/", { namespace, name: "mine" })), 404)
      }
      assert.strictEqual(yield* status(call(eve, "PATCH", "/agents/ada/notes", { description: "x" })), 404)
    })
  )

  it.effect("[LIMIT-003] a namespace of an account and of an organization hold so many, by default 200 and 500", () =>
    Effect.gen(function* () {
      assert.deepInclude(standard, {
        "limits.agentsPerUserNamespace": 200,
        "limits.agentsPerOrgNamespace": 500,
        "limits.versionsPerDay": 20
      })
      const full = yield* aPerson("full")
      const made = yield* Effect.all(
        [1, 2, 3, 4, 5].map((n) => status(call(full, "POST", "/agents/", { namespace: "full", name: `a${n}` }))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        made.toSorted((a, b) => a - b),
        [201, 201, 201, 409, 409]
      )
      assert.strictEqual(
        type(yield* call(full, "POST", "/agents/", { namespace: "full", name: "more" })),
        "/problems/namespace-full"
      )
      yield* (yield* Orgs).create(full.account, { handle: "full-org" })
      for (const n of [1, 2, 3, 4]) yield* anAgent(full, "full-org", `a${n}`)
      assert.strictEqual(yield* status(call(full, "POST", "/agents/", { namespace: "full-org", name: "a5" })), 409)
    })
  )

  it.effect("a private agent past the cap is refused on create and on change to private", () =>
    Effect.gen(function* () {
      const kim = yield* aPerson("kim")
      yield* anAgent(kim, "kim", "one", "private")
      assert.strictEqual(
        type(yield* call(kim, "POST", "/agents/", { namespace: "kim", name: "two", visibility: "private" })),
        "/problems/private-agent-cap"
      )
      yield* anAgent(kim, "kim", "two")
      const refused = yield* call(kim, "PATCH", "/agents/kim/two", { visibility: "private" })
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(type(refused), "/problems/private-agent-cap")
      assert.strictEqual(
        yield* status(call(kim, "PATCH", "/agents/kim/one", { visibility: "private", description: "still" })),
        200
      )
    })
  )

  it.effect("[AGENT-018] a private agent is to all who may not read it what a missing name is", () =>
    Effect.gen(function* () {
      const owner = yield* aPerson("pri")
      const eve = yield* aPerson("pri-eve")
      const reader = yield* aPerson("pri-reader")
      yield* (yield* Orgs).create(owner.account, { handle: "pri-org" })
      const member = yield* aMember(owner, "pri-org", "pri-member", "member")
      yield* anAgent(owner, "pri-org", "secret", "private")
      const version = yield* published(member, "pri-org/secret", "1.0.0")
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO agent_grants SELECT id, ${reader.account.accountId}, 'read' FROM agents WHERE namespace = 'pri-org'`

      const reads = (agent: string) => [
        `/agents/${agent}`,
        `/agents/${agent}/versions`,
        `/agents/${agent}/versions/1.0.0`,
        `/agents/${agent}/versions/1.0.0/report`,
        `/agents/${agent}/versions/1.0.0/attestation`,
        `/agents/${agent}/versions/1.0.0/events`,
        `/agents/${agent}/archives/${version.archive.digest}`
      ]
      const publishOnly = yield* aToken(owner, "agent:publish", "agent:read")
      const noRead = yield* aToken(owner, "agent:publish")
      for (const [index, path] of reads("pri-org/secret").entries()) {
        for (const stranger of [nobody, eve]) {
          const hidden = yield* call(stranger, "GET", path)
          const missing = yield* call(stranger, "GET", reads("pri-org/no-such")[index])
          assert.strictEqual(hidden.status, 404, path)
          assert.deepStrictEqual({ ...hidden.body, instance: 0 }, { ...missing.body, instance: 0 })
        }
        for (const known of [owner, member, reader, publishOnly])
          assert.strictEqual(yield* status(send(known, "GET", path)), 200, path)
        assert.include([403, 404], yield* status(call(noRead, "GET", path)), path)
      }
      const names = (person: Person) =>
        Effect.map(call(person, "GET", "/agents/?namespace=pri-org"), ({ body }) =>
          body.items.map(({ name }: { name: string }) => name)
        )
      assert.deepStrictEqual(yield* names(member), ["secret"])
      assert.deepStrictEqual(yield* names(reader), ["secret"])
      assert.deepStrictEqual(yield* names(eve), [])
      // Members publish, admins manage, readers do neither.
      assert.strictEqual(yield* status(call(member, "POST", "/agents/pri-org/secret/versions/1.0.0/yank")), 404)
      assert.strictEqual(yield* status(submit(reader, "pri-org/secret", archiveOf("pri-org/secret", "2.0.0"))), 404)
      assert.strictEqual(yield* status(submit(eve, "pri-org/secret", archiveOf("pri-org/secret", "2.0.0"))), 404)
      const admin = yield* aMember(owner, "pri-org", "pri-admin", "admin")
      assert.strictEqual(yield* status(call(admin, "POST", "/agents/pri-org/secret/versions/1.0.0/yank")), 200)
    })
  )

  it.effect("of a suspended organization are not there for anyone", () =>
    Effect.gen(function* () {
      const owner = yield* aPerson("sus")
      yield* (yield* Orgs).create(owner.account, { handle: "sus-org" })
      yield* anAgent(owner, "sus-org", "bot")
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE organizations SET state = 'suspended' WHERE handle = 'sus-org'`
      assert.strictEqual(yield* status(call(owner, "GET", "/agents/sus-org/bot")), 404)
      assert.strictEqual((yield* call(owner, "GET", "/agents/?namespace=sus-org")).body.total, 0)
      assert.strictEqual(yield* status(submit(owner, "sus-org/bot", archiveOf("sus-org/bot", "1.0.0"))), 404)
    })
  )

  it.effect("are filtered by the modes of the latest published version", () =>
    Effect.gen(function* () {
      const mo = yield* aPerson("mo")
      yield* anAgent(mo, "mo", "bot")
      yield* published(mo, "mo/bot", "1.0.0")
      const total = (mode: string) =>
        Effect.map(call(nobody, "GET", `/agents/?namespace=mo&mode=${mode}`), ({ body }) => body.total)
      assert.strictEqual(yield* total("autonomous"), 1)
      assert.strictEqual(yield* total("interactive"), 0)
      assert.deepInclude((yield* call(nobody, "GET", "/agents/?namespace=mo&offset=5&limit=500")).body, {
        items: [],
        total: 1,
        offset: 5,
        limit: 100
      })
      assert.deepInclude((yield* call(nobody, "GET", "/agents/mo/bot/versions?offset=3")).body, { items: [], total: 1 })
      assert.deepInclude((yield* call(nobody, "GET", "/agents/mo/bot")).body, {
        modes: ["autonomous"],
        latestVersion: "1.0.0"
      })
    })
  )
})

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("a submitted version", (it) => {
  it.effect("[AGENT-013] is stored under its digest, recorded as scanning, and its scan is started", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      yield* anAgent(ada, "ada", "notes")
      const archive = archiveOf("ada/notes", "1.0.0")
      const answer = yield* submit(ada, "ada/notes", archive)
      assert.strictEqual(answer.status, 202)
      assert.strictEqual(answer.headers.get("location"), "/api/v1/agents/ada/notes/versions/1.0.0")
      assert.deepInclude(answer.body, {
        version: "1.0.0",
        status: "scanning",
        scanStatus: "pending",
        signed: false,
        submittedBy: "ada"
      })
      assert.deepInclude(answer.body.archive, { digest: digestOf(archive), bytes: archive.length })
      assert.include(started, answer.body.id)
      assert.strictEqual((yield* call(ada, "GET", "/agents/ada/notes/versions/1.0.0")).body.id, answer.body.id)
      // Until it is published it is its publishers' alone.
      assert.strictEqual(yield* status(call(nobody, "GET", "/agents/ada/notes/versions/1.0.0")), 404)
      assert.strictEqual((yield* call(nobody, "GET", "/agents/ada/notes/versions")).body.total, 0)
      const report = yield* call(ada, "GET", "/agents/ada/notes/versions/1.0.0/report")
      assert.strictEqual(report.status, 409)
      assert.strictEqual(type(report), "/problems/report-not-ready")
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(
        yield* sql`SELECT 1 FROM audit_entries WHERE action = 'version.submit' AND target = 'ada/notes@1.0.0'`,
        1
      )
    })
  )

  it.effect("[AGENT-012] is not replaced, and a repeated Idempotency-Key answers what the first answered", () =>
    Effect.gen(function* () {
      const ida = yield* aPerson("ida")
      yield* anAgent(ida, "ida", "notes")
      const archive = archiveOf("ida/notes", "1.0.0")
      const first = yield* submit(ida, "ida/notes", archive, { "idempotency-key": "k1" })
      assert.strictEqual(first.status, 202)
      const again = yield* submit(ida, "ida/notes", archive, { "idempotency-key": "k1" })
      assert.strictEqual(again.status, 202)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual(again.body, first.body)
      assert.lengthOf(
        started.filter((id) => id === first.body.id),
        1
      )
      const changed = yield* submit(ida, "ida/notes", archiveOf("ida/notes", "1.0.1"), { "idempotency-key": "k1" })
      assert.strictEqual(type(changed), "/problems/idempotency-conflict")

      const other = archiveOf("ida/notes", "1.0.0", "Something else.")
      const refused = yield* submit(ida, "ida/notes", other)
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(type(refused), "/problems/version-exists")
      assert.isFalse(yield* Effect.orDie((yield* ObjectStore).has(digestOf(other))))
      const twins = yield* Effect.all(
        [1, 2].map((n) => status(submit(ida, "ida/notes", archiveOf("ida/notes", "2.0.0", `Twin ${n}`)))),
        {
          concurrency: "unbounded"
        }
      )
      assert.deepStrictEqual(
        twins.toSorted((a, b) => a - b),
        [202, 409]
      )
    })
  )

  it.effect("[LIMIT-003] is refused past so many of the agent in 24 hours, and nothing of it is stored", () =>
    Effect.gen(function* () {
      const dan = yield* aPerson("dan")
      yield* anAgent(dan, "dan", "daily")
      for (const n of [1, 2, 3]) yield* submitted(dan, "dan/daily", `1.0.${n}`)
      const fourth = archiveOf("dan/daily", "1.0.4")
      const refused = yield* submit(dan, "dan/daily", fourth)
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(type(refused), "/problems/versions-per-day")
      assert.isFalse(yield* Effect.orDie((yield* ObjectStore).has(digestOf(fourth))))
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE versions DISABLE TRIGGER versions_stay`
      yield* sql`UPDATE versions SET created_at = created_at - interval '25 hours' WHERE version = '1.0.1'`
      yield* sql`ALTER TABLE versions ENABLE TRIGGER versions_stay`
      assert.strictEqual(yield* status(submit(dan, "dan/daily", fourth)), 202)
    })
  )

  it.effect("is refused with its reason when the archive is too large, unreadable, or of another name", () =>
    Effect.gen(function* () {
      const bad = yield* aPerson("bad")
      yield* anAgent(bad, "bad", "one")
      const random = Buffer.from(
        Array.from({ length: 30_000 }, (_, n) => createHash("md5").update(String(n)).digest()[0])
      )
      const large = yield* submit(
        bad,
        "bad/one",
        packed(["agent.yaml", "name: bad/one"], ["x", random.toString("base64")])
      )
      assert.strictEqual(large.status, 413)
      assert.strictEqual(type(large), "/problems/too-large")
      const yaml = (text: string) => packed(["agent.yaml", text])
      for (const archive of [
        Buffer.from("not gzip"),
        gzipSync(Buffer.from("not a tar".repeat(200))),
        packed(["folder/agent.yaml", "name: bad/one\nversion: 1.0.0"]),
        yaml("name: [unclosed"),
        yaml("name: bad/one\nversion: 1.0"),
        yaml("name: bad/one\nversion: 1.0.0-!"),
        yaml("name: bad/one\nversion: 01.0.0"),
        yaml("name: bad/two\nversion: 1.0.0"),
        yaml(""),
        // What unpacks to far more than it is read for.
        gzipSync(Buffer.concat([entry({ name: "zeros", sizeField: "77777777777\0" }), Buffer.alloc(1024)]))
      ]) {
        const refused = yield* submit(bad, "bad/one", archive)
        assert.strictEqual(refused.status, 422)
        assert.strictEqual(type(refused), "/problems/validation")
        assert.strictEqual(refused.body.errors[0].pointer, "/archive")
      }
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(
        yield* sql`SELECT 1 FROM versions v JOIN agents a ON a.id = v.agent_id WHERE a.namespace = 'bad'`,
        0
      )
    })
  )

  it.effect("its row does not change but for its state", () =>
    Effect.gen(function* () {
      const im = yield* aPerson("im")
      yield* anAgent(im, "im", "bot")
      const { id } = yield* published(im, "im/bot", "1.0.0")
      const sql = yield* SqlClient.SqlClient
      for (const change of [sql`version = '2.0.0'`, sql`archive_digest = 'sha256:0'`, sql`submitted_by = 'other'`]) {
        const failed = yield* Effect.flip(sql`UPDATE versions SET ${change} WHERE id = ${id}`)
        assert.match(String(failed.reason.cause), /a version is immutable/)
      }
      assert.strictEqual(yield* status(call(im, "POST", "/agents/im/bot/versions/1.0.0/yank")), 200)
      assert.strictEqual((yield* call(nobody, "GET", "/agents/im/bot/versions/1.0.0")).body.status, "yanked")
    })
  )
})

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("a version's archive", (it) => {
  it.effect(
    "[SCAN-002] [AGENT-006] [AGENT-007] [AGENT-027] is served by digest as the state allows: 200, 409 quarantined, 410 blocked, 404 unpublished",
    () =>
      Effect.gen(function* () {
        const ada = yield* aPerson("ada")
        const staff = yield* aStaff
        yield* anAgent(ada, "ada", "bot")
        const version = yield* submitted(ada, "ada/bot", "1.0.0")
        const path = `/agents/ada/bot/archives/${version.archive.digest}`
        assert.strictEqual(yield* status(call(nobody, "GET", path)), 404)
        const early = yield* call(ada, "GET", path)
        assert.strictEqual(early.status, 409)
        assert.strictEqual(type(early), "/problems/version-not-published")
        assert.strictEqual(early.body.versionStatus, "scanning")

        yield* concluded(version.id, "ada/bot", "1.0.0", "published")
        const served = yield* send(nobody, "GET", path)
        assert.strictEqual(served.status, 200)
        assert.strictEqual(digestOf(served.bytes), version.archive.digest)
        assert.strictEqual(served.headers.get("etag"), `"${version.archive.digest}"`)
        assert.match(served.headers.get("cache-control")!, /immutable/)
        assert.strictEqual(served.headers.get("content-length"), String(served.bytes.length))
        assert.strictEqual(yield* status(call(nobody, "GET", `/agents/ada/bot/archives/sha256:${"0".repeat(64)}`)), 404)

        const versions = yield* Versions
        const resolves = (ref: string) =>
          Effect.map(Effect.exit(versions.resolve(ref, ada.account)), (exit) => exit._tag === "Success")
        const decide = (what: string) =>
          call(staff, "POST", `/platform/agents/ada/bot/${what}`, { version: "1.0.0", reason: "Reported." })
        assert.isTrue(yield* resolves("ada/bot"))
        assert.strictEqual((yield* decide("quarantine")).body.status, "quarantined")
        const quarantined = yield* call(nobody, "GET", path)
        assert.strictEqual(quarantined.status, 409)
        assert.strictEqual(type(quarantined), "/problems/version-quarantined")
        assert.isFalse(yield* resolves("ada/bot"))
        assert.isFalse(yield* resolves("ada/bot@1.0.0"))
        assert.strictEqual(yield* status(decide("quarantine")), 409)
        assert.strictEqual((yield* decide("release")).body.status, "published")
        assert.strictEqual(yield* status(send(nobody, "GET", path)), 200)
        assert.strictEqual((yield* decide("block")).body.status, "blocked")
        const blocked = yield* call(nobody, "GET", path)
        assert.strictEqual(blocked.status, 410)
        assert.strictEqual(type(blocked), "/problems/blocked")
        for (const what of ["release", "quarantine", "block"])
          assert.strictEqual(yield* status(decide(what)), 409, what)
      })
  )

  it.effect("of a private agent is kept by no cache", () =>
    Effect.gen(function* () {
      const pia = yield* aPerson("pia")
      yield* anAgent(pia, "pia", "bot", "private")
      const version = yield* published(pia, "pia/bot", "1.0.0")
      const served = yield* send(pia, "GET", `/agents/pia/bot/archives/${version.archive.digest}`)
      assert.strictEqual(served.headers.get("cache-control"), "private, no-store")
    })
  )

  it.effect("[AGENT-008] yanked, it resolves by exact pin and not as the latest", () =>
    Effect.gen(function* () {
      const yan = yield* aPerson("yan")
      yield* anAgent(yan, "yan", "bot")
      yield* published(yan, "yan/bot", "1.0.0")
      const second = yield* published(yan, "yan/bot", "1.1.0")
      const versions = yield* Versions
      const resolved = (ref: string) =>
        Effect.map(Effect.orDie(versions.resolve(ref, yan.account)), ({ status, version }) => `${version} ${status}`)
      assert.strictEqual(yield* resolved("yan/bot"), "1.1.0 published")
      assert.strictEqual(yield* status(call(yan, "POST", "/agents/yan/bot/versions/1.1.0/yank")), 200)
      assert.strictEqual(yield* status(call(yan, "POST", "/agents/yan/bot/versions/1.1.0/yank")), 409)
      assert.strictEqual(yield* resolved("yan/bot"), "1.0.0 published")
      assert.strictEqual(yield* resolved("yan/bot@1.1.0"), "1.1.0 yanked")
      assert.strictEqual(yield* status(send(nobody, "GET", `/agents/yan/bot/archives/${second.archive.digest}`)), 200)
      assert.strictEqual(yield* status(call(yan, "POST", "/agents/yan/bot/versions/1.1.0/unyank")), 200)
      assert.strictEqual(yield* resolved("yan/bot"), "1.1.0 published")
    })
  )
})

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("a fork", (it) => {
  it.effect("where no git is served holds the archive of the forked version, copied once by whoever comes first", () =>
    Effect.gen(function* () {
      const fay = yield* aPerson("fay")
      const max = yield* aPerson("max")
      yield* anAgent(fay, "fay", "bot")
      yield* published(fay, "fay/bot", "1.0.0")
      yield* published(fay, "fay/bot", "1.1.0")
      const made = yield* call(max, "POST", "/agents/fay/bot/fork", { namespace: "max", name: "mine" })
      assert.strictEqual(made.status, 202)
      yield* Effect.all([copyForks, copyForks, copyForks], { concurrency: "unbounded" })
      const read = call(max, "GET", "/agents/max/mine")
      const { body } = yield* Effect.repeat(read, { until: ({ body }) => body.forkState !== "copying" })
      assert.deepInclude(body, { forkState: "ready", forkDetail: "1.1.0 was copied" })
      const served = yield* send(max, "GET", `/agents/max/mine/archives/${body.forkArchive.digest}`)
      assert.strictEqual(digestOf(served.bytes), body.forkArchive.digest)
      // So that a refused submission of the same bytes does not take them away.
      assert.isTrue(yield* (yield* AgentsSql).holdsArchive(body.forkArchive.digest))
      assert.strictEqual((yield* submit(max, "max/mine", served.bytes)).body.ref, "max/mine@1.1.0")
      const ended =
        yield* (yield* SqlClient.SqlClient)`SELECT count(*)::integer AS n FROM audit_entries WHERE action = 'agent.fork_ready' AND target = 'max/mine'`
      assert.deepStrictEqual(ended, [{ n: 1 }])
    }).pipe(Effect.orDie)
  )

  it.effect("that is deleted leaves nothing behind, also when it is still being copied", () =>
    Effect.gen(function* () {
      const sue = yield* aPerson("sue")
      yield* anAgent(sue, "sue", "bot")
      yield* published(sue, "sue/bot", "1.0.0")
      const fork = call(sue, "POST", "/agents/sue/bot/fork", { namespace: "sue", name: "copy" })
      const objects = yield* ObjectStore
      assert.strictEqual(yield* status(fork), 202)
      const read = call(sue, "GET", "/agents/sue/copy")
      const { body } = yield* Effect.repeat(read, { until: ({ body }) => body.forkState === "ready" })
      const { digest } = body.forkArchive
      assert.isTrue(yield* objects.has(digest))
      assert.strictEqual(yield* status(call(sue, "DELETE", "/agents/sue/copy")), 204)
      assert.isFalse(yield* objects.has(digest))

      assert.strictEqual(yield* status(fork), 202)
      assert.strictEqual(yield* status(call(sue, "DELETE", "/agents/sue/copy")), 204)
      yield* Effect.repeat(objects.has(digest), { until: (there) => !there })
      // The name is free, and the next copy is whole.
      assert.strictEqual(yield* status(fork), 202)
      yield* Effect.repeat(read, { until: ({ body }) => body.forkState === "ready" })
      assert.isTrue(yield* objects.has(digest))
    })
  )

  it.effect("counts for the namespace that it goes to", () =>
    Effect.gen(function* () {
      const pam = yield* aPerson("pam")
      yield* anAgent(pam, "pam", "one", "private")
      yield* published(pam, "pam/one", "1.0.0")
      const fork = (namespace: string, name: string) => call(pam, "POST", "/agents/pam/one/fork", { namespace, name })
      assert.strictEqual(type(yield* fork("pam", "two")), "/problems/private-agent-cap")
      yield* (yield* Orgs).create(pam.account, { handle: "pam-org" })
      for (const n of [1, 2, 3, 4]) yield* anAgent(pam, "pam-org", `a${n}`)
      assert.strictEqual(type(yield* fork("pam-org", "two")), "/problems/namespace-full")
      assert.strictEqual(
        type(yield* call(pam, "POST", "/agents/pam/one/transfer", { namespace: "pam-org" })),
        "/problems/namespace-full"
      )
    })
  )
})

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("a version held for review", (it) => {
  it.effect(
    "[AGENT-005] tells its publishers what holds it, and is decided by a reviewer who did not submit it, once",
    () =>
      Effect.gen(function* () {
        const staff = yield* aStaff
        const second = yield* aMember(staff, "the-staff", "staff-two", "member")
        const ada = yield* aPerson("ada")
        yield* anAgent(ada, "ada", "bot")
        const version = yield* published(ada, "ada/bot", "1.0.0", "needs_review")
        assert.strictEqual((yield* call(ada, "GET", "/agents/ada/bot/versions/1.0.0")).body.holding[0].rule, "secret")
        assert.strictEqual(yield* status(call(nobody, "GET", "/agents/ada/bot/versions/1.0.0")), 404)

        assert.strictEqual(yield* status(call(ada, "GET", "/review/")), 403)
        const queue = yield* call(staff, "GET", "/review/")
        assert.deepStrictEqual(
          queue.body.items.map(({ id }: { id: string }) => id),
          [version.id]
        )
        const decide = (person: Person, decision: string) =>
          call(person, "POST", "/review/ada/bot/1.0.0", { decision, reason: "Looked at it." })
        assert.strictEqual(yield* status(decide(ada, "publish")), 403)
        assert.strictEqual(yield* status(decide(yield* aToken(staff, "agent:publish"), "publish")), 403)
        const decisions = yield* Effect.all(
          [status(decide(staff, "publish")), status(decide(yield* aToken(second, "review:act"), "publish"))],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          decisions.toSorted((a, b) => a - b),
          [200, 409]
        )
        const now = yield* call(nobody, "GET", "/agents/ada/bot/versions/1.0.0")
        assert.strictEqual(now.body.status, "published")
        assert.isUndefined(now.body.holding)
        assert.lengthOf((yield* call(staff, "GET", "/review/")).body.items, 0)
        const sql = yield* SqlClient.SqlClient
        const entries = yield* sql<{
          detail: Record<string, unknown>
        }>`SELECT detail FROM audit_entries WHERE action = 'version.review'`
        assert.deepStrictEqual(
          entries.map(({ detail }) => detail),
          [{ decision: "publish", from: "needs_review", reason: "Looked at it." }]
        )
      })
  )

  it.effect("is not decided by its own submitter, staff or not", () =>
    Effect.gen(function* () {
      const staff = yield* aStaff
      yield* anAgent(staff, "staff-one", "own")
      yield* published(staff, "staff-one/own", "1.0.0", "needs_review")
      const refused = yield* call(staff, "POST", "/review/staff-one/own/1.0.0", {
        decision: "publish",
        reason: "Mine."
      })
      assert.strictEqual(refused.status, 403)
    })
  )

  it.effect("is never published by a person when its scan did not end", () =>
    Effect.gen(function* () {
      const staff = yield* aStaff
      const bro = yield* aPerson("bro")
      yield* anAgent(bro, "bro", "bot")
      const version = yield* submitted(bro, "bro/bot", "1.0.0")
      yield* (yield* AgentsSql).concludeBroken(version.id, [], new Date(yield* Clock.currentTimeMillis))
      const decide = (decision: string) => call(staff, "POST", "/review/bro/bot/1.0.0", { decision, reason: "Late." })
      assert.strictEqual(type(yield* decide("publish")), "/problems/version-not-published")
      assert.strictEqual((yield* decide("block")).body.status, "blocked")
    })
  )

  it.effect("[AGENT-017] is quarantined and blocked by staff in a session only", () =>
    Effect.gen(function* () {
      const staff = yield* aStaff
      const sam = yield* aPerson("sam")
      yield* anAgent(sam, "sam", "bot")
      yield* published(sam, "sam/bot", "1.0.0")
      const body = { version: "1.0.0", reason: "Reported." }
      const scopes: ReadonlyArray<Scope> = ["agent:manage", "review:act", "audit:read"]
      for (const person of [sam, yield* aToken(staff, ...scopes)]) {
        for (const what of ["quarantine", "block"])
          assert.strictEqual(yield* status(call(person, "POST", `/platform/agents/sam/bot/${what}`, body)), 403)
      }
      assert.strictEqual(yield* status(call(nobody, "POST", "/platform/agents/sam/bot/block", body)), 401)
      assert.strictEqual(yield* status(call(staff, "POST", "/platform/agents/sam/bot/block", body)), 200)
    })
  )
})

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("the events of a version", (it) => {
  it.effect(
    "[SCAN-005] [SCAN-011] tell the stages as they come, resume after the last seen, and end at a terminal state",
    () =>
      Effect.gen(function* () {
        const ada = yield* aPerson("ada")
        yield* anAgent(ada, "ada", "bot")
        const version = yield* submitted(ada, "ada/bot", "1.0.0")
        const path = "/agents/ada/bot/versions/1.0.0/events"
        const rows = yield* AgentsSql
        const stage = (status: string) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            rows.addEvent(version.id, "stage", { stage: "S1", name: "archive", status }, new Date(now))
          )
        const [events] = yield* Effect.all(
          [
            eventsOf(ada, path),
            Effect.gen(function* () {
              yield* stage("running")
              yield* stage("passed")
              yield* concluded(version.id, "ada/bot", "1.0.0", "published")
            })
          ],
          { concurrency: "unbounded" }
        )
        const brief = events.map(({ data, event }) => [event, data["status"]])
        assert.deepStrictEqual(brief, [
          ["status", "scanning"],
          ["stage", "running"],
          ["stage", "passed"],
          ["status", "published"],
          ["done", undefined]
        ])
        assert.deepStrictEqual(
          events.slice(0, 4).map(({ id }) => id),
          [1, 2, 3, 4]
        )
        const resumed = yield* eventsOf(ada, path, { "last-event-id": "2" })
        assert.deepStrictEqual(
          resumed.map(({ id }) => id),
          [3, 4, 4]
        )
        assert.deepStrictEqual(
          (yield* eventsOf(nobody, `${path}?after=4`)).map(({ event }) => event),
          ["done"]
        )
        assert.deepStrictEqual((yield* call(nobody, "GET", "/agents/ada/bot/versions/1.0.0")).body.pipeline, [
          { stage: "S1", name: "archive", status: "passed" }
        ])
      })
  )

  it.effect("[SCAN-006] its signed report is answered once the scan has ended", () =>
    Effect.gen(function* () {
      const rep = yield* aPerson("rep")
      yield* anAgent(rep, "rep", "bot")
      yield* published(rep, "rep/bot", "1.0.0")
      const report = yield* call(nobody, "GET", "/agents/rep/bot/versions/1.0.0/report")
      assert.strictEqual(report.status, 200)
      assert.strictEqual(report.body.report.ref, "rep/bot@1.0.0")
      assert.lengthOf(report.body.envelope.signatures, 1)
    })
  )
})

const advisory = { severity: "high", affected: ">=1.0.0", summary: "Sends the input away." }
const auditOf = (action: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<{
        org: string | null
        target: string
      }>`SELECT org, target FROM audit_entries WHERE action = ${action} ORDER BY id`
  )

layer(Live, { timeout: "60 seconds", excludeTestServices: true })(
  "what happens to one agent at the same time",
  (it) => {
    /** The answer to `request`, while which `meanwhile` happens: before the request has the agent, after all that it asks first. */
    const during = Effect.fnUntraced(function* <A, E, R>(
      path: string,
      request: Effect.Effect<A, E, R>,
      meanwhile: (id: string) => Effect.Effect<unknown, unknown, SqlClient.SqlClient | AgentsSql>
    ) {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* AgentsSql
      const [{ id }] = yield* sql<{ id: string }>`SELECT id FROM agents WHERE namespace || '/' || name = ${path}`
      const waiting = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* rows.lockedAgent(id)
          const fiber = yield* Effect.forkDetach(request)
          while (
            (yield* sql`SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`)
              .length === 0
          )
            yield* Effect.sleep("5 millis")
          yield* meanwhile(id)
          return fiber
        })
      )
      return yield* Fiber.join(waiting)
    })
    const renamed = (from: string, to: string) => (id: string) =>
      Effect.gen(function* () {
        const [[fromNamespace, fromName], [namespace, name]] = [from.split("/"), to.split("/")]
        const rows = yield* AgentsSql
        yield* rows.rename(id, { namespace: fromNamespace, name: fromName }, { namespace, name }, new Date())
      })
    const retired = (id: string) => Effect.flatMap(AgentsSql, (rows) => rows.retire(id, new Date()))

    it.effect("nobody grants on it, retires, deletes or yanks it that it has gone away from", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ada = yield* aPerson("ada")
        yield* aPerson("olli")
        const org = yield* (yield* Orgs).create(ada.account, { handle: "left-org" })
        yield* sql`INSERT INTO teams ${sql.insert({ id: "team_1", orgId: org.id, name: "crew", description: "", createdAt: new Date() })}`
        const asks = {
          person: ["PUT", "/grants/people/olli", { level: "manage" }],
          team: ["PUT", "/grants/teams/crew", { level: "manage" }],
          delete: ["DELETE", "", undefined],
          retire: ["POST", "/retire", undefined],
          yank: ["POST", "/versions/1.0.0/yank", undefined]
        } as const
        for (const [name, [method, path, body]] of Object.entries(asks)) {
          yield* anAgent(ada, "left-org", name)
          if (name === "yank") yield* published(ada, "left-org/yank", "1.0.0")
          const answer = yield* during(
            `left-org/${name}`,
            call(ada, method, `/agents/left-org/${name}${path}`, body),
            renamed(`left-org/${name}`, `olli/${name}`)
          )
          assert.strictEqual(answer.status, 404, name)
        }
        assert.lengthOf(yield* sql`SELECT 1 FROM agent_grants UNION ALL SELECT 1 FROM agent_team_grants`, 0)
        assert.lengthOf(yield* sql`SELECT 1 FROM agents WHERE namespace = 'olli' AND retired_at IS NULL`, 5)
        assert.lengthOf(yield* sql`SELECT 1 FROM versions WHERE status = 'yanked'`, 0)
      })
    )

    it.effect("retired in between it takes no version, goes nowhere and does not become public", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rho = yield* aPerson("rho")
        for (const [name, request] of [
          ["submitted", submit(rho, "rho/submitted", archiveOf("rho/submitted", "1.0.0"))],
          ["moved", call(rho, "POST", "/agents/rho/moved/transfer", { namespace: "rho", name: "elsewhere" })],
          ["shown", call(rho, "PATCH", "/agents/rho/shown", { visibility: "public" })]
        ] as const) {
          yield* anAgent(rho, "rho", name, name === "shown" ? "private" : "public")
          const answer = yield* during(`rho/${name}`, request, retired)
          assert.strictEqual(type(answer), "/problems/agent-retired")
        }
        assert.lengthOf(
          yield* sql`SELECT 1 FROM versions v JOIN agents a ON a.id = v.agent_id WHERE a.namespace = 'rho'`,
          0
        )
      })
    )

    it.effect("a team that is deleted in between is granted nothing", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tea = yield* aPerson("tea")
        const org = yield* (yield* Orgs).create(tea.account, { handle: "team-org" })
        yield* sql`INSERT INTO teams ${sql.insert({ id: "team_2", orgId: org.id, name: "gone", description: "", createdAt: new Date() })}`
        yield* anAgent(tea, "team-org", "bot")
        const fiber = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`DELETE FROM teams WHERE id = 'team_2'`
            const fiber = yield* Effect.forkDetach(
              call(tea, "PUT", "/agents/team-org/bot/grants/teams/gone", { level: "read" })
            )
            while ((yield* sql`SELECT 1 FROM pg_locks WHERE NOT granted`).length === 0) yield* Effect.sleep("5 millis")
            return fiber
          })
        )
        assert.strictEqual((yield* Fiber.join(fiber)).status, 404)
      })
    )

    it.effect("deleted while its copy ends it leaves no archive", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const cas = yield* aPerson("cas")
        yield* anAgent(cas, "cas", "bot")
        yield* published(cas, "cas/bot", "1.0.0")
        const fork = { namespace: "cas", name: "copy" }
        assert.strictEqual(yield* status(call(cas, "POST", "/agents/cas/bot/fork", fork)), 202)
        const { body } = yield* Effect.repeat(call(cas, "GET", "/agents/cas/copy"), {
          until: ({ body }) => body.forkState === "ready"
        })
        const { bytes: forkArchiveBytes, digest: forkArchive } = body.forkArchive
        yield* sql`UPDATE agents SET fork_state = 'copying', fork_tried_at = now(), fork_archive = NULL WHERE id = ${body.id}`
        const deleted = yield* during("cas/copy", call(cas, "DELETE", "/agents/cas/copy"), (id) =>
          Effect.flatMap(AgentsSql, (rows) =>
            rows.endFork(id, { forkState: "ready", forkDetail: "Copied", forkArchive, forkArchiveBytes }, new Date())
          )
        )
        assert.strictEqual(deleted.status, 204)
        assert.isFalse(yield* (yield* ObjectStore).has(forkArchive))
      })
    )

    it.effect("two of its versions are published, and search has it once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const two = yield* aPerson("two")
        for (const name of ["found-before", "new"]) {
          const path = `two/${name}`
          yield* anAgent(two, "two", name)
          const [first, second] = [yield* submitted(two, path, "1.0.0"), yield* submitted(two, path, "1.1.0")]
          if (name === "found-before") yield* published(two, path, "0.9.0")
          // In a transaction of its own, and so in a fiber that was there before this one's.
          const begun = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            Effect.andThen(Deferred.await(begun), concluded(second.id, path, "1.1.0", "published"))
          )
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* concluded(first.id, path, "1.0.0", "published")
              yield* Deferred.succeed(begun, undefined)
              while ((yield* sql`SELECT 1 FROM pg_locks WHERE NOT granted`).length === 0)
                yield* Effect.sleep("5 millis")
            })
          )
          yield* Fiber.join(fiber)
          assert.lengthOf(yield* sql`SELECT 1 FROM agent_search WHERE namespace = 'two' AND name = ${name}`, 1)
          assert.strictEqual((yield* call(nobody, "GET", `/agents/${path}`)).body.latestVersion, "1.1.0")
        }
      })
    )

    it.effect("its index of words is built anew meanwhile, and search finds it all the same", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const meanwhile = yield* aPerson("meanwhile")
        yield* anAgent(meanwhile, "meanwhile", "zebrafish")
        const { id } = yield* submitted(meanwhile, "meanwhile/zebrafish", "1.0.0")
        // In a transaction of its own, and so in a fiber that was there before this one's.
        const begun = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(Effect.andThen(Deferred.await(begun), sql`REINDEX TABLE search_entries`))
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* concluded(id, "meanwhile/zebrafish", "1.0.0", "published")
            yield* Deferred.succeed(begun, undefined)
            while ((yield* sql`SELECT 1 FROM pg_locks WHERE NOT granted`).length === 0) yield* Effect.sleep("5 millis")
          })
        )
        yield* Fiber.join(fiber)
        // By the index alone, though there are few agents.
        const found = yield* sql.withTransaction(
          Effect.andThen(
            sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true)`,
            sql`SELECT name FROM search_entries WHERE search_words(id) @@ 'zebrafish'::tsquery`
          )
        )
        assert.deepStrictEqual(found, [{ name: "zebrafish" }])
      })
    )
  }
)

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("an agent that moved", (it) => {
  const moved = (owner: Person, path: string, namespace: string, name?: string) =>
    Effect.map(
      call(owner, "POST", `/agents/${path}/transfer`, { namespace, ...(name === undefined ? {} : { name }) }),
      (answer) => assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    )

  it.effect("is decided on by no reviewer of the namespace that it went to, by whatever name", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const staff = yield* aStaff
      const rex = yield* aMember(staff, "the-staff", "rex", "member")
      const ada = yield* aPerson("ada")
      yield* (yield* Orgs).create(ada.account, { handle: "rev-org" })
      // An account is an active member of one organization; a reviewer's own namespace is its other one.
      yield* anAgent(ada, "rev-org", "bot")
      const { id } = yield* published(ada, "rev-org/bot", "1.0.0")
      const rows = yield* AgentsSql
      const [{ agentId }] = yield* sql<{ agentId: string }>`SELECT agent_id FROM versions WHERE id = ${id}`
      yield* rows.rename(agentId, { namespace: "rev-org", name: "bot" }, { namespace: "rex", name: "bot" }, new Date())
      assert.strictEqual(
        yield* status(
          call(staff, "POST", "/platform/agents/rex/bot/quarantine", { version: "1.0.0", reason: "Looks bad." })
        ),
        200
      )
      for (const path of ["rev-org/bot", "rex/bot"]) {
        const body = { version: "1.0.0", reason: "Mine is fine." }
        assert.strictEqual(yield* status(call(rex, "POST", `/platform/agents/${path}/release`, body)), 403, path)
      }
      assert.strictEqual(
        yield* status(call(rex, "POST", "/agents/rex/bot/versions/1.0.0/dispute", { reason: "It is fine." })),
        201
      )
      for (const path of ["rev-org/bot", "rex/bot"]) {
        assert.strictEqual(yield* status(call(rex, "POST", `/review/${path}/1.0.0/claim`)), 403, path)
        const decision = { decision: "publish", reason: "Mine is fine." }
        assert.strictEqual(yield* status(call(rex, "POST", `/review/${path}/1.0.0`, decision)), 403, path)
      }
      // A person's namespace is no organization, and has no audit log.
      assert.deepStrictEqual(yield* auditOf("version.dispute"), [{ org: null, target: "rev-org/bot@1.0.0" }])
    })
  )

  it.effect("into a suspended organization is not there by its former name, for staff neither", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const staff = yield* aStaff
      const sue = yield* aPerson("sue")
      yield* (yield* Orgs).create(sue.account, { handle: "sus-org" })
      yield* anAgent(sue, "sue", "bot")
      yield* published(sue, "sue/bot", "1.0.0")
      yield* moved(sue, "sue/bot", "sus-org")
      const body = { version: "1.0.0", reason: "Looks bad." }
      yield* call(staff, "POST", "/platform/agents/sus-org/bot/quarantine", body)
      yield* call(sue, "POST", "/agents/sus-org/bot/versions/1.0.0/dispute", { reason: "It is fine." })
      const made = yield* call(sue, "POST", "/agents/sus-org/bot/advisories", advisory)
      assert.strictEqual(made.status, 201)
      const asks = [
        ["GET", "/agents/PATH"],
        ["GET", "/review/PATH/1.0.0"],
        ["GET", "/review/PATH/1.0.0/archive"],
        ["POST", "/review/PATH/1.0.0/claim"],
        ["DELETE", "/review/PATH/1.0.0/claim"],
        ["POST", "/review/PATH/1.0.0", { decision: "publish", reason: "Fine." }],
        ["POST", "/platform/agents/PATH/block", body],
        ["POST", "/platform/agents/PATH/release", body],
        ["POST", "/agents/PATH/advisories", advisory],
        ["GET", `/advisories/${made.body.id}`],
        ["POST", `/advisories/${made.body.id}/publish`],
        ["PATCH", `/advisories/${made.body.id}`, { summary: "Other." }]
      ] as const
      const statuses = (path: string) =>
        Effect.forEach(asks, ([method, ask, payload]) =>
          status(call(staff, method, ask.replace("PATH", path), payload))
        )
      yield* sql`UPDATE organizations SET state = 'suspended' WHERE handle = 'sus-org'`
      for (const path of ["sue/bot", "sus-org/bot"])
        assert.deepStrictEqual(new Set(yield* statuses(path)), new Set([404]), path)
      for (const person of [sue, staff])
        assert.strictEqual((yield* call(person, "GET", "/advisories?namespace=sus-org")).body.total, 0)
      yield* sql`UPDATE organizations SET state = 'active' WHERE handle = 'sus-org'`
      assert.strictEqual((yield* call(staff, "GET", "/advisories?namespace=sus-org")).body.total, 1)
      assert.strictEqual(yield* status(call(staff, "GET", "/review/sus-org/bot/1.0.0")), 200)
    })
  )

  it.effect("is uninstalled and unstarred by either name, and tells who may not read it only the one they knew", () =>
    Effect.gen(function* () {
      const ina = yield* aPerson("ina")
      const owner = yield* aPerson("own")
      yield* anAgent(owner, "own", "bot")
      yield* published(owner, "own/bot", "1.0.0")
      const installed = call(ina, "PUT", "/user/installs/own/bot", { version: "1.0.0", acceptCapabilities: [] })
      assert.strictEqual(yield* status(installed), 200)
      yield* call(ina, "PUT", "/user/stars/own/bot")
      const reported = yield* call(ina, "POST", "/agents/own/bot/abuse-reports", { category: "malware", text: "Bad." })
      assert.strictEqual(reported.status, 201)
      yield* moved(owner, "own/bot", "own", "secret-plan")
      const refs = Effect.map(call(ina, "GET", "/user/installs"), ({ body }) => body.items)
      assert.strictEqual((yield* refs)[0].ref, "own/secret-plan")
      yield* call(owner, "PATCH", "/agents/own/secret-plan", { visibility: "private" })
      assert.deepStrictEqual(yield* refs, [{ ref: "own/bot", readable: false }])
      const [mine] = (yield* call(ina, "GET", "/user/abuse-reports")).body.items
      assert.deepInclude(mine, { namespace: "own", name: "bot" })

      const past = (yield* call(ina, "GET", "/user/installs?offset=5")).body
      assert.deepInclude(past, { items: [], total: 1 })
      yield* call(ina, "DELETE", "/user/stars/own/bot")
      yield* call(ina, "DELETE", "/user/installs/own/bot")
      assert.deepStrictEqual(yield* refs, [])
      assert.strictEqual((yield* call(owner, "GET", "/agents/own/secret-plan/stats")).body.stars, 0)
    })
  )

  it.effect("keeps what people were granted while it stays in its namespace", () =>
    Effect.gen(function* () {
      const gia = yield* aPerson("gia")
      yield* aPerson("hal")
      yield* (yield* Orgs).create(gia.account, { handle: "gia-org" })
      yield* anAgent(gia, "gia", "bot")
      yield* call(gia, "PUT", "/agents/gia/bot/grants/people/hal", { level: "write" })
      const granted = (path: string) =>
        Effect.map(call(gia, "GET", `/agents/${path}/grants`), ({ body }) => body.items.length)
      yield* moved(gia, "gia/bot", "gia", "robot")
      assert.strictEqual(yield* granted("gia/robot"), 1)
      yield* moved(gia, "gia/robot", "gia-org")
      assert.strictEqual(yield* granted("gia-org/robot"), 0)
    })
  )

  it.effect("has its advisories in the log of the organization that it went to", () =>
    Effect.gen(function* () {
      const staff = yield* aStaff
      const lea = yield* aPerson("lea")
      yield* (yield* Orgs).create(lea.account, { handle: "lea-org" })
      yield* anAgent(lea, "lea-org", "bot")
      yield* moved(lea, "lea-org/bot", "lea")
      const made = yield* call(staff, "POST", "/agents/lea-org/bot/advisories", advisory)
      assert.deepInclude(made.body, { namespace: "lea", name: "bot" })
      assert.deepStrictEqual(
        (yield* auditOf("advisory.create")).filter(({ target }) => target === made.body.id),
        [{ org: null, target: made.body.id }]
      )
    })
  )
})

layer(Live, { timeout: "60 seconds", excludeTestServices: true })("of an organization that ends", (it) => {
  it.effect("all bytes go when it is erased, also when the first try ends on the way", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const objects = yield* ObjectStore
      const era = yield* aPerson("era")
      yield* (yield* Orgs).create(era.account, { handle: "era-org" })
      yield* anAgent(era, "era-org", "bot")
      const { archive } = yield* published(era, "era-org/bot", "1.0.0")
      const fork = { namespace: "era-org", name: "copy" }
      yield* call(era, "POST", "/agents/era-org/bot/fork", fork)
      const { body } = yield* Effect.repeat(call(era, "GET", "/agents/era-org/copy"), {
        until: ({ body }) => body.forkState === "ready"
      })
      yield* anAgent(era, "era", "bot")
      const kept = yield* published(era, "era/bot", "1.0.0")
      const [digest, other, ofFork] = [archive.digest, kept.archive.digest, body.forkArchive.digest]
      yield* sql`UPDATE organizations SET state = 'decommissioning', decommission_at = now() WHERE handle = 'era-org'`
      // As a process leaves it that ended before it had removed a thing.
      const failing = { ...objects, remove: () => Effect.die(new Error("gone")) }
      yield* Effect.provideService(eraseDecommissioned, ObjectStore, failing)
      assert.isTrue(yield* objects.has(digest))
      yield* eraseDecommissioned
      assert.deepStrictEqual(
        [yield* objects.has(digest), yield* objects.has(ofFork), yield* objects.has(other)],
        [false, false, true]
      )
      assert.lengthOf(yield* sql`SELECT 1 FROM agents WHERE erasing`, 0)
    })
  )

  it.effect("in its hold neither advisories nor disputes change, and are read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ann = yield* aPerson("ann")
      yield* (yield* Orgs).create(ann.account, { handle: "end-org" })
      yield* anAgent(ann, "end-org", "bot")
      yield* published(ann, "end-org/bot", "1.0.0", "needs_review")
      const { id } = (yield* call(ann, "POST", "/agents/end-org/bot/advisories", advisory)).body
      yield* sql`UPDATE organizations SET state = 'decommissioning', decommission_at = now() + interval '1 day' WHERE handle = 'end-org'`
      for (const [method, path, body] of [
        ["POST", "/agents/end-org/bot/advisories", advisory],
        ["PATCH", `/advisories/${id}`, { summary: "Other." }],
        ["POST", `/advisories/${id}/withdraw`, { reason: "Mistaken." }],
        ["POST", "/agents/end-org/bot/versions/1.0.0/dispute", { reason: "It is fine." }]
      ] as const)
        assert.strictEqual(type(yield* call(ann, method, path, body)), "/problems/org-decommissioning", path)
      assert.strictEqual((yield* call(ann, "GET", `/advisories/${id}`)).body.state, "draft")
    })
  )
})
