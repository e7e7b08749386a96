import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import * as Identity from "@quickagents/identity"
import { Audit, HttpEdge, migrations as platformMigrations, RateLimits, Settings } from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import { DomainOrgGroup, DomainsGroup, OrgsGroup, PlatformAuditGroup, TeamsGroup } from "@quickagents/schema"
import { Clock, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import {
  Domains,
  DomainsHttp,
  memberships,
  migrations,
  OrgLife,
  Orgs,
  OrgsHttp,
  PlatformAuditHttp,
  Teams,
  TeamsHttp
} from "./index.ts"
import { startDnsServer } from "./testing/DnsServer.ts"

class TestApi extends HttpApi.make("registry")
  .add(OrgsGroup)
  .add(TeamsGroup)
  .add(PlatformAuditGroup)
  .add(DomainsGroup)
  .add(DomainOrgGroup) {}

const settings: Settings.Values = {
  ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
  "orgs.staff": "the-staff",
  "orgs.staffDomain": "Example.com",
  "orgs.firstParty": "first-party",
  "limits.authedBurstPerMin": 100_000,
  "limits.authedPerHour": 100_000
}

/** What the DNS of the tests says: texts by name. */
const dns = new Map<string, ReadonlyArray<string>>()
const TestSettings = Layer.effect(
  Settings.Settings,
  Effect.map(startDnsServer(dns), (port) => ({ ...settings, "orgs.dnsServers": [`127.0.0.1:${port}`] }))
)

const services = Layer.mergeAll(Orgs.layer, OrgLife.layer, Teams.layer, Domains.layer).pipe(
  Layer.provideMerge(Identity.layer),
  Layer.provideMerge(memberships),
  Layer.provideMerge(Layer.mergeAll(Audit.Audit.layer, RateLimits.layer)),
  Layer.provideMerge(layerDatabase({ ...platformMigrations, ...Identity.migrations, ...migrations })),
  Layer.provideMerge(TestSettings)
)

const routes = HttpApiBuilder.layer(TestApi).pipe(
  Layer.provide([OrgsHttp, TeamsHttp, DomainsHttp, PlatformAuditHttp]),
  Layer.provide(Identity.authentication),
  Layer.provideMerge(HttpEdge.layer(TestApi))
)

const Live = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provideMerge(services)
)

const call = (person: { readonly headers: Record<string, string> }, method: string, path: string, body?: unknown) =>
  HttpServer.addressFormattedWith((url) =>
    Effect.promise(async () => {
      const response = await fetch(`${url}/api/v1/orgs${path}`, {
        method,
        headers: { ...person.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? null : JSON.parse(text) }
    })
  )

const aPerson = Effect.fnUntraced(function* (
  handle: string,
  person: { readonly verified?: boolean; readonly email?: string } = {}
) {
  const accounts = yield* Identity.Accounts
  const account = yield* accounts.ensure({
    subject: `oidc:${handle}`,
    email: person.email ?? `${handle}@example.com`,
    emailVerified: person.verified ?? true,
    handle,
    displayName: `${handle} by name`
  })
  const session = yield* (yield* Identity.Sessions).open(account.id, null)
  return { account, headers: { cookie: `session=${session.token}`, "x-csrf-token": session.csrfToken } }
})

const anOrg = Effect.fnUntraced(function* (handle: string) {
  const owner = yield* aPerson(`${handle}-owner`)
  const made = yield* call(owner, "POST", "", { handle })
  assert.strictEqual(made.status, 201)
  return owner
})

const type = ({ body }: { readonly body: { readonly type: string } }) => body.type

layer(Live)("an organization", (it) => {
  it.effect("[ORG-001] is created by its owner and read by its members, to all others it is not there", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const eve = yield* aPerson("eve")
      const made = yield* call(ada, "POST", "", { handle: "acme", displayName: "Acme Inc." })
      assert.strictEqual(made.status, 201)
      assert.deepInclude(made.body, {
        handle: "acme",
        displayName: "Acme Inc.",
        domain: null,
        verifiedDomains: [],
        state: "active",
        decommissionAt: null
      })
      assert.deepStrictEqual((yield* call(ada, "GET", "/acme")).body, made.body)
      const members = yield* call(ada, "GET", "/acme/members")
      assert.lengthOf(members.body.items, 1)
      assert.deepInclude(members.body.items[0], { handle: "ada", displayName: "ada by name", role: "owner" })
      const orgs = yield* Orgs
      assert.deepInclude(yield* orgs.membershipOf(ada.account.id), { org: "acme", role: "owner", standing: "active" })
      for (const path of ["/acme", "/acme/members", "/acme/audit", "/missing"]) {
        const refused = yield* call(eve, "GET", path)
        assert.strictEqual(refused.status, 404)
        assert.strictEqual(type(refused), "/problems/not-found")
      }
      assert.strictEqual((yield* call(eve, "PUT", "/acme/members/eve", { role: "admin" })).status, 404)
      assert.strictEqual((yield* call(eve, "DELETE", "/acme/members/ada")).status, 404)
    })
  )

  it.effect("shares one name space with accounts, and takes no reserved name", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("names")
      yield* anOrg("taken")
      for (const handle of ["names", "taken", "api", "admin", "staff", "the-staff", "first-party"]) {
        const refused = yield* call(ada, "POST", "", { handle })
        assert.strictEqual(refused.status, 409, handle)
        assert.strictEqual(type(refused), "/problems/name-taken", handle)
      }
      assert.strictEqual((yield* call(ada, "POST", "", { handle: "Not A Handle" })).status, 422)
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql`SELECT 1 FROM members WHERE account_id = ${ada.account.id}`, 0)
    })
  )

  it.effect("is not created by an account whose address is unverified", () =>
    Effect.gen(function* () {
      const unverified = yield* aPerson("unverified", { verified: false })
      const refused = yield* call(unverified, "POST", "", { handle: "unverified-org" })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(type(refused), "/problems/email-unverified")
    })
  )

  it.effect("an account is an active member of one organization at most", () =>
    Effect.gen(function* () {
      const one = yield* anOrg("only-one")
      const two = yield* anOrg("only-two")
      const founding = yield* call(one, "POST", "", { handle: "only-three" })
      assert.strictEqual(founding.status, 409)
      assert.strictEqual(type(founding), "/problems/already-a-member")
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql`SELECT 1 FROM namespaces WHERE handle = 'only-three'`, 0)
      const invited = yield* call(two, "PUT", `/only-two/members/${one.account.handle}`, { role: "member" })
      assert.strictEqual(invited.status, 409)
      assert.strictEqual(type(invited), "/problems/already-a-member")
    })
  )

  it.effect("admins change members, only an owner makes or unmakes an owner, anyone may leave", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("roles")
      const admin = yield* aPerson("roles-admin")
      const member = yield* aPerson("roles-member")
      const put = (actor: typeof owner, handle: string, role: string) =>
        Effect.map(call(actor, "PUT", `/roles/members/${handle}`, { role }), ({ status }) => status)
      const remove = (actor: typeof owner, handle: string) =>
        Effect.map(call(actor, "DELETE", `/roles/members/${handle}`), ({ status }) => status)
      assert.strictEqual(yield* put(owner, "roles-admin", "admin"), 200)
      assert.strictEqual(yield* put(admin, "roles-member", "member"), 200)
      assert.strictEqual(yield* put(admin, "nobody-here", "member"), 404)

      assert.strictEqual(yield* put(member, "roles-member", "admin"), 403)
      assert.strictEqual(yield* remove(member, "roles-admin"), 403)
      assert.strictEqual(yield* put(admin, "roles-admin", "owner"), 403)
      assert.strictEqual(yield* put(admin, "roles-owner", "member"), 403)
      assert.strictEqual(yield* remove(admin, "roles-owner"), 403)

      assert.strictEqual(yield* remove(member, "roles-member"), 204)
      assert.strictEqual((yield* call(member, "GET", "/roles")).status, 404)
      assert.strictEqual(yield* remove(admin, "roles-member"), 404)
      // Come back, with a new beginning.
      assert.strictEqual(yield* put(admin, "roles-member", "member"), 200)
      assert.strictEqual(yield* put(owner, "roles-admin", "owner"), 200)
      assert.strictEqual(yield* put(admin, "roles-owner", "member"), 200)
    })
  )

  it.effect("keeps its last admin: demote, remove and leave are 409, also for two at once", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("last")
      for (const attempt of [
        call(owner, "PUT", "/last/members/last-owner", { role: "member" }),
        call(owner, "DELETE", "/last/members/last-owner")
      ]) {
        const refused = yield* attempt
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(type(refused), "/problems/last-admin")
      }
      const second = yield* aPerson("last-second")
      assert.strictEqual((yield* call(owner, "PUT", "/last/members/last-second", { role: "owner" })).status, 200)
      const both = yield* Effect.all(
        [call(owner, "DELETE", "/last/members/last-owner"), call(second, "DELETE", "/last/members/last-second")],
        { concurrency: "unbounded" }
      )
      assert.sameMembers(
        both.map(({ status }) => status),
        [204, 409]
      )
    })
  )

  it.effect("membership is read again on every request", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("fresh")
      const member = yield* aPerson("fresh-member")
      yield* call(owner, "PUT", "/fresh/members/fresh-member", { role: "admin" })
      assert.strictEqual((yield* call(member, "GET", "/fresh/audit")).status, 200)
      yield* call(owner, "PUT", "/fresh/members/fresh-member", { role: "member" })
      assert.strictEqual((yield* call(member, "GET", "/fresh/audit")).status, 403)
      yield* call(owner, "DELETE", "/fresh/members/fresh-member")
      assert.strictEqual((yield* call(member, "GET", "/fresh/audit")).status, 404)
    })
  )

  it.effect("suspended, it answers 404 to everyone, and nobody has a role in it", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("sleeping")
      const sql = yield* SqlClient.SqlClient
      const orgs = yield* Orgs
      assert.strictEqual(yield* orgs.roleIn(owner.account.id, "sleeping"), "owner")
      yield* sql`UPDATE organizations SET state = 'suspended' WHERE handle = 'sleeping'`
      for (const [method, path, body] of [
        ["GET", "/sleeping"],
        ["GET", "/sleeping/members"],
        ["GET", "/sleeping/audit"],
        ["PUT", "/sleeping/members/ada", { role: "member" }],
        ["DELETE", "/sleeping/members/sleeping-owner"]
      ] as const)
        assert.strictEqual((yield* call(owner, method, path, body)).status, 404, path)
      assert.isNull(yield* orgs.roleIn(owner.account.id, "sleeping"))
      assert.isNull(yield* orgs.namespace("sleeping"))
      assert.isNull(yield* orgs.byHandle("sleeping"))
      assert.deepInclude(yield* orgs.membershipOf(owner.account.id), { org: "sleeping", standing: "suspended" })
    })
  )

  it.effect("[AUDIT-001] shows its audit log to admins, newest first, by pages and filters", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("log")
      const other = yield* aPerson("log-other")
      yield* call(owner, "PUT", "/log/members/log-other", { role: "admin" })
      yield* call(other, "PUT", "/log/members/log-other", { role: "member" })
      const all = yield* call(owner, "GET", "/log/audit")
      assert.deepStrictEqual(
        all.body.items.map((entry: any) => [entry.action, entry.actor.handle, entry.target]),
        [
          ["org.member_role", "log-other", "log-other"],
          ["org.member_add", "log-owner", "log-other"],
          ["org.create", "log-owner", "log"]
        ]
      )
      assert.isNull(all.body.nextCursor)
      assert.match(all.body.items[0].requestId, /^req_/)
      const first = yield* call(owner, "GET", "/log/audit?limit=2")
      assert.lengthOf(first.body.items, 2)
      const rest = yield* call(owner, "GET", `/log/audit?limit=2&cursor=${first.body.nextCursor}`)
      assert.deepStrictEqual([...first.body.items, ...rest.body.items], all.body.items)
      assert.isNull(rest.body.nextCursor)
      const byActor = yield* call(owner, "GET", "/log/audit?actor=log-other")
      assert.lengthOf(byActor.body.items, 1)
      const byAction = yield* call(owner, "GET", "/log/audit?action=org.create")
      assert.lengthOf(byAction.body.items, 1)
      // `from` is of the page, `to` is not.
      const [newest, middle, oldest] = all.body.items.map(({ at }: { at: string }) => at)
      const within = Effect.fnUntraced(function* (from: string, to: string) {
        const { body } = yield* call(owner, "GET", `/log/audit?from=${from}&to=${to}`)
        return body.items.map(({ at }: { at: string }) => at)
      })
      const later = new Date(Date.parse(newest) + 60_000).toISOString()
      assert.deepStrictEqual(yield* within(oldest, later), [newest, middle, oldest])
      assert.deepStrictEqual(
        yield* within(oldest, newest),
        [middle, oldest].filter((at) => at < newest)
      )
      assert.deepStrictEqual(yield* within(later, later), [])
      for (const bad of ["from=yesterday", "to=2026-13-01T00:00:00Z", "from=2026-11-21", "actor=" + "a".repeat(101)])
        assert.strictEqual((yield* call(owner, "GET", `/log/audit?${bad}`)).status, 422, bad)
      assert.strictEqual((yield* call(other, "GET", "/log/audit")).status, 403)
    })
  )

  it.effect("has teams of its own members, which its admins make, change and delete", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("crew")
      const other = yield* anOrg("crew-other")
      const member = yield* aPerson("crew-member")
      yield* call(owner, "PUT", "/crew/members/crew-member", { role: "member" })
      const made = yield* call(owner, "POST", "/crew/teams", { name: "core", description: "The core" })
      assert.strictEqual(made.status, 201)
      assert.deepInclude(made.body, { org: "crew", name: "core", description: "The core", members: 0 })
      assert.strictEqual(type(yield* call(owner, "POST", "/crew/teams", { name: "core" })), "/problems/name-taken")
      // Names are the organization's own.
      assert.strictEqual((yield* call(other, "POST", "/crew-other/teams", { name: "core" })).status, 201)
      for (const name of ["", "Core", "-core", "a".repeat(65), 1])
        assert.strictEqual((yield* call(owner, "POST", "/crew/teams", { name })).status, 422, String(name))

      const added = yield* call(owner, "PUT", "/crew/teams/core/members/crew-member")
      assert.deepInclude(added.body, { handle: "crew-member", displayName: "crew-member by name" })
      assert.deepStrictEqual((yield* call(owner, "PUT", "/crew/teams/core/members/crew-member")).body, added.body)
      assert.strictEqual((yield* call(owner, "PUT", "/crew/teams/core/members/crew-other-owner")).status, 404)
      assert.strictEqual((yield* call(owner, "PUT", "/crew/teams/none/members/crew-member")).status, 404)
      assert.deepStrictEqual((yield* call(member, "GET", "/crew/teams/core/members")).body.items, [added.body])

      yield* call(owner, "POST", "/crew/teams", { name: "aside" })
      const taken = yield* call(owner, "PATCH", "/crew/teams/aside", { name: "core" })
      assert.strictEqual(type(taken), "/problems/name-taken")
      const renamed = yield* call(owner, "PATCH", "/crew/teams/core", { name: "kernel" })
      assert.deepInclude(renamed.body, { id: made.body.id, name: "kernel", description: "The core", members: 1 })
      assert.strictEqual((yield* call(owner, "GET", "/crew/teams/core")).status, 404)
      assert.deepStrictEqual(
        (yield* call(member, "GET", "/crew/teams")).body.items.map(({ name }: { name: string }) => name),
        ["aside", "kernel"]
      )
      for (const [path, first, second] of [
        ["/crew/teams", { name: "aside" }, { name: "kernel" }],
        ["/crew/members", { handle: "crew-member" }, { handle: "crew-owner" }]
      ] as const) {
        const pages = yield* Effect.forEach([0, 1, 9], (offset) =>
          Effect.map(call(member, "GET", `${path}?limit=1&offset=${offset}`), ({ body }) => body)
        )
        assert.deepInclude(pages[0].items[0], first)
        assert.deepInclude(pages[1].items[0], second)
        assert.deepStrictEqual(pages[2], { items: [], total: 2, offset: 9, limit: 1 })
      }
      assert.deepInclude((yield* call(member, "GET", "/crew/teams/kernel/members?limit=0&offset=1")).body, {
        items: [],
        total: 1,
        limit: 50
      })

      for (const [method, path, body] of [
        ["POST", "/crew/teams", { name: "own" }],
        ["PATCH", "/crew/teams/kernel", { name: "own" }],
        ["DELETE", "/crew/teams/kernel"],
        ["PUT", "/crew/teams/kernel/members/crew-owner"],
        ["DELETE", "/crew/teams/kernel/members/crew-member"]
      ] as const) {
        assert.strictEqual((yield* call(member, method, path, body)).status, 403, path)
        assert.strictEqual((yield* call(other, method, path, body)).status, 404, path)
      }
      assert.strictEqual((yield* call(other, "GET", "/crew/teams")).status, 404)
      assert.strictEqual((yield* call(owner, "DELETE", "/crew/teams/kernel/members/crew-member")).status, 204)
      assert.strictEqual((yield* call(owner, "DELETE", "/crew/teams/kernel/members/crew-member")).status, 404)
      assert.strictEqual((yield* call(owner, "DELETE", "/crew/teams/kernel")).status, 204)
      const { items } = (yield* call(owner, "GET", "/crew/audit")).body
      assert.deepStrictEqual(
        items.slice(0, 6).map((entry: any) => [entry.action, entry.target]),
        [
          ["team.delete", "crew/kernel"],
          ["team.member_remove", "crew/kernel"],
          ["team.update", "crew/core"],
          ["team.create", "crew/aside"],
          ["team.member_add", "crew/core"],
          ["team.create", "crew/core"]
        ]
      )
    })
  )

  it.effect("who is removed from it is out of its teams, also when both happen at once, and comes back to none", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("leavers")
      const second = yield* aPerson("leavers-admin")
      yield* aPerson("leavers-member")
      yield* call(owner, "PUT", "/leavers/members/leavers-admin", { role: "admin" })
      yield* call(owner, "POST", "/leavers/teams", { name: "core" })
      for (let time = 0; time < 5; time++) {
        yield* call(owner, "PUT", "/leavers/members/leavers-member", { role: "member" })
        const [removed, added] = yield* Effect.all(
          [
            call(owner, "DELETE", "/leavers/members/leavers-member"),
            call(second, "PUT", "/leavers/teams/core/members/leavers-member")
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(removed.status, 204)
        assert.include([200, 404], added.status)
        assert.deepStrictEqual((yield* call(owner, "GET", "/leavers/teams/core/members")).body.items, [])
      }
    })
  )

  it.effect("an owner decommissions it: read-only for the hold, and taken back while that lasts", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("ending")
      const admin = yield* aPerson("ending-admin")
      yield* call(owner, "PUT", "/ending/members/ending-admin", { role: "admin" })
      yield* call(owner, "POST", "/ending/teams", { name: "core" })
      assert.strictEqual((yield* call(admin, "POST", "/ending/decommission")).status, 403)
      const began = yield* Clock.currentTimeMillis
      const ended = yield* call(owner, "POST", "/ending/decommission")
      assert.strictEqual(ended.status, 200)
      const decommissionAt = new Date(began + 30 * 86_400_000).toISOString()
      assert.deepInclude(ended.body, { state: "decommissioning", decommissionAt })
      const orgs = yield* Orgs
      assert.deepInclude(yield* orgs.membershipOf(owner.account.id), { standing: "decommissioning" })
      for (const [method, path, body] of [
        ["POST", "/ending/decommission"],
        ["PATCH", "/ending", { displayName: "Ended" }],
        ["PUT", "/ending/members/ending-admin", { role: "member" }],
        ["DELETE", "/ending/members/ending-admin"],
        ["POST", "/ending/teams", { name: "more" }],
        ["PATCH", "/ending/teams/core", { name: "more" }],
        ["DELETE", "/ending/teams/core"],
        ["PUT", "/ending/teams/core/members/ending-admin"],
        ["DELETE", "/ending/teams/core/members/ending-admin"]
      ] as const) {
        const refused = yield* call(owner, method, path, body)
        assert.strictEqual(refused.status, 409, path)
        assert.deepInclude(refused.body, { type: "/problems/org-decommissioning", org: "ending", decommissionAt })
      }
      // Who may not is told that.
      const mere = yield* aPerson("ending-member")
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO members (org_id, account_id, role, since) VALUES (${ended.body.id}, ${mere.account.id}, 'member', now())`
      assert.strictEqual((yield* call(mere, "PUT", "/ending/members/ending-admin", { role: "member" })).status, 403)
      assert.strictEqual((yield* call(mere, "POST", "/ending/teams", { name: "own" })).status, 403)
      for (const path of ["/ending", "/ending/members", "/ending/teams/core", "/ending/audit"])
        assert.strictEqual((yield* call(admin, "GET", path)).status, 200, path)
      assert.strictEqual((yield* call(admin, "DELETE", "/ending/decommission")).status, 403)
      const back = yield* call(owner, "DELETE", "/ending/decommission")
      assert.deepInclude(back.body, { state: "active", decommissionAt: null })
      assert.strictEqual((yield* call(owner, "DELETE", "/ending/decommission")).status, 200)
      assert.strictEqual((yield* call(owner, "PATCH", "/ending", { displayName: "Going on" })).status, 200)
      const actions = (yield* call(owner, "GET", "/ending/audit")).body.items.map((entry: any) => entry.action)
      assert.deepStrictEqual(actions.slice(0, 3), ["org.update", "org.decommission_cancel", "org.decommission"])
    })
  )

  it.effect("an account's own namespace is its owner's alone", () =>
    Effect.gen(function* () {
      const orgs = yield* Orgs
      const ada = yield* aPerson("own-space")
      const eve = yield* aPerson("own-other")
      assert.strictEqual(yield* orgs.roleIn(ada.account.id, "own-space"), "owner")
      assert.isNull(yield* orgs.roleIn(eve.account.id, "own-space"))
      assert.isNull(yield* orgs.roleIn(null, "own-space"))
      assert.isNull(yield* orgs.roleIn(ada.account.id, "no-such-space"))
      assert.deepStrictEqual(yield* orgs.namespace("own-space"), {
        handle: "own-space",
        kind: "account",
        ownerId: ada.account.id,
        decommissionAt: null,
        features: null
      })
    })
  )
})

layer(Live)("platform staff", (it) => {
  it.effect("[ORG-003] suspends an organization, which answers 404 to everyone, and reinstates it as it was", () =>
    Effect.gen(function* () {
      const orgs = yield* Orgs
      const staff = yield* aPerson("the-staff-owner")
      yield* orgs.ensure({ handle: "the-staff", ownerId: staff.account.id })
      const owner = yield* anOrg("suspect")
      const reason = "Publishes malware."
      assert.strictEqual((yield* call(owner, "POST", "/suspect/suspend", { reason })).status, 403)
      assert.strictEqual((yield* call(staff, "POST", "/suspect/suspend", { reason: "" })).status, 422)
      assert.strictEqual((yield* call(staff, "POST", "/missing/suspend", { reason })).status, 404)
      assert.strictEqual((yield* call(staff, "POST", "/suspect/suspend", { reason })).body.state, "suspended")
      assert.strictEqual((yield* call(staff, "POST", "/suspect/suspend", { reason })).body.state, "suspended")
      for (const person of [owner, staff]) {
        for (const [method, path, body] of [
          ["GET", "/suspect"],
          ["GET", "/suspect/members"],
          ["GET", "/suspect/teams"],
          ["GET", "/suspect/audit"],
          ["PATCH", "/suspect", { displayName: "Back" }],
          ["POST", "/suspect/teams", { name: "core" }],
          ["POST", "/suspect/decommission"],
          ["DELETE", "/suspect/decommission"]
        ] as const)
          assert.strictEqual((yield* call(person, method, path, body)).status, 404, `${method} ${path}`)
      }
      assert.strictEqual((yield* call(owner, "POST", "/suspect/reinstate", { reason })).status, 403)
      const back = yield* call(staff, "POST", "/suspect/reinstate", { reason: "A mistake." })
      assert.deepInclude(back.body, { state: "active", decommissionAt: null })
      assert.deepInclude((yield* call(owner, "GET", "/suspect")).body, { state: "active" })

      // A hold that nobody could have taken back meanwhile starts anew.
      yield* call(owner, "POST", "/suspect/decommission")
      yield* call(staff, "POST", "/suspect/suspend", { reason })
      yield* TestClock.adjust("40 days")
      const later = yield* aPerson("the-staff-owner")
      const held = yield* call(later, "POST", "/suspect/reinstate", { reason })
      assert.deepInclude(held.body, {
        state: "decommissioning",
        decommissionAt: new Date((yield* Clock.currentTimeMillis) + 30 * 86_400_000).toISOString()
      })
      const log = (yield* call(later, "GET", "/suspect/audit")).body.items
      assert.deepInclude(log.at(-2), { action: "org.suspend", target: "suspect", org: "suspect", detail: { reason } })
    })
  )

  it.effect("never suspends or decommissions itself", () =>
    Effect.gen(function* () {
      const staff = yield* aPerson("the-staff-owner")
      assert.strictEqual((yield* call(staff, "POST", "/the-staff/suspend", { reason: "Why not." })).status, 403)
      assert.strictEqual((yield* call(staff, "POST", "/the-staff/decommission")).status, 403)
    })
  )

  it.effect("reads the audit log of the whole registry, of one organization, and by every filter", () =>
    Effect.gen(function* () {
      const staff = yield* aPerson("the-staff-owner")
      const owner = yield* anOrg("watched")
      const read = (who: typeof staff, query: string) => call(who, "GET", `/../platform/audit?${query}`)
      assert.strictEqual((yield* read(owner, "")).status, 403)
      const ofOrg = (yield* read(staff, "org=watched")).body.items
      assert.deepStrictEqual(
        ofOrg.map((entry: any) => entry.action),
        ["org.create"]
      )
      const all = (yield* read(staff, "limit=3")).body
      assert.lengthOf(all.items, 3)
      const rest = (yield* read(staff, `limit=200&cursor=${all.nextCursor}`)).body
      assert.isNull(rest.nextCursor)
      assert.includeMembers(
        [...all.items, ...rest.items].map((entry: any) => entry.action),
        ["user.create", "org.create", "org.suspend"]
      )
      const people = (yield* read(staff, "action=user.create&actor=watched-owner")).body.items
      assert.lengthOf(people, 1)
      assert.deepStrictEqual((yield* read(staff, `to=${ofOrg[0].at}&org=watched`)).body.items, [])
    })
  )
})

layer(Live)("the staff organization", (it) => {
  it.effect("makes its members staff, who read every organization, and takes addresses of its domain only", () =>
    Effect.gen(function* () {
      const orgs = yield* Orgs
      yield* anOrg("customer")
      const first = yield* aPerson("staff-first")
      const made = yield* orgs.ensure({ handle: "the-staff", ownerId: first.account.id })
      assert.strictEqual((yield* orgs.ensure({ handle: "the-staff", ownerId: first.account.id })).id, made.id)
      const inside = yield* aPerson("staff-inside")
      assert.isFalse(yield* orgs.isStaff(inside.account.id))
      assert.strictEqual((yield* call(inside, "GET", "/customer")).status, 404)
      assert.strictEqual((yield* call(first, "PUT", "/the-staff/members/staff-inside", { role: "member" })).status, 200)
      assert.isTrue(yield* orgs.isStaff(inside.account.id))
      assert.strictEqual((yield* call(inside, "GET", "/customer")).status, 200)
      assert.strictEqual((yield* call(inside, "PUT", "/customer/members/staff-inside", { role: "admin" })).status, 404)

      yield* aPerson("staff-outside", { email: "x@example.com.evil.test" })
      yield* aPerson("staff-unverified", { verified: false })
      for (const handle of ["staff-outside", "staff-unverified"]) {
        const refused = yield* call(first, "PUT", `/the-staff/members/${handle}`, { role: "member" })
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(type(refused), "/problems/staff-org-domain")
      }

      assert.strictEqual((yield* call(first, "DELETE", "/the-staff/members/staff-inside")).status, 204)
      assert.strictEqual((yield* call(inside, "GET", "/customer")).status, 404)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE organizations SET state = 'suspended' WHERE handle = 'the-staff'`
      assert.isFalse(yield* orgs.isStaff(first.account.id))
    })
  )
})

layer(Live)("domains of an organization", (it) => {
  const claims = (org: string) => `/${org}/domain-claims`
  const prove = ({ record }: { readonly record: { readonly name: string; readonly value: string } }) =>
    dns.set(record.name, ["v=spf1 -all", record.value])
  const domainOrg = (person: { readonly headers: Record<string, string> }, method = "GET", path = "") =>
    call(person, method, `/../user/domain-org${path}`)

  it.effect("[ORG-007] are claimed, proven by a DNS record, shown on the organization, and given up", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("claimer")
      const member = yield* aPerson("claimer-member")
      yield* call(owner, "PUT", "/claimer/members/claimer-member", { role: "member" })
      const made = yield* call(owner, "POST", claims("claimer"), { domain: "claimer.example" })
      assert.strictEqual(made.status, 201)
      assert.deepInclude(made.body, { domain: "claimer.example", state: "pending", verifiedAt: null })
      assert.deepInclude(made.body.record, { type: "TXT", name: "_quickagents-challenge.claimer.example" })
      assert.deepStrictEqual(
        (yield* call(owner, "POST", claims("claimer"), { domain: "claimer.example" })).body,
        made.body
      )
      for (const domain of ["claimer", "Claimer.example", "claimer.example.", "-a.example", "a..example", "a.b/c", ""])
        assert.strictEqual((yield* call(owner, "POST", claims("claimer"), { domain })).status, 422, domain)

      const verify = call(owner, "POST", `${claims("claimer")}/claimer.example/verify`)
      assert.strictEqual(type(yield* verify), "/problems/domain-not-proven")
      dns.set(made.body.record.name, ["another value"])
      assert.strictEqual(type(yield* verify), "/problems/domain-not-proven")
      prove(made.body)
      const proven = yield* verify
      assert.deepInclude(proven.body, { state: "verified", domain: "claimer.example" })
      assert.strictEqual((yield* verify).status, 200)
      const second = (yield* call(owner, "POST", claims("claimer"), { domain: "mail.claimer.example" })).body
      prove(second)
      yield* TestClock.adjust("1 second")
      yield* call(owner, "POST", `${claims("claimer")}/mail.claimer.example/verify`)
      assert.deepInclude((yield* call(owner, "GET", "/claimer")).body, {
        domain: "claimer.example",
        verifiedDomains: ["claimer.example", "mail.claimer.example"]
      })
      assert.strictEqual((yield* call(owner, "POST", `${claims("claimer")}/none.example/verify`)).status, 404)
      assert.strictEqual((yield* call(member, "GET", claims("claimer"))).status, 403)
      assert.strictEqual((yield* call(member, "POST", claims("claimer"), { domain: "b.example" })).status, 403)
      assert.strictEqual((yield* call(owner, "DELETE", `${claims("claimer")}/claimer.example`)).status, 204)
      assert.strictEqual((yield* call(owner, "DELETE", `${claims("claimer")}/claimer.example`)).status, 404)
      assert.deepInclude((yield* call(owner, "GET", "/claimer")).body, {
        domain: "mail.claimer.example",
        verifiedDomains: ["mail.claimer.example"]
      })
      assert.deepStrictEqual(
        (yield* call(owner, "GET", claims("claimer"))).body.items.map((claim: any) => claim.domain),
        ["mail.claimer.example"]
      )
      const outsider = yield* anOrg("claimer-rival")
      assert.strictEqual((yield* call(outsider, "GET", claims("claimer"))).status, 404)
      yield* call(owner, "POST", "/claimer/decommission")
      for (const [method, path] of [
        ["POST", "/mail.claimer.example/verify"],
        ["DELETE", "/mail.claimer.example"]
      ])
        assert.strictEqual((yield* call(owner, method, claims("claimer") + path)).status, 409)
    })
  )

  it.effect("[ORG-014] one organization holds a domain, one a member, and staff's has its own addresses only", () =>
    Effect.gen(function* () {
      const one = yield* anOrg("holder-one")
      const two = yield* anOrg("holder-two")
      const [first, second] = yield* Effect.all([
        call(one, "POST", claims("holder-one"), { domain: "held.example" }),
        call(two, "POST", claims("holder-two"), { domain: "held.example" })
      ])
      dns.set(first.body.record.name, [first.body.record.value, second.body.record.value])
      const both = yield* Effect.all(
        [
          call(one, "POST", `${claims("holder-one")}/held.example/verify`),
          call(two, "POST", `${claims("holder-two")}/held.example/verify`)
        ],
        { concurrency: "unbounded" }
      )
      assert.sameMembers(
        both.map(({ status }) => status),
        [200, 409]
      )
      const [holder, loser] = both[0].status === 200 ? ["holder-one", two] : ["holder-two", one]
      const late = yield* aPerson("holder-late")
      yield* call(late, "POST", "", { handle: "holder-late-org" })
      const refused = yield* call(late, "POST", claims("holder-late-org"), { domain: "held.example" })
      for (const answer of [both.find(({ status }) => status === 409)!, refused]) {
        assert.strictEqual(answer.status, 409)
        assert.deepInclude(answer.body, { type: "/problems/domain-claimed", domain: "held.example", org: holder })
      }
      // An active member of another organization is neither invited nor founds one.
      const invited = yield* call(late, "PUT", `/holder-late-org/members/${loser.account.handle}`, { role: "member" })
      assert.strictEqual(type(invited), "/problems/already-a-member")
      assert.strictEqual(type(yield* call(loser, "POST", "", { handle: "one-more" })), "/problems/already-a-member")

      const orgs = yield* Orgs
      const staff = yield* aPerson("the-staff-owner")
      yield* orgs.ensure({ handle: "the-staff", ownerId: staff.account.id })
      yield* aPerson("held-outside", { email: "outside@held.example" })
      const outside = yield* call(staff, "PUT", "/the-staff/members/held-outside", { role: "member" })
      assert.strictEqual(outside.status, 409)
      assert.strictEqual(type(outside), "/problems/staff-org-domain")
    })
  )

  it.effect("[ORG-005] [ORG-015] a person finds the holder of their domain and asks it for access, once a day", () =>
    Effect.gen(function* () {
      const owner = yield* anOrg("employer")
      const made = (yield* call(owner, "POST", claims("employer"), { domain: "employer.example" })).body
      const worker = yield* aPerson("worker", { email: "worker@employer.example" })
      assert.deepStrictEqual((yield* domainOrg(worker)).body, { domain: "employer.example", org: null, member: false })
      assert.strictEqual((yield* domainOrg(worker, "POST", "/request-access")).status, 404)
      prove(made)
      yield* call(owner, "POST", `${claims("employer")}/employer.example/verify`)
      assert.deepStrictEqual((yield* domainOrg(worker)).body, {
        domain: "employer.example",
        org: { handle: "employer", displayName: "employer" },
        member: false
      })
      // Below the domain is another domain.
      const other = yield* aPerson("worker-below", { email: "worker@sub.employer.example" })
      assert.isNull((yield* domainOrg(other)).body.org)
      // What stands before the last @ is whatever its holder likes.
      const quoted = yield* aPerson("worker-quoted", { email: '"worker@employer.example@"@evil.example' })
      assert.deepInclude((yield* domainOrg(quoted)).body, { domain: "evil.example", org: null })

      assert.strictEqual((yield* domainOrg(worker, "POST", "/request-access")).status, 202)
      yield* TestClock.adjust("23 hours")
      const again = yield* domainOrg(worker, "POST", "/request-access")
      assert.strictEqual(again.status, 429)
      assert.strictEqual(type(again), "/problems/rate-limited")
      const asked = (yield* call(owner, "GET", "/employer/access-requests")).body.items
      assert.lengthOf(asked, 1)
      assert.deepInclude(asked[0], { handle: "worker", email: "worker@employer.example" })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* domainOrg(worker, "POST", "/request-access")).status, 202)
      assert.strictEqual((yield* call(worker, "GET", "/employer/access-requests")).status, 404)
      yield* call(owner, "PUT", "/employer/members/worker", { role: "member" })
      assert.isTrue((yield* domainOrg(worker)).body.member)
      assert.strictEqual(type(yield* domainOrg(worker, "POST", "/request-access")), "/problems/already-a-member")
      assert.strictEqual((yield* call(worker, "GET", "/employer/access-requests")).status, 403)
      assert.deepStrictEqual((yield* call(owner, "GET", "/employer/access-requests")).body.items, [])
    })
  )

  it.effect("[ORG-010] an unverified address neither founds an organization nor looks a domain up", () =>
    Effect.gen(function* () {
      const unverified = yield* aPerson("domain-unverified", { verified: false })
      for (const refused of [
        yield* call(unverified, "POST", "", { handle: "unverified-again" }),
        yield* domainOrg(unverified),
        yield* domainOrg(unverified, "POST", "/request-access")
      ]) {
        assert.strictEqual(refused.status, 403)
        assert.strictEqual(type(refused), "/problems/email-unverified")
      }
    })
  )
})
