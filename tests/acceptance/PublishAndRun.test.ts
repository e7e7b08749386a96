/** The main job end to end, over HTTP, on real processes: publish, scan, run in a sandbox, settle, download. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import type { Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"
import { setTimeout as sleep } from "node:timers/promises"

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ postgres: inject("postgresUrl"), hosts: 1 })
})
afterAll(() => stack?.stop())

const until = async <A>(read: () => Promise<A>, done: (value: A) => boolean, ms = 30_000) => {
  const deadline = Date.now() + ms
  while (true) {
    const value = await read()
    if (done(value)) return value
    if (Date.now() > deadline) throw new Error(`not in time: ${JSON.stringify(value)}`)
    await sleep(50)
  }
}

describe("publish and run", () => {
  it("[SCAN-001] [RUN-035] publishes a package through the gate, runs it and settles", async () => {
    const olli = await stack.person("olli")
    await stack.call(olli, "POST", "/api/v1/agents", { namespace: "olli", name: "steps" })
    const submitted = await stack.call(
      olli,
      "POST",
      "/api/v1/agents/olli/steps/versions",
      form(archiveOf(scriptedAgent("olli/steps", "1.0.0")))
    )
    expect(submitted.status).toBe("scanning")
    const version = await until(
      () => stack.call(olli, "GET", "/api/v1/agents/olli/steps/versions/1.0.0"),
      ({ status }) => status !== "scanning"
    )
    expect(version, JSON.stringify(version.holding)).toMatchObject({ status: "published", signed: true })
    const task =
      "```script\n- tokens: { input: 1000, output: 500 }\n- call: fs_write\n  args: { path: out.md, content: hello }\n- finish: done\n```"
    const created = await stack.call(olli, "POST", "/api/v1/x/runs/", { ref: "olli/steps", task })
    expect(created).toMatchObject({ ref: "olli/steps@1.0.0", holdCredits: 20, payer: "olli" })
    const run = await until(
      () => stack.call(olli, "GET", `/api/v1/x/runs/${created.id}`),
      ({ status }) => status === "finished" || status === "cancelled"
    )
    expect(run, JSON.stringify(run)).toMatchObject({ outcome: "succeeded", settledCredits: 1 })
    const credits = await stack.call(olli, "GET", "/api/v1/credits")
    expect(credits).toMatchObject({ balance: 99, held: 0 })
    const output = await stack.request(olli, "GET", `/api/v1/x/runs/${created.id}/outputs/output.tar`)
    expect(output.status).toBe(200)
    expect(Buffer.from(await output.arrayBuffer()).includes("hello")).toBe(true)
  })
})
