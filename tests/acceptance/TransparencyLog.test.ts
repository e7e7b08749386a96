/**
 * The transparency log as strangers see it: read and checked by programs that
 * share no code with the registry, also through a proxy that alters what the
 * registry says, and after somebody with the database's and the signing key's
 * power has changed the past.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { scriptedAgent } from "../stack/Packages.ts"
import { publish, submit, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
let stack: Stack
let olli: Person
let desk: string
let proxy: Server
/** What the proxy makes of an answer to this path; the registry's own when undefined. */
let alter: ((path: string, body: Buffer) => Buffer | 404 | undefined) | undefined

const proxyUrl = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

beforeAll(async () => {
  desk = mkdtempSync(join(tmpdir(), "quickagents-log-"))
  stack = await startStack({ postgres: inject("postgresUrl"), nodes: 1 })
  olli = await stack.person("olli")
  proxy = createServer((request, response) => {
    fetch(`${stack.urls[0]}${request.url}`)
      .then(async (answer) => {
        const body = Buffer.from(await answer.arrayBuffer())
        const altered = alter?.(request.url!.replace("/api/v1/log/", ""), body)
        if (altered === 404) response.writeHead(404).end()
        else response.writeHead(answer.status).end(altered ?? body)
      })
      .catch(() => response.writeHead(502).end())
  })
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening))
})
afterAll(async () => {
  proxy?.close()
  await stack?.stop()
  rmSync(desk, { recursive: true, force: true })
})

interface Ended {
  readonly code: number
  readonly said: string
}
const node = (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) =>
  new Promise<Ended>((resolve) => {
    const child = execFile(
      process.execPath,
      args,
      {
        cwd: root,
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          XDG_CONFIG_HOME: desk,
          ...environment
        }
      },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, said: stdout + stderr })
    )
  })
const as = (person: Person) => ({ QUICKAGENTS_TOKEN: person.token })
const auditor = (args: ReadonlyArray<string> = [], registry = stack.urls[0], environment = {}) =>
  node(["examples/verify-log.mjs", "--registry", registry, ...args], environment)
const quickagent = (ref: string, registry = stack.urls[0], environment = {}) =>
  node(["apps/cli/src/main.ts", "verify", ref, "--registry", registry], environment)
const state = (name: string) => ["--state", join(desk, `${name}.json`)]

const log = (path: string, who: Person | null = null) => stack.request(who, "GET", `/api/v1/log/${path}`)
const bytes = async (path: string) => {
  const answer = await log(path)
  expect(answer.status, path).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}
const checkpoint = async () => {
  const note = await (await log("checkpoint")).text()
  const [origin, size, root] = note.split("\n")
  return { note, origin, size: Number(size), root }
}
const sized = (size: number) =>
  until(
    () => checkpoint(),
    (found) => found.size >= size
  )
const inclusion = (ref: string, who: Person | null = null) =>
  stack.call(who, "GET", `/api/v1/log/proof/inclusion?ref=${encodeURIComponent(ref)}`)

/** Versions of olli's public agent as the gate would leave them, without an archive. */
const publishMany = (from: number, to: number) =>
  stack.sql(
    (
      sql
    ) => sql`INSERT INTO versions (id, agent_id, version, status, archive_digest, archive_bytes, manifest_schema_version, scan_status,
        attestation, source_kind, submitted_by, created_at, progressed_at, published_at)
      SELECT 'ver_many_' || n, a.id, '2.0.' || n, 'published', 'sha256:' || lpad(to_hex(n), 64, '0'), 1, 2, 'scanned',
        jsonb_build_object('payloadType', 't', 'payload', n::text, 'signatures', jsonb_build_array(jsonb_build_object('keyid', 'k', 'sig', n::text))),
        'upload', ${olli.accountId}, now(), now(), now()
      FROM agents a, generate_series(${from}::integer, ${to - 1}::integer) n WHERE a.namespace = 'olli' AND a.name = 'steps'`
  )

describe("the transparency log", () => {
  it("holds a published release some seconds later, and proves it", async () => {
    expect(await checkpoint()).toMatchObject({ size: 0, root: createHash("sha256").digest("base64") })
    expect((await auditor()).code).toBe(0)
    const { archive } = await publish(stack, olli, scriptedAgent("olli/steps", "1.0.0"))
    const { origin, size } = await sized(1)
    expect([origin, size]).toEqual([`${stack.urls[0].slice("http://".length)}/api/v1/log`, 1])
    const proof = await inclusion("olli/steps@1.0.0")
    expect(proof).toMatchObject({ leafIndex: 0, treeSize: 1, hashes: [], opening: null })
    expect(JSON.parse(proof.entry)).toMatchObject({ ref: "olli/steps@1.0.0", archive: archive.digest })
    expect(await stack.call(null, "GET", `/api/v1/log/proof/inclusion?leaf=${proof.leafHash}&size=1`)).toEqual(proof)
    expect((await log("checkpoint")).headers.get("content-type")).toBe("text/plain; charset=utf-8")
    const checked = await auditor([...state("first"), "olli/steps@1.0.0"])
    expect(checked, checked.said).toMatchObject({ code: 0 })
    expect(checked.said).toContain("it is entry 0 of the log")
    const verified = await quickagent("olli/steps@1.0.0")
    expect(verified, verified.said).toMatchObject({ code: 0 })
  })

  it("tells of a private agent's release nothing but that there is one, and proves it to its readers", async () => {
    await publish(stack, olli, scriptedAgent("olli/secret", "1.0.0"), "private")
    await sized(2)
    expect((await bytes("tile/entries/000.p/2")).toString()).not.toContain("secret")
    expect((await log(`proof/inclusion?ref=${encodeURIComponent("olli/secret@1.0.0")}`)).status).toBe(404)
    const proof = await inclusion("olli/secret@1.0.0", olli)
    expect(proof.opening).toMatchObject({ ref: "olli/secret@1.0.0", salt: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect((await stack.call(olli, "GET", `/api/v1/log/proof/inclusion?leaf=${proof.leafHash}`)).opening).toBeNull()
    for (const check of [
      auditor(["olli/secret@1.0.0"], stack.urls[0], as(olli)),
      quickagent("olli/secret@1.0.0", stack.urls[0], as(olli))
    ]) {
      const checked = await check
      expect(checked, checked.said).toMatchObject({ code: 0 })
    }
    expect((await auditor(["olli/secret@1.0.0"])).code).toBe(3)
    expect((await quickagent("olli/secret@1.0.0")).code).toBe(1)
  })

  it("shows it in clear once it is public, as a reader without a credential demands", async () => {
    await stack.call(olli, "PATCH", "/api/v1/agents/olli/secret", { visibility: "public" })
    await sized(3)
    expect(await inclusion("olli/secret@1.0.0")).toMatchObject({ leafIndex: 2, opening: null })
    const checked = await auditor(["olli/secret@1.0.0"], stack.urls[0], as(olli))
    expect(checked, checked.said).toMatchObject({ code: 0 })
    expect(checked.said).toContain("it is entry 2 of the log")
  })

  it("has nothing of a version that was not published", async () => {
    const held = await submit(
      stack,
      olli,
      scriptedAgent("olli/steps", "1.1.0", { files: { "notes.txt": "ghp_0123456789abcdefghijABCDEFGHIJ012345\n" } })
    )
    expect(held.status).toBe("needs_review")
    const answer = await log(`proof/inclusion?ref=${encodeURIComponent("olli/steps@1.1.0")}`, olli)
    expect([answer.status, ((await answer.json()) as { type: string }).type]).toEqual([409, "/problems/not-logged"])
  })

  it("serves full tiles for ever and partial ones for a while", async () => {
    await publishMany(0, 300)
    await sized(303)
    const full = await log("tile/0/000")
    expect(full.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    expect(full.headers.get("content-type")).toBe("application/octet-stream")
    const hashes = Buffer.from(await full.arrayBuffer())
    expect(hashes.length).toBe(256 * 32)
    const partial = await log("tile/0/001.p/47")
    expect(partial.headers.get("cache-control")).toBe("public, max-age=3600")
    expect(Buffer.from(await partial.arrayBuffer()).length).toBe(47 * 32)
    expect((await bytes("tile/0/000.p/5")).equals(hashes.subarray(0, 5 * 32))).toBe(true)
    expect((await bytes("tile/1/000.p/1")).length).toBe(32)
    const checked = await auditor(state("first"))
    expect(checked, checked.said).toMatchObject({ code: 0 })
    expect(checked.said).toContain("the log begins with the 1 entries")
    const verified = await quickagent("olli/steps@1.0.0")
    expect(verified.said).toContain("only grew since its 2 entries")
  })

  it("refuses what is no tile, no leaf and no size", async () => {
    const answers: Array<readonly [string, number]> = [
      ["tile/0/002", 404],
      ["tile/0/001", 404],
      ["tile/0/001.p/48", 404],
      ["tile/1/000", 404],
      ["tile/9/000", 404],
      ["tile/entries/x999/999.p/255", 404],
      ["tile/0/0", 422],
      ["tile/64/000", 422],
      ["tile/data/000", 422],
      ["tile/0/000.p/0", 422],
      ["tile/0/000.p/256", 422],
      ["tile/0/x000/001", 422],
      ["proof/inclusion", 422],
      ["proof/inclusion?ref=olli/steps", 422],
      [`proof/inclusion?ref=olli/steps@1.0.0&leaf=${"0".repeat(64)}`, 422],
      [`proof/inclusion?leaf=${"0".repeat(64)}`, 404],
      ["proof/inclusion?leaf=zz", 422],
      ["proof/inclusion?ref=olli/steps@1.0.0&size=0", 422],
      ["proof/inclusion?ref=olli/steps@1.0.0&size=304", 422],
      ["proof/inclusion?ref=olli/steps@1.0.0&size=-1", 422],
      ["proof/inclusion?ref=olli/nothing@1.0.0", 404],
      ["proof/inclusion?ref=olli/steps@9.9.9", 404],
      ["proof/consistency", 422],
      ["proof/consistency?first=1", 422],
      ["proof/consistency?first=2&second=1", 422],
      ["proof/consistency?first=0&second=304", 422],
      ["proof/consistency?first=1.5&second=2", 422],
      ["proof/consistency?first=a&second=2", 422],
      ["proof/consistency?first=0&second=99999999999", 422]
    ]
    for (const [path, status] of answers) {
      const answer = await log(path)
      expect([path, answer.status, answer.headers.get("content-type")]).toEqual([
        path,
        status,
        "application/problem+json"
      ])
    }
    expect((await log("proof/consistency?first=0&second=303")).status).toBe(200)
  })

  describe("is not believed", () => {
    const flipped = (body: Buffer, at: number) => {
      const copy = Buffer.from(body)
      copy[at] = copy[at] ^ 1
      return copy
    }
    const cases: ReadonlyArray<readonly [string, string, NonNullable<typeof alter>]> = [
      [
        "an altered entry",
        "do not give the checkpoint's root",
        (path, body) => (path === "tile/entries/000" ? flipped(body, 30) : undefined)
      ],
      [
        "a dropped entry",
        "is too short",
        (path, body) => (path === "tile/entries/000" ? body.subarray(2 + body.readUInt16BE(0)) : undefined)
      ],
      [
        "an altered tile",
        "tile/0/001.p/47 is not what the entries give",
        (path, body) => (path === "tile/0/001.p/47" ? flipped(body, 3) : undefined)
      ],
      [
        "an altered tile above",
        "tile/1/000.p/1 is not",
        (path, body) => (path === "tile/1/000.p/1" ? flipped(body, 3) : undefined)
      ],
      ["a missing tile", "does not have tile/0/001.p/47", (path) => (path === "tile/0/001.p/47" ? 404 : undefined)],
      [
        "an altered size",
        "no signing key",
        (path, body) => (path === "checkpoint" ? Buffer.from(body.toString().replace("\n303\n", "\n302\n")) : undefined)
      ],
      [
        "an altered signature",
        "no signing key",
        (path, body) => (path === "checkpoint" ? flipped(body, body.length - 10) : undefined)
      ],
      [
        "another text",
        "the checkpoint is not one",
        (path) => (path === "checkpoint" ? Buffer.from("no checkpoint") : undefined)
      ]
    ]
    for (const [what, said, how] of cases) {
      it(`with ${what}`, async () => {
        alter = how
        const checked = await auditor([], proxyUrl())
        alter = undefined
        expect(checked.code, checked.said).toBe(1)
        expect(checked.said).toContain("FAIL")
        expect(checked.said).toContain(said)
      })
    }

    it("by quickagent", async () => {
      alter = (path, body) =>
        path.startsWith("proof/inclusion")
          ? Buffer.from(body.toString().replace('"leafIndex":0', '"leafIndex":1'))
          : undefined
      const checked = await quickagent("olli/steps@1.0.0", proxyUrl())
      alter = undefined
      expect(checked, checked.said).toMatchObject({ code: 10 })
    })
  })

  it("is signed by the new key after a rotation, and nothing of it changes", async () => {
    const before = await checkpoint()
    expect((await auditor(state("rotation"))).code).toBe(0)
    for (const node of stack.nodes) {
      await node.kill("SIGTERM")
      node.start({ SERVICE_KEYS_SIGNING_KEY: Buffer.alloc(32, 7).toString("base64") })
    }
    await until(
      () =>
        Promise.all(
          stack.urls.map((url) =>
            fetch(`${url}/readyz`).then(
              ({ ok }) => ok,
              () => false
            )
          )
        ),
      (ready) => ready.every(Boolean)
    )
    const after = await checkpoint()
    expect([after.size, after.root]).toEqual([before.size, before.root])
    expect(after.note).not.toBe(before.note)
    await until(
      () => stack.call(null, "GET", "/api/v1/agents/olli/steps/versions/1.0.0/attestation"),
      ({ signatures }) => signatures.length === 2
    )
    const checked = await auditor([...state("rotation"), "olli/steps@1.0.0"])
    expect(checked, checked.said).toMatchObject({ code: 0 })
    expect(checked.said).toContain("another key signs now")
  })

  describe("with a past that the registry itself has changed", () => {
    /** The log made anew, signed and whole in itself, over what waits. */
    const remade = async (waits: string) => {
      await stack.sql((sql) => sql`DROP TRIGGER log_checkpoints_stay ON log_checkpoints`).catch(() => {})
      await stack.sql((sql) => sql`TRUNCATE log_entries, log_nodes`)
      await stack.sql((sql) => sql`DELETE FROM log_checkpoints WHERE size > 0`)
      await stack.sql((sql) => sql.unsafe(`INSERT INTO log_pending (version_id) ${waits} ON CONFLICT DO NOTHING`))
      return until(
        () => stack.sql<{ count: number }>((sql) => sql`SELECT count(*)::integer AS count FROM log_pending`),
        ([row]) => row.count === 0
      )
    }
    const published = "SELECT v.id FROM versions v JOIN agents a ON a.id = v.agent_id WHERE published_at IS NOT NULL"

    it("is caught when it attests something else for a release", async () => {
      // The entry is given to another version, so that this one seems never to have been logged.
      await stack.sql((sql) => sql`ALTER TABLE log_entries DISABLE TRIGGER log_entries_stay`)
      await stack.sql((sql) => sql`ALTER TABLE log_entries DROP CONSTRAINT log_entries_once`)
      await stack.sql(
        (sql) => sql`UPDATE log_entries SET version_id = 'ver_many_298' WHERE version_id = 'ver_many_299'`
      )
      await stack.sql(
        (sql) =>
          sql`UPDATE versions SET attestation = jsonb_set(attestation, '{payload}', '"another"') WHERE id = 'ver_many_299'`
      )
      await stack.sql((sql) => sql`INSERT INTO log_pending (version_id) VALUES ('ver_many_299')`)
      await sized(304)
      const checked = await auditor(state("first"))
      expect(checked.code, checked.said).toBe(1)
      expect(checked.said).toContain("olli/steps@2.0.299 was attested twice")
    })

    it("is caught when a leaf is dropped: by who asks for the release, and by who remembers the log", async () => {
      await publishMany(300, 310)
      await remade(
        `${published} AND v.id NOT IN ('ver_many_299') AND NOT (a.name = 'steps' AND v.version = '1.0.0') ORDER BY v.id`
      )
      expect((await auditor()).code).toBe(0)
      const asked = await auditor(["olli/steps@1.0.0"])
      expect(asked.code, asked.said).toBe(1)
      expect(asked.said).toContain("olli/steps@1.0.0 is not in the log")
      const rememberedBy = await auditor(state("first"))
      expect(rememberedBy.code, rememberedBy.said).toBe(1)
      expect(rememberedBy.said).toContain("the first 303 entries are not those that they were")
      expect(rememberedBy.said.match(/^— /gm)).toHaveLength(2)
    })

    it("is caught when two people are shown different logs and compare them", async () => {
      await remade(`${published} ORDER BY v.id`)
      const mine = await auditor([...state("mine"), "olli/steps@1.0.0"])
      expect(mine, mine.said).toMatchObject({ code: 0 })
      const seen = readFileSync(join(desk, "mine.json"), "utf8")
      await remade(`${published} ORDER BY v.id DESC`)
      expect((await auditor(["olli/steps@1.0.0"])).code).toBe(0)
      const compared = await auditor(state("mine"))
      expect(compared.code, compared.said).toBe(1)
      // What does not hold is never remembered.
      expect(readFileSync(join(desk, "mine.json"), "utf8")).toBe(seen)
      const verified = await quickagent("olli/steps@1.0.0")
      expect(verified.code, verified.said).toBe(10)
    })
  })
})
