/**
 * A node that dies between two durable steps of a run and is started again: the
 * run still ends once, is booked once, and its account can run again. The host
 * lives on, so nothing of the run has to be lost either. And the storm of
 * `Faults.ts` in a small form, beside it: most of both is waiting for what died.
 */
import type { FaultPoint } from "@quickagents/runs"
import { faultPoints } from "@quickagents/runs"
import { randomUUID } from "node:crypto"
import { existsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"
import { violations } from "./Books.ts"
import { readTar, storm } from "./Storm.ts"

interface Durable {
  /** What the run's row says when the node has died; null: there is none. */
  readonly status: string | null
  /** The run's outcome was booked before the node died. */
  readonly booked: boolean
}

const table: Readonly<Record<FaultPoint, Durable>> = {
  "create.admitted": { status: null, booked: false },
  "create.opened": { status: "queued", booked: false },
  "claim.claimed": { status: "claimed", booked: false },
  "claim.supervised": { status: "claimed", booked: false },
  "handOff.staged": { status: "claimed", booked: false },
  "handOff.taken": { status: "claimed", booked: false },
  "watch.started": { status: "running", booked: false },
  "finish.stored": { status: "running", booked: false },
  "settle.settled": { status: "finished", booked: true },
  "settle.forgotten": { status: "finished", booked: true }
}

interface Lane {
  readonly stack: Stack
  readonly person: Person
  readonly faultFile: string
  /** One after the other within a lane. */
  last: Promise<unknown>
}

const agent = "robin/steps"
let lanes: ReadonlyArray<Lane> = []

const openLane = async (): Promise<Lane> => {
  const faultFile = join(tmpdir(), `quickagents-fault-${randomUUID()}`)
  const stack = await startStack({
    postgres: inject("postgresUrl"),
    hosts: 1,
    nodeEntry: new URL("FaultyNode.ts", import.meta.url).pathname,
    settings: { QUICKAGENTS_FAULT_FILE: faultFile }
  })
  const person = await stack.person("robin")
  await stack.call(person, "POST", "/api/v1/agents", { namespace: "robin", name: "steps" })
  await stack.call(person, "POST", `/api/v1/agents/${agent}/versions`, form(archiveOf(scriptedAgent(agent, "1.0.0"))))
  await until(
    () => stack.call(person, "GET", `/api/v1/agents/${agent}/versions/1.0.0`),
    ({ status }) => status === "published"
  )
  return { stack, person, faultFile, last: Promise.resolve() }
}

const until = async <A>(read: () => Promise<A>, done: (value: A) => boolean) => {
  const deadline = Date.now() + 40_000
  while (true) {
    const value = await read()
    if (done(value)) return value
    if (Date.now() > deadline) throw new Error(`not in time: ${JSON.stringify(value)}`)
    await sleep(100)
  }
}

beforeAll(async () => {
  lanes = await Promise.all([openLane(), openLane()])
})
afterAll(() => Promise.all(lanes.map(({ stack }) => stack.stop())))

const dieAt = async ({ faultFile, person, stack }: Lane, point: FaultPoint) => {
  const node = stack.nodes[0]
  const newest = async () =>
    (
      await stack.sql<{ id: string; status: string }>(
        (sql) => sql`SELECT id, status FROM runs ORDER BY created_at DESC LIMIT 1`
      )
    )[0]
  const before = await newest()
  const task = `\`\`\`script\n- tokens: { input: 1000, output: 500 }\n- call: fs_write\n  args: { path: out.md, content: ${point} }\n- finish: done\n\`\`\``
  const create = () => stack.call<{ id: string }>(person, "POST", "/api/v1/x/runs/", { ref: agent, task })
  writeFileSync(faultFile, point)
  const first = create().catch(() => undefined)
  expect(await node.ended()).toBe("SIGKILL")
  expect(existsSync(faultFile)).toBe(false)
  await first

  const left = await newest()
  const id = left?.id === before?.id ? undefined : left?.id
  expect(id === undefined ? null : left?.status).toBe(table[point].status)
  const lines = (
    await stack.sql<{ reason: string }>(
      (sql) => sql`SELECT reason FROM ledger_lines WHERE subject = ${`run:${id}`} ORDER BY seq`
    )
  ).map(({ reason }) => reason)
  expect(lines).toEqual(id === undefined ? [] : table[point].booked ? ["run_hold", "run_release", "run"] : ["run_hold"])

  node.start()
  await stack.ready(0)
  const run = id ?? (await create()).id
  const ended = await until(
    () => stack.call(person, "GET", `/api/v1/x/runs/${run}`),
    ({ status }) => status === "finished" || status === "cancelled"
  )
  expect(ended, JSON.stringify(ended)).toMatchObject({ outcome: "succeeded", settledCredits: 1 })
  const output = await stack.request(person, "GET", `/api/v1/x/runs/${run}/outputs/output.tar`)
  expect([...readTar(Buffer.from(await output.arrayBuffer())).values()].join()).toContain(point)
  expect(await stack.runtime.runPromise(stack.query((sql) => violations(sql, { atTheEnd: true })))).toEqual([])
}

describe("a node that dies and is started again", () => {
  it("dies at every point that there is", () => {
    expect(Object.keys(table)).toEqual(faultPoints)
  })

  for (const [index, point] of faultPoints.entries()) {
    it.concurrent(`at ${point}: its run ends once and is booked once, and its account can run again`, async () => {
      const lane = lanes[index % lanes.length]
      const turn = lane.last.then(() => dieAt(lane, point))
      lane.last = turn.catch(() => undefined)
      await turn
    }, 120_000)
  }
})

it.concurrent("runs end once and are booked once while every node and every host is killed", async () => {
  const report = await storm({
    postgres: inject("postgresUrl"),
    seed: 7,
    runs: 16,
    accounts: 8,
    nodes: 2,
    hosts: 2,
    kills: 1,
    longOutage: false,
    seconds: 100,
    say: () => {}
  })
  expect(report.violations, JSON.stringify(report)).toEqual([])
  expect(report.outcomes["succeeded"]).toBeGreaterThan(0)
  expect(report.downloads).toBe(report.outcomes["succeeded"])
}, 120_000)
