/** A registry with an admission extension, whose service is a real one of the test's own. */
import { Scope } from "@quickagents/schema"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { startAdmissionExtension } from "../stack/AdmissionExtension.ts"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import { createAgent, publish } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
let extension: Awaited<ReturnType<typeof startAdmissionExtension>>
let desk: string
/** Owner and member of acme; one who is of no organization. */
let ada: Person, mia: Person, gus: Person

beforeAll(async () => {
  desk = mkdtempSync(join(tmpdir(), "quickagents-admission-"))
  extension = await startAdmissionExtension()
  stack = await startStack({ postgres: inject("postgresUrl"), settings: extension.settings })
  ;[ada, mia, gus] = (await Promise.all(
    ["ada", "mia", "gus"].map((handle) => stack.person(handle, Scope.literals))
  )) as [Person, Person, Person]
  await stack.org("acme", ada)
  await stack.call(ada, "PUT", "/api/v1/orgs/acme/members/mia", { role: "member" })
}, 60_000)
afterAll(async () => {
  await stack?.stop()
  await extension?.stop()
  rmSync(desk, { recursive: true, force: true })
})

const problem = async (who: Person, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
  const answer = await stack.request(who, method, path, body)
  return { status: answer.status, ...((await answer.json()) as Record<string, unknown>) }
}
const subscription = (more: Record<string, unknown> = {}) => ({
  standing: "active",
  tier: "business",
  seats: null,
  features: null,
  ...more
})
const callbackOf = (org: string) => `/internal/x/admission/orgs/${org}/subscription`
/** Calls the registry as the extension does; answers status and body. */
const tell = async (
  path: string,
  body: unknown,
  headers?: Record<string, string>,
  method = "PUT"
): Promise<readonly [number, string, string | null]> => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  const answer = await fetch(`${stack.urls[0]}${path}`, {
    method,
    headers: headers ?? extension.sign(method, path, text),
    ...(method === "GET" ? {} : { body: text })
  })
  return [answer.status, await answer.text(), answer.headers.get("content-type")]
}
const bare = (status: number) => [status, "", null]
const subscribe = async (org: string, more?: Record<string, unknown>) =>
  expect(await tell(callbackOf(org), subscription(more))).toEqual(bare(204))

const stored = async () => {
  const [rows] = await stack.sql(
    (
      sql
    ) => sql`SELECT (SELECT count(*)::int FROM versions) AS versions, (SELECT count(*)::int FROM audit_entries WHERE action = 'version.submit') AS submissions, (SELECT count(*)::int FROM runs) AS runs,
      (SELECT count(*)::int FROM credit_accounts) AS accounts`
  )
  const objects = readdirSync(join(stack.directory, "objects"), { recursive: true, withFileTypes: true })
  return { ...rows, objects: objects.filter((entry) => entry.isFile()).length }
}
const versionOf = (agent: string, version: string) => archiveOf(scriptedAgent(agent, version))

describe("a submission", () => {
  const exhausted = { account: "acme", balance: 3, hold: 20, resetsAt: "2026-12-01T00:00:00.000Z", tier: "business" }
  const inactive = { account: "acme", standing: "restricted", tier: "business" }

  it("[AGENT-019] is asked about after the core checks, and refused before anything is stored", async () => {
    await createAgent(stack, ada, "acme/asked", "private")
    const path = "/api/v1/agents/acme/asked/versions"
    const before = await stored()
    const submit = () => problem(ada, "POST", path, form(versionOf("acme/asked", "1.0.0")))

    // What the registry itself refuses is nobody else's to judge.
    expect(await problem(gus, "POST", path, form(versionOf("acme/asked", "1.0.0")))).toMatchObject({ status: 404 })
    expect(await problem(ada, "POST", path, form(versionOf("acme/other", "1.0.0")))).toMatchObject({ status: 422 })
    expect(extension.asked).toEqual([])

    extension.answers({ status: 402, body: { slug: "credits-exhausted", ...exhausted } })
    expect(await submit()).toMatchObject({ status: 402, type: "/problems/credits-exhausted", ...exhausted })
    extension.answers({ status: 402, body: { slug: "subscription-inactive", ...inactive } })
    expect(await submit()).toMatchObject({ status: 402, type: "/problems/subscription-inactive", ...inactive })
    for (const answer of [
      { status: 500 },
      { status: 403 },
      { status: 307 },
      { status: 402, body: "no json" },
      { status: 402, body: { slug: "something-else", ...inactive } },
      { status: 402, body: { slug: "subscription-inactive", account: "acme" } },
      { status: 402, body: { slug: "subscription-inactive", ...inactive, standing: "x".repeat(100_000) } },
      "hang up"
    ] as const) {
      extension.answers(answer)
      expect(await submit(), JSON.stringify(answer)).toMatchObject({
        status: 503,
        type: "/problems/admission-unavailable"
      })
    }
    expect(await stored()).toEqual(before)

    const bytes = versionOf("acme/asked", "1.0.0").length
    expect(extension.asked).toHaveLength(10)
    for (const { body, id, signed } of extension.asked) {
      // One id in every attempt: the extension knows a submission again that it has admitted already.
      expect({ signed, id }).toEqual({ signed: true, id: extension.asked[0].id })
      expect(body).toEqual({
        id,
        actor: { id: ada.accountId, handle: "ada" },
        namespace: "acme",
        org: "acme",
        agent: "asked",
        version: "1.0.0",
        bytes
      })
    }
    extension.answers({ status: 200, body: "anything" })
    expect(await submit()).toMatchObject({ status: "scanning" })
    expect(extension.asked).toHaveLength(11)
    expect(await submit()).toMatchObject({ status: 409, type: "/problems/version-exists" })
    expect(extension.asked).toHaveLength(11)
    extension.answers({ status: 204 })
    await createAgent(stack, gus, "gus/own")
    await stack.call(gus, "POST", "/api/v1/agents/gus/own/versions", form(versionOf("gus/own", "1.0.0")))
    expect(extension.asked[11].body).toMatchObject({ org: null, namespace: "gus", actor: { handle: "gus" } })
    expect(extension.asked[11].id).not.toBe(extension.asked[0].id)
  })

  it("[AGENT-019] by git tag is asked about just the same, and the push says why it was refused", async () => {
    await createAgent(stack, ada, "acme/pushed", "private")
    const git = (...args: ReadonlyArray<string>) =>
      new Promise<{ readonly code: number; readonly said: string }>((resolve) => {
        const child = execFile(
          "git",
          ["-c", "user.name=Ada", "-c", "user.email=ada@people.example", ...args],
          {
            cwd: desk,
            env: { PATH: process.env["PATH"], HOME: desk, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" }
          },
          (_, _output, said) => resolve({ code: child.exitCode ?? 1, said })
        )
      })
    await git("init", "--quiet", "-b", "main")
    for (const [path, text] of Object.entries(scriptedAgent("acme/pushed", "1.0.0")))
      writeFileSync(join(desk, path), text)
    await git("add", ".")
    await git("commit", "--quiet", "-m", "First")
    await git("tag", "v1.0.0")
    const url = new URL("/git/acme/pushed.git", stack.urls[0])
    url.username = "ada"
    url.password = ada.token
    const push = () => git("push", url.href, "main", "v1.0.0")

    const before = await stored()
    extension.answers({ status: 402, body: { slug: "subscription-inactive", ...inactive } })
    const refused = await push()
    expect(refused.code).not.toBe(0)
    expect(refused.said).toContain("v1.0.0: The organization's subscription is not in force")
    extension.answers("hang up")
    expect((await push()).said).toContain("v1.0.0: Nothing is stored. Submit it again later.")
    expect(await stored()).toEqual(before)
    extension.answers({ status: 204 })
    expect(await push()).toMatchObject({ code: 0 })
    expect(new Set(extension.asked.slice(-3).map(({ id }) => id)).size).toBe(1)
    expect(await stack.call(ada, "GET", "/api/v1/agents/acme/pushed/versions/1.0.0")).toMatchObject({
      source: { kind: "git" }
    })
  })
})

describe("a callback", () => {
  it("[META-002] is let in by the shared secret alone and answered with a bare status", async () => {
    const path = callbackOf("acme")
    const body = JSON.stringify(subscription())
    const sign = extension.sign
    const other = randomBytes(32).toString("base64")
    for (const [what, headers] of Object.entries({
      nothing: {},
      "a session": { cookie: stack.staff.session.cookie, "x-csrf-token": stack.staff.session.csrf },
      "a token": { authorization: `Bearer ${ada.token}` },
      "the secret itself": { authorization: `Bearer ${extension.settings.SERVICE_ADMISSION_SECRET}` },
      "another secret": sign("PUT", path, body, Date.now(), other),
      "another body": sign("PUT", path, JSON.stringify(subscription({ standing: "restricted" }))),
      "another address": sign("PUT", callbackOf("staff"), body),
      "another method": sign("POST", path, body),
      "an old signature": sign("PUT", path, body, Date.now() - 301_000),
      "one of the future": sign("PUT", path, body, Date.now() + 330_000)
    })) {
      expect(await tell(path, body, headers), what).toEqual(bare(403))
    }
    expect(await tell(path, body)).toEqual(bare(204))

    expect(await tell(callbackOf("nobody"), subscription())).toEqual(bare(404))
    expect(await tell("/internal/x/admission/orgs/acme", subscription())).toEqual(bare(404))
    for (const unknown of ["/internal/x/other/orgs/acme/subscription", "/internal/x/", "/internal/y"]) {
      expect(await tell(unknown, subscription()), unknown).toEqual(bare(404))
      expect(await tell(unknown, "", {}, "GET"), unknown).toEqual(bare(404))
    }
    expect(await tell(path, subscription(), undefined, "POST")).toEqual(bare(405))
    expect(await tell(path, subscription({ features: ["x".repeat(20_000)] }))).toEqual(bare(413))
    for (const wrong of [
      "no json",
      "[]",
      subscription({ standing: "lapsed" }),
      subscription({ tier: "gold" }),
      subscription({ seats: 0 }),
      subscription({ seats: 1.5 }),
      subscription({ seats: "3" }),
      subscription({ features: "ssh" }),
      subscription({ features: ["not a name"] }),
      subscription({ features: Array.from({ length: 65 }, (_, index) => `feature${index}`) }),
      { standing: "active", tier: "pro", seats: null }
    ])
      expect(await tell(path, wrong), JSON.stringify(wrong)).toEqual(bare(422))

    const document = await (await fetch(`${stack.urls[0]}/openapi.yaml`)).text()
    expect(document).not.toContain("/internal/")
  })

  it("that was overtaken by a later one changes nothing", async () => {
    const path = callbackOf("acme")
    const restricted = JSON.stringify(subscription({ standing: "restricted" }))
    const early = extension.sign("PUT", path, restricted, Date.now() - 60_000)
    await subscribe("acme")
    expect(await tell(path, restricted, early)).toEqual(bare(409))
    const [org] = await stack.sql((sql) => sql`SELECT subscription FROM organizations WHERE handle = 'acme'`)
    expect(org).toEqual({ subscription: "active" })
  })

  it("stands in the organization's audit log", async () => {
    await subscribe("acme", { seats: 7 })
    const { items } = await stack.call<{ items: ReadonlyArray<Record<string, unknown>> }>(
      ada,
      "GET",
      "/api/v1/orgs/acme/audit?action=org.subscription"
    )
    expect(items[0]).toMatchObject({ target: "acme", detail: { standing: "active", tier: "business", seats: 7 } })
  })
})

describe("an organization's subscription", () => {
  it("[ORG-004] [RUN-078] that is not in force blocks its members' runs, and nobody else's", async () => {
    await publish(stack, gus, scriptedAgent("gus/open", "1.0.0"))
    const run = (who: Person) => stack.request(who, "POST", "/api/v1/x/runs/", { ref: "gus/open", task: "Nothing." })
    const blocked = async (standing: string) => {
      const before = await stored()
      const answer = await run(mia)
      expect(answer.status).toBe(402)
      expect(await answer.json()).toMatchObject({
        type: "/problems/subscription-inactive",
        account: "acme",
        standing,
        tier: "business"
      })
      expect(await stored()).toEqual(before)
    }
    const runs = async (who: Person) => {
      const answer = await run(who)
      expect(answer.status).toBe(201)
      await stack.call(who, "POST", `/api/v1/x/runs/${((await answer.json()) as { id: string }).id}/cancel`)
    }
    // A balance short of the hold is told first.
    await stack.call(stack.staff, "POST", "/api/v1/platform/accounts/acme/credits", { credits: 10_000 })
    await subscribe("acme", { standing: "pending-payment" })
    await blocked("pending-payment")
    await runs(gus)
    await subscribe("acme", { standing: "restricted" })
    await blocked("restricted")
    await subscribe("acme")
    await runs(mia)
    await stack.call(ada, "POST", "/api/v1/orgs/acme/decommission")
    await blocked("decommissioning")
    await stack.call(ada, "DELETE", "/api/v1/orgs/acme/decommission")
    await runs(mia)
  })

  it("[ORG-011] is awaited by a new organization, and its creator creates no other before it is paid for", async () => {
    const [lea, tom] = await Promise.all(["lea", "tom"].map((handle) => stack.person(handle, Scope.literals)))
    await stack.call(lea, "POST", "/api/v1/orgs", { handle: "first" })
    const pending = { status: 409, type: "/problems/org-pending", org: "first" }
    expect(await problem(lea, "POST", "/api/v1/orgs", { handle: "second" })).toMatchObject(pending)
    // Also for who gave it to somebody else and left.
    await stack.call(lea, "PUT", "/api/v1/orgs/first/members/tom", { role: "owner" })
    await stack.call(lea, "DELETE", "/api/v1/orgs/first/members/lea")
    expect(await problem(lea, "POST", "/api/v1/orgs", { handle: "second" })).toMatchObject(pending)
    expect(await problem(tom, "POST", "/api/v1/orgs", { handle: "second" })).toMatchObject({
      type: "/problems/already-a-member"
    })
    const run = { ref: "gus/open", task: "Nothing." }
    expect(await problem(tom, "POST", "/api/v1/x/runs/", run)).toMatchObject({
      type: "/problems/subscription-inactive",
      standing: "pending-payment"
    })
    await subscribe("first")
    await stack.call(lea, "POST", "/api/v1/orgs", { handle: "second" })
    const names = await stack.sql((sql) => sql`SELECT handle FROM organizations WHERE handle = 'second'`)
    expect(names).toHaveLength(1)
  })

  it("[ORG-012] has seats: past them no member is added, nobody's request is approved, and roles still change", async () => {
    const [noa, ben, kim] = await Promise.all(["noa", "ben", "kim"].map((handle) => stack.person(handle)))
    await stack.org("seated", noa)
    const add = (who: Person, role = "member") =>
      problem(noa, "PUT", `/api/v1/orgs/seated/members/${who.handle}`, { role })
    await subscribe("seated", { seats: 2 })
    expect(await add(ben)).toMatchObject({ handle: "ben" })
    await stack.sql(
      (sql) =>
        sql`INSERT INTO access_requests (account_id, org_id, requested_at) SELECT ${kim.accountId}, id, now() FROM organizations WHERE handle = 'seated'`
    )
    const full = { status: 403, type: "/problems/seat-allowance", used: 2, invited: 0, pending: 1, max: 2 }
    expect(await add(kim)).toMatchObject(full)
    expect(await add(ben, "admin")).toMatchObject({ role: "admin" })
    const { items } = await stack.call<{ items: ReadonlyArray<unknown> }>(noa, "GET", "/api/v1/orgs/seated/members")
    expect(items).toHaveLength(2)
    await subscribe("seated", { seats: 1 })
    expect(await add(kim)).toMatchObject({ ...full, max: 1 })
    // Of two at once one gets the last seat.
    await subscribe("seated", { seats: 3 })
    const eva = await stack.person("eva")
    const both = await Promise.all([add(kim), add(eva)])
    expect(both.filter(({ type }) => type === "/problems/seat-allowance")).toHaveLength(1)
    expect(both.filter(({ role }) => role === "member")).toHaveLength(1)
    await subscribe("seated")
    const last = both[0].role === "member" ? eva : kim
    expect(await add(last)).toMatchObject({ role: "member" })
  })

  it("[ORG-013] has features: without ssh no member adds a key, without pipelineSkip no agent skips the scan", async () => {
    const key = { title: "laptop", key: "" }
    const addKey = (who: Person, index: number) =>
      problem(who, "POST", "/api/v1/user/keys", { ...key, key: publicKeys[index] })
    const patch = (body: unknown) => problem(ada, "PATCH", "/api/v1/agents/acme/skipping", body)
    const not = (feature: string) => ({ status: 403, type: "/problems/feature-not-included", org: "acme", feature })
    await createAgent(stack, ada, "acme/skipping", "private")

    await subscribe("acme", { features: ["ssh", "something-new"] })
    expect(await patch({ pipelineSkip: true })).toMatchObject(not("pipelineSkip"))
    expect(await patch({ pipelineSkip: false })).toMatchObject({ pipelineSkip: false })
    expect(await addKey(mia, 0)).toMatchObject({ title: "laptop" })
    await subscribe("acme", { features: ["pipelineSkip"] })
    expect(await addKey(mia, 1)).toMatchObject(not("ssh"))
    expect(await addKey(gus, 1)).toMatchObject({ title: "laptop" })
    expect(await patch({ pipelineSkip: true })).toMatchObject({ pipelineSkip: true })
    const { items } = await stack.call<{ items: ReadonlyArray<unknown> }>(mia, "GET", "/api/v1/user/keys")
    expect(items).toHaveLength(1)
    await subscribe("acme")
    expect(await addKey(mia, 2)).toMatchObject({ title: "laptop" })

    // An agent that skips does not move to where that is not included.
    const max = await stack.person("max", Scope.literals)
    await stack.org("plain", max)
    await subscribe("plain", { features: [] })
    await subscribe("acme")
    await stack.call(ada, "PUT", "/api/v1/agents/acme/skipping/grants/people/max", { level: "manage" })
    expect(await problem(max, "POST", "/api/v1/agents/acme/skipping/transfer", { namespace: "plain" })).toMatchObject({
      ...not("pipelineSkip"),
      org: "plain"
    })
  })
})

/** An ed25519 key is 32 bytes of any content behind its name. */
const publicKeys = Array.from({ length: 3 }, () => {
  const field = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
  const blob = Buffer.concat([field(Buffer.from("ssh-ed25519")), field(randomBytes(32))])
  return `ssh-ed25519 ${blob.toString("base64")} test`
})
