/** Bad input of every kind gets the problem that the contract names, with its headers, and stores nothing. */
import type { AgentVersion } from "@quickagents/schema"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest"
import type { Entry, PackageFiles } from "../stack/Packages.ts"
import { archiveOf, form, rawArchive, scriptedAgent } from "../stack/Packages.ts"
import { createAgent, publish, script, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
let bea: Person, poor: Person, guest: Person

const archiveMaxBytes = 300_000
/** The second node keeps no sealing key, and lets few in without a credential. */
const keyless = 1
const runs = "/api/v1/x/runs/"

beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    nodes: 2,
    settings: { SERVICE_LIMITS_ARCHIVE_MAX_BYTES: String(archiveMaxBytes) },
    nodeSettings: [{}, { SERVICE_KEYS_SEALING_KEY: "", SERVICE_LIMITS_ANONYMOUS_PER_MIN: "5" }]
  })
  ;[bea, poor, guest] = (await Promise.all(["bea", "poor", "guest"].map((handle) => stack.person(handle)))) as [
    Person,
    Person,
    Person
  ]
  await publish(stack, bea, scriptedAgent("bea/plain", "1.0.0"))
  const released: Readonly<Record<string, string>> = {
    asks: "intake:\n  - { id: count, label: How many, type: integer, required: true }\n  - { id: tone, label: Tone, type: choice, options: [dry, warm] }\n",
    keys: "secrets:\n  - { name: API_TOKEN }\n  - { name: EXTRA, required: false }\n",
    vault: `secrets:\n${Array.from({ length: 33 }, (_, index) => `  - { name: TOKEN_${index}, purpose: signs in to service ${index} }`).join("\n")}\n`,
    linked: 'mcpServers:\n  - { name: mail, url: "https://mcp.example.com/", auth: oauth }\n'
  }
  for (const [name, manifest] of Object.entries(released))
    await publish(stack, bea, scriptedAgent(`bea/${name}`, "1.0.0", { manifest }))
  const changed = (name: string, change: (manifest: string) => string) => {
    const files = scriptedAgent(`bea/${name}`, "1.0.0")
    return publish(stack, bea, { ...files, "agent.yaml": change(files["agent.yaml"]) })
  }
  await changed("both", (manifest) => manifest.replace("[autonomous]", "[autonomous, interactive]"))
  await changed("public-web", (manifest) =>
    manifest.replace("capabilities:", "capabilities:\n  browser: { scope: public }")
  )
  await changed("site", (manifest) =>
    manifest.replace(
      "capabilities:",
      "intake:\n  - { id: site, label: Which site, type: url, browserSite: true }\ncapabilities:\n  browser: { scope: sites }"
    )
  )
  for (const person of [bea, poor, guest]) await stack.call(person, "GET", "/api/v1/credits")
}, 120_000)
afterAll(() => stack?.stop())

interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly in: string; readonly message: string }>
  readonly [key: string]: unknown
}

/** The problem of an answer, whose form is the same for all. */
const problemOf = async (answer: Response, status: number, slug: string): Promise<Problem> => {
  const text = await answer.text()
  expect(`${answer.status} ${text}`).toMatch(new RegExp(`^${status} .*"/problems/${slug}"`, "s"))
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  for (const name of ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"])
    expect(answer.headers.get(name), name).toMatch(/^\d+$/)
  expect(answer.headers.get("x-request-id")).toMatch(/^req_/)
  const problem = JSON.parse(text) as Problem
  expect(problem.status).toBe(status)
  expect(problem.title).not.toBe("")
  return problem
}
const refused = async (
  status: number,
  slug: string,
  who: Person | null,
  method: string,
  path: string,
  body?: unknown,
  node = 0
) => problemOf(await stack.request(who, method, path, body, node), status, slug)
/** The pointers of a 422, sorted, each with the part of the request it points into. */
const invalid = async (...args: [who: Person | null, method: string, path: string, body?: unknown, node?: number]) => {
  const { errors } = await refused(422, "validation", ...args)
  return errors!.map((error) => `${error.in} ${error.pointer}`).toSorted()
}
const raw = (path: string, init: RequestInit & { readonly duplex?: "half" }, who: Person = bea) =>
  fetch(`${stack.urls[0]}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${who.token}`, ...(init.headers as Record<string, string> | undefined) }
  })

const objects = () =>
  readdirSync(join(stack.directory, "objects"), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile()
  ).length
const tables = [
  "accounts",
  "organizations",
  "members",
  "tokens",
  "agents",
  "versions",
  "runs",
  "run_events",
  "run_inputs",
  "ledger_lines",
  "credit_accounts",
  "host_enrolments",
  "hosts",
  "run_model"
]
const stored = async () => {
  const rows = await stack.sql<Record<string, number>>(
    (sql) =>
      sql`SELECT ${sql.csv(tables.map((table) => sql`(SELECT count(*)::integer FROM ${sql.literal(table)}) AS ${sql.literal(table)}`))}`
  )
  return { ...rows[0], objects: objects() }
}

/** Tests in it leave everything as it was. */
const storesNothing = () => {
  let before: Awaited<ReturnType<typeof stored>>
  beforeEach(async () => void (before = await stored()))
  afterEach(async () => expect(await stored()).toEqual(before))
}

describe("a request that reaches no handler", () => {
  storesNothing()

  it("[ERR-001] [RATE-003] unknown addresses are 404 problems", async () => {
    for (const [method, path] of [
      ["GET", "/api/v1/nothing"],
      ["POST", "/api/v1/nothing"],
      ["GET", "/nothing"],
      ["POST", "/nothing"]
    ] as const) {
      await refused(404, "not-found", bea, method, path)
      await refused(404, "not-found", null, method, path)
    }
  })

  it("a method that an address does not take is 405 with those it takes", async () => {
    const cases = [
      ["DELETE", "/api/v1/agents", "GET, HEAD, POST"],
      ["PUT", "/api/v1/x/runs/status", "GET, HEAD"],
      ["PATCH", "/api/v1/x/runs/run_01JD8K2Z4W5X6Y7Z8A9B0C1D2E", "GET, HEAD"],
      ["GET", "/api/v1/x/runs/hosts/enrol", "POST"],
      ["POST", "/api/v1/x/runs/staff/model", "DELETE, GET, HEAD, PUT"],
      ["POST", "/api/v1/meta", "GET, HEAD"]
    ] as const
    for (const [method, path, allow] of cases) {
      const answer = await stack.request(bea, method, path)
      expect(answer.headers.get("allow")?.split(", ").toSorted().join(", "), path).toBe(allow)
      await problemOf(answer, 405, "method-not-allowed")
    }
  })

  it("a body of another media type is 415", async () => {
    const text = { "content-type": "text/plain" }
    const send = async (path: string, init: RequestInit) =>
      problemOf(await raw(path, init), 415, "unsupported-media-type")
    await send("/api/v1/agents", { method: "POST", body: "{}", headers: text })
    await send(runs, { method: "POST", body: "{}", headers: text })
    await send(`${runs}inputs?name=a.txt`, { method: "POST", body: "a", headers: text })
    await send("/api/v1/agents/bea/plain/versions", {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" }
    })
  })

  it("a body that is not JSON, or not the form it says it is, is refused", async () => {
    for (const body of ["", "{", "nonsense", "\u0000"]) {
      const answer = await raw("/api/v1/agents", {
        method: "POST",
        body,
        headers: { "content-type": "application/json" }
      })
      const { errors } = await problemOf(answer, 422, "validation")
      expect(errors).toMatchObject([{ in: "body", pointer: "" }])
      expect(JSON.stringify(errors)).not.toContain("SyntaxError")
    }
    const answer = await raw("/api/v1/agents/bea/plain/versions", {
      method: "POST",
      body: "no parts",
      headers: { "content-type": "multipart/form-data; boundary=x" }
    })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
  })

  it("a JSON body past 1 MiB is 413", async () => {
    await refused(413, "too-large", bea, "POST", "/api/v1/agents", {
      namespace: "bea",
      name: "x",
      description: "x".repeat(1_100_000)
    })
  })
})

describe("fields that do not fit", () => {
  storesNothing()
  const bodies: ReadonlyArray<
    readonly [method: string, path: string, body: unknown, pointers: ReadonlyArray<string>, who?: "staff"]
  > = [
    [
      "POST",
      "/api/v1/agents",
      { namespace: "UPPER", name: "", visibility: "hidden", description: "x".repeat(501) },
      ["/description", "/name", "/namespace", "/visibility"]
    ],
    ["POST", "/api/v1/agents", {}, ["/name", "/namespace"]],
    ["POST", "/api/v1/agents", [], [""]],
    ["PATCH", "/api/v1/agents/bea/plain", { visibility: 1, description: null }, ["/description", "/visibility"]],
    ["POST", "/api/v1/user/tokens", { name: "", scopes: [], expiresInDays: 0 }, ["/expiresInDays", "/name", "/scopes"]],
    ["POST", "/api/v1/user/tokens", { name: "x", scopes: ["everything"] }, ["/scopes/0"]],
    ["POST", "/api/v1/orgs", { handle: "-", displayName: "" }, ["/displayName", "/handle"]],
    [
      "POST",
      runs,
      { ref: 5, task: 5, intake: "x", inputs: "x", knowledge: 3, voice: 1, mode: "x", ask_optional_secrets: "x" },
      ["/ask_optional_secrets", "/inputs", "/intake", "/knowledge", "/mode", "/ref", "/task", "/voice"]
    ],
    ["POST", runs, {}, ["/ref"]],
    ["POST", runs, { ref: "bea" }, ["/ref"]],
    ["POST", runs, { ref: "bea/plain", inputs: ["not-an-id"] }, ["/inputs/0"]],
    [
      "POST",
      "/api/v1/x/runs/staff/hosts/enrolments",
      { name: "No Spaces", expiresInSeconds: 1 },
      ["/expiresInSeconds", "/name"],
      "staff"
    ],
    [
      "PUT",
      "/api/v1/x/runs/staff/model",
      { provider: "other", model: "", maxConcurrent: 0, baseUrl: "ftp://x", apiKey: "" },
      ["/apiKey", "/baseUrl", "/maxConcurrent", "/model", "/provider"],
      "staff"
    ],
    ["PUT", "/api/v1/x/runs/staff/model", { provider: "anthropic", model: "some-model-latest" }, ["/model"], "staff"],
    ["PUT", "/api/v1/x/runs/staff/model", { provider: "openai-compatible", model: "m-1" }, ["/baseUrl"], "staff"],
    ["POST", "/api/v1/platform/accounts/bea/credits", { credits: 0 }, ["/credits"], "staff"],
    ["POST", "/api/v1/platform/accounts/bea/credits", { credits: 1.5 }, ["/credits"], "staff"],
    ["PUT", "/api/v1/platform/accounts/bea/tier", { tier: "gold" }, ["/tier"], "staff"],
    [
      "POST",
      "/api/v1/platform/agents/bea/plain/block",
      { version: "one", reason: "" },
      ["/reason", "/version"],
      "staff"
    ],
    ["POST", "/api/v1/review/bea/plain/1.0.0", { decision: "maybe" }, ["/decision", "/reason"], "staff"],
    ["POST", "/api/v1/agents/bea/plain/versions/1.0.0/dispute", { reason: "" }, ["/reason"]],
    [
      "POST",
      "/api/v1/agents/bea/plain/advisories",
      { severity: "grave", affected: "^1.0.0", patched: "one" },
      ["/affected", "/patched", "/severity", "/summary"]
    ],
    [
      "POST",
      "/api/v1/agents/bea/plain/abuse-reports",
      { version: "1", category: "rude", text: "" },
      ["/category", "/text", "/version"]
    ],
    ["POST", "/api/v1/platform/ruleset-releases", { notes: 1 }, ["/notes"], "staff"]
  ]

  it("[ERR-002] each wrong field of a body is named by its pointer", async () => {
    for (const [method, path, body, pointers, who] of bodies) {
      const caller = who === "staff" || path === "/api/v1/user/tokens" ? stack.staff : bea
      expect(await invalid(caller, method, path, body), `${method} ${path}`).toEqual(
        pointers.map((pointer) => `body ${pointer}`)
      )
    }
  })

  it("wrong values of address and query are named with their place", async () => {
    const cases: ReadonlyArray<readonly [path: string, pointers: ReadonlyArray<string>, method?: string]> = [
      ["/api/v1/agents/UPPER/x", ["path /ns"]],
      ["/api/v1/agents/bea/plain/versions/one", ["path /version"]],
      ["/api/v1/agents/bea/plain/archives/sha256:12", ["path /digest"]],
      [
        "/api/v1/agents?mode=sideways&sort=random&limit=many&offset=x",
        ["query /limit", "query /mode", "query /offset", "query /sort"]
      ],
      [`/api/v1/agents?q=${"x".repeat(201)}`, ["query /q"]],
      ["/api/v1/x/runs/none", ["path /id"]],
      ["/api/v1/x/runs/acc_01JD8K2Z4W5X6Y7Z8A9B0C1D2E/cancel", ["path /id"], "POST"],
      ["/api/v1/x/runs/run_01JD8K2Z4W5X6Y7Z8A9B0C1D2E/events?after=x", ["query /after"]],
      ["/api/v1/user/tokens/none", ["path /id"], "DELETE"],
      ["/api/v1/x/runs/inputs", ["query /name"], "POST"],
      ["/api/v1/auth/oidc/oidc/start?next=https://elsewhere.example", ["query /next"]]
    ]
    for (const [path, pointers, method = "GET"] of cases) {
      expect(await invalid(bea, method, path, path.endsWith("inputs") ? new Uint8Array(1) : undefined), path).toEqual(
        pointers
      )
    }
    for (const path of [
      "/api/v1/x/runs/run_01JD8K2Z4W5X6Y7Z8A9B0C1D2E",
      "/api/v1/agents/bea/none",
      "/api/v1/agents/none/plain",
      "/api/v1/agents/bea/plain/versions/9.9.9"
    ]) {
      await refused(404, "not-found", bea, "GET", path)
    }
  })

  it("[PAGE-001] a limit or offset out of range is clamped, not refused", async () => {
    const read = (query: string) => stack.call(bea, "GET", `/api/v1/agents?${query}`)
    expect(await read("limit=100000&offset=-5")).toMatchObject({ limit: 100, offset: 0 })
    expect(await read("limit=0&offset=10001")).toMatchObject({ limit: 20, offset: 10_000 })
    expect(await read("limit=-3")).toMatchObject({ limit: 20 })
  })
})

describe("lists that are read in parts", () => {
  it("[PAGE-002] have the default and the ceiling of limit in the OpenAPI document, and keep to them", async () => {
    interface Operation {
      readonly parameters?: ReadonlyArray<{ readonly name: string; readonly schema: { readonly description?: string } }>
    }
    const { paths } = await stack.call<{ paths: Record<string, { readonly get?: Operation }> }>(
      null,
      "GET",
      "/openapi.json"
    )
    const documented = Object.entries(paths).flatMap(([path, { get }]) => {
      const limit = get?.parameters?.find(({ name }) => name === "limit")
      if (limit === undefined) return []
      const said = /^1 to (\d+), clamped; default (\d+)$/.exec(limit.schema.description ?? "")
      expect(said, `${path}: ${limit.schema.description}`).not.toBe(null)
      return [{ path, most: Number(said![1]), standard: Number(said![2]) }]
    })
    // Long lists of what is read by cursor: a page says its limit by its length.
    const org = await stack.person("orla")
    await stack.org("lists", org)
    for (const path of ["/api/v1/orgs/lists/credits", "/api/v1/credits"]) await stack.call(org, "GET", path)
    await stack.sql(
      (sql) => sql`
        INSERT INTO ledger_lines (payer, reason, subject, balance_delta, held_delta)
        SELECT payer, 'grant', payer || n, 0, 0
        FROM (SELECT DISTINCT payer FROM ledger_lines) payers, generate_series(1, 250) n`
    )
    await stack.sql(
      (sql) => sql`
        INSERT INTO audit_entries (id, at, actor_type, actor_id, action, target, org, detail)
        SELECT 'aud_' || n, now(), 'system', 'test', 'test', 'lists', 'lists', '{}' FROM generate_series(1, 250) n`
    )
    const lengthOf = async (path: string, query: string) => {
      const address = path.replace("{org}", "lists").replace("{ns}", "bea").replace("{name}", "plain")
      const page = await stack.call(org, "GET", `${address}?${query}`)
      return (page.limit ?? (page.items ?? page.lines).length) as number
    }
    for (const path of [
      "/api/v1/agents",
      "/api/v1/agents/{ns}/{name}/versions",
      "/api/v1/credits",
      "/api/v1/orgs/{org}/audit",
      "/api/v1/orgs/{org}/credits",
      "/api/v1/search",
      "/api/v1/user/installs"
    ]) {
      const { most, standard } = documented.find((one) => one.path === path)!
      expect([path, await lengthOf(path, ""), await lengthOf(path, "limit=0")]).toEqual([path, standard, standard])
      expect([path, await lengthOf(path, "limit=100000")]).toEqual([path, most])
    }
  })
})

describe("values at the edge of what can be kept", () => {
  const nul = "a\u0000b"
  const lone = "a\ud800b"
  const id = "01JD8K2Z4W5X6Y7Z8A9B0C1D2E"
  const bodies: ReadonlyArray<readonly [method: string, path: string, body: (text: string) => unknown]> = [
    ["POST", "/api/v1/agents", (text) => ({ namespace: "bea", name: "edge", description: text })],
    ["PATCH", "/api/v1/agents/bea/plain", (text) => ({ description: text })],
    ["POST", "/api/v1/user/tokens", (text) => ({ name: text, scopes: ["agent:read"] })],
    ["POST", "/api/v1/platform/agents/bea/none/block", (text) => ({ version: "1.0.0", reason: text })],
    ["POST", "/api/v1/platform/agents/bea/plain/quarantine", (text) => ({ version: "1.0.0", reason: text })],
    ["PUT", "/api/v1/x/runs/staff/model", (text) => ({ provider: "scripted", model: text })],
    [
      "PUT",
      "/api/v1/x/runs/staff/model",
      (text) => ({ provider: "openai-compatible", model: "m-1", baseUrl: `https://x/${text}` })
    ]
  ]
  const paths = [
    "/api/v1/agents?q=a%00b",
    "/api/v1/agents?q=%ED%A0%80",
    "/api/v1/agents?q=%E0%A4%A",
    "/api/v1/agents?offset=99999999999999999999&limit=1e300",
    "/api/v1/agents/%E0%A4%A/x",
    "/api/v1/agents/a%00b/x",
    "/api/v1/agents/bea/plain/versions/1.0.0/events?after=99999999999",
    "/api/v1/agents/bea/plain/versions/1.0.0/events?after=-99999999999999999999",
    "/api/v1/agents/bea/plain/versions/1.0.0%2Bbuild.1",
    `/api/v1/x/runs/run_${id}/events?after=99999999999`,
    "/api/v1/credits?cursor=a%00b&limit=-1",
    "/api/v1/credits?cursor=99999999999999999999",
    "/api/v1/orgs/staff/audit?cursor=a%00b&action=a%00b&actor=a%00b",
    "/api/v1/auth/oidc/a%00b/start?next=/a",
    "/.well-known/a%00b/signing-keys.json",
    `/api/v1/x/runs/run_${id}/outputs/a%00b`,
    "/api/v1/x/runs?x=%00",
    "//api/v1/agents",
    "/api/v1/../v1/agents"
  ]

  it("is refused or taken, and never an internal error", async () => {
    const failed: Array<string> = []
    for (const who of [bea, stack.staff]) {
      for (const path of paths) {
        const answer = await stack.request(who, "GET", path)
        const text = await answer.text()
        if (answer.status >= 500) failed.push(`GET ${path}: ${answer.status}`)
        if (answer.status >= 400 && !text.includes("/problems/")) failed.push(`GET ${path}: no problem`)
      }
      for (const [method, path, body] of bodies) {
        for (const text of [nul, lone]) {
          const answer = await stack.request(who, method, path, body(text))
          await answer.body?.cancel()
          if (answer.status >= 500) failed.push(`${method} ${path} ${JSON.stringify(text)}: ${answer.status}`)
        }
      }
    }
    const founder = await stack.person("founder")
    const org = await stack.request(founder, "POST", "/api/v1/orgs", { handle: "edge", displayName: nul })
    if (org.status !== 422) failed.push(`POST /api/v1/orgs: ${org.status}`)
    for (const key of ["a\u00e9", "\u0001", "a b"]) {
      const answer = await raw(runs, {
        method: "POST",
        body: JSON.stringify({ ref: "bea/none" }),
        headers: { "content-type": "application/json", "idempotency-key": key }
      }).catch(() => null)
      if (answer !== null && answer.status >= 500) failed.push(`key ${JSON.stringify(key)}: ${answer.status}`)
    }
    expect(failed).toEqual([])
  })
})

describe("Idempotency-Key", () => {
  const keyed = (key: string, body: unknown, path = runs, who = bea) =>
    raw(
      path,
      {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", "idempotency-key": key }
      },
      who
    )

  it("[ERR-004] past 255 characters it is refused; at 255 it is taken", async () => {
    const before = await stored()
    const { errors } = await problemOf(await keyed("k".repeat(256), { ref: "bea/plain" }), 422, "validation")
    expect(errors).toMatchObject([{ in: "header", pointer: "/idempotency-key" }])
    expect(await stored()).toEqual(before)
    await problemOf(await keyed("k".repeat(255), { ref: "bea/none" }), 404, "not-found")
  })

  it("[ERR-003] answers the first answer again, refuses another body, and a refused attempt frees its key", async () => {
    await problemOf(await keyed("first", { ref: "bea/none" }), 404, "not-found")
    const first = await keyed("first", { ref: "bea/plain", task: script({ finish: "done" }) })
    expect(first.status).toBe(201)
    const created = (await first.json()) as { id: string }
    const before = await stored()
    const again = await keyed("first", { ref: "bea/plain", task: script({ finish: "done" }) })
    expect(again.status).toBe(201)
    expect(again.headers.get("idempotent-replayed")).toBe("true")
    expect(again.headers.get("location")).toBe(first.headers.get("location"))
    expect(await again.json()).toEqual(created)
    await problemOf(await keyed("first", { ref: "bea/plain", task: "another" }), 409, "idempotency-conflict")
    // The key of one account is nothing to another.
    await problemOf(await keyed("first", { ref: "bea/none" }, runs, guest), 404, "not-found")
    expect(await stored()).toEqual(before)
    await stack.call(bea, "POST", `${runs}${created.id}/cancel`)
  })

  it("[ERR-004] a key is good for a day; after it the same key asks for something new", async () => {
    const made = async (body: object) => {
      const answer = await keyed("daily", body)
      expect(answer.status).toBe(201)
      const { id } = (await answer.json()) as { id: string }
      await stack.request(bea, "POST", `${runs}${id}/cancel`)
      return id
    }
    const first = await made({ ref: "bea/plain", task: "today" })
    expect(await made({ ref: "bea/plain", task: "today" })).toBe(first)
    await stack.sql(
      (sql) => sql`UPDATE idempotency_keys SET created_at = created_at - interval '25 hours' WHERE key = 'daily'`
    )
    await stack.sql((sql) => sql`UPDATE runs SET created_at = created_at - interval '25 hours' WHERE id = ${first}`)
    expect(await made({ ref: "bea/plain", task: "tomorrow" })).not.toBe(first)
  })

  it("two requests at once with one key make one run", async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => keyed("at once", { ref: "bea/plain", task: "once" })))
    const made = answers.filter(({ status }) => status === 201)
    expect(answers.map(({ status }) => status).every((status) => status === 201 || status === 409)).toBe(true)
    const ids = new Set(await Promise.all(made.map(async (answer) => ((await answer.json()) as { id: string }).id)))
    expect(ids.size).toBe(1)
    await stack.call(bea, "POST", `${runs}${[...ids][0]}/cancel`)
  })
})

describe("a run that cannot be", () => {
  storesNothing()
  const create = (status: number, slug: string, request: object, who = bea, node = 0) =>
    refused(status, slug, who, "POST", runs, request, node)
  const id = "inp_01JD8K2Z4W5X6Y7Z8A9B0C1D2E"
  const pack = (index: number) => `pak_${index}`

  it("[RUN-020] a task over 64 KB is 413, counted in bytes", async () => {
    await create(413, "too-large", { ref: "bea/plain", task: "x".repeat(65_537) })
    await create(413, "too-large", { ref: "bea/plain", task: "é".repeat(32_769) })
    // At the limit it is not the size that is refused.
    await create(404, "not-found", { ref: "bea/none", task: "x".repeat(65_536) })
  })

  it("[RUN-022] [RUN-024] [RUN-025] more than 20 inputs or 5 packs are 413, a pack named twice is 422", async () => {
    await create(413, "too-large", { ref: "bea/plain", inputs: Array.from({ length: 21 }, () => id) })
    await create(413, "too-large", { ref: "bea/plain", knowledge: [1, 2, 3, 4, 5, 6].map(pack) })
    expect(await invalid(bea, "POST", runs, { ref: "bea/plain", knowledge: [pack(1), pack(1)] })).toEqual([
      "body /knowledge"
    ])
    expect(await invalid(bea, "POST", runs, { ref: "bea/plain", inputs: [id, id] })).toEqual(["body /inputs"])
  })

  it("[RUN-021] intake answers that do not fit the release are named one by one", async () => {
    const asked = (intake: unknown) => invalid(bea, "POST", runs, { ref: "bea/asks", intake })
    expect(await asked({})).toEqual(["body /intake/count"])
    expect(await asked({ count: "three", tone: "loud", extra: 1 })).toEqual([
      "body /intake/count",
      "body /intake/extra",
      "body /intake/tone"
    ])
    expect(await asked([])).toEqual(["body /intake"])
  })

  it("[RUN-065] [RUN-019] a release that is not there is 404, and without a ref nothing is asked for", async () => {
    for (const ref of ["bea/none", "none/plain", "bea/plain@9.9.9"]) await create(404, "not-found", { ref })
    expect(await invalid(bea, "POST", runs, { task: "x" })).toEqual(["body /ref"])
  })

  it("[RUN-072] a mode that the release lacks is 409 mode-not-declared", () =>
    create(409, "mode-not-declared", { ref: "bea/plain", mode: "interactive" }))
  it("[SESS-003] interactive is 409 sessions-unavailable here", () =>
    create(409, "sessions-unavailable", { ref: "bea/both", mode: "interactive" }))
  it("[RUN-073] the public web is 409 browser-public-web unless it is switched on", () =>
    create(409, "browser-public-web", { ref: "bea/public-web" }))

  it("[RUN-074] a site that is no http or https address is 422", async () => {
    for (const site of ["ftp://files.example.com/", "javascript:alert(1)", "example.com", 5]) {
      expect(await invalid(bea, "POST", runs, { ref: "bea/site", intake: { site } })).toEqual(["body /intake/site"])
    }
  })

  it("[RUN-076] a site that no host can open is 409 browser-site with its question", async () => {
    const sites = [
      "http://127.0.0.1/",
      "http://10.1.2.3/",
      "http://169.254.169.254/latest",
      "http://[::1]/",
      "http://[fd00::1]/",
      "http://192.168.0.1",
      "http://intranet/",
      "http://a.localhost/",
      "http://printer.local/",
      "http://x.internal/",
      "http://x.home.arpa/",
      "https://example.com:8443/",
      "http://2130706433/",
      "http://x.INTERNAL./"
    ]
    for (const site of sites) {
      expect(await create(409, "browser-site", { ref: "bea/site", intake: { site } }), site).toMatchObject({
        question: "site"
      })
    }
  })

  it("[RUN-075] more than 32 required secrets are 422", async () => {
    expect(await invalid(bea, "POST", runs, { ref: "bea/vault" })).toEqual(["body /ref"])
  })

  it("[RUN-080] a release that requires a secret is 409 secrets-declared, which names them", async () => {
    expect(await create(409, "secrets-declared", { ref: "bea/keys" })).toMatchObject({
      required: ["API_TOKEN"],
      secrets: ["API_TOKEN", "EXTRA"]
    })
  })

  it("an OAuth server is 409 connections-unsupported, which names it", async () => {
    expect(await create(409, "connections-unsupported", { ref: "bea/linked" })).toMatchObject({ connections: ["mail"] })
  })

  it("[RUN-084] [RUN-087] knowledge needs its scope and is 503 without a store; a voice is 503", async () => {
    expect(await create(403, "forbidden", { ref: "bea/plain", knowledge: [pack(1)] })).toMatchObject({
      required: ["knowledge:read"]
    })
    const post = (body: object) =>
      fetch(`${stack.urls[0]}${runs}`, {
        method: "POST",
        headers: { cookie: bea.session.cookie, "x-csrf-token": bea.session.csrf, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
    await problemOf(await post({ ref: "bea/plain", knowledge: [pack(1)] }), 503, "knowledge-attach-unavailable")
    await problemOf(await post({ ref: "bea/plain", voice: true }), 503, "voice-build-unavailable")
  })

  it("[RUN-089] [RUN-030] a deployment without a sealing key takes no run and no input, and says so", async () => {
    await create(503, "runs-unavailable", { ref: "bea/plain" }, bea, keyless)
    await refused(503, "runs-unavailable", bea, "POST", `${runs}inputs?name=a.txt`, new Uint8Array(3), keyless)
    await refused(
      503,
      "runs-unavailable",
      stack.staff,
      "PUT",
      "/api/v1/x/runs/staff/model",
      { provider: "anthropic", model: "m-1", apiKey: "k" },
      keyless
    )
    expect(await stack.call(bea, "GET", "/api/v1/x/runs/status", undefined, keyless)).toMatchObject({
      available: false
    })
  })

  it("[RUN-077] a balance short of the hold is 402 with what is missing", async () => {
    await stack.sql((sql) => sql`UPDATE credit_accounts SET balance = 19 WHERE payer = 'poor'`)
    const problem = await create(402, "credits-exhausted", { ref: "bea/plain" }, poor)
    expect(problem).toMatchObject({ account: "poor", balance: 19, hold: 20, tier: "standard" })
    expect(new Date(problem["resetsAt"] as string).getTime()).toBeGreaterThan(Date.now())
  })
})

describe("a run that cannot be, because of what is there", () => {
  it("[RUN-078] an organization whose subscription is not in force runs nothing", async () => {
    const lena = await stack.person("lena")
    await stack.org("lapsed", lena)
    await stack.call(lena, "GET", "/api/v1/orgs/lapsed/credits")
    await stack.sql((sql) => sql`UPDATE organizations SET subscription = 'restricted' WHERE handle = 'lapsed'`)
    const before = await stored()
    expect(await refused(402, "subscription-inactive", lena, "POST", runs, { ref: "bea/plain" })).toMatchObject({
      account: "lapsed",
      standing: "restricted",
      tier: "standard"
    })
    expect(await stored()).toEqual(before)
  })

  it("[RUN-081] [RUN-044] one active run an account: the second is 409 run-active, also when many are asked for at once", async () => {
    const { id } = await stack.call<{ id: string }>(bea, "POST", runs, { ref: "bea/plain", task: "one" })
    const held = await stack.call(bea, "GET", "/api/v1/credits")
    expect(held).toMatchObject({ balance: 80, held: 20 })
    const before = await stored()
    await refused(409, "run-active", bea, "POST", runs, { ref: "bea/plain", task: "two" })
    expect(await stored()).toEqual(before)
    await stack.call(bea, "POST", `${runs}${id}/cancel`)
    const answers = await Promise.all(
      [0, 1, 0, 1, 0, 0].map((node) => stack.request(guest, "POST", runs, { ref: "bea/plain", task: "race" }, node))
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await stack.call(guest, "GET", "/api/v1/credits")).toMatchObject({ balance: 80, held: 20 })
    const { items } = await stack.call<{ items: ReadonlyArray<{ id: string }> }>(guest, "GET", runs)
    expect(items).toHaveLength(1)
    await stack.call(guest, "POST", `${runs}${items[0].id}/cancel`)
  })

  it("[RUN-023] an input of someone else, of another run, or of nobody is 422", async () => {
    const upload = (who: Person, name = "a.txt") =>
      stack.call<{ id: string }>(who, "POST", `${runs}inputs?name=${name}`, new TextEncoder().encode("a"))
    const theirs = await upload(guest)
    const [mine, twin, below] = [await upload(bea), await upload(bea), await upload(bea, "a.txt/b.txt")]
    const before = await stored()
    const refusedInputs = (inputs: ReadonlyArray<string>) => invalid(bea, "POST", runs, { ref: "bea/plain", inputs })
    expect(await refusedInputs([theirs.id])).toEqual(["body /inputs/0"])
    expect(await refusedInputs([mine.id, "inp_01JD8K2Z4W5X6Y7Z8A9B0C1D2E"])).toEqual(["body /inputs/1"])
    expect(await refusedInputs([mine.id, twin.id])).toEqual(["body /inputs/1"])
    expect(await refusedInputs([mine.id, below.id])).toEqual(["body /inputs/1"])
    expect(await refusedInputs([below.id, mine.id])).toEqual(["body /inputs/1"])
    expect(await stored()).toEqual(before)
    const run = await stack.call<{ id: string }>(bea, "POST", runs, {
      ref: "bea/plain",
      task: "one",
      inputs: [mine.id]
    })
    await stack.call(bea, "POST", `${runs}${run.id}/cancel`)
    expect(await refusedInputs([mine.id])).toEqual(["body /inputs/0"])
  })
})

describe("an input that cannot be", () => {
  storesNothing()

  it("[RUN-082] over 10 MB it is 413, whether its length is told or not", async () => {
    const over = new Uint8Array(10 * 1024 * 1024 + 1)
    await refused(413, "too-large", bea, "POST", `${runs}inputs?name=big.bin`, over)
    let left = 11
    const chunks = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(new Uint8Array(1024 * 1024)) : controller.close())
    })
    const answer = await raw(`${runs}inputs?name=big.bin`, {
      method: "POST",
      body: chunks,
      duplex: "half",
      headers: { "content-type": "application/octet-stream" }
    })
    await problemOf(answer, 413, "too-large")
  })

  it("that breaks off half-way leaves nothing", async () => {
    const breaks = new AbortController()
    const chunks = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        controller.enqueue(new Uint8Array(256 * 1024))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    const sent = raw(`${runs}inputs?name=half.bin`, {
      method: "POST",
      body: chunks,
      duplex: "half",
      signal: breaks.signal,
      headers: { "content-type": "application/octet-stream" }
    }).catch(() => null)
    const temporary = objects()
    await until(
      async () => objects(),
      (count) => count > temporary
    )
    breaks.abort()
    expect(await sent).toBeNull()
    expect(
      await until(
        async () => objects(),
        (count) => count === temporary
      )
    ).toBe(temporary)
  })

  it("[RUN-058] its name is a clean relative one", async () => {
    for (const name of [
      "/etc/passwd",
      "../up",
      "a/../b",
      "a//b",
      "./a",
      "a/",
      "a%5Cb",
      "a%00b",
      "a%0Ab",
      "",
      "x".repeat(256),
      "é".repeat(128),
      `a/${"é".repeat(128)}`,
      "."
    ]) {
      expect(await invalid(bea, "POST", `${runs}inputs?name=${name}`, new Uint8Array(1)), name).toEqual(["query /name"])
    }
  })
})

describe("an archive that cannot be", () => {
  storesNothing()
  const path = "/api/v1/agents/bea/plain/versions"
  const submitted = (status: number, slug: string, archive: Uint8Array<ArrayBuffer>) =>
    refused(status, slug, bea, "POST", path, form(archive))
  const manifest = (change: (text: string) => string): PackageFiles => {
    const files = scriptedAgent("bea/plain", "2.0.0")
    return { ...files, "agent.yaml": change(files["agent.yaml"]) }
  }
  const gzipped = (text: string) => new Uint8Array(gzipSync(text))

  it("[LIMIT-002] past its size it is 413", async () => {
    await submitted(413, "too-large", new Uint8Array(archiveMaxBytes + 1))
    await submitted(413, "too-large", new Uint8Array(11.5 * 1024 * 1024))
  })

  it("is 422 at /archive when it is no package of this agent", async () => {
    const refusedArchives: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {
      empty: new Uint8Array(0),
      "not gzip": new TextEncoder().encode("not an archive"),
      "not a tar": gzipped("nothing like a tar ".repeat(100)),
      "a bomb": new Uint8Array(gzipSync(Buffer.alloc(62 * 1024 * 1024))),
      "no agent.yaml": archiveOf({ "AGENT.md": "# x" }),
      "agent.yaml below": archiveOf({ "inner/agent.yaml": scriptedAgent("bea/plain", "2.0.0")["agent.yaml"] }),
      "not YAML": archiveOf(manifest(() => "name: [")),
      "no mapping": archiveOf(manifest(() => "just text")),
      "another name": archiveOf(scriptedAgent("bea/other", "2.0.0")),
      "another namespace": archiveOf(scriptedAgent("guest/plain", "2.0.0")),
      "no version": archiveOf(manifest((text) => text.replace("version: 2.0.0\n", ""))),
      "a loose version": archiveOf(manifest((text) => text.replace("version: 2.0.0", "version: v2"))),
      "a version that YAML reads as a number": archiveOf(
        manifest((text) => text.replace("version: 2.0.0", "version: 2.0"))
      ),
      "a manifest past 64 KiB": archiveOf(manifest((text) => `${text}# ${"x".repeat(65_536)}`)),
      "anchors that multiply": archiveOf(
        manifest(() => "a: &a [1]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n")
      )
    }
    for (const [what, archive] of Object.entries(refusedArchives)) {
      expect(await invalid(bea, "POST", path, form(archive)), what).toEqual(["body /archive"])
    }
  })

  it("[AGENT-012] a version that exists is 409, and a form without its part is 422", async () => {
    await submitted(409, "version-exists", archiveOf(scriptedAgent("bea/plain", "1.0.0")))
    const empty = new FormData()
    empty.set("other", "x")
    expect(await invalid(bea, "POST", path, empty)).toEqual(["body /archive"])
    await refused(404, "not-found", guest, "POST", path, form(archiveOf(scriptedAgent("bea/plain", "2.0.0"))))
  })

  it("a name that is taken is 409, and a namespace of someone else 404", async () => {
    await refused(409, "name-taken", bea, "POST", "/api/v1/agents", { namespace: "bea", name: "plain" })
    await refused(404, "not-found", guest, "POST", "/api/v1/agents", { namespace: "bea", name: "new" })
  })
})

describe("a hostile archive with a sound manifest in front", () => {
  const hostile: ReadonlyArray<readonly [what: string, Entry]> = [
    ["a path that climbs", { path: "../evil.md", content: "x" }],
    ["an absolute path", { path: "/etc/evil", content: "x" }],
    ["a symbolic link", { path: "link", type: "2", link: "/etc/passwd" }],
    ["a hard link", { path: "hard", type: "1", link: "AGENT.md" }],
    ["a device", { path: "null", type: "3" }],
    ["a fifo", { path: "pipe", type: "6" }],
    ["a second AGENT.md", { path: "AGENT.md", content: "another" }],
    ["a name that differs in case alone", { path: "agent.MD", content: "x" }],
    ["a wrong checksum", { path: "a.md", content: "x", checksum: 1 }],
    ["a bomb", { path: "zeros.bin", content: Buffer.alloc(12 * 1024 * 1024) }]
  ]

  it("is blocked by the scan, is served to nobody and runs for nobody", async () => {
    await createAgent(stack, bea, "bea/hostile")
    for (const [index, [what, evil]] of hostile.entries()) {
      const version = `0.0.${index}`
      const sound = scriptedAgent("bea/hostile", version)
      const archive = rawArchive([
        ...Object.keys(sound)
          .toSorted((a, b) => (a === "agent.yaml" ? -1 : b === "agent.yaml" ? 1 : 0))
          .map((path) => ({ path, content: sound[path] })),
        evil
      ])
      const answer = await stack.request(bea, "POST", "/api/v1/agents/bea/hostile/versions", form(archive))
      expect(answer.status, what).toBe(202)
      const seen = await until(
        () => stack.call<AgentVersion>(bea, "GET", `/api/v1/agents/bea/hostile/versions/${version}`),
        ({ status }) => status !== "scanning"
      )
      expect(seen, what).toMatchObject({ status: "blocked", signed: false })
      expect(seen.holding!.length, what).toBeGreaterThan(0)
      await refused(410, "blocked", bea, "GET", seen.archive.href)
      await refused(404, "not-found", guest, "POST", runs, { ref: `bea/hostile@${version}` })
    }
    await refused(404, "not-found", guest, "POST", runs, { ref: "bea/hostile" })
    expect(await stack.call(guest, "GET", "/api/v1/agents/bea/hostile")).toMatchObject({ latestVersion: null })
  })
})

describe("too many requests", () => {
  it("[RATE-003] [RATE-004] are 429 with Retry-After for an address, and an account has a bucket of its own", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => stack.request(null, "GET", "/api/v1/meta", undefined, keyless))
    )
    const late = answers.find(({ status }) => status === 429)!
    expect(late.headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
    expect(late.headers.get("ratelimit-remaining")).toBe("0")
    await problemOf(late, 429, "rate-limited")
    expect(await stack.call(bea, "GET", "/api/v1/meta", undefined, keyless)).toMatchObject({ extensions: ["runs"] })
  })
})
