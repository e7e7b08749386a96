/** Hosted runs over HTTP, with a real registry and a real sandbox host: records, streams, ends and what they cost. */
import { DirectoryObjectStore, ObjectStore } from "@quickagents/platform"
import {
  cancelExpiredRuns,
  closeStaleRuns,
  Ledger,
  LedgerEntityLive,
  LedgerSql,
  RunsSql,
  sweepInputs
} from "@quickagents/runs"
import { Api } from "@quickagents/schema"
import type { CreditsAccount, Digest, Run } from "@quickagents/schema"
import type { ManagedRuntime } from "effect"
import { Effect, Layer } from "effect"
import { TestRunner } from "effect/cluster"
import { HttpApi } from "effect/http-api"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { scriptedAgent } from "../stack/Packages.ts"
import { createAgent, ended, publish, runIs, runToEnd, script, submit, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
let author: Person
const runs = "/api/v1/x/runs"
/** The second node is a registry without extensions. */
const core = 1
const outputMaxBytes = 200_000

const steps = "author/steps"
const write = { call: "fs_write", args: { path: "out.md", content: "hello" } }
const tokens = (input: number, output: number) => ({ tokens: { input, output } })
/** Longer than any test waits. */
const forever = { wait: 120_000 }

beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    nodes: 2,
    hosts: 1,
    settings: {
      SERVICE_RUNS_STREAM_TIMEOUT: "2s",
      SERVICE_RUNS_OUTPUT_MAX_BYTES: String(outputMaxBytes),
      SERVICE_ORGS_FIRST_PARTY: "house"
    },
    nodeSettings: [{}, { SERVICE_SERVICE_EXTENSIONS: "" }]
  })
  author = await stack.person("author")
  await publish(stack, author, scriptedAgent(steps, "1.0.0"))
  await publish(stack, author, scriptedAgent("author/short", "1.0.0", { manifest: "budgets: { seconds: 2 }\n" }))
  await publish(stack, author, scriptedAgent("author/few", "1.0.0", { manifest: "budgets: { turns: 3 }\n" }))
  await publish(
    stack,
    author,
    scriptedAgent("author/asks", "1.0.0", {
      manifest:
        "intake:\n  - { id: about, label: About what, type: text, required: true }\n  - { id: tone, label: Tone, type: string, default: dry }\n"
    })
  )
  const waits = scriptedAgent("author/browses", "1.0.0")
  // No host here has a browser: its runs stay in the queue.
  await publish(stack, author, {
    ...waits,
    "agent.yaml": waits["agent.yaml"].replace(
      "capabilities:",
      'capabilities:\n  browser: { scope: sites, sites: ["https://example.com"] }'
    )
  })
}, 120_000)
afterAll(() => stack?.stop())

let people = 0
/** Someone with a full balance and no run. */
const someone = () => stack.person(`person-${++people}`)
const create = (who: Person, request: object) => stack.call<Run>(who, "POST", runs, request)
const read = (who: Person, id: string) => stack.call<Run>(who, "GET", `${runs}/${id}`)
const credits = (who: Person) => stack.call<CreditsAccount>(who, "GET", "/api/v1/credits")
const linesOf = (account: CreditsAccount, id: string) =>
  account.lines
    .filter(({ subject }) => subject === `run:${id}`)
    .map(({ balanceDelta, heldDelta, reason }) => [reason, balanceDelta, heldDelta])
    .toReversed()
const status = async (who: Person | null, method: string, path: string, body?: unknown, node = 0) => {
  const answer = await stack.request(who, method, path, body, node)
  const text = await answer.text()
  return answer.ok
    ? String(answer.status)
    : `${answer.status} ${(JSON.parse(text) as { type: string }).type.replace("/problems/", "")}`
}

/** The sweeps and the ledger as they are, on this deployment's database; only their cluster is one of its own. */
const inProcess = <A, E>(
  effect: Effect.Effect<
    A,
    E,
    Ledger | RunsSql | LedgerSql | ObjectStore | ManagedRuntime.ManagedRuntime.Services<Stack["runtime"]>
  >
) =>
  stack.runtime.runPromise(
    effect.pipe(
      Effect.provide(
        Layer.mergeAll(LedgerEntityLive, Ledger.layer).pipe(
          Layer.provideMerge(
            Layer.mergeAll(
              RunsSql.layer,
              LedgerSql.layer,
              DirectoryObjectStore.layer({ directory: join(stack.directory, "objects") })
            )
          ),
          Layer.provide(TestRunner.layer)
        )
      )
    )
  )

interface SseEvent {
  readonly id: string
  readonly event: string
  readonly data: any
}
/** All events of one stream until it ends by itself. */
const events = async (
  who: Person,
  path: string,
  headers: Record<string, string> = {}
): Promise<ReadonlyArray<SseEvent>> => {
  const answer = await fetch(`${stack.urls[0]}${path}`, {
    headers: { authorization: `Bearer ${who.token}`, ...headers }
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get("content-type")).toContain("text/event-stream")
  const text = await answer.text()
  return text
    .split("\n\n")
    .filter((part) => part.includes("data:"))
    .map((part) => {
      const field = (name: string) =>
        part
          .split("\n")
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim() ?? ""
      return { id: field("id"), event: field("event"), data: JSON.parse(field("data")) }
    })
}

describe("what a deployment says of itself", () => {
  it("[META-001] the REST API lives under /api/v1, and a route of it nowhere else", async () => {
    const paths = new Set<string>()
    HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => void paths.add(endpoint.path) })
    const outside = [...paths].filter((path) => !path.startsWith("/api/v1/"))
    expect(
      outside.filter((path) => !/^\/(\.well-known|scim\/v2|sso\/:org|internal\/x\/:?\w+)(\/|$)/.test(path))
    ).toEqual([])
    for (const path of paths) {
      const bare = path.replace(/^\/api\/v\d/, "").replace(/:\w+/g, "x")
      if (path.startsWith("/api/v1/")) {
        expect(await status(author, "GET", bare), bare).toBe("404 not-found")
        expect(await status(author, "GET", `/api/v2${bare}`), bare).toBe("404 not-found")
      }
    }
    expect(await status(null, "GET", "/api/v1/meta")).toBe("200")
    for (const path of ["/healthz", "/readyz", "/metrics", "/.well-known/service/signing-keys.json"])
      expect(await status(null, "GET", path)).toBe("200")
  })

  it("[META-003] meta lists what is mounted and how to sign in", async () => {
    expect(await stack.call(null, "GET", "/api/v1/meta")).toMatchObject({
      extensions: ["runs"],
      features: { voice: false, knowledge: false },
      signInProviders: []
    })
  })

  it("[META-004] a registry without the extension has none of its routes, and meta does not list it", async () => {
    expect(await stack.call(null, "GET", "/api/v1/meta", undefined, core)).toMatchObject({ extensions: [] })
    const routes: Array<readonly [string, string]> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => void routes.push([endpoint.method, endpoint.path])
    })
    const mounted = routes.filter(([, path]) => path.startsWith("/api/v1/x/"))
    expect(mounted.length).toBeGreaterThan(15)
    for (const [method, path] of mounted) {
      const real = path.replace(":id", "run_01JD8K2Z4W5X6Y7Z8A9B0C1D2E").replace(/:\w+/g, "x")
      expect(await status(author, method, real, undefined, core), `${method} ${path}`).toBe("404 not-found")
    }
    expect(await status(author, "GET", "/api/v1/agents", undefined, core)).toBe("200")
    const openapi = await stack.call(null, "GET", "/openapi.json", undefined, core)
    expect(Object.keys(openapi.paths as object).filter((path) => path.startsWith("/api/v1/x/"))).toEqual([])
  })

  it("[AUTH-021] there a token of run scopes alone is refused as any token without the right scope", async () => {
    const { token } = await stack.person("run-scopes", ["run:read", "run:write"])
    const answer = await fetch(`${stack.urls[core]}/api/v1/user`, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ type: "/problems/forbidden", required: ["user:profile"] })
  })

  it("[RUN-029] [RUN-031] [RUN-032] [RUN-034] [LEDGER-002] [LEDGER-003] [HOST-001] status tells anyone terms in credits, seconds and turns", async () => {
    const shown = await stack.call(null, "GET", `${runs}/status`)
    const pro = { caps: { seconds: 900, turns: 60 }, holdCredits: 200 }
    const standard = { caps: { seconds: 300, turns: 20 }, holdCredits: 20 }
    expect(shown).toMatchObject({
      available: true,
      queued: 0,
      hostsOnline: 1,
      workersOnline: 0,
      tiers: {
        standard: { ...standard, build: standard },
        pro: { ...pro, build: pro },
        business: pro,
        enterprise: pro
      },
      knowledgeAttach: { enabled: false, maxPacks: 5 },
      knowledgeBuild: { available: false },
      draft: { available: false },
      voiceBuild: { available: false, attach: false },
      sessions: {
        enabled: false,
        freeMinutes: 0,
        minuteCredits: 0,
        minCredits: 0,
        idleCloseSeconds: 0,
        allowed: { standard: false, pro: false }
      }
    })
    expect(shown.caller).toBeUndefined()
    expect(JSON.stringify(shown)).not.toMatch(/token|500000|50000|25000|5000000/i)
  })

  it("[RUN-033] a signed-in caller is told their own terms", async () => {
    const who = await someone()
    expect((await stack.call(who, "GET", `${runs}/status`)).caller).toEqual({
      tier: "standard",
      account: who.handle,
      caps: { seconds: 300, turns: 20 },
      holdCredits: 20,
      buildHoldCredits: 20,
      draftHoldCredits: 20,
      voice: false,
      session: { allowed: false }
    })
    await stack.call(stack.staff, "PUT", `/api/v1/platform/accounts/${who.handle}/tier`, { tier: "pro" })
    expect((await stack.call(who, "GET", `${runs}/status`)).caller).toMatchObject({
      tier: "pro",
      caps: { seconds: 900, turns: 60 },
      holdCredits: 200
    })
    expect(await status(who, "POST", runs, { ref: steps })).toBe("402 credits-exhausted")
  })
})

describe("a run that succeeds", () => {
  let who: Person
  let run: Run
  beforeAll(async () => {
    who = await someone()
    const input = await stack.call<{ id: string; bytes: number; digest: string; expiresAt: string }>(
      who,
      "POST",
      `${runs}/inputs?name=data/sales.csv`,
      new TextEncoder().encode("a,b\n1,2\n")
    )
    expect(input).toMatchObject({ bytes: 8, digest: expect.stringMatching(/^sha256:/) })
    const created = await create(who, {
      ref: "author/asks",
      intake: { about: "sales" },
      inputs: [input.id],
      task: script(
        { call: "fs_read", args: { path: "data/sales.csv" } },
        tokens(120_000, 60_000),
        { call: "fs_write", args: { path: "out.md", content: "{{intake.about}} {{intake.tone}}: {{last}}" } },
        { finish: { total: 3 } }
      )
    })
    expect(created).toMatchObject({ outcome: null, usage: null, receipt: null, outputs: [], settledCredits: null })
    run = await ended(stack, who, created.id)
  }, 60_000)

  it("[RUN-003] [RUN-056] its record names release, digest, terms and payer", () => {
    expect(run).toMatchObject({
      id: expect.stringMatching(/^run_/),
      ref: "author/asks@1.0.0",
      archiveDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      kind: "run",
      mode: "autonomous",
      caps: { seconds: 300, turns: 20 },
      holdCredits: 20,
      payer: who.handle,
      queuePosition: null,
      inputs: [{ name: "data/sales.csv", bytes: 8 }],
      secrets: [],
      knowledge: [],
      voice: null,
      inputReview: 0
    })
    const waits = new Date(run.expiresAt).getTime() - new Date(run.createdAt).getTime()
    expect(Math.abs(waits - 3_600_000)).toBeLessThan(10_000)
    expect(run).not.toHaveProperty("withheld")
    expect(Object.keys(run.caps)).toEqual(["seconds", "turns"])
  })

  it("[RUN-002] [RUN-004] [RUN-059] it tells how it ended, what it used, and its own task and answers to its owner", () => {
    expect(run).toMatchObject({
      status: "finished",
      outcome: "succeeded",
      exitClass: "ok",
      error: null,
      usage: { turns: 3, wallMs: expect.any(Number), credits: 5 },
      intake: { about: "sales", tone: "dry" },
      task: expect.stringContaining("fs_read")
    })
    for (const time of [run.claimedAt, run.startedAt, run.finishedAt])
      expect(new Date(time!).getTime()).toBeGreaterThan(0)
  })

  it("[RUN-007] [RUN-010] its receipt names the mechanism behind each line, and holds neither result nor usage", () => {
    const receipt = run.receipt!
    expect(receipt.release).toMatchObject({
      ref: "author/asks@1.0.0",
      digest: run.archiveDigest,
      attestationKeyId: expect.any(String)
    })
    expect(receipt.toolCalls).toMatchObject({ fs_read: 1, fs_write: 1, finish: 1 })
    for (const key of ["filesystem", "exec", "network", "browser", "mcp", "runtime", "secrets"] as const) {
      expect(Array.isArray(receipt.capabilities_enforced[key]), key).toBe(true)
    }
    expect(receipt.capabilities_enforced.runtime.length).toBeGreaterThan(0)
    expect(receipt.capabilities_enforced.secrets.length).toBeGreaterThan(0)
    for (const key of ["result", "usage", "error", "outputs", "stage", "reason"])
      expect(receipt).not.toHaveProperty(key)
    expect(JSON.stringify(receipt)).not.toMatch(/sales|out\.md|total/)
  })

  it("[RUN-012] [RUN-060] [RUN-058] it has one output, output.tar, decrypted for its owner: the input reached the agent", async () => {
    expect(run.outputs).toEqual([{ name: "output.tar", bytes: expect.any(Number) }])
    const answer = await stack.request(who, "GET", `${runs}/${run.id}/outputs/output.tar`)
    expect(answer.headers.get("content-type")).toBe("application/x-tar")
    expect(answer.headers.get("cache-control")).toBe("private, no-store")
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.length).toBe(run.outputs[0].bytes)
    expect(bytes.toString()).toContain("sales dry: a,b\n1,2")
    expect(bytes.toString()).toContain("envelope.json")
    expect(await status(who, "GET", `${runs}/${run.id}/outputs/other.tar`)).toBe("404 not-found")
    expect(await status(stack.staff, "GET", `${runs}/${run.id}/outputs/output.tar`)).toBe("404 not-found")
  })

  it("[RUN-035] [LEDGER-001] [LEDGER-004] [LEDGER-005] [LEDGER-007] its hold is settled from its tokens, line by line", async () => {
    // 120001 / 50000 + 60002 / 25000 and more than nothing, rounded up.
    expect(run.settledCredits).toBe(5)
    const account = await credits(who)
    expect(linesOf(account, run.id)).toEqual([
      ["run_hold", -20, 20],
      ["run_release", 15, -15],
      ["run", 0, -5]
    ])
    expect(account).toMatchObject({ balance: 95, held: 0, tier: "standard", unmetered: false })
    expect(account.lines.reduce((sum, { balanceDelta }) => sum + balanceDelta, 0)).toBe(95)
  })

  it("[RUN-055] a finish that is told again changes nothing", async () => {
    const before = await credits(who)
    const end = {
      runId: run.id,
      payer: run.payer,
      from: "active" as const,
      status: "finished" as const,
      outcome: "error" as const,
      charge: "nothing" as const,
      holdCredits: 20,
      exitClass: "cli",
      errorClass: "host-lost",
      usage: { input: 0, output: 0, total: 0, turns: 0, wallMs: 0 },
      inputsReviewed: false,
      receipt: null,
      output: null
    }
    expect(await inProcess(Effect.flatMap(Ledger, (ledger) => ledger.end(end)))).toBe(false)
    expect(await credits(who)).toEqual(before)
    expect(await read(who, run.id)).toEqual(run)
  })

  it("[RUN-068] another account finds nothing of it", async () => {
    const stranger = await someone()
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/events"],
      ["GET", "/outputs/output.tar"],
      ["POST", "/cancel"]
    ]) {
      expect(await status(stranger, method, `${runs}/${run.id}${path}`), path).toBe("404 not-found")
    }
    expect((await stack.call(stranger, "GET", runs)).items).toEqual([])
  })

  it("[RUN-017] [RUN-071] staff reads the record without its text, by session and not by token", async () => {
    const shown = await read(stack.staff, run.id)
    expect(shown).toMatchObject({
      id: run.id,
      status: "finished",
      outcome: "succeeded",
      withheld: true,
      task: null,
      intake: null,
      receipt: null,
      error: null
    })
    const byToken = await fetch(`${stack.urls[0]}${runs}/${run.id}`, {
      headers: { authorization: `Bearer ${stack.staff.token}` }
    })
    expect(byToken.status).toBe(404)
  })

  it("[SSE-001] [SSE-002] [SSE-004] [SSE-005] its events are its states, numbered, and then done", async () => {
    const all = await events(who, `${runs}/${run.id}/events`)
    expect(all.map(({ event }) => event)).toEqual(["status", "status", "status", "status", "done"])
    expect(all.map(({ id }) => id)).toEqual(["1", "2", "3", "4", "4"])
    expect(all.slice(0, 4).map(({ data }) => data.status)).toEqual(["queued", "claimed", "running", "finished"])
    expect(all[1].data).toMatchObject({ host: "sandbox", at: expect.stringMatching(/Z$/) })
    expect(all[3].data).toMatchObject({ outcome: "succeeded", turns: 3, credits: 5 })
  })

  it("[SSE-003] a stream starts after Last-Event-ID or ?after=", async () => {
    const path = `${runs}/${run.id}/events`
    expect((await events(who, path, { "last-event-id": "2" })).map(({ id }) => id)).toEqual(["3", "4", "4"])
    expect((await events(who, `${path}?after=3`)).map(({ event, id }) => [id, event])).toEqual([
      ["4", "status"],
      ["4", "done"]
    ])
    expect((await events(who, `${path}?after=4`)).map(({ event }) => event)).toEqual(["done"])
    expect((await events(who, `${path}?after=1`, { "last-event-id": "3" })).map(({ id }) => id)).toEqual(["4", "4"])
  })

  it("[METRIC-001] its tokens are counted by kind and tier", async () => {
    const answer = await fetch(`${stack.urls[0]}/metrics`)
    const other = await fetch(`${stack.urls[core]}/metrics`)
    const text = `${await answer.text()}\n${await other.text()}`
    expect(text).toMatch(/RunsHostedInputTokens\{[^}]*kind="run"[^}]*tier="standard"[^}]*\} \d{6}/)
    expect(text).toMatch(/RunsHostedOutputTokens\{[^}]*kind="run"[^}]*tier="standard"[^}]*\} \d{5}/)
  })
})

describe("how runs end", () => {
  it("each end has its outcome and its price", async () => {
    const cases: ReadonlyArray<{
      readonly what: string
      readonly request: object
      readonly run: object
      readonly reason?: string
    }> = [
      {
        what: "[RUN-037] [RUN-091] wall time",
        request: { ref: "author/short", task: script(tokens(60_000, 0), write, forever) },
        run: { outcome: "timeout", exitClass: "timeout", settledCredits: 2, caps: { seconds: 2, turns: 20 } },
        reason: "wall-time"
      },
      {
        what: "[RUN-038] [RUN-091] turns",
        request: { ref: "author/few", task: script(write, write, write, write) },
        run: {
          outcome: "budget",
          exitClass: "budget",
          settledCredits: 1,
          caps: { seconds: 300, turns: 3 },
          usage: { turns: 3 }
        },
        reason: "turns"
      },
      {
        what: "[RUN-047] tokens past the cap, never more than the hold",
        request: { ref: steps, task: script(tokens(0, 600_000), write, forever) },
        run: { outcome: "interrupted", settledCredits: 20, usage: { credits: 25 } }
      },
      {
        what: "[RUN-047] tokens past the cap, settled on what was spent",
        request: { ref: steps, task: script(tokens(600_000, 0), write, forever) },
        run: { outcome: "interrupted", settledCredits: 13 }
      },
      {
        what: "a model that ends without an answer",
        request: { ref: steps, task: script(write, { say: " " }) },
        run: { outcome: "failed", exitClass: "harness", settledCredits: 1 },
        reason: "no-result"
      },
      {
        what: "an agent that blocks itself",
        request: { ref: steps, task: script(write, { block: "It must not." }) },
        run: { outcome: "blocked", exitClass: "blocked", settledCredits: 1 },
        reason: "agent-blocked"
      },
      {
        what: "a script that cannot be compiled",
        request: { ref: steps, task: "no script at all" },
        run: { outcome: "refused", exitClass: "compile", settledCredits: 0 },
        reason: "instructions-missing"
      },
      {
        what: "an output past its size",
        request: {
          ref: steps,
          task: script(
            { call: "fs_write", args: { path: "big.md", content: "x".repeat(40_000) } },
            ...["a", "b", "c", "d", "e"].map((name) => ({
              call: "fs_write",
              args: { path: `${name}.md`, content: "{{task}}" }
            })),
            { finish: "x" }
          )
        },
        run: { outcome: "error", settledCredits: 0 },
        reason: "output-too-large"
      }
    ]
    await Promise.all(
      cases.map(async ({ reason, request, run: expected, what }) => {
        const who = await someone()
        const run = await runToEnd(stack, who, request)
        expect(run, `${what}: ${JSON.stringify(run)}`).toMatchObject({ status: "finished", ...expected })
        if (reason !== undefined) expect(run.receipt, what).toMatchObject({ reason, stage: expect.any(String) })
        if (run.outcome !== "succeeded") expect(run.error, what).not.toBeNull()
        const account = await credits(who)
        expect(account, what).toMatchObject({ balance: 100 - run.settledCredits!, held: 0 })
        expect(linesOf(account, run.id), what).toEqual(
          run.settledCredits === 0
            ? [
                ["run_hold", -20, 20],
                ["run_refund", 20, -20]
              ]
            : [
                ["run_hold", -20, 20],
                ["run_release", 20 - run.settledCredits!, run.settledCredits! - 20],
                ["run", 0, -run.settledCredits!]
              ]
        )
      })
    )
  }, 90_000)

  it("[RUN-036] a result that does not satisfy the schema is failed, and settled", async () => {
    const who = await someone()
    const schema = JSON.stringify({ type: "object", required: ["total"], properties: { total: { type: "integer" } } })
    const files = scriptedAgent("author/strict", "1.0.0", { files: { "result.schema.json": schema } })
    await publish(stack, author, {
      ...files,
      "agent.yaml": files["agent.yaml"].replace("output:\n", "output:\n  schema: result.schema.json\n")
    })
    expect(
      await runToEnd(stack, who, { ref: "author/strict", task: script({ finish: { total: "three" } }) })
    ).toMatchObject({
      outcome: "failed",
      exitClass: "outputSchema",
      settledCredits: 1
    })
    expect(await runToEnd(stack, who, { ref: "author/strict", task: script({ finish: { total: 3 } }) })).toMatchObject({
      outcome: "succeeded"
    })
  })

  it("[RUN-054] an attestation that no pinned key verifies is refused, refunded in full", async () => {
    const who = await someone()
    await publish(stack, author, scriptedAgent("author/forged", "1.0.0"))
    await stack.sql(
      (sql) =>
        sql`UPDATE versions SET attestation = jsonb_set(attestation, '{signatures,0,sig}', to_jsonb(${Buffer.alloc(64).toString("base64")}::text))
        WHERE agent_id = (SELECT id FROM agents WHERE name = 'forged')`
    )
    const run = await runToEnd(stack, who, { ref: "author/forged", task: script(write, { finish: "x" }) })
    expect(run, JSON.stringify(run)).toMatchObject({
      outcome: "refused",
      exitClass: "verify",
      settledCredits: 0,
      receipt: { stage: "verify" }
    })
    expect(await credits(who)).toMatchObject({ balance: 100, held: 0 })
  })

  it("[RUN-045] [RUN-061] a queued run is cancelled at once, with a full refund", async () => {
    const who = await someone()
    const first = await create(who, { ref: "author/browses", task: "x" })
    const other = await someone()
    const second = await create(other, { ref: "author/browses", task: "x" })
    expect([first.queuePosition, second.queuePosition]).toEqual([1, 2])
    expect(await stack.call(null, "GET", `${runs}/status`)).toMatchObject({ queued: 2 })
    expect(await credits(who)).toMatchObject({ balance: 80, held: 20 })
    expect(await status(who, "GET", `${runs}/${first.id}/outputs/output.tar`)).toBe("409 output-not-ready")
    const cancelled = await stack.call<Run>(who, "POST", `${runs}/${first.id}/cancel`)
    expect(cancelled).toMatchObject({ status: "cancelled", outcome: null, settledCredits: 0, queuePosition: null })
    expect(linesOf(await credits(who), first.id)).toEqual([
      ["run_hold", -20, 20],
      ["run_refund", 20, -20]
    ])
    expect((await read(other, second.id)).queuePosition).toBe(1)
    expect((await events(who, `${runs}/${first.id}/events`)).map(({ data, event }) => data.status ?? event)).toEqual([
      "queued",
      "cancelled",
      "done"
    ])
    // Once more changes nothing.
    expect(await stack.call<Run>(who, "POST", `${runs}/${first.id}/cancel`)).toEqual(cancelled)
    await stack.call(other, "POST", `${runs}/${second.id}/cancel`)
  })

  it("[JOB-001] a run that nobody claimed in time is cancelled by the sweep, refunded", async () => {
    const [late, waiting] = [await someone(), await someone()]
    const run = await create(late, { ref: "author/browses", task: "x" })
    const fresh = await create(waiting, { ref: "author/browses", task: "x" })
    await stack.sql((sql) => sql`UPDATE runs SET expires_at = now() - interval '1 second' WHERE id = ${run.id}`)
    await inProcess(cancelExpiredRuns)
    expect(await read(late, run.id)).toMatchObject({
      status: "cancelled",
      settledCredits: 0,
      error: { class: "queue-timeout" }
    })
    expect(await credits(late)).toMatchObject({ balance: 100, held: 0 })
    expect(await read(waiting, fresh.id)).toMatchObject({ status: "queued" })
    await stack.call(waiting, "POST", `${runs}/${fresh.id}/cancel`)
  })

  it("[RUN-046] [RUN-039] a running run that is cancelled is interrupted and settles what ran", async () => {
    const who = await someone()
    const { id } = await create(who, { ref: steps, task: script(tokens(100_000, 0), write, forever) })
    await runIs(stack, who, id, ["running"])
    await sleep(500)
    expect(await status(who, "GET", `${runs}/${id}/outputs/output.tar`)).toBe("409 output-not-ready")
    const asked = await until(
      () => stack.call<Run>(who, "POST", `${runs}/${id}/cancel`),
      ({ cancelRequestedAt }) => cancelRequestedAt !== null
    )
    expect(asked.status).toBe("running")
    const run = await ended(stack, who, id)
    expect(run, JSON.stringify(run)).toMatchObject({ outcome: "interrupted", status: "finished" })
    // 100001 / 50000 and more than nothing, rounded up.
    expect(run.settledCredits).toBe(3)
    expect(await credits(who)).toMatchObject({ balance: 100 - run.settledCredits!, held: 0 })
  })

  it("[SSE-004] a stream of a run that goes on ends with timeout after its time", async () => {
    const who = await someone()
    const { id } = await create(who, { ref: steps, task: script(forever) })
    await runIs(stack, who, id, ["running"])
    const began = Date.now()
    const seen = await events(who, `${runs}/${id}/events`)
    expect(seen.map(({ data, event }) => data.status ?? event)).toEqual(["queued", "claimed", "running", "timeout"])
    expect(Date.now() - began).toBeGreaterThan(1_900)
    await stack.call(who, "POST", `${runs}/${id}/cancel`)
    expect((await events(who, `${runs}/${id}/events?after=3`)).map(({ data, event }) => data.outcome ?? event)).toEqual(
      ["interrupted", "done"]
    )
  })
})

describe("who pays", () => {
  it("[LEDGER-008] [LEDGER-009] an organization pays for its members; its admins see the lines and not the run", async () => {
    const [boss, worker, fellow] = [await someone(), await someone(), await someone()]
    await stack.org("works", boss)
    for (const { handle } of [worker, fellow])
      await stack.call(boss, "PUT", `/api/v1/orgs/works/members/${handle}`, { role: "member" })
    const run = await runToEnd(stack, worker, { ref: steps, task: script(write, { finish: "x" }) })
    expect(run).toMatchObject({ payer: "works", outcome: "succeeded", settledCredits: 1 })
    expect(await credits(worker)).toMatchObject({ balance: 100, held: 0 })
    const pool = await stack.call<CreditsAccount>(boss, "GET", "/api/v1/orgs/works/credits")
    expect(pool).toMatchObject({ account: "works", balance: 99, held: 0 })
    expect(linesOf(pool, run.id)).toEqual([
      ["run_hold", -20, 20],
      ["run_release", 19, -19],
      ["run", 0, -1]
    ])
    for (const who of [boss, fellow]) expect(await status(who, "GET", `${runs}/${run.id}`)).toBe("404 not-found")
    expect(await status(fellow, "GET", "/api/v1/orgs/works/credits")).toBe("403 forbidden")
    // Each member has an active run of their own beside the others'.
    const both = await Promise.all([worker, fellow].map((who) => create(who, { ref: "author/browses" })))
    expect(await stack.call(boss, "GET", "/api/v1/orgs/works/credits")).toMatchObject({ balance: 59, held: 40 })
    await Promise.all(both.map(({ id }, index) => stack.call([worker, fellow][index], "POST", `${runs}/${id}/cancel`)))
  })

  it("[LEDGER-010] [RUN-005] [RUN-006] the first-party organization holds and pays nothing, and its use is still counted", async () => {
    const who = await someone()
    await stack.org("house", who)
    expect((await stack.call(who, "GET", `${runs}/status`)).caller).toMatchObject({ account: "house", holdCredits: 0 })
    const run = await runToEnd(stack, who, {
      ref: steps,
      task: script(tokens(100_000, 25_000), write, { finish: "x" })
    })
    expect(run).toMatchObject({
      payer: "house",
      holdCredits: 0,
      outcome: "succeeded",
      settledCredits: 0,
      usage: { credits: 4 }
    })
    const account = await stack.call<CreditsAccount>(who, "GET", "/api/v1/orgs/house/credits")
    expect(account.unmetered).toBe(true)
    expect(linesOf(account, run.id)).toEqual([])
  })
})

describe("which releases run", () => {
  it("[RUN-062] [RUN-063] [RUN-064] a private release runs for who may read it, and for a token only with agent:read", async () => {
    const [owner, admin, member, granted, stranger] = [
      await someone(),
      await someone(),
      await someone(),
      await someone(),
      await someone()
    ]
    await stack.org("closed", owner)
    await stack.call(owner, "PUT", `/api/v1/orgs/closed/members/${admin.handle}`, { role: "admin" })
    await stack.call(owner, "PUT", `/api/v1/orgs/closed/members/${member.handle}`, { role: "member" })
    await publish(stack, owner, scriptedAgent("closed/door", "1.0.0"), "private")
    await stack.sql(
      (sql) =>
        sql`INSERT INTO agent_grants (agent_id, account_id, level) SELECT agents.id, ${granted.accountId}, 'read' FROM agents WHERE namespace = 'closed'`
    )
    const asks = async (who: Person) => {
      const answer = await stack.request(who, "POST", runs, { ref: "closed/door", task: "x" })
      const { id } = (await answer.json()) as { id?: string }
      if (id !== undefined && answer.status === 201) await stack.call(who, "POST", `${runs}/${id}/cancel`)
      return answer.status
    }
    for (const who of [owner, admin, member, granted]) expect(await asks(who), who.handle).toBe(201)
    expect(await asks(stranger)).toBe(404)
    const writer = await stack.person(member.handle, ["run:write"])
    expect(await asks(writer)).toBe(404)
    await ended(stack, member, (await stack.call<{ items: ReadonlyArray<Run> }>(member, "GET", runs)).items[0].id)
    expect(await asks(await stack.person(member.handle, ["run:write", "agent:read"]))).toBe(201)
    // A public one needs run:write alone.
    const only = await stack.person(stranger.handle, ["run:write"])
    expect(await status(only, "POST", runs, { ref: "author/browses" })).toBe("201")
  })

  it("[AGENT-006] [AGENT-008] [RUN-019] latest is the latest published; yanked runs by exact pin; quarantined and blocked never", async () => {
    await createAgent(stack, author, "author/many")
    for (const version of ["1.0.0", "1.1.0", "1.2.0", "1.3.0"])
      await submit(stack, author, scriptedAgent("author/many", version))
    const path = "/api/v1/agents/author/many/versions"
    await stack.call(author, "POST", `${path}/1.1.0/yank`)
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/author/many/quarantine", {
      version: "1.2.0",
      reason: "Looked at."
    })
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/author/many/block", {
      version: "1.3.0",
      reason: "Bad."
    })
    const asks = async (ref: string) => {
      const who = await someone()
      const answer = await stack.request(who, "POST", runs, { ref, task: "x" })
      const body = (await answer.json()) as { ref?: string }
      return body.ref ?? answer.status
    }
    expect(await asks("author/many")).toBe("author/many@1.0.0")
    expect(await asks("author/many@1.1.0")).toBe("author/many@1.1.0")
    expect(await asks("author/many@1.2.0")).toBe(404)
    expect(await asks("author/many@1.3.0")).toBe(404)
    await stack.call(author, "POST", `${path}/1.0.0/yank`)
    expect(await asks("author/many")).toBe(404)
  })

  it("a release blocked after its run was queued is never handed to a host", async () => {
    const who = await someone()
    await stack.call(author, "GET", "/api/v1/agents/author/browses")
    const run = await create(who, { ref: "author/browses", task: "x" })
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/author/browses/quarantine", {
      version: "1.0.0",
      reason: "Looked at."
    })
    // Now any host may take it.
    await stack.sql((sql) => sql`UPDATE runs SET needs_browser = false WHERE id = ${run.id}`)
    expect(await ended(stack, who, run.id)).toMatchObject({
      outcome: "error",
      error: { class: "release-gone" },
      settledCredits: 0
    })
    await stack.call(stack.staff, "POST", "/api/v1/platform/agents/author/browses/release", {
      version: "1.0.0",
      reason: "Fine."
    })
  })
})

describe("what stays", () => {
  it("[RUN-057] the list is the caller's newest fifty", async () => {
    const who = await someone()
    const { id } = await create(who, { ref: "author/browses", task: "x" })
    await stack.call(who, "POST", `${runs}/${id}/cancel`)
    await stack.sql(
      (sql) =>
        sql`INSERT INTO runs SELECT copy.* FROM runs, generate_series(1, 60) AS n, LATERAL jsonb_populate_record(runs, jsonb_build_object(
        'id', 'run_01JD8K2Z4W5X6Y7Z8A9B0C1D' || lpad(n::text, 2, '0'), 'created_at', runs.created_at + n * interval '1 second')) copy WHERE runs.id = ${id}`
    )
    const { items } = await stack.call<{ items: ReadonlyArray<Run> }>(who, "GET", runs)
    expect(items.map((run) => run.id)).toEqual(
      Array.from({ length: 50 }, (_, index) => `run_01JD8K2Z4W5X6Y7Z8A9B0C1D${60 - index}`)
    )
  })

  it("[JOB-004] an input that no run took is gone after a day, one of a waiting run stays until the run has ended", async () => {
    const who = await someone()
    const upload = (text: string) =>
      stack.call<{ id: string }>(who, "POST", `${runs}/inputs?name=${text}.txt`, new TextEncoder().encode(text))
    const [old, taken, young] = [await upload("old"), await upload("taken"), await upload("young")]
    const run = await create(who, { ref: "author/browses", inputs: [taken.id] })
    await stack.sql(
      (sql) =>
        sql`UPDATE run_inputs SET created_at = now() - interval '25 hours' WHERE id IN ${sql.in([old.id, taken.id])}`
    )
    const rows = await stack.sql<{ id: string; object: Digest }>(
      (sql) => sql`SELECT id, object FROM run_inputs WHERE account_id = ${who.accountId}`
    )
    const kept = async () => {
      const left = await stack.sql<{ id: string }>(
        (sql) => sql`SELECT id FROM run_inputs WHERE account_id = ${who.accountId}`
      )
      const stored = await inProcess(
        Effect.flatMap(ObjectStore, (store) => Effect.forEach(rows, ({ object }) => store.has(object)))
      )
      expect(stored).toEqual(rows.map(({ id }) => left.some((row) => row.id === id)))
      return [old, taken, young].map(({ id }) => left.some((row) => row.id === id))
    }
    await inProcess(sweepInputs)
    expect(await kept()).toEqual([false, true, true])
    await stack.call(who, "POST", `${runs}/${run.id}/cancel`)
    await inProcess(sweepInputs)
    expect(await kept()).toEqual([false, false, true])
  })
})

describe("hosts", () => {
  it("[HOST-003] [HOST-004] [HOST-006] staff lists hosts, makes, revokes and lists enrolments, and sets the model without its key", async () => {
    const staff = (method: string, path: string, body?: unknown) =>
      stack.call(stack.staff, method, `${runs}/staff/${path}`, body)
    const { items } = await staff("GET", "hosts")
    expect(items).toMatchObject([
      {
        name: "host-0",
        state: "online",
        capacity: 4,
        usedSlots: expect.any(Number),
        features: { sealedObjects: true, browser: false }
      }
    ])
    const made = await staff("POST", "hosts/enrolments", { name: "rack-3", expiresInSeconds: 600 })
    expect(made).toMatchObject({ name: "rack-3", state: "open", hostId: null, token: expect.stringMatching(/^qae_/) })
    const listed = await staff("GET", "hosts/enrolments")
    expect(listed.items[0]).toMatchObject({ id: made.id, state: "open" })
    expect(JSON.stringify(listed)).not.toContain("token")
    expect(await staff("POST", `hosts/enrolments/${made.id}/revoke`)).toMatchObject({ state: "revoked" })
    expect(await status(stack.staff, "POST", `${runs}/staff/hosts/enrolments/${made.id}/revoke`)).toBe(
      "409 enrolment-not-open"
    )
    const enrol = await fetch(`${stack.urls[0]}${runs}/hosts/enrol`, {
      method: "POST",
      headers: { authorization: `Enrolment ${made.token as string}`, "content-type": "application/json" },
      body: JSON.stringify({
        csr: "x",
        address: "127.0.0.1:1",
        capacity: 1,
        features: { sealedObjects: true, browser: false, inputReview: false, sessions: false, fullIsolation: true }
      })
    })
    expect(enrol.status).toBe(409)
    const model = {
      provider: "openai-compatible",
      baseUrl: "https://models.example.com/v1",
      model: "m-1",
      apiKey: "very secret"
    }
    const shown = await staff("PUT", "model", model)
    expect(shown).toEqual({
      provider: "openai-compatible",
      baseUrl: "https://models.example.com/v1",
      model: "m-1",
      hasApiKey: true,
      maxConcurrent: null
    })
    expect(await staff("GET", "model")).toEqual(shown)
    await staff("DELETE", "model")
    expect(await staff("GET", "model")).toMatchObject({ provider: "scripted", hasApiKey: false })
  })

  it("[JOB-002] [HOST-001] a retired host takes no runs, and what it ran ends as error, refunded", async () => {
    const who = await someone()
    const { id } = await create(who, { ref: steps, task: script(tokens(100_000, 0), write, forever) })
    await runIs(stack, who, id, ["running"])
    const { items } = await stack.call(stack.staff, "GET", `${runs}/staff/hosts`)
    const host = `${runs}/staff/hosts/${items[0].id as string}`
    expect(await stack.call(stack.staff, "POST", `${host}/retire`)).toMatchObject({ state: "retired" })
    expect(await status(stack.staff, "POST", `${host}/retire`)).toBe("409 host-retired")
    expect(await stack.call(null, "GET", `${runs}/status`)).toMatchObject({ hostsOnline: 0 })
    await inProcess(closeStaleRuns)
    expect(await ended(stack, who, id)).toMatchObject({
      status: "finished",
      outcome: "error",
      settledCredits: 0,
      error: { class: "host-lost" }
    })
    expect(linesOf(await credits(who), id)).toEqual([
      ["run_hold", -20, 20],
      ["run_refund", 20, -20]
    ])
    const next = await someone()
    const queued = await create(next, { ref: steps, task: script({ finish: "x" }) })
    await sleep(1_500)
    expect(await read(next, queued.id)).toMatchObject({ status: "queued" })
  })

  it("balances are what the lines of all accounts add up to", async () => {
    const wrong = await stack.sql(
      (sql) =>
        sql`SELECT payer, balance, held FROM credit_accounts a WHERE (balance, held) <> (
        SELECT sum(balance_delta), sum(held_delta) FROM ledger_lines l WHERE l.payer = a.payer)`
    )
    expect(wrong).toEqual([])
  })
})
