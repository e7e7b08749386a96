/** What happens to an agent after its first version: retired, restored, deleted, installed, starred. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"
import { setTimeout as sleep } from "node:timers/promises"

let stack: Stack
let ada: Person
let olli: Person
beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    settings: { SERVICE_LIMITS_PRIVATE_AGENTS_PER_NAMESPACE: "1", SERVICE_ORGS_FIRST_PARTY: "house" }
  })
  ada = await stack.person("ada")
  olli = await stack.person("olli")
})
afterAll(() => stack?.stop())

const agents = "/api/v1/agents"
const statusAndType = async (answer: Promise<Response>) => {
  const response = await answer
  const { type } = (await response.json()) as { type: string }
  return [response.status, type.replace("/problems/", "")]
}
const create = (name: string, visibility = "public") =>
  stack.call(ada, "POST", agents, { namespace: "ada", name, visibility })
const submit = (name: string, version: string, manifest?: string) =>
  stack.request(
    ada,
    "POST",
    `${agents}/ada/${name}/versions`,
    form(archiveOf(scriptedAgent(`ada/${name}`, version, manifest === undefined ? {} : { manifest })))
  )
const publish = async (name: string, version = "1.0.0", manifest?: string) => {
  const answer = await submit(name, version, manifest)
  expect(answer.status, await answer.clone().text()).toBe(202)
  for (let tries = 0; tries < 400; tries++) {
    const { status } = await stack.call(ada, "GET", `${agents}/ada/${name}/versions/${version}`)
    if (status !== "scanning") return status
    await sleep(50)
  }
}
const capabilities = ["filesystem.read:**", "filesystem.write:**"]
const install = (who: Person, name: string, body: object) =>
  stack.request(who, "PUT", `/api/v1/user/installs/ada/${name}`, body)

describe("retire and restore", () => {
  it("[AGENT-009] [AGENT-022] makes it private, closes it to submissions, and gives back what it was", async () => {
    await create("notes")
    expect(await publish("notes")).toBe("published")
    expect(await statusAndType(stack.request(ada, "POST", `${agents}/ada/notes/restore`))).toEqual([
      409,
      "agent-not-retired"
    ])
    expect(await stack.call(ada, "POST", `${agents}/ada/notes/retire`)).toMatchObject({
      visibility: "private",
      retiredAt: expect.any(String)
    })
    expect((await stack.request(olli, "GET", `${agents}/ada/notes`)).status).toBe(404)
    expect(await statusAndType(submit("notes", "1.1.0"))).toEqual([409, "agent-retired"])
    expect(await statusAndType(stack.request(ada, "POST", `${agents}/ada/notes/retire`))).toEqual([
      409,
      "agent-retired"
    ])
    expect(await statusAndType(stack.request(ada, "PATCH", `${agents}/ada/notes`, { visibility: "public" }))).toEqual([
      409,
      "agent-retired"
    ])
    const listed = async (state: string) =>
      (await stack.call(ada, "GET", `${agents}?namespace=ada&state=${state}`)).items.map(
        ({ name }: { name: string }) => name
      )
    expect(await listed("retired")).toContain("notes")
    expect(await listed("active")).not.toContain("notes")
    expect(await stack.call(ada, "POST", `${agents}/ada/notes/restore`)).toMatchObject({
      visibility: "public",
      retiredAt: null
    })
    expect((await stack.request(olli, "GET", `${agents}/ada/notes`)).status).toBe(200)
  })

  it("[AGENT-015] is for the namespace's administrators", async () => {
    await create("mine")
    expect((await stack.request(olli, "POST", `${agents}/ada/mine/retire`)).status).toBe(404)
    expect((await stack.request(olli, "POST", `${agents}/ada/mine/restore`)).status).toBe(404)
    expect(await stack.call(ada, "GET", `${agents}/ada/mine`)).toMatchObject({ retiredAt: null })
  })

  it("a restore to private asks the cap of private agents", async () => {
    await create("secret", "private")
    await stack.call(ada, "POST", `${agents}/ada/secret/retire`)
    await create("other", "private")
    expect(await statusAndType(stack.request(ada, "POST", `${agents}/ada/secret/restore`))).toEqual([
      422,
      "private-agent-cap"
    ])
    await stack.call(ada, "PATCH", `${agents}/ada/other`, { visibility: "public" })
    expect(await stack.call(ada, "POST", `${agents}/ada/secret/restore`)).toMatchObject({
      visibility: "private",
      retiredAt: null
    })
  })
})

describe("delete", () => {
  it("without versions frees the name", async () => {
    await create("empty")
    expect((await stack.request(ada, "DELETE", `${agents}/ada/empty`)).status).toBe(204)
    expect((await stack.request(ada, "GET", `${agents}/ada/empty`)).status).toBe(404)
    expect(await create("empty")).toMatchObject({ name: "empty" })
  })

  it("[AGENT-010] [AGENT-016] [AGENT-023] [AGENT-024] with versions wants the name, leaves nothing to read and holds the name", async () => {
    await create("done")
    await publish("done")
    expect(await statusAndType(stack.request(ada, "DELETE", `${agents}/ada/done`))).toEqual([422, "confirm-name"])
    expect(await statusAndType(stack.request(ada, "DELETE", `${agents}/ada/done?confirm=dane`))).toEqual([
      422,
      "confirm-name"
    ])
    expect((await stack.request(olli, "DELETE", `${agents}/ada/done?confirm=done`)).status).toBe(404)
    expect((await stack.request(ada, "DELETE", `${agents}/ada/done?confirm=done`)).status).toBe(204)
    for (const path of ["", "/versions", "/versions/1.0.0", "/versions/1.0.0/report", "/stats"]) {
      expect((await stack.request(ada, "GET", `${agents}/ada/done${path}`)).status, path).toBe(404)
    }
    const { items } = await stack.call(ada, "GET", `${agents}?namespace=ada&limit=100`)
    expect(items.map(({ name }: { name: string }) => name)).not.toContain("done")
    expect(await statusAndType(stack.request(ada, "POST", agents, { namespace: "ada", name: "done" }))).toEqual([
      409,
      "name-held"
    ])
    const tombstones = await stack.sql(
      (sql) => sql`SELECT 1 FROM agents WHERE name = 'done' AND deleted_at IS NOT NULL`
    )
    expect(tombstones).toHaveLength(1)
  })

  it("[AGENT-025] is refused while a version is quarantined or blocked", async () => {
    await create("held")
    await publish("held")
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/ada/held/quarantine", {
      version: "1.0.0",
      reason: "a report"
    })
    expect(await statusAndType(stack.request(ada, "DELETE", `${agents}/ada/held?confirm=held`))).toEqual([
      409,
      "agent-in-use"
    ])
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/ada/held/block", {
      version: "1.0.0",
      reason: "confirmed"
    })
    expect(await statusAndType(stack.request(ada, "DELETE", `${agents}/ada/held?confirm=held`))).toEqual([
      409,
      "agent-in-use"
    ])
  })
})

describe("builtin", () => {
  it("[AGENT-026] is staff's to say, of first-party agents only", async () => {
    await create("tool")
    expect((await stack.request(ada, "PATCH", `${agents}/ada/tool`, { builtin: "draft" })).status).toBe(403)
    expect(
      await statusAndType(stack.request(stack.staff, "PATCH", `${agents}/ada/tool`, { builtin: "draft" }))
    ).toEqual([409, "builtin-first-party"])
    const hanna = await stack.person("hanna")
    await stack.org("house", hanna)
    await stack.call(hanna, "POST", agents, { namespace: "house", name: "drafter" })
    expect(await stack.call(stack.staff, "PATCH", `${agents}/house/drafter`, { builtin: "draft" })).toMatchObject({
      builtin: true
    })
    expect(await stack.call(stack.staff, "PATCH", `${agents}/house/drafter`, { builtin: null })).toMatchObject({
      builtin: false
    })
  })
})

describe("installs", () => {
  it("[INSTALL-001] [INSTALL-004] [INSTALL-006] [INSTALL-008] take consent by name and are listed newest change first", async () => {
    for (const name of ["one", "two"]) {
      await create(name)
      await publish(name)
    }
    const refused = await install(olli, "one", { version: "1.0.0", acceptCapabilities: ["filesystem.read:**"] })
    expect(refused.status).toBe(409)
    expect(await refused.json()).toMatchObject({
      type: "/problems/install-consent-required",
      missing: ["filesystem.write:**"],
      widened: []
    })
    expect(
      await (await install(olli, "one", { version: "1.0.0", acceptCapabilities: capabilities })).json()
    ).toMatchObject({
      ref: "ada/one",
      readable: true,
      installedVersion: "1.0.0",
      latestVersion: "1.0.0",
      acceptedUnsigned: false,
      acceptedUnscanned: false,
      verdict: "scanned",
      findingCounts: expect.any(Object),
      signed: true,
      quarantineState: "none",
      installedAt: expect.any(String),
      updatedAt: expect.any(String)
    })
    await install(olli, "two", { version: "1.0.0", acceptCapabilities: capabilities })
    const refs = async () =>
      (await stack.call(olli, "GET", "/api/v1/user/installs")).items.map(({ ref }: { ref: string }) => ref)
    expect(await refs()).toEqual(["ada/two", "ada/one"])
    await publish("one", "1.1.0", "budgets: { turns: 5 }\n")
    await install(olli, "one", { version: "1.1.0", acceptCapabilities: capabilities })
    expect(await refs()).toEqual(["ada/one", "ada/two"])
  })

  it("[INSTALL-005] an uninstall is 204, whether there was one or not, and [INSTALL-007] what is not published is refused", async () => {
    expect((await stack.request(olli, "DELETE", "/api/v1/user/installs/ada/two")).status).toBe(204)
    expect((await stack.request(olli, "DELETE", "/api/v1/user/installs/ada/two")).status).toBe(204)
    expect((await stack.request(olli, "DELETE", "/api/v1/user/installs/no/such")).status).toBe(204)
    expect((await install(olli, "one", { version: "9.9.9", acceptCapabilities: [] })).status).toBe(404)
    expect(await statusAndType(install(olli, "held", { version: "1.0.0", acceptCapabilities: capabilities }))).toEqual([
      410,
      "blocked"
    ])
  })

  it("[INSTALL-003] one that can no longer be read is its name alone", async () => {
    await stack.call(ada, "POST", `${agents}/ada/one/retire`)
    const { items } = await stack.call(olli, "GET", "/api/v1/user/installs")
    expect(items).toEqual([{ ref: "ada/one", readable: false }])
    await stack.call(ada, "POST", `${agents}/ada/one/restore`)
  })

  it("[AGENT-011] statistics count installs and stars, and both are audited", async () => {
    await stack.call(olli, "PUT", "/api/v1/user/stars/ada/one")
    await stack.call(olli, "PUT", "/api/v1/user/stars/ada/one")
    expect(await stack.call(null, "GET", `${agents}/ada/one/stats`)).toEqual({
      installsTotal: 1,
      installs30d: 1,
      stars: 1
    })
    await stack.call(olli, "DELETE", "/api/v1/user/stars/ada/one")
    expect(await stack.call(null, "GET", `${agents}/ada/one/stats`)).toMatchObject({ stars: 0 })
    expect((await stack.request(olli, "PUT", "/api/v1/user/stars/ada/missing")).status).toBe(404)
    const actions = await stack.sql<{ action: string; entries: number }>(
      (sql) =>
        sql`SELECT action, count(*)::integer AS entries FROM audit_entries WHERE action IN ('agent.install', 'agent.uninstall', 'agent.star') GROUP BY action ORDER BY action`
    )
    expect(actions).toEqual([
      { action: "agent.install", entries: 3 },
      { action: "agent.star", entries: 1 },
      { action: "agent.uninstall", entries: 1 }
    ])
  })
})
