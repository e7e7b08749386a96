/** (a) Reading records of runs, each with its owner's token, against Fastify and pg that do the same. */
import { freePort } from "@quickagents/platform/testing/server"
import assert from "node:assert/strict"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Child } from "../stack/Stack.ts"
import type { Deployment } from "./Deployment.ts"
import { until } from "./Deployment.ts"
import { load, loadGenerator } from "./Load.ts"
import type { LoadOptions, LoadResult } from "./Load.ts"
import { childrenRunning, processorMs } from "./Machine.ts"
import { median } from "./Statistics.ts"

const rounds = 5
const seconds = 3
/** Until the engine has compiled what is called often: what is measured is a server that runs for days. */
const warmSeconds = 12
const connections = 32
/** Each reads a run of his own: what many ask at once is not one question. */
const people = 32
/** The default of `database.maxConnections`; the other server gets the same. */
const pool = 10

interface Round extends LoadResult {
  /** Processor time of the server for one request, microseconds. */
  readonly cpuMicros: number
}

const summary = (results: ReadonlyArray<Round>) => ({
  requestsPerSecond: Math.round(median(results.map(({ requestsPerSecond }) => requestsPerSecond))),
  p50Ms: median(results.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
  cpuMicros: median(results.map(({ cpuMicros }) => cpuMicros))
})

export const runRecordReads = async ({ agent, runEnded, stack }: Deployment) => {
  const task = "Sum the sales of each region and write them to a table."
  const requests = new Array<LoadOptions["requests"][number]>()
  for (let each = 0; each < people; each++) {
    const reader = await stack.person(`reader${each}`)
    const { id } = await stack.call<{ id: string }>(reader, "POST", "/api/v1/x/runs/", { ref: agent, task })
    await runEnded(reader, id)
    requests.push({ path: `/api/v1/x/runs/${id}`, headers: { authorization: `Bearer ${reader.token}` } })
  }
  const port = await freePort()
  const other = new Child(
    "fastify",
    fileURLToPath(new URL("FastifyServer.ts", import.meta.url)),
    {
      DATABASE_URL: stack.databaseUrl,
      POOL: String(pool),
      PORT: String(port),
      TASK: task
    },
    join(stack.directory, "logs/fastify.log")
  )
  other.start()
  try {
    const registry: LoadOptions = { origin: stack.urls[0], requests, connections, seconds }
    const fastify: LoadOptions = { ...registry, origin: `http://127.0.0.1:${port}` }
    const read = ({ origin }: LoadOptions, { headers, path }: LoadOptions["requests"][number]): Promise<unknown> =>
      fetch(`${origin}${path}`, { headers }).then((answer) => answer.json())
    await until(
      () => read(fastify, requests[0]).catch(() => undefined),
      (answer) => answer !== undefined
    )
    for (const request of requests) {
      assert.deepEqual(
        await read(fastify, request),
        await read(registry, request),
        "the two servers do not answer the same JSON"
      )
    }

    const [registryProcess] = childrenRunning("apps/registry/src/main.ts")
    const [fastifyProcess] = childrenRunning("bench/FastifyServer.ts")
    if (registryProcess === undefined || fastifyProcess === undefined)
      throw new Error("a server's process is not found")
    const round = async (options: LoadOptions, server: number): Promise<Round> => {
      const before = processorMs(server)
      const result = await load(options)
      return {
        ...result,
        cpuMicros: ((processorMs(server) - before) * 1000) / (result.requestsPerSecond * options.seconds)
      }
    }
    const results = { registry: new Array<Round>(), fastify: new Array<Round>() }
    for (const options of [registry, fastify]) await load({ ...options, seconds: warmSeconds })
    for (let turn = 0; turn < rounds; turn++) {
      results.registry.push(await round(registry, registryProcess))
      results.fastify.push(await round(fastify, fastifyProcess))
    }
    const failures = [...results.registry, ...results.fastify].reduce((sum, result) => sum + result.failures, 0)
    if (failures > 0) throw new Error(`${failures} requests failed`)
    const [ours, other] = [summary(results.registry), summary(results.fastify)]
    return {
      loadGenerator,
      connections,
      rounds,
      registry: ours,
      fastify: other,
      /** Of each round: what else the machine does falls on both halves of a round alike. */
      ratio: median(
        results.registry.map(
          ({ requestsPerSecond }, turn) => requestsPerSecond / results.fastify[turn].requestsPerSecond
        )
      )
    }
  } finally {
    await other.kill("SIGKILL")
  }
}

export type RunRecordReads = Awaited<ReturnType<typeof runRecordReads>>
