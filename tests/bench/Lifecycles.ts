/** (b) From create to started on an idle host, and whole lives of runs a second, against pg-boss with as many jobs. */
import { PgBoss } from "pg-boss"
import { setTimeout as sleep } from "node:timers/promises"
import type { Person } from "../stack/Stack.ts"
import type { Deployment } from "./Deployment.ts"
import { slots, until } from "./Deployment.ts"
import { childrenRunning, processorMs } from "./Machine.ts"
import { median, quantile } from "./Statistics.ts"

const dispatches = 60
const accounts = 300
/** Requests, and jobs, that are under way at once. */
const concurrency = 16
const pool = 10

/** `use` of every item, at most `concurrency` at once. */
const inParallel = async <A>(items: ReadonlyArray<A>, use: (item: A) => Promise<void>) => {
  let next = 0
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < items.length) await use(items[next++])
    })
  )
}

/** Resolves when the run's event stream tells that it runs. */
const toldRunning = async ({ stack }: Deployment, person: Person, id: string) => {
  const events = await stack.request(person, "GET", `/api/v1/x/runs/${id}/events`)
  let text = ""
  for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('"status":"running"')) return
  }
  throw new Error(`the events of ${id} ended before it ran:\n${text}`)
}

export const dispatch = async (deployment: Deployment) => {
  const { agent, person, runEnded, stack } = deployment
  const recorded: Array<number> = []
  const seen: Array<number> = []
  for (let run = -3; run < dispatches; run++) {
    const began = performance.now()
    const { id } = await stack.call<{ id: string }>(person, "POST", "/api/v1/x/runs/", {
      ref: agent,
      task: "Say hello."
    })
    await toldRunning(deployment, person, id)
    const took = performance.now() - began
    const record = await runEnded(person, id)
    // The first ones warm the code and the connections up.
    if (run >= 0) {
      seen.push(took)
      recorded.push(Date.parse(record.startedAt!) - Date.parse(record.createdAt))
    }
    // Off the beat of the host watch's own rhythm.
    await sleep(20 + 10 * ((run + 7) % 7))
  }
  const both = (samples: ReadonlyArray<number>) => ({ p50Ms: median(samples), p99Ms: quantile(samples, 0.99) })
  return { runs: dispatches, recorded: both(recorded), seenByClient: both(seen) }
}

/** Runs of many accounts, each from create to settled, as fast as they go. */
const lives = async ({ agent, stack }: Deployment) => {
  const people: Array<Person> = []
  await inParallel(
    Array.from({ length: accounts }, (_, index) => `life-${index}`),
    async (handle) => {
      people.push(await stack.person(handle))
    }
  )
  const [node] = childrenRunning("apps/registry/src/main.ts")
  if (node === undefined) throw new Error("the registry's process is not found")
  const cpuBefore = processorMs(node)
  const began = performance.now()
  await inParallel(people, async (person) => {
    await stack.call(person, "POST", "/api/v1/x/runs/", { ref: agent, task: "Say hello." })
  })
  const created = performance.now() - began
  const ended = () =>
    stack.sql<{ succeeded: number; ended: number }>(
      (sql) =>
        sql`
        SELECT count(*)::integer AS ended, count(*) FILTER (WHERE outcome = 'succeeded')::integer AS succeeded
        FROM runs WHERE payer LIKE 'life-%' AND status IN ('finished', 'cancelled')`
    )
  const [end] = await until(ended, ([row]) => row.ended === accounts, 25)
  const took = performance.now() - began
  if (end.succeeded !== accounts) throw new Error(`${accounts - end.succeeded} runs did not succeed`)
  return {
    perSecond: (accounts / took) * 1000,
    createsPerSecond: (accounts / created) * 1000,
    /** Processor time of the registry node for one run. */
    cpuMs: (processorMs(node) - cpuBefore) / accounts
  }
}

/** The same count of jobs through pg-boss: sent, fetched and completed, one by one as runs are. */
const jobs = async ({ stack }: Deployment) => {
  const boss = new PgBoss({ connectionString: stack.databaseUrl, max: pool, supervise: false, schedule: false })
  await boss.start()
  try {
    const queue = "lives"
    await boss.createQueue(queue)
    const cycle = async (count: number) => {
      let completed = 0
      const work = async () => {
        while (completed < count) {
          const [job] = await boss.fetch(queue)
          if (job === undefined) await sleep(1)
          else {
            await boss.complete(queue, job.id)
            completed++
          }
        }
      }
      await Promise.all([
        inParallel(
          Array.from({ length: count }, (_, index) => index),
          async (index) => {
            await boss.send(queue, { run: index, task: "Say hello." })
          }
        ),
        ...Array.from({ length: concurrency }, work)
      ])
    }
    await cycle(50)
    const began = performance.now()
    await cycle(accounts)
    return { perSecond: (accounts / (performance.now() - began)) * 1000 }
  } finally {
    await boss.stop({ graceful: false })
  }
}

export const lifecycles = async (deployment: Deployment) => {
  const runs = await lives(deployment)
  const pgBoss = await jobs(deployment)
  return { count: accounts, concurrency, slots, runs, pgBoss, ratio: runs.perSecond / pgBoss.perSecond }
}
