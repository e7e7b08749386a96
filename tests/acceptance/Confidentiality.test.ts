/**
 * No text of a run and no secret is readable in anything that was written: the
 * test sends marked strings through runs that end in different ways, then reads
 * every byte of the database, the object store, the host and the logs.
 */
import { randomBytes } from "node:crypto"
import { readdirSync } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import { createAgent, ended, runIs, runToEnd, script, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

/** In front of every string that must not be found. */
const hushed = `hushed${randomBytes(6).toString("hex")}`
/** In the name of an agent, which is no secret: found wherever the search really looks. */
const unhushed = `open${randomBytes(6).toString("hex")}`
const sealingKey = randomBytes(32)
const mark = (what: string) => `${hushed} ${what} text`

let stack: Stack
let cara: Person
const secrets = new Map<string, ReadonlyArray<Buffer>>()

/** As it is, and as hex and base64 write it wherever in a longer string it stands. */
const encodings = (text: string): ReadonlyArray<Buffer> => [
  Buffer.from(text),
  Buffer.from(text, "utf16le"),
  Buffer.from(Buffer.from(text).toString("hex")),
  ...[0, 1, 2].map((offset) => {
    const encoded = Buffer.from("x".repeat(offset) + text)
      .toString("base64")
      .replace(/=+$/, "")
    return Buffer.from(encoded.slice(offset === 0 ? 0 : offset + 1, -2))
  })
]

const filesIn = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const overlap = 512
/** One for all files: they are read one after the other. */
const piece = Buffer.alloc(1024 * 1024 + overlap)

/** Names of the needles that a file holds, also across the pieces in which it is read. */
const found = async (path: string, needles: ReadonlyMap<string, ReadonlyArray<Buffer>>) => {
  const names = new Set<string>()
  // Null: removed while we looked, as PostgreSQL does with files that it is done with.
  const file = await open(path).catch(() => null)
  if (file === null) return names
  try {
    let kept = 0
    while (true) {
      const { bytesRead } = await file.read(piece, kept, piece.length - kept)
      const view = piece.subarray(0, kept + bytesRead)
      for (const [name, forms] of needles) if (forms.some((form) => view.includes(form))) names.add(name)
      if (bytesRead === 0) return names
      kept = Math.min(overlap, view.length)
      piece.copy(piece, 0, view.length - kept, view.length)
    }
  } finally {
    await file.close()
  }
}

const search = async (paths: ReadonlyArray<string>, needles: ReadonlyMap<string, ReadonlyArray<Buffer>>) => {
  const hits: Array<string> = []
  for (const path of paths) for (const name of await found(path, needles)) hits.push(`${name} in ${path}`)
  return hits
}

/** Files of the server but for the databases of other tests. */
const databaseFiles = async () => {
  const data = join(inject("postgresDirectory"), "data")
  const [row] = await stack.sql<{ oid: string }>(
    (sql) => sql`SELECT oid::text FROM pg_database WHERE datname = current_database()`
  )
  return readdirSync(data, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile()
      ? [join(data, entry.name)]
      : filesIn(entry.name === "base" ? join(data, "base", row.oid) : join(data, entry.name))
  )
}

/** Every row of every table as text: a page may hold a long value compressed. */
const databaseText = async () => {
  const tables = await stack.sql<{ name: string }>(
    (sql) =>
      sql`SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`
  )
  const texts: Array<string> = []
  for (const { name } of tables) {
    const rows = await stack.sql<{ row: string }>((sql) => sql`SELECT t::text AS row FROM ${sql.literal(name)} t`)
    texts.push(...rows.map(({ row }) => row))
  }
  return Buffer.from(texts.join("\n"))
}

const searchEverything = async (needles: ReadonlyMap<string, ReadonlyArray<Buffer>>) => {
  await stack.sql((sql) => sql`CHECKPOINT`)
  const rows = await databaseText()
  return {
    database: await search(await databaseFiles(), needles),
    rows: [...needles]
      .filter(([, forms]) => forms.some((form) => rows.includes(form)))
      .map(([name]) => `${name} in a row`),
    objects: await search(filesIn(join(stack.directory, "objects")), needles),
    host: await search(filesIn(join(stack.directory, "host-0")), needles),
    logs: await search(filesIn(join(stack.directory, "logs")), needles)
  }
}
const nothing = { database: [], rows: [], objects: [], host: [], logs: [] }

const ref = `cara/${unhushed}`
const sessionCall = async (who: Person, method: string, path: string, body: unknown) => {
  const answer = await fetch(`${stack.urls[0]}${path}`, {
    method,
    headers: {
      cookie: who.session.cookie,
      "x-csrf-token": who.session.csrf,
      "content-type": "application/json",
      "idempotency-key": randomBytes(8).toString("hex")
    },
    body: JSON.stringify(body)
  })
  return (await answer.json()) as { id: string; token: string }
}

beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    hosts: 1,
    settings: { SERVICE_KEYS_SEALING_KEY: sealingKey.toString("base64") }
  })
  cara = await stack.person("cara")
  await createAgent(stack, cara, ref)
  const files = scriptedAgent(ref, "1.0.0", { manifest: "intake:\n  - { id: about, label: About what, type: text }\n" })
  // Stored, not compressed: so the search is shown to look into the object store and the host's copy, too.
  const archive = new Uint8Array(gzipSync(gunzipSync(archiveOf(files)), { level: 0 }))
  await stack.call(cara, "POST", `/api/v1/agents/${ref}/versions`, form(archive))
  await until(
    () => stack.call(cara, "GET", `/api/v1/agents/${ref}/versions/1.0.0`),
    ({ status }: { status: string }) => status === "published"
  )
}, 120_000)
afterAll(() => stack?.stop())

describe("what was written", () => {
  it("[RUN-001] holds no task, intake, input, tool, model or output text, no key and no token", async () => {
    await stack.call(stack.staff, "PUT", "/api/v1/x/runs/staff/model", {
      provider: "scripted",
      model: "scripted-1",
      apiKey: `${hushed}-model-key`
    })
    const input = await stack.call<{ id: string }>(
      cara,
      "POST",
      "/api/v1/x/runs/inputs?name=notes.txt",
      Buffer.from(`${mark("input")} `.repeat(40_000))
    )

    // A run that reads, says, writes and finishes, seen while it is under way.
    const created = await sessionCall(cara, "POST", "/api/v1/x/runs", {
      ref,
      intake: { about: mark("intake") },
      inputs: [input.id],
      task: `${mark("task")}\n${script(
        { call: "fs_read", args: { path: "notes.txt" } },
        { say: mark("model") },
        { call: "fs_write", args: { path: "out.md", content: `${mark("output")} {{intake.about}}` } },
        { wait: 1_500 },
        { call: "fs_list", args: { path: "." } },
        { finish: mark("result") }
      )}`
    })
    await runIs(stack, cara, created.id, ["running"])
    const hush = new Map([["run text", encodings(hushed)]])
    expect(
      await search(
        [
          ...filesIn(join(stack.directory, "host-0")),
          ...filesIn(join(stack.directory, "objects")),
          ...filesIn(join(stack.directory, "logs"))
        ],
        hush
      )
    ).toEqual([])
    const run = await ended(stack, cara, created.id)
    expect(run).toMatchObject({
      outcome: "succeeded",
      task: expect.stringContaining(mark("task")),
      intake: { about: mark("intake") }
    })
    const output = await stack.request(cara, "GET", `/api/v1/x/runs/${run.id}/outputs/output.tar`)
    expect(Buffer.from(await output.arrayBuffer()).includes(mark("output"))).toBe(true)

    // Runs that end badly, each with the text in what an error could carry along.
    expect(
      await runToEnd(stack, cara, {
        ref,
        task: script({ call: "fs_read", args: { path: mark("path") } }, { block: mark("block") })
      })
    ).toMatchObject({ outcome: "blocked" })
    expect(await runToEnd(stack, cara, { ref, task: `\`\`\`script\n- { ${mark("broken")}: [\n\`\`\`` })).toMatchObject({
      outcome: "refused"
    })
    expect(await runToEnd(stack, cara, { ref, task: script({ [mark("step")]: 1 }) })).toMatchObject({
      outcome: "refused"
    })
    expect(
      await runToEnd(stack, cara, { ref, task: script({ call: mark("tool") }, { say: mark("ramble") }) })
    ).toMatchObject({ status: "finished" })
    const cancelled = await stack.call<{ id: string }>(cara, "POST", "/api/v1/x/runs", {
      ref,
      task: script({ wait: 60_000 }, { finish: mark("never") })
    })
    await runIs(stack, cara, cancelled.id, ["running"])
    await stack.call(cara, "POST", `/api/v1/x/runs/${cancelled.id}/cancel`)
    expect(await ended(stack, cara, cancelled.id)).toMatchObject({ outcome: "interrupted" })

    // Requests that are refused are logged, their text is not.
    for (const body of [
      { ref: mark("ref") },
      { ref, task: "x", intake: { other: mark("answer") } },
      { ref, mode: mark("mode") },
      mark("body")
    ]) {
      expect((await stack.request(cara, "POST", "/api/v1/x/runs", body)).status).toBe(422)
    }
    const large = await stack.request(cara, "POST", "/api/v1/x/runs", { ref, task: mark("large").repeat(3_000) })
    expect(large.status).toBe(413)
    const name = await stack.request(cara, "POST", `/api/v1/x/runs/inputs?name=/${hushed}`, new Uint8Array(1))
    expect(name.status).toBe(422)

    const token = await sessionCall(cara, "POST", "/api/v1/user/tokens", { name: "test", scopes: ["run:read"] })
    const enrolment = await stack.call<{ token: string }>(
      stack.staff,
      "POST",
      "/api/v1/x/runs/staff/hosts/enrolments",
      { name: "spare" }
    )
    for (const [what, text] of [
      ["access token", token.token],
      ["token in use", cara.token],
      ["enrolment token", enrolment.token],
      ["session", cara.session.cookie.slice("session=".length)],
      ["sealing key", sealingKey.toString("base64")],
      ["sealing key in hex", sealingKey.toString("hex")]
    ] as const) {
      secrets.set(what, [Buffer.from(text)])
    }
    secrets.set("sealing key bytes", [sealingKey])
    expect((await stack.request(cara, "GET", "/api/v1/user")).status).toBe(200)

    expect(await searchEverything(new Map([...hush, ...secrets]))).toEqual(nothing)
    // The workspaces lie in memory, and are gone with their runs.
    expect(await search(filesIn(stack.workDirectory(0)), hush)).toEqual([])
    await stack.call(stack.staff, "DELETE", "/api/v1/x/runs/staff/model")
  }, 90_000)

  it("is really searched: a name that is no secret is found in every place", async () => {
    const control = await searchEverything(new Map([["control", encodings(unhushed)]]))
    for (const [place, hits] of Object.entries(control)) expect(hits.length, place).toBeGreaterThan(0)
  })
})
