/**
 * Who may call what: every route of the contract by every kind of caller. The
 * expected statuses stand here, one row a route; nothing is derived from the
 * code that decides. A route without a row fails the test.
 */
import type { Run } from "@quickagents/schema"
import { Api, Scope } from "@quickagents/schema"
import { HttpApi } from "effect/http-api"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { parse } from "yaml"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import { createAgent, publish, runToEnd, script, submit, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
/** Owner, admin and member of the organization that owns the agents; another account; one with an unverified address. */
let owner: Person, admin: Person, member: Person, other: Person, unverified: Person
let run: Run
let digest: string
const scopeTokens = new Map<Scope, string>()
let auditToken = ""
let everythingToken = ""
let openEnrolment = ""

const secretAgent = "/api/v1/agents/acme/secret"
const script1 = {
  ref: "acme/secret",
  task: script({ call: "fs_write", args: { path: "out.md", content: "x" } }, { finish: "done" })
}
const all = Scope.literals

interface Credential {
  readonly headers: Readonly<Record<string, string>>
}
const anonymous: Credential = { headers: {} }
const bearer = (token: string): Credential => ({ headers: { authorization: `Bearer ${token}` } })
const cookie = ({ session }: Person): Credential => ({ headers: { cookie: session.cookie } })
const session = (person: Person): Credential => ({
  headers: { cookie: person.session.cookie, "x-csrf-token": person.session.csrf }
})

const send = async (method: string, path: string, body: unknown, { headers }: Credential) => {
  const plain = body === undefined || body instanceof FormData || body instanceof Uint8Array
  const answer = await fetch(`${stack.urls[0]}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...headers,
      ...(body instanceof Uint8Array
        ? { "content-type": "application/octet-stream" }
        : plain
          ? {}
          : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: plain ? (body as FormData) : JSON.stringify(body) })
  })
  const problem = answer.status >= 400 ? ((await answer.json()) as { type: string; status: number }) : null
  if (problem === null) await answer.body?.cancel()
  return { status: answer.status, type: answer.headers.get("content-type"), problem }
}

const token = async (person: Person, scopes: ReadonlyArray<Scope>) => {
  const answer = await fetch(`${stack.urls[0]}/api/v1/user/tokens`, {
    method: "POST",
    headers: { ...session(person).headers, "content-type": "application/json" },
    body: JSON.stringify({ name: "table", scopes })
  })
  return ((await answer.json()) as { token: string }).token
}

beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    hosts: 1,
    settings: { SERVICE_LIMITS_LOGIN_PER_MIN: "1000" }
  })
  ;[owner, admin, member, other, unverified] = (await Promise.all(
    ["oscar", "ada", "mia", "otto", "uma"].map((handle) => stack.person(handle))
  )) as [Person, Person, Person, Person, Person]
  await stack.person("max")
  await stack.sql((sql) => sql`UPDATE accounts SET email_verified = false WHERE handle = 'uma'`)
  await stack.org("acme", owner)
  await stack.org("bystander", await stack.person("betty"))
  await stack.call(owner, "PUT", "/api/v1/orgs/acme/members/ada", { role: "admin" })
  await stack.call(owner, "POST", "/api/v1/orgs/acme/teams", { name: "core" })
  await stack.call(owner, "PUT", "/api/v1/orgs/acme/members/mia", { role: "member" })
  digest = (await publish(stack, owner, scriptedAgent("acme/secret", "1.0.0"), "private")).archive.digest
  await submit(stack, owner, scriptedAgent("acme/secret", "0.9.0"))
  await stack.call(owner, "POST", `${secretAgent}/versions/0.9.0/yank`)
  await createAgent(stack, owner, "acme/open")
  await submit(stack, owner, scriptedAgent("acme/open", "0.8.0"))
  await stack.call(stack.staff, "POST", "/api/v1/platform/agents/acme/open/block", {
    version: "0.8.0",
    reason: "For the table."
  })
  await stack.sql(
    (
      sql
    ) => sql`WITH package AS (INSERT INTO mcp_packages (ecosystem, name, version, declared_at) VALUES ('npm', 'secret-mcp', '1.0.0', now()))
      INSERT INTO mcp_declarations SELECT v.id, 'npm', 'secret-mcp', '1.0.0' FROM versions v WHERE v.archive_digest = ${digest}`
  )
  run = await runToEnd(stack, owner, script1)
  await until(
    () => stack.request(owner, "GET", "/api/v1/log/proof/inclusion?ref=acme/secret@1.0.0"),
    ({ ok }) => ok
  )
  for (const scope of all) scopeTokens.set(scope, await token(owner, [scope]))
  auditToken = await token(stack.staff, ["audit:read"])
  everythingToken = await token(stack.staff, all)
  openEnrolment = (
    await stack.call<{ token: string }>(stack.staff, "POST", "/api/v1/x/runs/staff/hosts/enrolments", { name: "spare" })
  ).token
}, 120_000)
afterAll(() => stack?.stop())

/** anonymous, unverified, another account, member, admin, owner, staff; each with session and CSRF token but the first. */
type Who = readonly [number, number, number, number, number, number, number]
interface Row {
  readonly who: Who
  /** A token of the owner with this scope alone; every scope that is not named is 403. */
  readonly scopes?: Partial<Record<Scope, number>> | number
  /** A token of staff with `audit:read` alone, and one with every scope; 403 when absent. */
  readonly staffTokens?: readonly [auditRead: number, every: number]
  /** A token that is not one, and an enrolment token; 401 when absent. */
  readonly strangers?: readonly [wrong: number, enrolment: number]
  /** False: it looks at no credential, so that a cookie needs no CSRF token. */
  readonly csrf?: false
  readonly path: () => string | Promise<string>
  readonly body?: () => unknown
}

const anyone = (status: number, path: string): Row => ({
  who: [status, status, status, status, status, status, status],
  scopes: status,
  staffTokens: [status, status],
  path: () => path
})
const readsSecret = (path: () => string): Row => ({
  who: [404, 404, 404, 200, 200, 200, 404],
  scopes: { "agent:read": 200 },
  staffTokens: [403, 404],
  path
})
const ofOrg = (path: string): Row => ({
  who: [401, 404, 404, 200, 200, 200, 200],
  scopes: { "org:admin": 200 },
  staffTokens: [403, 200],
  path: () => path
})
const mine = (path: string, scope: Scope): Row => ({
  who: [401, 200, 200, 200, 200, 200, 200],
  scopes: { [scope]: 200 },
  staffTokens: [403, 200],
  path: () => path
})
const staffReads = (path: string): Row => ({
  who: [401, 403, 403, 403, 403, 403, 200],
  staffTokens: [200, 200],
  path: () => path
})
const staffChanges = (status: number, path: Row["path"], body?: unknown): Row => ({
  who: [401, 403, 403, 403, 403, 403, status],
  path,
  ...(body === undefined ? {} : { body: () => body })
})

const json = (method: string, path: string, who: Person, body?: unknown) =>
  send(method, path, body, session(who)).then(({ problem, status }) => {
    if (problem !== null) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(problem)}`)
  })

/** A public SSH key that nobody has. */
const newKey = () => {
  const wire = Buffer.concat([Buffer.from("0000000b7373682d6564323535313900000020", "hex"), randomBytes(32)])
  return `ssh-ed25519 ${wire.toString("base64")}`
}
/** Id of an SSH key that the owner just added. */
const ownersKey = async () => {
  const { id } = await stack.call<{ id: string }>(owner, "POST", "/api/v1/user/keys", { title: "table", key: newKey() })
  return id
}

let fresh = 0
/** What its namespace's administrators do to a private agent that was just made for this caller. */
const managesFresh = (status: number, then: (path: string) => Promise<string>): Row => ({
  who: [401, 403, 404, 404, status, status, 404],
  scopes: { "agent:manage": status },
  staffTokens: [403, 404],
  path: async () => {
    const name = `fresh-${fresh++}`
    await json("POST", "/api/v1/agents", owner, { namespace: "acme", name, visibility: "private" })
    return then(`/api/v1/agents/acme/${name}`)
  }
})

const advisory = { severity: "low", affected: "<1.0.0", summary: "For the table." }
const draftAdvisory = async () => {
  const { id } = await stack.call<{ id: string }>(owner, "POST", `${secretAgent}/advisories`, advisory)
  return `/api/v1/advisories/${id}`
}
const noReport = "/api/v1/platform/abuse-reports/abr_01JD8K2Z4W5X6Y7Z8A9B0C1D2E"
/** What the organization's admins do to it and its teams. */
const administers = (status: number, path: string | Row["path"], body?: unknown): Row => ({
  who: [401, 403, 404, 403, status, status, 404],
  scopes: { "org:admin": status },
  staffTokens: [403, 404],
  path: typeof path === "string" ? () => path : path,
  ...(body === undefined ? {} : { body: () => body })
})
/** What those do who manage the private agent. */
const managesSecret = (status: number, path: Row["path"], body?: unknown): Row => ({
  who: [401, 403, 404, 404, status, status, 404],
  scopes: { "agent:manage": status },
  staffTokens: [403, 404],
  path,
  ...(body === undefined ? {} : { body: () => body })
})

const rows: Readonly<Record<string, Row>> = {
  "GET /api/v1/meta": anyone(200, "/api/v1/meta"),
  "GET /.well-known/:service/signing-keys.json": anyone(200, "/.well-known/service/signing-keys.json"),
  // No provider is configured: sign-in looks at no credential, not even a wrong one.
  "GET /api/v1/auth/oidc/:provider/start": { ...anyone(404, "/api/v1/auth/oidc/oidc/start"), strangers: [404, 404] },
  "GET /api/v1/auth/oidc/:provider/callback": {
    ...anyone(404, "/api/v1/auth/oidc/oidc/callback?code=a&state=b"),
    strangers: [404, 404]
  },

  // A code that is none: 400 to whoever sends it.
  "POST /api/v1/auth/desktop/exchange": {
    ...anyone(400, "/api/v1/auth/desktop/exchange"),
    strangers: [400, 400],
    csrf: false,
    body: () => ({ code: "none" })
  },
  "POST /api/v1/auth/verify-email": {
    ...anyone(400, "/api/v1/auth/verify-email"),
    strangers: [400, 400],
    csrf: false,
    body: () => ({ token: "none" })
  },

  "GET /api/v1/user": mine("/api/v1/user", "user:profile"),
  "GET /api/v1/user/tokens": mine("/api/v1/user/tokens", "user:profile"),
  "POST /api/v1/user/tokens": {
    who: [401, 403, 201, 201, 201, 201, 201],
    path: () => "/api/v1/user/tokens",
    body: () => ({ name: "table", scopes: ["agent:read"] })
  },
  "POST /api/v1/user/tokens/desktop-grant": {
    who: [401, 403, 201, 201, 201, 201, 201],
    path: () => "/api/v1/user/tokens/desktop-grant"
  },
  // No mail server is configured, and who is verified needs none.
  "POST /api/v1/user/email-verification": {
    who: [401, 503, 202, 202, 202, 202, 202],
    path: () => "/api/v1/user/email-verification"
  },
  "DELETE /api/v1/user/tokens/:id": {
    who: [401, 403, 404, 404, 404, 204, 404],
    scopes: { "user:profile": 204 },
    staffTokens: [403, 404],
    path: async () => {
      const made = await fetch(`${stack.urls[0]}/api/v1/user/tokens`, {
        method: "POST",
        headers: { ...session(owner).headers, "content-type": "application/json" },
        body: JSON.stringify({ name: "to revoke", scopes: ["agent:read"] })
      })
      return `/api/v1/user/tokens/${((await made.json()) as { id: string }).id}`
    }
  },
  "GET /api/v1/user/keys": mine("/api/v1/user/keys", "user:profile"),
  // Past the door: a key that is none.
  "POST /api/v1/user/keys": {
    who: [401, 403, 422, 422, 422, 422, 422],
    scopes: { "user:profile": 422 },
    staffTokens: [403, 422],
    path: () => "/api/v1/user/keys",
    body: () => ({ title: "table", key: "none" })
  },
  "GET /api/v1/user/keys/:id": {
    who: [401, 404, 404, 404, 404, 200, 404],
    scopes: { "user:profile": 200 },
    staffTokens: [403, 404],
    path: async () => `/api/v1/user/keys/${await ownersKey()}`
  },
  "DELETE /api/v1/user/keys/:id": {
    who: [401, 403, 404, 404, 404, 204, 404],
    scopes: { "user:profile": 204 },
    staffTokens: [403, 404],
    path: async () => `/api/v1/user/keys/${await ownersKey()}`
  },
  "GET /api/v1/user/sessions": mine("/api/v1/user/sessions", "user:profile"),
  "DELETE /api/v1/user/sessions/:id": {
    who: [401, 403, 404, 404, 404, 204, 404],
    scopes: { "user:profile": 204 },
    staffTokens: [403, 404],
    path: async () => {
      await stack.person("oscar")
      const answer = await fetch(`${stack.urls[0]}/api/v1/user/sessions`, { headers: cookie(owner).headers })
      const { items } = (await answer.json()) as { items: ReadonlyArray<{ id: string; current: boolean }> }
      return `/api/v1/user/sessions/${items.find(({ current }) => !current)!.id}`
    }
  },

  // A handle that nobody can have, so that nobody gets one here.
  "POST /api/v1/orgs": {
    who: [401, 403, 409, 409, 409, 409, 409],
    scopes: { "org:admin": 409 },
    staffTokens: [403, 409],
    path: () => "/api/v1/orgs",
    body: () => ({ handle: "staff" })
  },
  "GET /api/v1/orgs/:org": ofOrg("/api/v1/orgs/acme"),
  "GET /api/v1/orgs/:org/members": ofOrg("/api/v1/orgs/acme/members"),
  "PUT /api/v1/orgs/:org/members/:handle": {
    who: [401, 403, 404, 403, 200, 200, 404],
    scopes: { "org:admin": 200 },
    staffTokens: [403, 404],
    path: () => "/api/v1/orgs/acme/members/mia",
    body: () => ({ role: "member" })
  },
  "DELETE /api/v1/orgs/:org/members/:handle": {
    who: [401, 403, 404, 403, 204, 204, 404],
    scopes: { "org:admin": 204 },
    staffTokens: [403, 404],
    path: async () => {
      await json("PUT", "/api/v1/orgs/acme/members/max", owner, { role: "member" })
      return "/api/v1/orgs/acme/members/max"
    }
  },
  "PATCH /api/v1/orgs/:org": administers(200, "/api/v1/orgs/acme", { displayName: "Acme" }),
  // Of its owner; it is taken back for the next caller.
  "POST /api/v1/orgs/:org/decommission": {
    who: [401, 403, 404, 403, 403, 200, 404],
    scopes: { "org:admin": 200 },
    staffTokens: [403, 404],
    path: async () => {
      await json("DELETE", "/api/v1/orgs/acme/decommission", owner)
      return "/api/v1/orgs/acme/decommission"
    }
  },
  "DELETE /api/v1/orgs/:org/decommission": {
    who: [401, 403, 404, 403, 403, 200, 404],
    scopes: { "org:admin": 200 },
    staffTokens: [403, 404],
    path: () => "/api/v1/orgs/acme/decommission"
  },
  "POST /api/v1/orgs/:org/suspend": staffChanges(200, () => "/api/v1/orgs/bystander/suspend", {
    reason: "For the table."
  }),
  "POST /api/v1/orgs/:org/reinstate": staffChanges(200, () => "/api/v1/orgs/bystander/reinstate", {
    reason: "For the table."
  }),
  "GET /api/v1/orgs/:org/audit": {
    who: [401, 404, 404, 403, 200, 200, 200],
    scopes: { "audit:read": 200 },
    staffTokens: [200, 200],
    path: () => "/api/v1/orgs/acme/audit"
  },
  "GET /api/v1/platform/audit": staffReads("/api/v1/platform/audit"),

  "GET /api/v1/orgs/:org/teams": ofOrg("/api/v1/orgs/acme/teams"),
  "GET /api/v1/orgs/:org/teams/:team": ofOrg("/api/v1/orgs/acme/teams/core"),
  "GET /api/v1/orgs/:org/teams/:team/members": ofOrg("/api/v1/orgs/acme/teams/core/members"),
  // A name that is taken: 409 to those who may make a team.
  "POST /api/v1/orgs/:org/teams": administers(409, "/api/v1/orgs/acme/teams", { name: "core" }),
  "PATCH /api/v1/orgs/:org/teams/:team": administers(200, "/api/v1/orgs/acme/teams/core", { description: "Core" }),
  "DELETE /api/v1/orgs/:org/teams/:team": administers(204, async () => {
    await json("POST", "/api/v1/orgs/acme/teams", owner, { name: `short-lived-${fresh}` })
    return `/api/v1/orgs/acme/teams/short-lived-${fresh++}`
  }),
  "PUT /api/v1/orgs/:org/teams/:team/members/:handle": administers(200, "/api/v1/orgs/acme/teams/core/members/mia"),
  "DELETE /api/v1/orgs/:org/teams/:team/members/:handle": administers(204, async () => {
    await json("PUT", "/api/v1/orgs/acme/teams/core/members/ada", owner)
    return "/api/v1/orgs/acme/teams/core/members/ada"
  }),

  // Admins of the organization, and staff that looks.
  ...Object.fromEntries(
    ["domain-claims", "access-requests"].map((list) => [
      `GET /api/v1/orgs/:org/${list}`,
      { ...ofOrg(`/api/v1/orgs/acme/${list}`), who: [401, 404, 404, 403, 200, 200, 200] as Who }
    ])
  ),
  "POST /api/v1/orgs/:org/domain-claims": administers(201, "/api/v1/orgs/acme/domain-claims", {
    domain: "acme.example"
  }),
  "POST /api/v1/orgs/:org/domain-claims/:domain/verify": administers(
    404,
    "/api/v1/orgs/acme/domain-claims/none.example/verify"
  ),
  "DELETE /api/v1/orgs/:org/domain-claims/:domain": administers(204, async () => {
    await json("POST", "/api/v1/orgs/acme/domain-claims", owner, { domain: "short-lived.example" })
    return "/api/v1/orgs/acme/domain-claims/short-lived.example"
  }),
  "GET /api/v1/user/domain-org": {
    ...mine("/api/v1/user/domain-org", "user:profile"),
    who: [401, 403, 200, 200, 200, 200, 200]
  },
  // Nobody holds the domain of these people.
  "POST /api/v1/user/domain-org/request-access": {
    who: [401, 403, 404, 404, 404, 404, 404],
    scopes: { "user:profile": 404 },
    staffTokens: [403, 404],
    path: () => "/api/v1/user/domain-org/request-access"
  },

  "GET /api/v1/search": { ...anyone(200, "/api/v1/search"), scopes: { "agent:read": 200 }, staffTokens: [403, 200] },
  "GET /api/v1/agents": { ...anyone(200, "/api/v1/agents"), scopes: { "agent:read": 200 }, staffTokens: [403, 200] },
  "GET /api/v1/agents/:ns/:name": readsSecret(() => secretAgent),
  "GET /api/v1/agents/:ns/:name/resolve": readsSecret(() => `${secretAgent}/resolve?range=^1`),
  "GET /api/v1/agents/:ns/:name/versions": readsSecret(() => `${secretAgent}/versions`),
  "GET /api/v1/agents/:ns/:name/versions/:version": readsSecret(() => `${secretAgent}/versions/1.0.0`),
  "GET /api/v1/agents/:ns/:name/versions/:version/events": readsSecret(() => `${secretAgent}/versions/1.0.0/events`),
  "GET /api/v1/agents/:ns/:name/versions/:version/report": readsSecret(() => `${secretAgent}/versions/1.0.0/report`),
  "GET /api/v1/agents/:ns/:name/versions/:version/attestation": readsSecret(
    () => `${secretAgent}/versions/1.0.0/attestation`
  ),
  "GET /api/v1/agents/:ns/:name/archives/:digest": readsSecret(() => `${secretAgent}/archives/${digest}`),

  // A name that is taken: 409 to those who may create one there, 404 to those of whom the namespace is not.
  "POST /api/v1/agents": {
    who: [401, 403, 404, 409, 409, 409, 404],
    scopes: { "agent:publish": 409 },
    staffTokens: [403, 404],
    path: () => "/api/v1/agents",
    body: () => ({ namespace: "acme", name: "secret" })
  },
  "GET /api/v1/agents/:ns/:name/stats": readsSecret(() => `${secretAgent}/stats`),
  "PATCH /api/v1/agents/:ns/:name": {
    who: [401, 403, 404, 404, 200, 200, 404],
    scopes: { "agent:manage": 200 },
    staffTokens: [403, 404],
    path: () => secretAgent,
    body: () => ({ description: "For the table." })
  },
  "POST /api/v1/agents/:ns/:name/versions": {
    who: [401, 403, 404, 409, 409, 409, 404],
    scopes: { "agent:publish": 409 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/versions`,
    body: () => form(archiveOf(scriptedAgent("acme/secret", "1.0.0")))
  },
  // A yanked version cannot be yanked, a published one not taken back: 409 to those who may.
  "POST /api/v1/agents/:ns/:name/versions/:version/yank": {
    who: [401, 403, 404, 404, 409, 409, 404],
    scopes: { "agent:manage": 409 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/versions/0.9.0/yank`
  },
  "POST /api/v1/agents/:ns/:name/versions/:version/unyank": {
    who: [401, 403, 404, 404, 409, 409, 404],
    scopes: { "agent:manage": 409 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/versions/1.0.0/unyank`
  },

  "POST /api/v1/agents/:ns/:name/retire": managesFresh(200, async (path) => `${path}/retire`),
  "POST /api/v1/agents/:ns/:name/restore": managesFresh(200, async (path) => {
    await json("POST", `${path}/retire`, owner)
    return `${path}/restore`
  }),
  // A name that is taken: 409 to those who may fork to there. A token reads the private source with agent:read only.
  "POST /api/v1/agents/:ns/:name/fork": {
    who: [401, 403, 404, 409, 409, 409, 404],
    scopes: { "agent:publish": 404 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/fork`,
    body: () => ({ namespace: "acme", name: "open" })
  },
  "POST /api/v1/agents/:ns/:name/transfer": {
    ...managesFresh(200, async (path) => `${path}/transfer`),
    body: () => ({ namespace: "acme", name: `moved-${fresh++}` })
  },
  "DELETE /api/v1/agents/:ns/:name": managesFresh(204, async (path) => path),

  "GET /api/v1/user/dependency-alerts": mine("/api/v1/user/dependency-alerts", "user:profile"),
  // What a private agent declares is told to its readers.
  "GET /api/v1/mcp-servers/scan": readsSecret(
    () => "/api/v1/mcp-servers/scan?ecosystem=npm&package=secret-mcp&version=1.0.0"
  ),
  "GET /api/v1/log/checkpoint": anyone(200, "/api/v1/log/checkpoint"),
  // The log is everyone's: no credential opens more of it, and none is needed.
  "GET /api/v1/log/tile/:level/:n": anyone(404, "/api/v1/log/tile/0/999"),
  "GET /api/v1/log/tile/:level/:x/:n": anyone(200, "/api/v1/log/tile/entries/000.p/1"),
  "GET /api/v1/log/tile/:level/:x/:n/:width": anyone(404, "/api/v1/log/tile/0/x999/999.p/1"),
  "GET /api/v1/log/proof/consistency": anyone(200, "/api/v1/log/proof/consistency?first=0&second=1"),
  "GET /api/v1/log/proof/inclusion": readsSecret(() => "/api/v1/log/proof/inclusion?ref=acme/secret@1.0.0"),
  "GET /api/v1/agents/:ns/:name/grants": {
    ...managesSecret(200, () => `${secretAgent}/grants`),
    who: [401, 404, 404, 404, 200, 200, 404]
  },
  "PUT /api/v1/agents/:ns/:name/grants/people/:handle": managesSecret(200, () => `${secretAgent}/grants/people/max`, {
    level: "read"
  }),
  "DELETE /api/v1/agents/:ns/:name/grants/people/:handle": managesSecret(204, async () => {
    await json("PUT", `${secretAgent}/grants/people/max`, owner, { level: "read" })
    return `${secretAgent}/grants/people/max`
  }),
  "PUT /api/v1/agents/:ns/:name/grants/teams/:team": managesSecret(200, () => `${secretAgent}/grants/teams/core`, {
    level: "read"
  }),
  "DELETE /api/v1/agents/:ns/:name/grants/teams/:team": managesSecret(204, async () => {
    await json("PUT", `${secretAgent}/grants/teams/core`, owner, { level: "read" })
    return `${secretAgent}/grants/teams/core`
  }),

  "GET /api/v1/user/installs": mine("/api/v1/user/installs", "user:profile"),
  // A private agent is read with agent:read only, also to install or star it.
  "PUT /api/v1/user/installs/:ns/:name": {
    who: [401, 403, 404, 200, 200, 200, 404],
    scopes: { "user:profile": 404 },
    staffTokens: [403, 404],
    path: () => "/api/v1/user/installs/acme/secret",
    body: () => ({ version: "1.0.0", acceptCapabilities: ["filesystem.read:**", "filesystem.write:**"] })
  },
  "DELETE /api/v1/user/installs/:ns/:name": {
    who: [401, 403, 204, 204, 204, 204, 204],
    scopes: { "user:profile": 204 },
    staffTokens: [403, 204],
    path: () => "/api/v1/user/installs/acme/secret"
  },
  "PUT /api/v1/user/stars/:ns/:name": {
    who: [401, 403, 404, 204, 204, 204, 404],
    scopes: { "user:profile": 404 },
    staffTokens: [403, 404],
    path: () => "/api/v1/user/stars/acme/secret"
  },
  "DELETE /api/v1/user/stars/:ns/:name": {
    who: [401, 403, 204, 204, 204, 204, 204],
    scopes: { "user:profile": 204 },
    staffTokens: [403, 204],
    path: () => "/api/v1/user/stars/acme/secret"
  },

  "GET /api/v1/review": {
    who: [401, 403, 403, 403, 403, 403, 200],
    staffTokens: [403, 200],
    path: () => "/api/v1/review"
  },
  "POST /api/v1/review/:ns/:name/:version": {
    who: [401, 403, 403, 403, 403, 403, 409],
    staffTokens: [403, 409],
    path: () => "/api/v1/review/acme/secret/1.0.0",
    body: () => ({ decision: "publish", reason: "For the table." })
  },
  // A published version waits for no decision.
  "GET /api/v1/review/:ns/:name/:version": {
    who: [401, 403, 403, 403, 403, 403, 409],
    staffTokens: [403, 409],
    path: () => "/api/v1/review/acme/secret/1.0.0"
  },
  "GET /api/v1/review/:ns/:name/:version/archive": {
    who: [401, 403, 403, 403, 403, 403, 409],
    staffTokens: [403, 409],
    path: () => "/api/v1/review/acme/secret/1.0.0/archive"
  },
  "POST /api/v1/review/:ns/:name/:version/claim": {
    who: [401, 403, 403, 403, 403, 403, 409],
    staffTokens: [403, 409],
    path: () => "/api/v1/review/acme/secret/1.0.0/claim"
  },
  "DELETE /api/v1/review/:ns/:name/:version/claim": {
    who: [401, 403, 403, 403, 403, 403, 409],
    staffTokens: [403, 409],
    path: () => "/api/v1/review/acme/secret/1.0.0/claim"
  },
  "GET /api/v1/user/held-versions": mine("/api/v1/user/held-versions", "agent:read"),
  // One that is not held: 409 to those who publish.
  "POST /api/v1/agents/:ns/:name/versions/:version/dispute": {
    who: [401, 403, 404, 409, 409, 409, 404],
    scopes: { "agent:publish": 409 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/versions/1.0.0/dispute`,
    body: () => ({ reason: "For the table." })
  },

  "GET /api/v1/advisories": {
    ...anyone(200, "/api/v1/advisories"),
    scopes: { "agent:read": 200 },
    staffTokens: [403, 200]
  },
  // A draft: read by staff in a session and by those who manage the agent.
  "GET /api/v1/advisories/:id": {
    who: [404, 404, 404, 404, 200, 200, 200],
    scopes: { "agent:read": 200 },
    staffTokens: [403, 404],
    path: draftAdvisory
  },
  "POST /api/v1/agents/:ns/:name/advisories": {
    who: [401, 403, 404, 404, 201, 201, 201],
    scopes: { "agent:manage": 201 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/advisories`,
    body: () => advisory
  },
  "PATCH /api/v1/advisories/:id": {
    who: [401, 403, 404, 404, 200, 200, 200],
    scopes: { "agent:manage": 200 },
    staffTokens: [403, 404],
    path: draftAdvisory,
    body: () => ({ details: "For the table." })
  },
  "POST /api/v1/advisories/:id/publish": staffChanges(200, async () => `${await draftAdvisory()}/publish`),
  "POST /api/v1/advisories/:id/withdraw": {
    who: [401, 403, 404, 404, 200, 200, 200],
    scopes: { "agent:manage": 200 },
    staffTokens: [403, 404],
    path: async () => `${await draftAdvisory()}/withdraw`,
    body: () => ({ reason: "For the table." })
  },
  "GET /api/v1/agents/:ns/:name/versions/:version/rescans": readsSecret(() => `${secretAgent}/versions/1.0.0/rescans`),

  // A version that is not there: 422 to those who may read the agent, and so report it.
  "POST /api/v1/agents/:ns/:name/abuse-reports": {
    who: [401, 403, 404, 422, 422, 422, 404],
    scopes: { "user:profile": 404 },
    staffTokens: [403, 404],
    path: () => `${secretAgent}/abuse-reports`,
    body: () => ({ version: "9.9.9", category: "other", text: "For the table." })
  },
  "GET /api/v1/user/abuse-reports": mine("/api/v1/user/abuse-reports", "user:profile"),
  "GET /api/v1/platform/abuse-reports": staffReads("/api/v1/platform/abuse-reports"),
  "POST /api/v1/platform/abuse-reports/:id/triage": staffChanges(404, () => `${noReport}/triage`, {
    reason: "For the table."
  }),
  "POST /api/v1/platform/abuse-reports/:id/resolve": staffChanges(404, () => `${noReport}/resolve`, {
    resolution: "dismissed",
    reason: "For the table."
  }),

  "POST /api/v1/platform/ruleset-releases": staffChanges(201, () => "/api/v1/platform/ruleset-releases", {
    notes: "For the table."
  }),
  "GET /api/v1/platform/ruleset-releases": staffReads("/api/v1/platform/ruleset-releases"),
  "GET /api/v1/platform/ruleset-releases/:id": {
    who: [401, 403, 403, 403, 403, 403, 404],
    staffTokens: [404, 404],
    path: () => "/api/v1/platform/ruleset-releases/rsr_01JD8K2Z4W5X6Y7Z8A9B0C1D2E"
  },

  // A blocked version stays blocked.
  ...Object.fromEntries(
    ["quarantine", "release", "block"].map((action) => [
      `POST /api/v1/platform/agents/:ns/:name/${action}`,
      staffChanges(409, () => `/api/v1/platform/agents/acme/open/${action}`, {
        version: "0.8.0",
        reason: "For the table."
      })
    ])
  ),

  "GET /api/v1/credits": mine("/api/v1/credits", "user:profile"),
  "GET /api/v1/orgs/:org/credits": {
    who: [401, 404, 404, 403, 200, 200, 200],
    scopes: { "org:admin": 200 },
    staffTokens: [403, 200],
    path: () => "/api/v1/orgs/acme/credits"
  },
  "POST /api/v1/platform/accounts/:handle/credits": staffChanges(201, () => "/api/v1/platform/accounts/otto/credits", {
    credits: 1
  }),
  "PUT /api/v1/platform/accounts/:handle/tier": staffChanges(200, () => "/api/v1/platform/accounts/otto/tier", {
    tier: "standard"
  }),

  "GET /api/v1/x/runs/status": anyone(200, "/api/v1/x/runs/status"),
  // A mode that the release lacks: 409 to those who may run it. A token needs agent:read beside run:write for a private one.
  "POST /api/v1/x/runs": {
    who: [401, 403, 404, 409, 409, 409, 404],
    scopes: { "run:write": 404 },
    staffTokens: [403, 404],
    path: () => "/api/v1/x/runs",
    body: () => ({ ref: "acme/secret", mode: "interactive" })
  },
  "GET /api/v1/x/runs": mine("/api/v1/x/runs", "run:read"),
  "POST /api/v1/x/runs/inputs": {
    who: [401, 403, 201, 201, 201, 201, 201],
    scopes: { "run:write": 201 },
    staffTokens: [403, 201],
    path: () => "/api/v1/x/runs/inputs?name=table.txt",
    body: () => new TextEncoder().encode("table")
  },
  "GET /api/v1/x/runs/:id": {
    who: [401, 404, 404, 404, 404, 200, 200],
    scopes: { "run:read": 200 },
    staffTokens: [403, 404],
    path: () => `/api/v1/x/runs/${run.id}`
  },
  "GET /api/v1/x/runs/:id/events": {
    who: [401, 404, 404, 404, 404, 200, 200],
    scopes: { "run:read": 200 },
    staffTokens: [403, 404],
    path: () => `/api/v1/x/runs/${run.id}/events`
  },
  "GET /api/v1/x/runs/:id/outputs/:name": {
    who: [401, 404, 404, 404, 404, 200, 404],
    scopes: { "run:read": 200 },
    staffTokens: [403, 404],
    path: () => `/api/v1/x/runs/${run.id}/outputs/output.tar`
  },
  "POST /api/v1/x/runs/:id/cancel": {
    who: [401, 403, 404, 404, 404, 200, 404],
    scopes: { "run:write": 200 },
    staffTokens: [403, 404],
    path: () => `/api/v1/x/runs/${run.id}/cancel`
  },

  // Past the door: a signing request that is none.
  "POST /api/v1/x/runs/hosts/enrol": {
    who: [401, 403, 403, 403, 403, 403, 403],
    strangers: [403, 422],
    path: () => "/api/v1/x/runs/hosts/enrol",
    body: () => ({
      csr: "none",
      address: "127.0.0.1:4443",
      capacity: 1,
      features: { sealedObjects: true, browser: false, inputReview: false, sessions: false, fullIsolation: true }
    })
  },
  "GET /api/v1/x/runs/staff/hosts": staffReads("/api/v1/x/runs/staff/hosts"),
  "GET /api/v1/x/runs/staff/hosts/enrolments": staffReads("/api/v1/x/runs/staff/hosts/enrolments"),
  "POST /api/v1/x/runs/staff/hosts/enrolments": staffChanges(201, () => "/api/v1/x/runs/staff/hosts/enrolments", {
    name: "rack"
  }),
  "POST /api/v1/x/runs/staff/hosts/enrolments/:enrolment/revoke": staffChanges(200, async () => {
    const { id } = await stack.call<{ id: string }>(stack.staff, "POST", "/api/v1/x/runs/staff/hosts/enrolments", {
      name: "to-revoke"
    })
    return `/api/v1/x/runs/staff/hosts/enrolments/${id}/revoke`
  }),
  "POST /api/v1/x/runs/staff/hosts/:host/retire": staffChanges(
    404,
    () => "/api/v1/x/runs/staff/hosts/host_01JD8K2Z4W5X6Y7Z8A9B0C1D2E/retire"
  ),
  "GET /api/v1/x/runs/staff/model": staffReads("/api/v1/x/runs/staff/model"),
  "PUT /api/v1/x/runs/staff/model": staffChanges(200, () => "/api/v1/x/runs/staff/model", {
    provider: "scripted",
    model: "scripted-1"
  }),
  "DELETE /api/v1/x/runs/staff/model": staffChanges(204, () => "/api/v1/x/runs/staff/model"),

  // Last: it ends the sessions that the rows before came with.
  "POST /api/v1/auth/sign-out": { who: [401, 204, 204, 204, 204, 204, 204], path: () => "/api/v1/auth/sign-out" }
}

const routes: Array<string> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => void routes.push(`${endpoint.method} ${endpoint.path}`)
})

const expectations = (
  route: string,
  row: Row
): ReadonlyArray<readonly [caller: string, Credential, status: number]> => {
  const reads = route.startsWith("GET ")
  const [nobody, asUnverified, asOther, asMember, asAdmin, asOwner, asStaff] = row.who
  return [
    ["anonymous", anonymous, nobody],
    ["wrong token", bearer("qat_wrong"), row.strangers?.[0] ?? 401],
    ["enrolment token", { headers: { authorization: `Enrolment ${openEnrolment}` } }, row.strangers?.[1] ?? 401],
    ["owner without CSRF token", cookie(owner), reads || row.csrf === false ? asOwner : 403],
    ["staff without CSRF token", cookie(stack.staff), reads || row.csrf === false ? asStaff : 403],
    ...all.map(
      (scope) =>
        [
          `token with ${scope}`,
          bearer(scopeTokens.get(scope)!),
          typeof row.scopes === "number" ? row.scopes : (row.scopes?.[scope] ?? 403)
        ] as const
    ),
    ["staff token with audit:read", bearer(auditToken), row.staffTokens?.[0] ?? 403],
    ["staff token with every scope", bearer(everythingToken), row.staffTokens?.[1] ?? 403],
    ["unverified", session(unverified), asUnverified],
    ["another account", session(other), asOther],
    ["member", session(member), asMember],
    ["admin", session(admin), asAdmin],
    ["owner", session(owner), asOwner],
    ["staff", session(stack.staff), asStaff]
  ]
}

it("every problem of the contract has the page that its type names", async () => {
  const document = await (await fetch(`${stack.urls[0]}/openapi.json`)).text()
  const types = [...new Set(document.match(/\/problems\/[a-z-]+/g))]
  expect(types.length).toBeGreaterThan(30)
  for (const type of types) {
    const page = await fetch(`${stack.urls[0]}${type}`)
    expect(page.status, type).toBe(200)
    expect(await page.text()).toContain(`<code>${type.slice("/problems/".length)}</code>`)
  }
  expect(await (await fetch(`${stack.urls[0]}/problems`)).text()).toContain(types[0])
})

describe("scopes of a token", () => {
  type Request = readonly [status: number, method: string, path: string, body?: unknown]
  /** With `scope` alone each request is answered as told; with every scope but that one each is 403. */
  const allows = async (person: Person, scope: Scope, requests: ReadonlyArray<Request>) => {
    const alone = bearer(await token(person, [scope]))
    const without = bearer(
      await token(
        person,
        all.filter((other) => other !== scope)
      )
    )
    for (const [status, method, path, body] of requests) {
      const refused = await send(method, path, body, without)
      expect(refused, `${method} ${path} without ${scope}`).toMatchObject({
        status: 403,
        problem: { type: "/problems/forbidden", required: expect.arrayContaining([scope]) }
      })
      const answer = await send(method, path, body, alone)
      expect(answer, `${method} ${path} with ${scope} alone`).toMatchObject({ status })
    }
  }

  it("[AUTH-008] agent:read reads agents, versions, reports, search", async () => {
    await allows(owner, "agent:read", [
      [200, "GET", "/api/v1/agents?namespace=acme"],
      [200, "GET", secretAgent],
      [200, "GET", `${secretAgent}/stats`],
      [200, "GET", `${secretAgent}/versions`],
      [200, "GET", `${secretAgent}/versions/1.0.0`],
      [200, "GET", `${secretAgent}/versions/1.0.0/events`],
      [200, "GET", `${secretAgent}/versions/1.0.0/report`],
      [200, "GET", `${secretAgent}/versions/1.0.0/attestation`],
      [200, "GET", `${secretAgent}/archives/${digest}`],
      [200, "GET", "/api/v1/search?q=secret"]
    ])
  })

  it("[AUTH-009] agent:publish creates agents and submits versions", async () => {
    await allows(owner, "agent:publish", [
      [201, "POST", "/api/v1/agents", { namespace: "acme", name: "by-token" }],
      [202, "POST", "/api/v1/agents/acme/by-token/versions", form(archiveOf(scriptedAgent("acme/by-token", "1.0.0")))]
    ])
  })

  it("[AUTH-010] agent:manage allows public and private, retire, restore, delete", async () => {
    const path = "/api/v1/agents/acme/managed-by-token"
    await json("POST", "/api/v1/agents", owner, { namespace: "acme", name: "managed-by-token" })
    await allows(owner, "agent:manage", [
      [200, "PATCH", path, { visibility: "private" }],
      [200, "PATCH", path, { visibility: "public" }],
      [200, "POST", `${path}/retire`],
      [200, "POST", `${path}/restore`],
      [204, "DELETE", path]
    ])
  })

  it("[AUTH-012] user:profile allows own settings, tokens, keys, sessions, account installs", async () => {
    await publish(stack, owner, scriptedAgent("acme/installed-by-token", "1.0.0"))
    const install = "/api/v1/user/installs/acme/installed-by-token"
    const ids = async (path: string) =>
      ((await (await fetch(`${stack.urls[0]}${path}`, cookie(other))).json()) as { items: Array<{ id: string }> }).items
    await token(other, ["agent:read"])
    await stack.person("otto")
    const [{ id: oldToken }] = await ids("/api/v1/user/tokens")
    await send("POST", "/api/v1/user/keys", { title: "old", key: newKey() }, session(other))
    const [{ id: oldKey }] = await ids("/api/v1/user/keys")
    const [{ id: newestSession }] = await ids("/api/v1/user/sessions")
    await allows(other, "user:profile", [
      [200, "GET", "/api/v1/user"],
      [200, "GET", "/api/v1/user/tokens"],
      [204, "DELETE", `/api/v1/user/tokens/${oldToken}`],
      [200, "GET", "/api/v1/user/keys"],
      [201, "POST", "/api/v1/user/keys", { title: "added", key: newKey() }],
      [200, "GET", `/api/v1/user/keys/${oldKey}`],
      [204, "DELETE", `/api/v1/user/keys/${oldKey}`],
      [200, "GET", "/api/v1/user/sessions"],
      [204, "DELETE", `/api/v1/user/sessions/${newestSession}`],
      [200, "PUT", install, { version: "1.0.0", acceptCapabilities: ["filesystem.read:**", "filesystem.write:**"] }],
      [200, "GET", "/api/v1/user/installs"],
      [204, "DELETE", install],
      [204, "PUT", "/api/v1/user/stars/acme/installed-by-token"],
      [204, "DELETE", "/api/v1/user/stars/acme/installed-by-token"]
    ])
  })

  it("[AUTH-013] org:admin allows organization members, teams, settings", async () => {
    const org = "/api/v1/orgs/acme"
    await allows(owner, "org:admin", [
      [200, "GET", org],
      [200, "PATCH", org, { displayName: "Acme" }],
      [200, "GET", `${org}/members`],
      [200, "PUT", `${org}/members/max`, { role: "member" }],
      [201, "POST", `${org}/teams`, { name: "by-token" }],
      [200, "GET", `${org}/teams`],
      [200, "GET", `${org}/teams/by-token`],
      [200, "PATCH", `${org}/teams/by-token`, { description: "Made by a token" }],
      [200, "PUT", `${org}/teams/by-token/members/max`],
      [200, "GET", `${org}/teams/by-token/members`],
      [204, "DELETE", `${org}/teams/by-token/members/max`],
      [204, "DELETE", `${org}/teams/by-token`],
      [204, "DELETE", `${org}/members/max`]
    ])
  })

  it("[AUTH-014] review:act allows review queue decisions", async () => {
    const { id } = await publish(stack, owner, scriptedAgent("acme/held", "1.0.0"))
    await stack.sql((sql) => sql`UPDATE versions SET status = 'needs_review' WHERE id = ${id}`)
    await allows(stack.staff, "review:act", [
      [200, "GET", "/api/v1/review"],
      [200, "POST", "/api/v1/review/acme/held/1.0.0", { decision: "publish", reason: "A false positive." }]
    ])
  })

  it("[AUTH-015] audit:read allows the organization audit log and staff read routes", async () => {
    await allows(owner, "audit:read", [[200, "GET", "/api/v1/orgs/acme/audit"]])
    await allows(stack.staff, "audit:read", [
      [200, "GET", "/api/v1/platform/audit"],
      [200, "GET", "/api/v1/x/runs/staff/hosts"],
      [200, "GET", "/api/v1/x/runs/staff/hosts/enrolments"],
      [200, "GET", "/api/v1/x/runs/staff/model"]
    ])
    // The scope gives nobody a right that they have not.
    const others = bearer(await token(other, ["audit:read"]))
    expect((await send("GET", "/api/v1/platform/audit", undefined, others)).status).toBe(403)
    expect((await send("GET", "/api/v1/orgs/acme/audit", undefined, others)).status).toBe(404)
  })

  it("[AUTH-016] run:read reads hosted runs; run:write starts, feeds, cancels them", async () => {
    await publish(stack, owner, scriptedAgent("acme/runs-by-token", "1.0.0"))
    await allows(other, "run:write", [
      [201, "POST", "/api/v1/x/runs/inputs?name=fed.txt", new TextEncoder().encode("fed")],
      [201, "POST", "/api/v1/x/runs/", { ...script1, ref: "acme/runs-by-token" }]
    ])
    const [{ id }] = (await stack.call<{ items: ReadonlyArray<Run> }>(other, "GET", "/api/v1/x/runs/")).items
    await allows(other, "run:write", [[200, "POST", `/api/v1/x/runs/${id}/cancel`]])
    await allows(owner, "run:read", [
      [200, "GET", "/api/v1/x/runs/"],
      [200, "GET", `/api/v1/x/runs/${run.id}`],
      [200, "GET", `/api/v1/x/runs/${run.id}/events`],
      [200, "GET", `/api/v1/x/runs/${run.id}/outputs/output.tar`]
    ])
  })
})

describe("the authorization table", () => {
  it("has a row for every route of the contract and no other", () => {
    expect(Object.keys(rows).toSorted()).toEqual(routes.toSorted())
    expect(run).toMatchObject({ outcome: "succeeded" })
  })

  it("[VER-002] the checked-in OpenAPI document says what the running registry serves under /api/v1, no more and no less", async () => {
    const document = parse(readFileSync("schema/openapi.yaml", "utf8")) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    }
    const served = await fetch(`${stack.urls[0]}/openapi.yaml`)
    expect(parse(await served.text())).toEqual(document)

    // No less: each operation has its row here, and each row is called below.
    const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      methods.filter((method) => method.toLowerCase() in item).map((method) => `${method} ${path}`)
    )
    const inDocument = (route: string) => route.replaceAll(/:(\w+)/g, "{$1}").replace(/\/$/, "")
    expect(operations.toSorted()).toEqual(Object.keys(rows).map(inDocument).toSorted())

    // No more: neither another method at an address of the document nor an address beside it.
    const templates = Object.entries(document.paths).map(([template, item]) => ({
      matches: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
      taken: Object.keys(item)
    }))
    const takenAt = (address: string) => templates.flatMap(({ matches, taken }) => (matches.test(address) ? taken : []))
    const addresses = Object.keys(document.paths).map((template) => template.replaceAll(/\{\w+\}/g, "x"))
    const beside = addresses.flatMap((address) => {
      const parts = address.split("/")
      return [`${address}/x`, ...parts.map((_, index) => parts.slice(0, index + 1).join("/"))]
    })
    const probes = [...new Set([...addresses, ...beside])]
      .filter((address) => address.startsWith("/api"))
      .map((address) => ({ address, taken: takenAt(address) }))
    const wrong: Array<string> = []
    const probe = async ({ address, taken }: (typeof probes)[number]) => {
      for (const method of methods) {
        if (taken.includes(method.toLowerCase())) continue
        const { status } = await send(method, address, undefined, bearer(everythingToken))
        const expected = taken.length > 0 ? 405 : 404
        if (status !== expected) wrong.push(`${method} ${address}: ${status}, not ${expected}`)
      }
    }
    // A few workers that never pause: a connection that idles could just be closing when it is used again.
    const waiting = [...probes]
    const worker = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await probe(next)
    }
    await Promise.all(Array.from({ length: 4 }, worker))
    expect(wrong).toEqual([])
    expect(probes.filter(({ taken }) => taken.length === 0).length).toBeGreaterThan(50)
  })

  for (const [route, row] of Object.entries(rows)) {
    it(`${route} answers each kind of caller as it should`, async () => {
      const wrong: Array<string> = []
      for (const [caller, credential, status] of expectations(route, row)) {
        const answer = await send(route.split(" ", 1)[0], await row.path(), row.body?.(), credential)
        if (answer.status !== status)
          wrong.push(`${caller}: ${answer.status} ${answer.problem?.type ?? ""}, not ${status}`)
        else if (
          answer.problem !== null &&
          (answer.type !== "application/problem+json" || answer.problem.status !== status)
        ) {
          wrong.push(`${caller}: ${status} is not a problem`)
        }
      }
      expect(wrong).toEqual([])
    })
  }

  it("[HOST-007] an enrolment token that is not one opens nothing", async () => {
    const enrol = rows["POST /api/v1/x/runs/hosts/enrol"]
    const answer = await send("POST", "/api/v1/x/runs/hosts/enrol", enrol.body!(), {
      headers: { authorization: "Enrolment qae_wrong" }
    })
    expect(answer.problem).toMatchObject({ type: "/problems/enrolment-invalid", status: 401 })
  })

  it("[AUTH-006] [AUTH-028] [AUTH-027] a refusal says what was missing", async () => {
    const type = async (...args: Parameters<typeof send>) => (await send(...args)).problem?.type
    const fresh = await stack.person("uma")
    await stack.sql((sql) => sql`UPDATE accounts SET email_verified = false WHERE handle = 'uma'`)
    expect(await type("POST", "/api/v1/agents", { namespace: "uma", name: "x" }, session(fresh))).toBe(
      "/problems/email-unverified"
    )
    expect(await type("POST", "/api/v1/agents", { namespace: "uma", name: "x" }, cookie(fresh))).toBe(
      "/problems/forbidden"
    )
    const token = await send(
      "POST",
      "/api/v1/agents",
      { namespace: "acme", name: "x" },
      bearer(scopeTokens.get("agent:read")!)
    )
    expect(token.problem).toMatchObject({ type: "/problems/forbidden", required: ["agent:publish"] })
  })
})
