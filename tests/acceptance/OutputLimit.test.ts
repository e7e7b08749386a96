/** What the registry does with a host that does not keep to the limit of outputs. The host is the benchmark's: it makes any size. */
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { publishAgent, startFakeHost, until } from "../bench/Deployment.ts"
import type { Child, Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

const limit = 1_000
let stack: Stack
let host: Child | undefined
let person: Person
let agent: string

beforeAll(async () => {
  stack = await startStack({
    postgres: inject("postgresUrl"),
    settings: { SERVICE_RUNS_OUTPUT_MAX_BYTES: String(limit) }
  })
  person = await stack.person("bench")
  ;({ agent } = await publishAgent(stack, person))
  host = await startFakeHost(stack)
  await stack.hostsOnline(1)
})
afterAll(async () => {
  await host?.kill("SIGTERM")
  await stack?.stop()
})

interface Ended {
  readonly id: string
  readonly status: string
  readonly outcome: string | null
}

const runWithOutputOf = async (bytes: number) => {
  const { id } = await stack.call<{ id: string }>(person, "POST", "/api/v1/x/runs/", {
    ref: agent,
    task: String(bytes)
  })
  return until(
    () => stack.call<Ended>(person, "GET", `/api/v1/x/runs/${id}`),
    ({ status }) => status === "finished" || status === "cancelled"
  )
}
const balance = () => stack.call<{ balance: number; held: number }>(person, "GET", "/api/v1/credits")

it("[RUN-094] an output past runs.outputMaxBytes is refused, its run ends as error and is refunded", async () => {
  expect(await runWithOutputOf(limit)).toMatchObject({
    outcome: "succeeded",
    outputs: [{ name: "output.tar", bytes: limit }]
  })
  const before = await balance()
  const run = await runWithOutputOf(limit + 1)
  expect(run).toMatchObject({
    outcome: "error",
    error: { class: "output-too-large" },
    settledCredits: 0,
    outputs: []
  })
  expect(await balance()).toMatchObject({ balance: before.balance, held: 0 })
  const answer = await stack.request(person, "GET", `/api/v1/x/runs/${run.id}/outputs/output.tar`)
  expect(answer.status).toBe(404)
})
