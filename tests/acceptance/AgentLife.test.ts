/** Forks, transfers, versions admitted unscanned, version ranges and names that mislead, over HTTP with a real registry and host. */
import { AgentsSql, failUnfinishedForks } from "@quickagents/catalog"
import { DirectoryObjectStore } from "@quickagents/platform"
import type { Agent, AgentVersion, Install, Run } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import { createAgent, publish, runToEnd, script, submit, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
/** Owner of the organization acme; a plain member of it; someone else. */
let ada: Person, mia: Person, olli: Person

beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    hosts: 1,
    settings: { SERVICE_LIMITS_PRIVATE_AGENTS_PER_NAMESPACE: "3", SERVICE_ORGS_FIRST_PARTY: "house" }
  })
  ada = await stack.person("ada")
  mia = await stack.person("mia")
  olli = await stack.person("olli")
  await stack.org("acme", ada)
  await stack.call(ada, "PUT", "/api/v1/orgs/acme/members/mia", { role: "member" })
}, 60_000)
afterAll(() => stack?.stop())

const agents = "/api/v1/agents"
const capabilities = ["filesystem.read:**", "filesystem.write:**"]
const said = script({ call: "fs_write", args: { path: "out.md", content: "x" } }, { finish: "done" })

const read = (who: Person | null, path: string) => stack.call<Agent>(who, "GET", `${agents}/${path}`)
const statusOf = async (who: Person | null, method: string, path: string, body?: unknown) =>
  (await stack.request(who, method, path, body)).status
/** Status and slug of a refusal, or the status of a success. */
const refusal = async (who: Person, method: string, path: string, body?: unknown) => {
  const answer = await stack.request(who, method, path, body)
  const { type, ...problem } = (await answer.json()) as { type?: string; detail?: string; unscanned?: number }
  return type === undefined
    ? answer.status
    : { ...problem, slug: type.replace("/problems/", ""), status: answer.status }
}
const refused = (status: number, slug: string) => expect.objectContaining({ status, slug })

const forkOf = (who: Person, source: string, body: object) =>
  stack.call<Agent>(who, "POST", `${agents}/${source}/fork`, body)
/** The fork once its copy has ended. */
const copied = (who: Person, path: string) =>
  until(
    () => read(who, path),
    ({ forkState }) => forkState !== "copying"
  )
const transfer = (who: Person, path: string, body: object) =>
  stack.call<Agent>(who, "POST", `${agents}/${path}/transfer`, body)
const names = async (query: string) =>
  (await stack.call<{ items: ReadonlyArray<Agent> }>(ada, "GET", `${agents}?${query}`)).items.map(({ name }) => name)

const git = (id: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", args, {
    env: { PATH: process.env["PATH"], GIT_DIR: join(stack.directory, "git", `${id}.git`), GIT_CONFIG_NOSYSTEM: "1" },
    encoding: "utf8"
  }).trim()

describe("a fork", () => {
  it("[FORK-002] is answered 202 while it is copied, and then holds the source's published versions under its own name", async () => {
    await publish(stack, ada, scriptedAgent("ada/notes", "1.0.0", { files: { "first.md": "Only here." } }))
    await submit(stack, ada, scriptedAgent("ada/notes", "1.1.0"))
    await submit(stack, ada, scriptedAgent("ada/notes", "1.2.0", { files: { "bad.md": "Looked at." } }))
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/ada/notes/quarantine", {
      version: "1.2.0",
      reason: "Looked at."
    })
    const answer = await stack.request(olli, "POST", `${agents}/ada/notes/fork`, { namespace: "olli" })
    expect(answer.status).toBe(202)
    expect(await answer.json()).toMatchObject({
      namespace: "olli",
      name: "notes",
      visibility: "public",
      forkState: "copying",
      forkArchive: null,
      forkedFrom: { namespace: "ada", name: "notes", version: "1.1.0", available: true }
    })
    const fork = await copied(olli, "olli/notes")
    expect(fork).toMatchObject({
      forkState: "ready",
      forkDetail: "2 versions were copied, up to 1.1.0",
      latestVersion: null
    })
    expect(await read(null, "ada/notes")).toMatchObject({ forkCount: 1, forkedFrom: null, forkState: null })

    // What was quarantined is nowhere in it.
    expect(git(fork.id, "log", "--reverse", "--format=%s", "main").split("\n")).toEqual([
      "ada/notes@1.0.0",
      "ada/notes@1.1.0",
      "Fork of ada/notes@1.1.0 as olli/notes"
    ])
    expect(git(fork.id, "ls-tree", "--name-only", "main~2").split("\n")).toContain("first.md")
    expect(git(fork.id, "show", "main:agent.yaml")).toContain("name: olli/notes\nversion: 1.1.0")

    const { digest, href } = fork.forkArchive!
    const archive = await stack.request(olli, "GET", href)
    const bytes = new Uint8Array(await archive.arrayBuffer())
    expect(archive.headers.get("etag")).toBe(`"${digest}"`)
    expect(gunzipSync(bytes).toString("utf8")).toContain("name: olli/notes")
    // It is its author's to go on with, and no release that anyone installs.
    expect(await statusOf(null, "GET", href)).toBe(404)
    await stack.call(olli, "POST", `${agents}/olli/notes/versions`, form(bytes))
    expect(
      await until(
        () => stack.call<AgentVersion>(olli, "GET", `${agents}/olli/notes/versions/1.1.0`),
        ({ status }) => status !== "scanning"
      )
    ).toMatchObject({ status: "published", signed: true, ref: "olli/notes@1.1.0", archive: { digest } })
  })

  it("[FORK-001] goes from copying to ready or failed; a copy that dies is made again, one unfinished after two hours is failed", async () => {
    const { id } = await read(olli, "olli/notes")
    const commits = git(id, "rev-list", "--count", "main")
    // As a process leaves it that ended between the repository and the row.
    const undone = (more: string) =>
      stack.sql(
        (sql) =>
          sql`UPDATE agents SET fork_state = 'copying', fork_archive = NULL, fork_tried_at = now() - interval '2 minutes', forked_version = ${more} WHERE id = ${id} RETURNING 1`
      )
    await undone("1.1.0")
    expect(await copied(olli, "olli/notes")).toMatchObject({
      forkState: "ready",
      forkArchive: { bytes: expect.any(Number) }
    })
    expect(git(id, "rev-list", "--count", "main")).toBe(commits)

    // The forked version was taken away before it could be copied.
    await undone("1.2.0")
    expect(await copied(olli, "olli/notes")).toMatchObject({
      forkState: "failed",
      forkDetail: "The forked version is no longer published"
    })
    expect(await read(null, "ada/notes")).toMatchObject({ forkCount: 0 })

    // Somebody else has just claimed them: no node looks at them while this test does.
    const asked = (ago: string) =>
      stack.sql(
        (sql) =>
          sql`UPDATE agents SET fork_state = 'copying', fork_tried_at = now() + interval '1 hour', created_at = now() - ${ago}::interval WHERE id = ${id} RETURNING 1`
      )
    const sweep = () =>
      stack.runtime.runPromise(
        failUnfinishedForks.pipe(
          Effect.provide(
            Layer.mergeAll(AgentsSql.layer, DirectoryObjectStore.layer({ directory: join(stack.directory, "objects") }))
          )
        )
      )
    await asked("1 hour 59 minutes")
    expect(await sweep()).toBe(0)
    expect(await read(olli, "olli/notes")).toMatchObject({ forkState: "copying" })
    expect(await statusOf(null, "GET", "/git/olli/notes.git/info/refs?service=git-upload-pack")).toBe(403)
    await asked("2 hours 1 minute")
    expect(await sweep()).toBe(1)
    expect(await read(olli, "olli/notes")).toMatchObject({
      forkState: "failed",
      forkDetail: "The copy did not end within two hours"
    })
  })

  it("[FORK-003] has rules: a free name, another agent than its source, something to copy, and privacy that stays", async () => {
    const fork = (source: string, body: object, who = ada) => refusal(who, "POST", `${agents}/${source}/fork`, body)
    await createAgent(stack, ada, "ada/empty")
    expect(await fork("ada/notes", { namespace: "ada", name: "empty" })).toEqual(refused(409, "name-taken"))
    expect(await fork("ada/notes", { namespace: "ada" })).toEqual(refused(409, "fork-source"))
    expect(await fork("ada/empty", { namespace: "acme" })).toEqual(refused(409, "nothing-to-fork"))
    expect(await fork("ada/notes", { namespace: "acme" }, olli)).toEqual(refused(404, "not-found"))
    expect(await fork("ada/missing", { namespace: "olli" }, olli)).toEqual(refused(404, "not-found"))
    expect(await fork("ada/notes", { namespace: "acme", name: "admin" })).toEqual(refused(422, "validation"))

    await publish(stack, ada, scriptedAgent("ada/old", "1.0.0"))
    await stack.call(ada, "POST", `${agents}/ada/old/retire`)
    expect(await fork("ada/old", { namespace: "acme" })).toEqual(refused(409, "fork-source"))
    await stack.call(ada, "POST", `${agents}/ada/old/restore`)
    await stack.call(ada, "DELETE", `${agents}/ada/old?confirm=old`)
    expect(await fork("ada/notes", { namespace: "ada", name: "old" })).toEqual(refused(409, "name-held"))

    await publish(stack, ada, scriptedAgent("acme/plan", "1.0.0"), "private")
    expect(await fork("acme/plan", { namespace: "olli" }, olli)).toEqual(refused(404, "not-found"))
    await forkOf(ada, "acme/plan", { namespace: "ada" })
    expect(await copied(ada, "ada/plan")).toMatchObject({ forkState: "ready", visibility: "private" })
    const publicly = () => refusal(ada, "PATCH", `${agents}/ada/plan`, { visibility: "public" })
    expect(await publicly()).toEqual(refused(409, "fork-stays-private"))
    expect(await read(ada, "ada/plan")).toMatchObject({ visibility: "private" })
    // What everyone may read is no secret any more.
    await stack.call(ada, "PATCH", `${agents}/acme/plan`, { visibility: "public" })
    expect(await publicly()).toBe(200)
  })

  it("[AGENT-003] is a record that carries what it is built into, when it was retired, its fork, its alerts and its scans", async () => {
    await publish(stack, ada, scriptedAgent("ada/origin", "1.0.0"))
    await forkOf(ada, "ada/origin", { namespace: "ada", name: "copy" })
    await copied(ada, "ada/copy")
    const carried = {
      builtin: false,
      retiredAt: null,
      forkedFrom: { namespace: "ada", name: "origin", version: "1.0.0", available: true },
      forkCount: 0,
      forkState: "ready",
      forkDetail: "1.0.0 was copied",
      dependencyAlerts: 0,
      pipelineSkip: false
    }
    expect(await read(null, "ada/copy")).toMatchObject(carried)
    await stack.call(ada, "POST", `${agents}/ada/copy/retire`)
    expect(await read(ada, "ada/copy")).toMatchObject({ ...carried, retiredAt: expect.stringMatching(/^\d{4}-.*Z$/u) })
    expect(await read(null, "ada/origin")).toMatchObject({ forkedFrom: null, forkState: null, forkDetail: null })
  })

  it("tells where it comes from to those who may know, and no longer as available when that is gone", async () => {
    await publish(stack, ada, scriptedAgent("acme/hidden", "1.0.0"), "private")
    await forkOf(ada, "acme/hidden", { namespace: "ada" })
    await copied(ada, "ada/hidden")
    await stack.sql(
      (sql) =>
        sql`INSERT INTO agent_grants SELECT id, ${olli.accountId}, 'read' FROM agents WHERE namespace = 'ada' AND name = 'hidden' RETURNING 1`
    )
    const from = async (who: Person | null, path: string) => (await read(who, path)).forkedFrom
    expect(await from(ada, "ada/hidden")).toEqual({
      namespace: "acme",
      name: "hidden",
      version: "1.0.0",
      available: true
    })
    const nothing = { namespace: null, name: null, version: null, available: false }
    expect(await from(olli, "ada/hidden")).toEqual(nothing)

    await publish(stack, ada, scriptedAgent("ada/source", "1.0.0"))
    await forkOf(olli, "ada/source", { namespace: "olli" })
    const { id } = await copied(olli, "olli/source")
    await stack.call(ada, "DELETE", `${agents}/ada/source?confirm=source`)
    await stack.call(ada, "DELETE", `${agents}/acme/hidden?confirm=hidden`)
    expect(await from(null, "olli/source")).toEqual({
      namespace: "ada",
      name: "source",
      version: "1.0.0",
      available: false
    })
    expect(await from(ada, "ada/hidden")).toEqual(nothing)

    const repository = join(stack.directory, "git", `${id}.git`)
    expect(existsSync(repository)).toBe(true)
    await stack.call(olli, "DELETE", `${agents}/olli/source`)
    expect(existsSync(repository)).toBe(false)
  })
})

describe("the list of a namespace's agents", () => {
  it("[SEARCH-003] is narrowed by words, state and forks, and sorted by name, age, installs and submission", async () => {
    const lena = await stack.person("lena")
    await publish(stack, ada, scriptedAgent("acme/ledger", "1.0.0"))
    const install = (name: string) =>
      stack.call(olli, "PUT", `/api/v1/user/installs/lena/${name}`, {
        version: "1.0.0",
        acceptCapabilities: capabilities
      })
    await publish(stack, lena, scriptedAgent("lena/beta", "1.0.0"))
    await publish(stack, lena, scriptedAgent("lena/alpha", "1.0.0"))
    await forkOf(lena, "acme/ledger", { namespace: "lena", name: "gamma" })
    await stack.call(lena, "PATCH", `${agents}/lena/gamma`, { description: "Counts money." })
    await install("alpha")
    await stack.call(lena, "POST", `${agents}/lena/alpha/retire`)
    await submit(stack, lena, scriptedAgent("lena/beta", "1.1.0"))
    const listed = async (query: string) =>
      (await stack.call<{ items: ReadonlyArray<Agent> }>(lena, "GET", `${agents}?namespace=lena&${query}`)).items.map(
        ({ name }) => name
      )
    expect(await listed("sort=name")).toEqual(["alpha", "beta", "gamma"])
    expect(await listed("sort=newest")).toEqual(["gamma", "alpha", "beta"])
    expect(await listed("sort=submitted")).toEqual(["beta", "alpha", "gamma"])
    expect((await listed("sort=installs"))[0]).toBe("alpha")
    expect(await listed("q=money")).toEqual(["gamma"])
    expect(await listed("q=alp")).toEqual(["alpha"])
    expect(await listed("state=retired")).toEqual(["alpha"])
    expect(await listed("state=active&sort=name")).toEqual(["beta", "gamma"])
    expect(await listed("forks=only")).toEqual(["gamma"])
    expect(await listed("forks=none&sort=name")).toEqual(["alpha", "beta"])
    expect(await statusOf(lena, "GET", `${agents}?namespace=lena&forks=some`)).toBe(422)
    expect(await names("namespace=lena&sort=name")).toEqual(["beta", "gamma"])
    await copied(lena, "lena/gamma")
    expect(await listed("forkOf=acme/ledger")).toEqual(["gamma"])
    expect(await statusOf(lena, "GET", `${agents}?forkOf=ledger`)).toBe(422)
    // The name of a source is not told by its forks to who may not read it.
    await stack.call(ada, "PATCH", `${agents}/acme/ledger`, { visibility: "private" })
    expect(await listed("forkOf=acme/ledger")).toEqual([])
    expect(await names("forkOf=acme/ledger")).toEqual(["gamma"])
  })
})

describe("a transferred agent", () => {
  it("takes along what it is; its versions stay released, attested and run under the name they had", async () => {
    await publish(stack, ada, scriptedAgent("ada/tool", "1.0.0"))
    await stack.call(olli, "PUT", "/api/v1/user/installs/ada/tool", {
      version: "1.0.0",
      acceptCapabilities: capabilities
    })
    expect(await transfer(ada, "ada/tool", { namespace: "acme", name: "hammer" })).toMatchObject({
      namespace: "acme",
      name: "hammer",
      latestVersion: "1.0.0"
    })
    const version = await stack.call<AgentVersion>(null, "GET", `${agents}/acme/hammer/versions/1.0.0`)
    expect(version).toMatchObject({ namespace: "acme", name: "hammer", ref: "ada/tool@1.0.0" })
    const { payload } = await stack.call<{ payload: string }>(
      null,
      "GET",
      `${agents}/acme/hammer/versions/1.0.0/attestation`
    )
    expect(JSON.parse(Buffer.from(payload, "base64").toString("utf8")).subject[0].name).toBe(version.ref)
    const { items } = await stack.call<{ items: ReadonlyArray<Install> }>(olli, "GET", "/api/v1/user/installs")
    expect(items[0]).toMatchObject({ ref: "acme/hammer", readable: true })

    // By either name; the host verifies it under the one that it was released under.
    for (const ref of ["acme/hammer", "ada/tool@1.0.0"]) {
      expect(await runToEnd(stack, olli, { ref, task: said })).toMatchObject({
        ref: "ada/tool@1.0.0",
        outcome: "succeeded"
      })
    }
    // The old name leads readers on, is nobody else's, and is no name to change the agent by.
    expect(await read(null, "ada/tool")).toMatchObject({ namespace: "acme", name: "hammer" })
    const rita = await stack.person("rita", ["repo:read"])
    for (const who of [null, rita])
      expect(await statusOf(who, "GET", "/git/ada/tool.git/info/refs?service=git-upload-pack")).toBe(200)
    expect(await refusal(ada, "POST", agents, { namespace: "ada", name: "tool" })).toEqual(refused(409, "name-held"))
    expect(await refusal(ada, "PATCH", `${agents}/ada/tool`, { description: "x" })).toEqual(refused(404, "not-found"))
    expect(
      await refusal(ada, "POST", `${agents}/ada/tool/versions`, form(archiveOf(scriptedAgent("ada/tool", "1.1.0"))))
    ).toEqual(refused(404, "not-found"))
    expect(await submit(stack, mia, scriptedAgent("acme/hammer", "1.1.0"))).toMatchObject({
      status: "published",
      ref: "acme/hammer@1.1.0"
    })
    expect(await stack.call(null, "GET", "/api/v1/search?q=hammer")).toMatchObject({
      items: [{ namespace: "acme", name: "hammer" }]
    })
    // What a private one was called is not told to those who may not read it.
    await stack.call(ada, "PATCH", `${agents}/acme/hammer`, { visibility: "private" })
    expect(await statusOf(olli, "GET", `${agents}/ada/tool`)).toBe(404)
    await stack.call(ada, "PATCH", `${agents}/acme/hammer`, { visibility: "public" })
    // Back where it was: its own name is not held from it.
    expect(await transfer(ada, "acme/hammer", { namespace: "ada", name: "tool" })).toMatchObject({ name: "tool" })
    const refs = await stack.call<{ items: ReadonlyArray<AgentVersion> }>(null, "GET", `${agents}/acme/hammer/versions`)
    expect(refs.items.map(({ ref }) => ref)).toEqual(["acme/hammer@1.1.0", "ada/tool@1.0.0"])
  })

  it("is moved by who manages both sides, while nothing of it is undecided", async () => {
    const move = (who: Person, path: string, body: object) => refusal(who, "POST", `${agents}/${path}/transfer`, body)
    await publish(stack, ada, scriptedAgent("ada/desk", "1.0.0"))
    await createAgent(stack, mia, "mia/lamp")
    expect(await move(olli, "ada/desk", { namespace: "olli" })).toEqual(refused(404, "not-found"))
    expect(await move(ada, "ada/desk", { namespace: "olli" })).toEqual(refused(404, "not-found"))
    expect(await move(mia, "mia/lamp", { namespace: "acme" })).toEqual(refused(403, "forbidden"))
    expect(await move(ada, "ada/desk", { namespace: "ada" })).toEqual(refused(422, "validation"))
    expect(await move(ada, "ada/desk", { namespace: "ada", name: "empty" })).toEqual(refused(409, "name-taken"))
    expect(await move(ada, "ada/desk", { namespace: "ada", name: "old" })).toEqual(refused(409, "name-held"))
    await stack.call(ada, "POST", `${agents}/ada/desk/retire`)
    expect(await move(ada, "ada/desk", { namespace: "acme" })).toEqual(refused(409, "agent-retired"))
    await stack.call(ada, "POST", `${agents}/ada/desk/restore`)
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/ada/desk/quarantine", {
      version: "1.0.0",
      reason: "Looked at."
    })
    expect(await move(ada, "ada/desk", { namespace: "acme" })).toEqual(refused(409, "agent-in-use"))
    expect(await read(ada, "ada/desk")).toMatchObject({ namespace: "ada", name: "desk" })
  })

  it("[AGENT-020] past the cap of private agents is refused as on create, on change to private and on restore to private", async () => {
    const kim = await stack.person("kim")
    await stack.org("kimco", kim)
    for (const name of ["a1", "a2", "a3"]) await createAgent(stack, kim, `kimco/${name}`, "private")
    const past = refused(422, "private-agent-cap")
    expect(await refusal(kim, "POST", agents, { namespace: "kimco", name: "a4", visibility: "private" })).toEqual(past)
    await createAgent(stack, kim, "kimco/open")
    expect(await refusal(kim, "PATCH", `${agents}/kimco/open`, { visibility: "private" })).toEqual(past)
    await createAgent(stack, kim, "kim/own", "private")
    expect(await refusal(kim, "POST", `${agents}/kim/own/transfer`, { namespace: "kimco" })).toEqual(past)
    await stack.call(kim, "POST", `${agents}/kimco/a1/retire`)
    await createAgent(stack, kim, "kimco/a4", "private")
    expect(await refusal(kim, "POST", `${agents}/kimco/a1/restore`)).toEqual(past)
    // A name changes nothing of how many there are.
    expect(await transfer(kim, "kimco/a4", { namespace: "kimco", name: "a5" })).toMatchObject({ name: "a5" })
    expect(await read(kim, "kim/own")).toMatchObject({ namespace: "kim" })
  })
})

describe("an agent whose versions skip the scan", () => {
  const patch = (path: string, body: object, who = ada) => refusal(who, "PATCH", `${agents}/${path}`, body)

  it("[AGENT-014] [AGENT-021] is a private one of an organization, and stays that while it has unscanned versions", async () => {
    await createAgent(stack, ada, "ada/own", "private")
    expect(await patch("ada/own", { pipelineSkip: true })).toEqual(refused(409, "pipeline-skip-personal"))
    await createAgent(stack, ada, "acme/draft")
    expect(await patch("acme/draft", { pipelineSkip: true })).toEqual(refused(409, "pipeline-skip-public"))
    expect(await patch("acme/draft", { visibility: "private", pipelineSkip: true })).toBe(200)
    expect(await read(ada, "acme/draft")).toMatchObject({ visibility: "private", pipelineSkip: true })
    expect(await patch("acme/draft", { visibility: "public" })).toEqual(refused(409, "pipeline-skip-public"))
    expect(await patch("acme/draft", { pipelineSkip: false }, mia)).toEqual(refused(404, "not-found"))
    expect(await patch("acme/draft", { builtin: "draft" })).toEqual(refused(403, "forbidden"))
    expect(await refusal(ada, "POST", `${agents}/acme/draft/transfer`, { namespace: "ada" })).toEqual(
      refused(409, "pipeline-skip-personal")
    )
    const hanna = await stack.person("hanna")
    await stack.org("house", hanna)
    await createAgent(stack, hanna, "house/drafter")
    expect(await patch("house/drafter", { builtin: "draft" }, stack.staff)).toBe(200)
    expect(await patch("house/drafter", { builtin: "draft", visibility: "private" }, stack.staff)).toEqual(
      refused(404, "not-found")
    )
    expect(await read(null, "house/drafter")).toMatchObject({ builtin: true, visibility: "public" })
    await submit(stack, mia, scriptedAgent("acme/draft", "1.0.0"))
    await submit(stack, mia, scriptedAgent("acme/draft", "1.1.0"))
    const unscanned = expect.objectContaining({ status: 409, slug: "agent-unscanned", unscanned: 2 })
    expect(await patch("acme/draft", { visibility: "public", pipelineSkip: false })).toEqual(unscanned)
    expect(await patch("acme/draft", { pipelineSkip: false })).toBe(200)
    expect(await patch("acme/draft", { visibility: "public" })).toEqual(unscanned)
    expect(await refusal(ada, "POST", `${agents}/acme/draft/transfer`, { namespace: "ada" })).toEqual(unscanned)
    expect(await read(ada, "acme/draft")).toMatchObject({
      namespace: "acme",
      visibility: "private",
      pipelineSkip: false
    })
    // From now on they are scanned again.
    expect(await submit(stack, mia, scriptedAgent("acme/draft", "1.2.0"))).toMatchObject({
      scanStatus: "scanned",
      signed: true
    })
  })

  it("[AGENT-004] publishes them as skipped, with the report unscanned and no attestation, but never what cannot be opened", async () => {
    const version = await stack.call<AgentVersion>(mia, "GET", `${agents}/acme/draft/versions/1.0.0`)
    expect(version).toMatchObject({
      status: "published",
      manifestSchemaVersion: 2,
      scanStatus: "skipped",
      verdict: "unscanned",
      signed: false,
      modes: ["autonomous"]
    })
    expect(await stack.call(mia, "GET", `${agents}/acme/draft/versions/1.0.0/report`)).toMatchObject({
      report: { verdict: "unscanned", stages: [], ref: "acme/draft@1.0.0" }
    })
    expect(await refusal(mia, "GET", `${agents}/acme/draft/versions/1.0.0/attestation`)).toEqual(
      refused(409, "report-not-ready")
    )
    await stack.call(ada, "PATCH", `${agents}/acme/draft`, { pipelineSkip: true })
    const { "AGENT.md": _, ...broken } = scriptedAgent("acme/draft", "2.0.0")
    expect(await submit(stack, mia, broken)).toMatchObject({ status: "blocked", scanStatus: "scanned" })
  })

  it("[INSTALL-002] is installed by who accepts that, and tells the verdict of what is installed", async () => {
    const put = (version: string, more: object = {}) =>
      stack.request(mia, "PUT", "/api/v1/user/installs/acme/draft", {
        version,
        acceptCapabilities: capabilities,
        ...more
      })
    const missing = await put("1.1.0", { acceptUnsigned: true })
    expect([missing.status, await missing.json()]).toEqual([409, expect.objectContaining({ missing: ["unscanned"] })])
    const installed = async () =>
      (await stack.call<{ items: ReadonlyArray<Install> }>(mia, "GET", "/api/v1/user/installs")).items[0]
    expect((await put("1.1.0", { acceptUnsigned: true, acceptUnscanned: true })).status).toBe(200)
    expect(await installed()).toMatchObject({
      installedVersion: "1.1.0",
      verdict: "unscanned",
      signed: false,
      acceptedUnsigned: true,
      acceptedUnscanned: true
    })
    expect(await installed()).not.toHaveProperty("findingCounts")
    expect((await put("1.2.0")).status).toBe(200)
    expect(await installed()).toMatchObject({
      verdict: "scanned",
      findingCounts: { critical: 0, high: 0 },
      acceptedUnscanned: false
    })
    // No way through the API leads to an installed version whose scan is pending.
    await stack.sql(
      (sql) =>
        sql`UPDATE versions SET scan_status = 'pending' WHERE version = '1.2.0' AND agent_id = (SELECT id FROM agents WHERE namespace = 'acme' AND name = 'draft') RETURNING 1`
    )
    expect(await installed()).not.toHaveProperty("verdict")
    expect(await installed()).not.toHaveProperty("findingCounts")
  })

  it("is not run on a host, which has no attestation to verify: refused at verify, refunded in full", async () => {
    const run = await runToEnd(stack, mia, { ref: "acme/draft@1.1.0", task: said })
    expect(run).toMatchObject({
      outcome: "refused",
      exitClass: "verify",
      settledCredits: 0,
      receipt: { stage: "verify", reason: "attestation-missing" }
    })
  })
})

describe("a version", () => {
  it("[AGENT-001] [AGENT-029] has a manifest, instructions, capabilities and modes, and never changes or goes", async () => {
    const files = scriptedAgent("ada/stone", "1.0.0")
    const version = await publish(stack, ada, files)
    expect(version).toMatchObject({
      manifest: { name: "ada/stone", version: "1.0.0", modes: ["autonomous"] },
      modes: ["autonomous"],
      capabilities: { filesystem: { read: ["**"], write: ["**"] } }
    })
    const lacking = async (number: string, without: "AGENT.md" | RegExp) => {
      const all = scriptedAgent("ada/stone", number)
      const { "AGENT.md": text, "agent.yaml": manifest } = all
      return submit(
        stack,
        ada,
        without === "AGENT.md"
          ? { "agent.yaml": manifest }
          : { "AGENT.md": text, "agent.yaml": manifest.replace(without, "") }
      )
    }
    expect(await lacking("1.1.0", "AGENT.md")).toMatchObject({ status: "blocked" })
    expect(await lacking("1.2.0", /modes: .*\n/u)).toMatchObject({ status: "blocked" })

    const path = `${agents}/ada/stone/versions/1.0.0`
    const bytes = async () => Buffer.from(await (await stack.request(ada, "GET", version.archive.href)).arrayBuffer())
    const before = await bytes()
    const other = { ...files, "AGENT.md": "Something else." }
    expect(await refusal(ada, "POST", `${agents}/ada/stone/versions`, form(archiveOf(other)))).toEqual(
      refused(409, "version-exists")
    )
    for (const method of ["DELETE", "PUT", "PATCH"]) expect(await statusOf(ada, method, path, {})).toBe(405)
    const broken = (change: string) =>
      stack
        .sql((sql) => sql.unsafe(`${change} WHERE id = '${version.id}'`))
        .then(
          () => "done",
          (error: unknown) => String(error)
        )
    expect(await broken("UPDATE versions SET archive_digest = 'sha256:other'")).not.toBe("done")
    expect(await broken("UPDATE versions SET manifest = '{}'")).not.toBe("done")
    expect(await broken("DELETE FROM versions")).not.toBe("done")
    await stack.call(ada, "POST", `${path}/yank`)
    expect(await stack.call(null, "GET", path)).toMatchObject({ status: "yanked", archive: version.archive })
    expect(await bytes()).toEqual(before)

    await publish(stack, ada, scriptedAgent("ada/gone", "1.0.0"))
    await stack.call(ada, "DELETE", `${agents}/ada/gone?confirm=gone`)
    expect(await refusal(ada, "POST", agents, { namespace: "ada", name: "gone" })).toEqual(refused(409, "name-held"))
    const kept = await stack.sql(
      (sql) => sql`SELECT 1 FROM versions v JOIN agents a ON a.id = v.agent_id WHERE a.name = 'gone'`
    )
    expect(kept).toHaveLength(1)
  })

  it("[AGENT-008] resolves by exact pin with a warning when it is yanked, and no range means it", async () => {
    await createAgent(stack, ada, "ada/many")
    for (const version of ["1.0.0", "1.2.0", "1.10.0", "1.11.0-rc.1", "2.0.0", "2.1.0"])
      await submit(stack, ada, scriptedAgent("ada/many", version))
    // A fix for the old line, after the new one.
    await submit(stack, ada, scriptedAgent("ada/many", "1.2.1"))
    const quarantine = { version: "2.1.0", reason: "Looked at." }
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/ada/many/quarantine", quarantine)
    const resolve = async (range: string, more = "") => {
      const answer = await stack.request(
        null,
        "GET",
        `${agents}/ada/many/resolve?range=${encodeURIComponent(range)}${more}`
      )
      const body = (await answer.json()) as AgentVersion
      return answer.ok ? [body.version, body.warnings.length] : answer.status
    }
    expect(await resolve("^1.0")).toEqual(["1.10.0", 0])
    expect(await resolve("~1.2.0")).toEqual(["1.2.1", 0])
    expect(await resolve("*")).toEqual(["2.0.0", 0])
    expect(await resolve(">=1.3.0 <2.0.0 || 0.x")).toEqual(["1.10.0", 0])
    expect(await resolve("^1.0", "&prerelease=true")).toEqual(["1.11.0-rc.1", 0])
    expect(await resolve(">=1.11.0-rc.0 <1.12.0")).toEqual(["1.11.0-rc.1", 0])
    expect(await resolve("3.x")).toBe(404)
    expect(await resolve("2.1.0")).toBe(404)
    expect(await resolve("^^1")).toBe(422)
    expect(await resolve("^1;")).toBe(422)
    expect(await stack.call(null, "GET", `${agents}/ada/many/resolve`)).toMatchObject({ version: "1.2.1" })

    for (const version of ["1.10.0", "1.2.1", "2.0.0"])
      await stack.call(ada, "POST", `${agents}/ada/many/versions/${version}/yank`)
    expect(await resolve("^1.0")).toEqual(["1.2.0", 0])
    expect(await resolve("2.x")).toBe(404)
    expect(await resolve("1.10.0")).toEqual(["1.10.0", 1])
    expect(await stack.call(null, "GET", `${agents}/ada/many/versions/1.10.0`)).toMatchObject({
      warnings: [expect.stringMatching("yanked")]
    })

    const run = (ref: string) => refusal(olli, "POST", "/api/v1/x/runs/", { ref, mode: "interactive" })
    expect(await run("ada/many@2.x")).toEqual(refused(404, "not-found"))
    expect(await run("ada/many@^^1")).toEqual(refused(422, "validation"))
    const ranged = await runToEnd(stack, olli, { ref: "ada/many@^1.0", task: said })
    expect(ranged).toMatchObject({ ref: "ada/many@1.2.0", outcome: "succeeded" })
    const pinned = await stack.call<Run>(olli, "POST", "/api/v1/x/runs/", { ref: "ada/many@1.10.0", task: said })
    expect(pinned).toMatchObject({ ref: "ada/many@1.10.0", warnings: [expect.stringMatching("yanked")] })

    const install = (version: string) =>
      stack.request(olli, "PUT", "/api/v1/user/installs/ada/many", { version, acceptCapabilities: capabilities })
    expect(await (await install("1.x")).json()).toMatchObject({ installedVersion: "1.2.0", warnings: [] })
    expect(await (await install("1.10.0")).json()).toMatchObject({
      installedVersion: "1.10.0",
      quarantineState: "yanked",
      warnings: [expect.stringMatching("yanked")]
    })
    expect((await install("2.x")).status).toBe(404)
  })
})

describe("a name", () => {
  const make = (who: Person, namespace: string, name: string) => refusal(who, "POST", agents, { namespace, name })

  it("that speaks for the platform or a vendor is refused with its reason, and given by staff", async () => {
    expect(await make(olli, "olli", "official")).toEqual(
      expect.objectContaining({ status: 422, slug: "validation", detail: expect.stringMatching("reserved") })
    )
    expect(await make(olli, "olli", "github")).toEqual(
      expect.objectContaining({ status: 422, detail: expect.stringMatching("vendor") })
    )
    expect(await make(olli, "olli", "github-issues")).toBe(201)
    const sam = stack.staff
    expect(await make(sam, "staff", "official")).toBe(201)
    const vendor = await stack.person("github")
    expect(await make(vendor, "github", "github")).toBe(201)
    expect(await statusOf(olli, "GET", `${agents}/olli/official`)).toBe(404)
  })

  it("that looks like a popular agent's of somebody else is refused, or is one slip from a very popular one's", async () => {
    const installs = (count: number) =>
      stack.sql(
        (sql) =>
          sql`UPDATE agents SET installs = ${count} WHERE namespace = 'ada' AND name = 'invoice-reader' RETURNING 1`
      )
    await createAgent(stack, ada, "ada/invoice-reader")
    await installs(9)
    expect(await make(olli, "olli", "invoicereader")).toBe(201)
    await installs(10)
    const mistaken = expect.objectContaining({
      status: 422,
      slug: "validation",
      detail: expect.stringMatching("ada/invoice-reader")
    })
    for (const name of ["invo1ce-reader", "invoice-re-ader", "1nvo1cereader", "inv0ice-reader"])
      expect(await make(olli, "olli", name), name).toEqual(mistaken)
    // The namespace tells which one it is; a fork has the name of its source.
    expect(await make(olli, "olli", "invoice-reader")).toBe(201)
    // Of one's own, and for staff.
    expect(await make(ada, "ada", "invo1ce-reader")).toBe(201)
    expect(await make(stack.staff, "staff", "invo1ce-reader")).toBe(201)
    expect(await make(olli, "olli", "invoice-readers")).toBe(201)
    await installs(1_000)
    for (const name of ["invoice-readerz", "nvoice-reader", "invoice-raeder", "invoice-readxr"])
      expect(await make(olli, "olli", name), name).toEqual(mistaken)
    expect(await make(olli, "olli", "invoice-writer")).toBe(201)
    expect(
      await refusal(olli, "POST", `${agents}/olli/github-issues/transfer`, {
        namespace: "olli",
        name: "invoice-readeer"
      })
    ).toEqual(mistaken)
    // A private agent's name is nobody's to learn.
    await stack.call(ada, "PATCH", `${agents}/ada/invoice-reader`, { visibility: "private" })
    expect(await make(olli, "olli", "invo1ce-reader")).toBe(201)
  })

  it("an install counts once for how popular an agent is", async () => {
    const [{ installs }] = await stack.sql<{ installs: number }>(
      (sql) => sql`SELECT installs FROM agents WHERE namespace = 'ada' AND name = 'many'`
    )
    expect(installs).toBe(1)
  })
})
