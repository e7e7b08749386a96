/**
 * (e) SQL statements of a request, for the ten routes that are used most, and of
 * the whole life of a run. What a node asks anyway, such as the cluster's polls
 * and the watch over a host, is found out first and does not count.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { startStack } from "../stack/Stack.ts"
import { publishAgent, runEnded, startFakeHost } from "./Deployment.ts"
import { startStatementCounter } from "./StatementCounter.ts"
import { median } from "./Statistics.ts"

const repetitions = 7
const lives = 8
/** Long enough for what a node asks every few seconds. */
const idleMs = 3_000

export interface StatementCounts {
  /** Median of the requests, by route. */
  readonly routes: Readonly<Record<string, number>>
  /** Of a run from its create request to its settlement, averaged. */
  readonly runLife: number
  /** The statements of a run's life with how often each comes. */
  readonly runLifeStatements: ReadonlyArray<{ readonly text: string; readonly times: number }>
  /** Of a node and one host without work, a second. */
  readonly idlePerSecond: number
}

/** `postgres` is a running server; a deployment of its own is made there and dropped. */
export const statementCounts = async (postgres: string): Promise<StatementCounts> => {
  const counter = await startStatementCounter(postgres)
  try {
    const stack = await startStack({
      postgres: counter.url,
      settings: { SERVICE_CREDITS_ALLOWANCE_STANDARD: "1000000" }
    })
    let host: Awaited<ReturnType<typeof startFakeHost>> | undefined
    try {
      const ofNode = () =>
        counter
          .take()
          .filter(({ application }) => application === "registry")
          .map(({ text }) => text)
      const person = await stack.person("bench")
      const { agent, archive } = await publishAgent(stack, person)
      const idle = async (ms: number) => {
        counter.take()
        await sleep(ms)
        return ofNode()
      }
      const regular = new Set(await idle(idleMs / 2))

      const routes: Record<string, number> = {}
      const measure = async (route: string, request: () => Promise<unknown>, after?: () => Promise<unknown>) => {
        const samples: Array<number> = []
        for (let time = 0; time < repetitions; time++) {
          counter.take()
          await request()
          samples.push(ofNode().filter((text) => !regular.has(text)).length)
          await after?.()
        }
        routes[route] = median(samples)
      }
      const call = <A>(method: string, path: string, body?: unknown) => stack.call<A>(person, method, path, body)
      /** The whole of an answer that is no JSON. */
      const download = async (path: string) => {
        const answer = await stack.request(person, "GET", path)
        if (!answer.ok) throw new Error(`GET ${path}: ${answer.status}`)
        await answer.arrayBuffer()
      }

      // Before there is a host, so that nothing but the request itself follows from it.
      let id = ""
      await measure(
        "POST /x/runs/",
        async () => {
          id = (await call<{ id: string }>("POST", "/api/v1/x/runs/", { ref: agent, task: "Say hello." })).id
        },
        () => call("POST", `/api/v1/x/runs/${id}/cancel`)
      )
      host = await startFakeHost(stack)
      await stack.hostsOnline(1)
      const waiting = await idle(idleMs)
      for (const text of waiting) regular.add(text)

      const run = (await call<{ id: string }>("POST", "/api/v1/x/runs/", { ref: agent, task: "Say hello." })).id
      await runEnded(stack)(person, run)
      await measure("GET /agents", () => call("GET", "/api/v1/agents?limit=20"))
      await measure("GET /agents/{ns}/{name}", () => call("GET", `/api/v1/agents/${agent}`))
      await measure("GET /agents/{ns}/{name}/versions/{version}", () =>
        call("GET", `/api/v1/agents/${agent}/versions/1.0.0`)
      )
      await measure("GET /agents/{ns}/{name}/archives/{digest}", () => download(archive))
      await measure("POST /x/runs/inputs", () =>
        call("POST", "/api/v1/x/runs/inputs?name=notes.txt", new TextEncoder().encode("notes"))
      )
      await measure("GET /x/runs/", () => call("GET", "/api/v1/x/runs/"))
      await measure("GET /x/runs/{id}", () => call("GET", `/api/v1/x/runs/${run}`))
      await measure("GET /x/runs/{id}/outputs/output.tar", () => download(`/api/v1/x/runs/${run}/outputs/output.tar`))
      await measure("GET /x/runs/status", () => call("GET", "/api/v1/x/runs/status"))

      const counts = new Map<string, number>()
      let [total, elapsed] = [0, 0]
      for (let life = 0; life < lives; life++) {
        counter.take()
        const began = performance.now()
        const made = await call<{ id: string }>("POST", "/api/v1/x/runs/", { ref: agent, task: "Say hello." })
        // Asked on another connection, so that the waiting does not count.
        while (true) {
          const [row] = await stack.sql<{ outcome: string | null }>(
            (sql) => sql`SELECT outcome FROM runs WHERE id = ${made.id}`
          )
          if (row.outcome === "succeeded") break
          if (row.outcome !== null) throw new Error(`a run ended as ${row.outcome}`)
          await sleep(5)
        }
        await sleep(50)
        elapsed += performance.now() - began
        for (const text of ofNode()) {
          total++
          counts.set(text, (counts.get(text) ?? 0) + 1)
        }
      }
      const idlePerSecond = (waiting.length / idleMs) * 1000
      return {
        routes,
        runLife: (total - (idlePerSecond * elapsed) / 1000) / lives,
        runLifeStatements: [...counts]
          .map(([text, times]) => ({
            text,
            times: (times - (waiting.filter((one) => one === text).length / idleMs) * elapsed) / lives
          }))
          .filter(({ times }) => times > 0.4)
          .toSorted((a, b) => b.times - a.times),
        idlePerSecond
      }
    } finally {
      await host?.kill("SIGTERM")
      await stack.stop()
    }
  } finally {
    await counter.stop()
  }
}
