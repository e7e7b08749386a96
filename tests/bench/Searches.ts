/** (f) Searches over many agents, as people ask them. */
import { chanceOf } from "../faults/Chance.ts"
import type { Deployment } from "./Deployment.ts"
import { corpusSize, seedCorpus } from "./SearchCorpus.ts"
import { median, quantile } from "./Statistics.ts"

const each = 60

interface Answer {
  readonly total: number
  readonly items: ReadonlyArray<{ readonly namespace: string; readonly name: string }>
}

/** Searches of each kind, one at a time, the kinds in turns, and the milliseconds of each. */
export const searches = async ({ person, stack }: Deployment) => {
  const began = performance.now()
  const sample = await seedCorpus(stack.databaseUrl)
  const seedSeconds = (performance.now() - began) / 1000
  const chance = chanceOf("searches")
  const some = () => chance.pick(sample)
  const kinds: Readonly<Record<string, () => Record<string, string>>> = {
    "an agent's exact name": () => ({ q: some().name }),
    "namespace and name": () => {
      const { name, namespace } = some()
      return { q: `${namespace}/${name}` }
    },
    "a name with a letter missing": () => {
      const { name } = some()
      const at = chance.between(1, name.length - 2)
      return { q: name.slice(0, at) + name.slice(at + 1) }
    },
    "two words of a name": () => ({ q: some().name.split("-").slice(0, 2).join(" ") }),
    "one of the most common words": () => ({ q: chance.pick(["code", "data", "review", "agent", "report"]) }),
    "a common word and a capability": () => ({ q: chance.pick(["test", "file", "sql"]), capability: "network" }),
    "a namespace": () => ({ namespace: some().namespace }),
    "a mode and a licence, newest first": () => ({ mode: "interactive", license: "MIT" }),
    "everything, newest first": () => ({}),
    "everything, a later page": () => ({ offset: String(chance.between(1, 100) * 20) }),
    "two words of a name, signed in": () => ({ q: some().name.split("-").slice(0, 2).join(" ") }),
    "words that nothing has": () => ({ q: "xylophon zeppelin" })
  }
  const samples = new Map<string, Array<number>>(Object.keys(kinds).map((kind) => [kind, []]))
  let exactFirst = 0
  for (let round = -5; round < each; round++) {
    for (const [kind, query] of Object.entries(kinds)) {
      const wanted = query()
      const url = `${stack.urls[0]}/api/v1/search?${new URLSearchParams(wanted).toString()}`
      const from = performance.now()
      const response = await fetch(
        url,
        kind.endsWith("signed in") ? { headers: { authorization: `Bearer ${person.token}` } } : {}
      )
      const answer = (await response.json()) as Answer
      const took = performance.now() - from
      if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
      if (round < 0) continue
      samples.get(kind)!.push(took)
      if (kind === "an agent's exact name" && answer.items[0]?.name === wanted["q"]) exactFirst++
    }
  }
  const all = [...samples.values()].flat()
  return {
    agents: corpusSize,
    seedSeconds,
    kinds: Object.fromEntries(
      [...samples].map(([kind, values]) => [kind, { p50Ms: median(values), p95Ms: quantile(values, 0.95) }])
    ),
    all: { p50Ms: median(all), p95Ms: quantile(all, 0.95) },
    exactFirst: exactFirst / each
  }
}
