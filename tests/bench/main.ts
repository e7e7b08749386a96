/**
 * `node tests/bench/main.ts [--only a,b,c,d,e,f,g] [--json]`: measures the parts in
 * one run on one machine and prints medians and ratios. Everything it starts is
 * stopped when it ends, also by Ctrl-C.
 */
import { startEmbeddedServer } from "@quickagents/platform/testing/server"
import { parseArgs } from "node:util"
import { deployOn } from "./Deployment.ts"
import type { Deployment } from "./Deployment.ts"
import { dispatch, lifecycles } from "./Lifecycles.ts"
import { isBusy, machine } from "./Machine.ts"
import { publishing } from "./Publishing.ts"
import { runRecordReads } from "./RunRecordReads.ts"
import { searches } from "./Searches.ts"
import { statementCounts } from "./StatementCounts.ts"
import { transfers } from "./Transfers.ts"
import { besideVerdaccio } from "./Verdaccio.ts"

const whole = (value: number) => Math.round(value).toLocaleString("en")
const tenth = (value: number) => value.toFixed(1)
const ratio = (value: number) => value.toFixed(2)
/** A line of words and values, the words on a grid. */
const line = (name: string, ...values: ReadonlyArray<string>) =>
  console.log(`   ${name.padEnd(44)}${values.map((value) => value.padStart(14)).join("")}`)

type Measure = (deployment: Deployment) => Promise<{ readonly result: unknown; readonly print: () => void }>

const parts: Readonly<Record<string, { readonly title: string; readonly measure: Measure }>> = {
  a: {
    title: "Read a run's record with a token, against Fastify and pg",
    measure: async (deployment) => {
      const result = await runRecordReads(deployment)
      return {
        result,
        print: () => {
          console.log(
            `   ${result.loadGenerator}, ${result.connections} connections, medians of ${result.rounds} rounds in turns`
          )
          line("", "requests/s", "p50 ms", "p99 ms", "server CPU us")
          for (const name of ["registry", "fastify"] as const) {
            const { cpuMicros, p50Ms, p99Ms, requestsPerSecond } = result[name]
            line(name, whole(requestsPerSecond), tenth(p50Ms), tenth(p99Ms), whole(cpuMicros))
          }
          line("registry / fastify (aim 0.90)", ratio(result.ratio))
        }
      }
    }
  },
  b: {
    title: "From create to started on an idle host; whole lives against pg-boss",
    measure: async (deployment) => {
      const started = await dispatch(deployment)
      const lives = await lifecycles(deployment)
      return {
        result: { dispatch: started, lifecycles: lives },
        print: () => {
          line(`${started.runs} runs, one at a time`, "p50 ms", "p99 ms")
          line(
            "created to started, by the record (aim 60)",
            whole(started.recorded.p50Ms),
            whole(started.recorded.p99Ms)
          )
          line("request to told, by the client", tenth(started.seenByClient.p50Ms), tenth(started.seenByClient.p99Ms))
          line(`${lives.count} lives, ${lives.concurrency} at once`, "per second", "node CPU ms")
          line("runs: create, claim, hand-off, end, settle", tenth(lives.runs.perSecond), tenth(lives.runs.cpuMs))
          line("   of which the creates alone", tenth(lives.runs.createsPerSecond))
          line("pg-boss jobs: send, fetch, complete", tenth(lives.pgBoss.perSecond))
          line("runs / jobs", ratio(lives.ratio))
        }
      }
    }
  },
  c: {
    title: "From submission to publication of a 100 KB package, no remote judge",
    measure: async (deployment) => {
      const result = await publishing(deployment)
      return {
        result,
        print: () => {
          line(`${result.packages} packages of ${whole(result.archiveBytes / 1024)} KB`, "p50 ms", "p90 ms")
          line("submitted to published (aim 2,000)", whole(result.p50Ms), whole(result.p90Ms))
        }
      }
    }
  },
  d: {
    title: "50 MB in and out, sealed, against node:http and plain files",
    measure: async (deployment) => {
      const result = await transfers(deployment)
      return {
        result,
        print: () => {
          line("MiB/s", "sealed", "plain", "ratio")
          for (const way of ["upload", "download"] as const) {
            const { plainMiBPerSecond, ratio: part, sealedMiBPerSecond } = result[way]
            line(
              way === "upload" ? "upload, five inputs of 10 MB" : "download, one output",
              tenth(sealedMiBPerSecond),
              tenth(plainMiBPerSecond),
              ratio(part)
            )
          }
          line(
            "resident memory of the node, MiB",
            `before ${whole(result.memory.beforeMiB)}`,
            `peak ${whole(result.memory.peakMiB)}`
          )
        }
      }
    }
  },
  e: {
    title: "SQL statements of a request, and of a run's life",
    measure: async ({ postgres }) => {
      const result = await statementCounts(postgres)
      return {
        result,
        print: () => {
          for (const [route, count] of Object.entries(result.routes)) line(route, whole(count))
          line("a run from create to settled", tenth(result.runLife))
          for (const { text, times } of result.runLifeStatements)
            console.log(`      ${tenth(times).padStart(4)}  ${text.slice(0, 110)}`)
          line("a second of a node and a host without work", tenth(result.idlePerSecond))
        }
      }
    }
  },
  f: {
    title: "Searches over 100,000 agents",
    measure: async (deployment) => {
      const result = await searches(deployment)
      return {
        result,
        print: () => {
          line(`${whole(result.agents)} agents, seeded in ${whole(result.seedSeconds)} s`, "p50 ms", "p95 ms")
          for (const [kind, { p50Ms, p95Ms }] of Object.entries(result.kinds)) line(kind, tenth(p50Ms), tenth(p95Ms))
          line("all of them (aim 50)", tenth(result.all.p50Ms), tenth(result.all.p95Ms))
          line("exact names that came first", ratio(result.exactFirst))
        }
      }
    }
  },
  g: {
    title: "The same package here and in Verdaccio",
    measure: async (deployment) => {
      const result = await besideVerdaccio(deployment)
      return {
        result,
        print: () => {
          console.log(`   ${result.loadGenerator}; ${whole(result.archiveBytes / 1024)} KB, medians of rounds in turns`)
          line("requests/s (p99 ms)", "registry", "verdaccio", "ratio")
          for (const [what, { ratio: part, registry, verdaccio }] of Object.entries(result.reads)) {
            const rate = ({ p99Ms, requestsPerSecond }: typeof registry) =>
              `${whole(requestsPerSecond)} (${tenth(p99Ms)})`
            line(what, rate(registry), rate(verdaccio), ratio(part))
          }
          const { registry, verdaccio } = result.published
          line("publish, p50 ms (with the whole gate here)", whole(registry.p50Ms), whole(verdaccio.p50Ms))
        }
      }
    }
  }
}

const { values } = parseArgs({ options: { only: { type: "string" }, json: { type: "boolean", default: false } } })
const chosen = values.only === undefined ? Object.keys(parts) : values.only.split(",")
const unknown = chosen.filter((name) => !(name in parts))
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(", ")}; the parts are ${Object.keys(parts).join(", ")}`)
  process.exit(2)
}

const facts = machine()
if (!values.json) {
  console.log(
    `${facts.cores} cores (${facts.processor}), ${tenth(facts.memoryGiB)} GiB, node ${facts.node}, load ${ratio(facts.load)}`
  )
  if (isBusy(facts))
    console.log(
      "WARNING: this machine has other work; ratios of parts that run in turns still say something, the rest does not"
    )
}

const results: Record<string, unknown> = {}
// A database server that keeps what it has promised (fsync on), as in production.
const server = await startEmbeddedServer({ durable: true })
const deploying = deployOn(server.url)
let stopping: Promise<void> | undefined
const stop = () =>
  (stopping ??= (async () => {
    // One that is still coming up is stopped when it is up; one that did not come up has stopped itself.
    await deploying.then(
      (deployment) => deployment.stop(),
      () => undefined
    )
    await server.stop()
  })())
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stop().finally(() => process.exit(130)))
try {
  const deployment = await deploying
  for (const name of chosen) {
    const { measure, title } = parts[name]
    if (!values.json) console.log(`\n(${name}) ${title}`)
    const began = performance.now()
    const { print, result } = await measure(deployment)
    results[name] = result
    if (values.json) continue
    print()
    console.log(`   took ${tenth((performance.now() - began) / 1000)} s, load now ${ratio(machine().load)}`)
  }
} finally {
  await stop()
}
if (values.json) console.log(JSON.stringify({ machine: facts, results }, null, 2))
