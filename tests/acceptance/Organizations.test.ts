/** What an organization's life and its grants mean for everything under it: agents, archives, git, search, installs, runs. */
import { AgentsSql, eraseDecommissioned } from "@quickagents/catalog"
import { DirectoryObjectStore } from "@quickagents/platform"
import { Scope } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import { createAgent, publish } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
let desk: string
/** Owner and member of acme; two who are of no organization. */
let ada: Person, mia: Person, gus: Person, eve: Person

beforeAll(async () => {
  desk = mkdtempSync(join(tmpdir(), "quickagents-orgs-"))
  stack = await startStack({ postgres: inject("postgresUrl") })
  ;[ada, mia, gus, eve] = (await Promise.all(
    ["ada", "mia", "gus", "eve"].map((handle) => stack.person(handle, Scope.literals))
  )) as [Person, Person, Person, Person]
  await stack.org("acme", ada)
  await stack.call(ada, "PUT", "/api/v1/orgs/acme/members/mia", { role: "member" })
}, 60_000)
afterAll(async () => {
  await stack?.stop()
  rmSync(desk, { recursive: true, force: true })
})

const statusOf = async (who: Person | null, method: string, path: string, body?: unknown) =>
  (await stack.request(who, method, path, body)).status
const answerOf = async (who: Person | null, method: string, path: string, body?: unknown) => {
  const answer = await stack.request(who, method, path, body)
  return { status: answer.status, body: (await answer.json()) as { type: string } & Record<string, unknown> }
}
/** Names that a list answers. */
const names = async (who: Person | null, path: string) =>
  (await stack.call<{ items: ReadonlyArray<{ name: string }> }>(who, "GET", path)).items.map(({ name }) => name)

const git = (directory: string, ...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly said: string }>((resolve) => {
    const child = execFile(
      "git",
      ["-c", "user.name=Test", "-c", "user.email=test@people.example", ...args],
      {
        cwd: directory,
        env: {
          PATH: process.env["PATH"],
          HOME: desk,
          LC_ALL: "C",
          GIT_CONFIG_NOSYSTEM: "1",
          GIT_TERMINAL_PROMPT: "0"
        }
      },
      (_, _output, said) => resolve({ code: child.exitCode ?? 1, said })
    )
  })
const repository = (who: Person, agent: string) => {
  const url = new URL(`/git/${agent}.git`, stack.urls[0])
  url.username = who.handle
  url.password = who.token
  return url.href
}
const fetches = async (who: Person, agent: string) => (await git(desk, "ls-remote", repository(who, agent))).code === 0
let folders = 0
/** Pushes a commit of its own, on a branch of its own. */
const push = async (who: Person, agent: string) => {
  const folder = join(desk, `push-${++folders}`)
  await git(desk, "init", "--quiet", folder)
  writeFileSync(join(folder, "note.txt"), `${folders}`)
  await git(folder, "add", ".")
  await git(folder, "commit", "--quiet", "-m", "Note")
  return git(folder, "push", repository(who, agent), `HEAD:refs/heads/note-${folders}`)
}

const version = (agent: string, number: string) => form(archiveOf(scriptedAgent(agent, number)))

describe("grants on an agent", () => {
  const agent = "/api/v1/agents/acme/plans"
  let archive = ""
  /** What a person can do to it now. A version that exists is 409 to those who may publish, 404 to the others. */
  const reach = async (who: Person) => ({
    reads: [
      await statusOf(who, "GET", agent),
      await statusOf(who, "GET", `${agent}/versions/1.0.0/report`),
      await statusOf(who, "GET", archive),
      await statusOf(who, "POST", "/api/v1/x/runs/", { ref: "acme/plans", mode: "interactive" })
    ],
    finds: [
      (await names(who, "/api/v1/agents?namespace=acme")).includes("plans"),
      (await names(who, "/api/v1/search?q=plans")).includes("plans"),
      await fetches(who, "acme/plans")
    ],
    publishes: [
      await statusOf(who, "POST", `${agent}/versions`, version("acme/plans", "1.0.0")),
      (await push(who, "acme/plans")).code
    ],
    manages: [
      await statusOf(who, "PATCH", agent, { description: "Plans" }),
      await statusOf(who, "GET", `${agent}/grants`),
      await statusOf(who, "POST", `${agent}/versions/1.0.0/unyank`)
    ]
  })
  const nothing = {
    reads: [404, 404, 404, 404],
    finds: [false, false, false],
    publishes: [404, 128],
    manages: [404, 404, 404]
  }
  const reading = { ...nothing, reads: [200, 200, 200, 409], finds: [true, true, true] }
  const writing = { ...reading, publishes: [409, 0] }
  const managing = { ...writing, manages: [200, 200, 409] }

  beforeAll(async () => {
    archive = (await publish(stack, ada, scriptedAgent("acme/plans", "1.0.0"), "private")).archive.href
  }, 60_000)

  it("a person outside the organization reads, writes or manages as granted, from one request to the next", async () => {
    expect(await reach(gus)).toEqual(nothing)
    for (const [level, expected] of [
      ["read", reading],
      ["write", writing],
      ["manage", managing],
      ["read", reading]
    ] as const) {
      expect(await stack.call(ada, "PUT", `${agent}/grants/people/gus`, { level })).toEqual({
        kind: "person",
        handle: "gus",
        level
      })
      expect(await reach(gus), level).toEqual(expected)
    }
    expect(await statusOf(ada, "DELETE", `${agent}/grants/people/gus`)).toBe(204)
    expect(await reach(gus)).toEqual(nothing)
    expect(await statusOf(ada, "DELETE", `${agent}/grants/people/gus`)).toBe(404)
    expect(await statusOf(ada, "PUT", `${agent}/grants/people/nobody`, { level: "read" })).toBe(404)
    expect(await statusOf(ada, "PUT", `${agent}/grants/people/gus`, { level: "own" })).toBe(422)
  })

  it("a team has what it was granted, for as long as one is in the team, and is of the owning organization", async () => {
    const manages = async () => (await reach(mia)).manages
    expect(await reach(mia)).toEqual(writing)
    await stack.call(ada, "POST", "/api/v1/orgs/acme/teams", { name: "planners" })
    await stack.call(ada, "PUT", "/api/v1/orgs/acme/teams/planners/members/mia")
    expect(await statusOf(ada, "PUT", `${agent}/grants/teams/planners`, { level: "read" })).toBe(200)
    expect(await manages()).toEqual([404, 404, 404])
    expect(await stack.call(ada, "PUT", `${agent}/grants/teams/planners`, { level: "manage" })).toEqual({
      kind: "team",
      org: "acme",
      team: "planners",
      level: "manage"
    })
    expect(await manages()).toEqual([200, 200, 409])
    // The most of what one was given counts.
    await stack.call(ada, "PUT", `${agent}/grants/people/mia`, { level: "read" })
    expect(await manages()).toEqual([200, 200, 409])
    expect((await stack.call(mia, "GET", `${agent}/grants`)).items).toEqual([
      { kind: "person", handle: "mia", level: "read" },
      { kind: "team", org: "acme", team: "planners", level: "manage" }
    ])
    expect(await stack.call(mia, "GET", `${agent}/grants?limit=1&offset=1`)).toEqual({
      items: [{ kind: "team", org: "acme", team: "planners", level: "manage" }],
      total: 2,
      offset: 1,
      limit: 1
    })
    await stack.call(ada, "DELETE", `${agent}/grants/people/mia`)
    // Whoever leaves the organization is out of its teams, also after coming back.
    await stack.call(ada, "DELETE", "/api/v1/orgs/acme/members/mia")
    expect(await reach(mia)).toEqual(nothing)
    await stack.call(ada, "PUT", "/api/v1/orgs/acme/members/mia", { role: "member" })
    expect(await manages()).toEqual([404, 404, 404])
    // A team that goes takes its grants with it.
    await stack.call(ada, "PUT", "/api/v1/orgs/acme/teams/planners/members/mia")
    expect(await manages()).toEqual([200, 200, 409])
    await stack.call(ada, "DELETE", "/api/v1/orgs/acme/teams/planners")
    expect(await manages()).toEqual([404, 404, 404])
    expect((await stack.call(ada, "GET", `${agent}/grants`)).items).toEqual([])

    await stack.org("rivals", await stack.person("rob"))
    const rob = await stack.person("rob", Scope.literals)
    await stack.call(rob, "POST", "/api/v1/orgs/rivals/teams", { name: "spies" })
    expect(await statusOf(ada, "PUT", `${agent}/grants/teams/spies`, { level: "read" })).toBe(404)
    await createAgent(stack, eve, "eve/own", "private")
    expect(await statusOf(eve, "PUT", "/api/v1/agents/eve/own/grants/teams/spies", { level: "read" })).toBe(404)
  })

  it("grants and teams stand in the organization's audit log, with everything else under its namespace", async () => {
    await stack.call(ada, "PUT", `${agent}/grants/people/gus`, { level: "write" })
    await stack.call(gus, "POST", `${agent}/versions`, version("acme/plans", "1.1.0"))
    await stack.call(ada, "POST", `${agent}/versions/1.0.0/yank`)
    await stack.call(ada, "POST", `${agent}/versions/1.0.0/unyank`)
    await stack.call(stack.staff, "POST", "/api/v1/platform/accounts/acme/credits", { credits: 1 })
    const entries = async (path: string) =>
      (
        await stack.call<{
          items: ReadonlyArray<{ action: string; target: string; org: string | null; actor: { handle: string | null } }>
        }>(stack.staff, "GET", path)
      ).items
    const actions = (await entries("/api/v1/orgs/acme/audit?limit=200")).map(({ action }) => action)
    expect(actions).toEqual(
      expect.arrayContaining([
        "org.create",
        "org.member_add",
        "org.member_remove",
        "team.create",
        "team.member_add",
        "team.delete",
        "agent.create",
        "agent.update",
        "agent.grant",
        "agent.grant_revoke",
        "version.submit",
        "version.published",
        "version.yank",
        "version.unyank",
        "credits.grant"
      ])
    )
    // Whatever is under the namespace is of the organization, whoever did it; a person's own namespace is of none.
    const everything = await entries("/api/v1/platform/audit?limit=200")
    expect(everything.filter(({ org, target }) => target.startsWith("acme/") && org !== "acme")).toEqual([])
    expect(everything.filter(({ org, target }) => target.startsWith("eve") && org !== null)).toEqual([])
    expect(everything).toContainEqual(expect.objectContaining({ action: "agent.create", target: "eve/own", org: null }))
    const byGus = await entries("/api/v1/orgs/acme/audit?actor=gus")
    expect(byGus.map(({ action, target }) => [action, target])).toContainEqual(["version.submit", "acme/plans@1.1.0"])
  })
})

it("a node that starts makes the audit log's partitions before it writes an entry", async () => {
  const partitions = () =>
    stack.sql<{ name: string }>(
      (sql) => sql`
        SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'audit_entries'::regclass ORDER BY 1`
    )
  const before = await partitions()
  await stack.nodes[0].kill("SIGTERM")
  await stack.sql((sql) => sql`SELECT audit_drop_partitions(now() + interval '3 months')`)
  expect(await partitions()).toEqual([{ name: "audit_entries_default" }])
  stack.nodes[0].start()
  await stack.ready(0)
  await createAgent(stack, eve, "eve/after-the-pause")
  expect(await partitions()).toEqual(before)
  expect(await stack.sql((sql) => sql`SELECT 1 FROM audit_entries_default`)).toEqual([])
}, 60_000)

it("without an admission extension a new organization is active at once, and no callback is there", async () => {
  const una = await stack.person("una", Scope.literals)
  await stack.call(una, "POST", "/api/v1/orgs", { handle: "unbilled" })
  const [org] = await stack.sql((sql) => sql`SELECT subscription FROM organizations WHERE handle = 'unbilled'`)
  expect(org).toEqual({ subscription: "active" })
  const answer = await stack.request(una, "PUT", "/internal/x/admission/orgs/unbilled/subscription", {})
  expect([answer.status, await answer.text()]).toEqual([404, ""])
})

describe("an organization's life", () => {
  const agents = "/api/v1/agents/house"
  const org = "/api/v1/orgs/house"
  let hal: Person
  let openArchive = ""

  beforeAll(async () => {
    hal = await stack.person("hal", Scope.literals)
    await stack.call(hal, "POST", "/api/v1/orgs", { handle: "house" })
    openArchive = (await publish(stack, hal, scriptedAgent("house/open", "1.0.0"))).archive.href
    await publish(stack, hal, scriptedAgent("house/closed", "1.0.0"), "private")
    await publish(stack, hal, scriptedAgent("house/yanked", "1.0.0"))
    await stack.call(hal, "POST", `${agents}/yanked/versions/1.0.0/yank`)
    await stack.call(hal, "POST", `${org}/teams`, { name: "crew" })
    await stack.call(hal, "PUT", `${agents}/closed/grants/people/gus`, { level: "manage" })
    await stack.call(eve, "PUT", "/api/v1/user/installs/house/open", {
      version: "1.0.0",
      acceptCapabilities: ["filesystem.read:**", "filesystem.write:**"]
    })
  }, 60_000)

  const installed = async () => (await stack.call(eve, "GET", "/api/v1/user/installs")).items[0]
  const reads = [
    `${agents}/open`,
    `${agents}/open/stats`,
    `${agents}/open/versions`,
    `${agents}/open/versions/1.0.0`,
    `${agents}/open/versions/1.0.0/events`,
    `${agents}/open/versions/1.0.0/report`,
    `${agents}/open/versions/1.0.0/attestation`
  ]
  const run = (who: Person, ref: string) => statusOf(who, "POST", "/api/v1/x/runs/", { ref, mode: "interactive" })

  it("[ORG-006] [ORG-017] suspended by staff, it and everything under it is 404 to everyone, until it is reinstated", async () => {
    const held = (await publish(stack, hal, scriptedAgent("house/held", "1.0.0"))).id
    await stack.sql((sql) => sql`UPDATE versions SET status = 'needs_review' WHERE id = ${held}`)
    const queue = async () => names(stack.staff, "/api/v1/review")
    expect(await queue()).toContain("held")
    expect(await stack.call(stack.staff, "POST", `${org}/suspend`, { reason: "For the test." })).toMatchObject({
      state: "suspended"
    })
    expect(await queue()).not.toContain("held")
    for (const who of [hal, gus, eve, stack.staff, null]) {
      for (const path of [...reads, openArchive]) expect(await statusOf(who, "GET", path), path).toBe(404)
      expect(await names(who, "/api/v1/agents?namespace=house")).toEqual([])
      expect(await names(who, "/api/v1/search?q=house")).toEqual([])
    }
    for (const who of [hal, gus, stack.staff]) {
      for (const [method, path, body] of [
        ["GET", org],
        ["GET", `${org}/members`],
        ["GET", `${org}/teams/crew`],
        ["GET", `${org}/audit`],
        ["GET", `${org}/credits`],
        ["PATCH", org, { displayName: "House" }],
        ["PUT", `${org}/members/gus`, { role: "member" }],
        ["POST", "/api/v1/agents", { namespace: "house", name: "more" }],
        ["PATCH", `${agents}/closed`, { visibility: "public" }],
        ["GET", `${agents}/closed/grants`],
        ["PUT", `${agents}/closed/grants/people/eve`, { level: "read" }],
        ["POST", `${agents}/closed/retire`],
        ["DELETE", `${agents}/closed?confirm=closed`],
        ["POST", `${agents}/yanked/versions/1.0.0/unyank`],
        ["POST", `${agents}/open/versions`, version("house/open", "1.0.1")],
        ["PUT", "/api/v1/user/installs/house/open", { version: "1.0.0", acceptCapabilities: [] }],
        ["PUT", "/api/v1/user/stars/house/open"]
      ] as const)
        expect(await statusOf(who, method, path, body), `${method} ${path}`).toBe(404)
    }
    for (const [action, name] of [
      ["quarantine", "open"],
      ["block", "open"]
    ]) {
      const decision = { version: "1.0.0", reason: "For the test." }
      expect(
        await statusOf(stack.staff, "POST", `/api/v1/platform/agents/house/${name}/${action}`, decision),
        action
      ).toBe(404)
    }
    for (const ref of ["house/open", "house/open@1.0.0", "house/closed@1.0.0"]) expect(await run(gus, ref)).toBe(404)
    for (const who of [hal, gus, eve]) {
      expect(await fetches(who, "house/open")).toBe(false)
      expect((await push(who, "house/open")).said).toContain("not found")
    }
    expect(await installed()).toEqual({ ref: "house/open", readable: false })

    expect(await stack.call(stack.staff, "POST", `${org}/reinstate`, { reason: "A mistake." })).toMatchObject({
      state: "active"
    })
    for (const path of [...reads, openArchive]) expect(await statusOf(null, "GET", path), path).toBe(200)
    expect(await names(eve, "/api/v1/search?q=house")).toContain("open")
    expect(await statusOf(gus, "GET", `${agents}/closed/grants`)).toBe(200)
    expect(await run(gus, "house/open@1.0.0")).toBe(409)
    expect(await fetches(eve, "house/open")).toBe(true)
    expect((await push(hal, "house/open")).code).toBe(0)
    expect(await installed()).toMatchObject({ ref: "house/open", readable: true })
    await stack.sql((sql) => sql`UPDATE versions SET status = 'published' WHERE id = ${held}`)
  }, 60_000)

  it("[ORG-016] in a decommission hold every change under it is 409 org-decommissioning, and everything is still read", async () => {
    const { decommissionAt } = await stack.call<{ decommissionAt: string }>(hal, "POST", `${org}/decommission`)
    const days = (Date.parse(decommissionAt) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29.9)
    expect(days).toBeLessThanOrEqual(30)
    for (const [who, method, path, body] of [
      [hal, "PATCH", org, { displayName: "House" }],
      [hal, "PUT", `${org}/members/gus`, { role: "member" }],
      [hal, "POST", `${org}/teams`, { name: "more" }],
      [hal, "POST", "/api/v1/agents", { namespace: "house", name: "more" }],
      [hal, "PATCH", `${agents}/open`, { description: "More" }],
      [hal, "POST", `${agents}/open/retire`],
      [hal, "POST", `${agents}/open/restore`],
      [hal, "DELETE", `${agents}/open?confirm=open`],
      [hal, "POST", `${agents}/open/versions`, version("house/open", "1.0.1")],
      [hal, "POST", `${agents}/open/versions/1.0.0/yank`],
      [hal, "POST", `${agents}/yanked/versions/1.0.0/unyank`],
      [gus, "PATCH", `${agents}/closed`, { visibility: "public" }],
      [gus, "PUT", `${agents}/closed/grants/people/eve`, { level: "read" }],
      [hal, "DELETE", `${agents}/closed/grants/people/gus`],
      [hal, "PUT", `${agents}/closed/grants/teams/crew`, { level: "read" }],
      [hal, "DELETE", `${agents}/closed/grants/teams/crew`]
    ] as const) {
      const { body: problem, status } = await answerOf(who, method, path, body)
      expect({ status, ...problem }, `${method} ${path}`).toMatchObject({
        status: 409,
        type: "/problems/org-decommissioning",
        org: "house",
        decommissionAt
      })
    }
    const refused = await push(hal, "house/open")
    expect(refused.code).not.toBe(0)
    expect(refused.said).toMatch(/read-only|409/)
    // To those who had no right before it is what it was.
    expect(await statusOf(eve, "PATCH", `${agents}/open`, { description: "More" })).toBe(404)

    for (const path of [...reads, openArchive]) expect(await statusOf(null, "GET", path), path).toBe(200)
    expect(await names(eve, "/api/v1/search?q=house")).toContain("open")
    expect(await fetches(eve, "house/open")).toBe(true)
    expect(await statusOf(eve, "PUT", "/api/v1/user/stars/house/open")).toBe(204)
    expect(await run(gus, "house/open")).toBe(409)
    expect(await statusOf(hal, "POST", "/api/v1/x/runs/", { ref: "house/open" })).toBe(402)
    // What is dangerous is still taken away.
    const decision = { version: "1.0.0", reason: "For the test." }
    for (const action of ["quarantine", "release"])
      expect(await statusOf(stack.staff, "POST", `/api/v1/platform/agents/house/open/${action}`, decision)).toBe(200)

    expect(await stack.call(hal, "DELETE", `${org}/decommission`)).toMatchObject({ state: "active" })
    expect(await statusOf(hal, "PATCH", `${agents}/open`, { description: "More" })).toBe(200)
    expect((await push(hal, "house/open")).code).toBe(0)
  }, 60_000)

  it("[ORG-002] it is active, then in a hold that can be taken back, then erased with its agents; its name is held", async () => {
    const objects = DirectoryObjectStore.layer({ directory: join(stack.directory, "objects") })
    const erase = () =>
      stack.runtime.runPromise(eraseDecommissioned.pipe(Effect.provide(Layer.mergeAll(AgentsSql.layer, objects))))
    const repositories = () => readdirSync(join(stack.directory, "git")).length
    const before = repositories()
    await stack.call(hal, "POST", `${org}/decommission`)
    await erase()
    expect(await stack.call(hal, "GET", org)).toMatchObject({ state: "decommissioning" })
    await stack.sql(
      (sql) => sql`UPDATE organizations SET decommission_at = now() - interval '1 minute' WHERE handle = 'house'`
    )
    await Promise.all([erase(), erase()])
    expect(repositories()).toBeLessThan(before)
    for (const who of [hal, gus, stack.staff]) {
      for (const path of [org, `${org}/members`, `${org}/teams`, ...reads, `${agents}/closed`])
        expect(await statusOf(who, "GET", path), path).toBe(404)
      expect(await names(who, "/api/v1/search?q=house")).toEqual([])
    }
    expect(await fetches(hal, "house/open")).toBe(false)
    expect(await run(gus, "house/open@1.0.0")).toBe(404)
    expect(await installed()).toEqual({ ref: "house/open", readable: false })
    expect(await statusOf(stack.staff, "POST", `${org}/reinstate`, { reason: "Too late." })).toBe(404)
    expect((await answerOf(hal, "POST", "/api/v1/orgs", { handle: "house" })).body.type).toBe("/problems/name-taken")
    // Nobody is bound to it any more.
    expect(await statusOf(hal, "POST", "/api/v1/orgs", { handle: "second-house" })).toBe(201)
    const { items } = await stack.call(stack.staff, "GET", "/api/v1/platform/audit?org=house&action=org.erase")
    expect(items).toMatchObject([{ target: "house", actor: { type: "system" }, detail: { agents: 4, members: 1 } }])
  }, 60_000)
})
