/**
 * Accounts that run agents while registry nodes and sandbox hosts are killed and
 * started again. What is decided (tasks, cancels, victims, pauses, nodes asked)
 * comes from the seed; when a process dies within a run is up to the machine.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import type { Child, Person } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"
import { guardOfSecondRun, violations } from "./Books.ts"
import type { Chance } from "./Chance.ts"
import { chanceOf } from "./Chance.ts"

export interface StormOptions {
  readonly postgres: string
  readonly seed: number
  readonly runs: number
  readonly accounts: number
  readonly nodes: number
  readonly hosts: number
  /** How often each process is killed. */
  readonly kills: number
  /** One host stays away for longer than the registry waits for it. */
  readonly longOutage: boolean
  readonly seconds: number
  readonly say: (line: string) => void
}

export interface StormReport {
  readonly violations: ReadonlyArray<string>
  readonly outcomes: Readonly<Record<string, number>>
  readonly kills: Readonly<Record<string, number>>
  /** Answers that are no part of the plan, by status. */
  readonly unexpected: Readonly<Record<string, number>>
  readonly downloads: number
  readonly slowest: ReadonlyArray<string>
  readonly seconds: number
}

const staleSeconds = 15
const agent = "storm/steps"

interface Answer {
  readonly status: number
  readonly body: any
}

interface Ended {
  readonly run: {
    readonly id: string
    readonly status: string
    readonly outcome: string | null
    readonly error: unknown
  }
  readonly person: Person
  /** Text that the output of a success must hold. */
  readonly expected: string
  readonly seconds: number
}

/** File name -> content of a tar. */
export const readTar = (tar: Buffer): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const text = (from: number, length: number) =>
      tar
        .subarray(at + from, at + from + length)
        .toString()
        .replace(/\0.*$/su, "")
    const size = Number.parseInt(text(124, 12), 8)
    files.set(text(0, 100), tar.subarray(at + 512, at + 512 + size).toString())
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}

export const storm = async (options: StormOptions): Promise<StormReport> => {
  const began = Date.now()
  const deadline = began + options.seconds * 1000
  const seconds = (since = began) => (Date.now() - since) / 1000
  const chance = chanceOf(options.seed)
  const found: Array<string> = []
  const unexpected: Record<string, number> = {}
  const kills: Record<string, number> = {}
  const ended: Array<Ended> = []
  const stack = await startStack({
    postgres: options.postgres,
    nodes: options.nodes,
    hosts: options.hosts,
    settings: { SERVICE_RUNS_STALE: `${staleSeconds}s` }
  })

  /** Asks nodes at random until one answers; what was asked may have been done by one that died. */
  const ask = async (
    who: Person,
    luck: Chance,
    method: string,
    path: string,
    body?: unknown,
    key?: string
  ): Promise<Answer> => {
    while (Date.now() < deadline) {
      try {
        const bytes = body instanceof Uint8Array
        const answer = await fetch(`${luck.pick(stack.urls)}${path}`, {
          method,
          signal: AbortSignal.timeout(30_000),
          headers: {
            authorization: `Bearer ${who.token}`,
            ...(body === undefined ? {} : { "content-type": bytes ? "application/octet-stream" : "application/json" }),
            ...(key === undefined ? {} : { "idempotency-key": key })
          },
          ...(body === undefined ? {} : { body: bytes ? Buffer.from(body) : JSON.stringify(body) })
        })
        const read =
          answer.headers.get("content-type")?.includes("json") === true
            ? await answer.json()
            : Buffer.from(await answer.arrayBuffer())
        if (answer.status < 500) return { status: answer.status, body: read }
        const what = `${answer.status} of ${method} ${path.replace(/(run|inp)_[A-Z0-9]+/u, ":id")}`
        unexpected[what] = (unexpected[what] ?? 0) + 1
      } catch {
        // A node that is down, or went down before it had answered.
      }
      await sleep(luck.between(100, 400))
    }
    throw new Error("out of time")
  }

  const publish = async (owner: Person) => {
    await stack.call(owner, "POST", "/api/v1/agents", { namespace: "storm", name: "steps", visibility: "public" })
    await stack.call(owner, "POST", `/api/v1/agents/${agent}/versions`, form(archiveOf(scriptedAgent(agent, "1.0.0"))))
    while (Date.now() < deadline) {
      const { status } = await stack.call(owner, "GET", `/api/v1/agents/${agent}/versions/1.0.0`)
      if (status === "published") return
      if (status !== "scanning") throw new Error(`the agent is ${status}`)
      await sleep(100)
    }
  }

  /** One run from its create to its end. */
  const live = async (person: Person, number: number, seen: Set<string>) => {
    const luck = chance.fork(`run ${number}`)
    const since = Date.now()
    const words = `run ${number} wrote ${luck.between(0, 999_999_999)}`
    const carried = luck.chance(0.25) ? `input of run ${number}` : undefined
    const blocks = luck.chance(0.05)
    const cancelAfter = luck.chance(0.15) ? luck.between(0, 3_000) : undefined
    const twice = luck.chance(0.15)
    const script = [
      `- tokens: { input: ${luck.between(1, 60_000)}, output: ${luck.between(1, 30_000)} }`,
      ...(carried === undefined ? [] : ["- call: fs_read", "  args: { path: in.txt }"]),
      "- call: fs_write",
      `  args: { path: out.md, content: ${JSON.stringify(`${words} ${carried === undefined ? "" : "{{last}}"}`)} }`,
      `- wait: ${luck.between(0, 1_500)}`,
      blocks ? "- block: nothing more to do" : "- finish: done"
    ]
    let inputs: ReadonlyArray<string> = []
    if (carried !== undefined) {
      const uploaded = await ask(
        person,
        luck,
        "POST",
        "/api/v1/x/runs/inputs?name=in.txt",
        new TextEncoder().encode(carried)
      )
      if (uploaded.status !== 201)
        throw new Error(`an input was answered ${uploaded.status} ${JSON.stringify(uploaded.body)}`)
      inputs = [uploaded.body.id]
    }
    const body = { ref: agent, task: `\`\`\`script\n${script.join("\n")}\n\`\`\``, inputs }

    /** What an attempt left behind whose answer was lost. */
    const left = async (): Promise<string | undefined> => {
      const { body } = await ask(person, luck, "GET", "/api/v1/x/runs/")
      return (body.items as ReadonlyArray<{ id: string }>).find(({ id }) => !seen.has(id))?.id
    }
    let id: string | undefined
    for (let attempt = 0; id === undefined; attempt++) {
      const created = await ask(
        person,
        luck,
        "POST",
        "/api/v1/x/runs/",
        body,
        `storm-${options.seed}-${number}-${attempt}`
      )
      if (created.status === 201) id = created.body.id as string
      else if (created.status === 409) {
        // The first attempt was cut off: its key says so until it is given up, and its run is there or not.
        id = await left()
        if (id === undefined) {
          const what = `409 ${created.body.type}`
          unexpected[what] = (unexpected[what] ?? 0) + 1
          await sleep(1_000)
        }
      } else throw new Error(`a create was answered ${created.status} ${JSON.stringify(created.body)}`)
    }
    seen.add(id)

    if (twice) {
      const second = await ask(person, luck, "POST", "/api/v1/x/runs/", {
        ref: agent,
        task: "```script\n- finish: second\n```"
      })
      if (second.status === 201) {
        // Only right if the first had ended by then, which the books tell.
        seen.add(second.body.id as string)
        await untilEnded(second.body.id as string, luck)
      }
    }
    if (cancelAfter !== undefined) {
      await sleep(cancelAfter)
      await ask(person, luck, "POST", `/api/v1/x/runs/${id}/cancel`)
    }
    async function untilEnded(run: string, luck: Chance) {
      while (true) {
        const { body, status } = await ask(person, luck, "GET", `/api/v1/x/runs/${run}`)
        if (status !== 200) throw new Error(`run ${run} was answered ${status}`)
        if (body.status === "finished" || body.status === "cancelled") return body
        await sleep(luck.between(500, 1_500))
      }
    }
    const run = await untilEnded(id, luck)
    ended.push({ run, person, expected: carried === undefined ? words : carried, seconds: seconds(since) })
  }

  const victims: ReadonlyArray<{ readonly child: Child; readonly index: number; readonly isNode: boolean }> = [
    ...stack.nodes.map((child, index) => ({ child, index, isNode: true })),
    ...stack.hosts.map((child, index) => ({ child, index, isNode: false }))
  ]
  const restarts: Array<Promise<void>> = []
  const busy = new Set<Child>()
  /** Kills each process its number of times while between 3 % and 80 % of the runs have ended. */
  const reap = async () => {
    const luck = chance.fork("reaper")
    const plan = victims
      .flatMap((victim) =>
        Array.from({ length: options.kills }, (_, time) => ({
          ...victim,
          time,
          at: luck.next() * 0.77 + 0.03,
          pause: luck.between(200, 4_000)
        }))
      )
      .toSorted((one, other) => one.at - other.at)
    for (const { at, child, index, isNode, pause, time } of plan) {
      while ((ended.length < at * options.runs || busy.has(child)) && Date.now() < deadline) await sleep(20)
      if (Date.now() >= deadline) return
      await sleep(luck.between(0, 400))
      const away = options.longOutage && !isNode && index === 0 && time === 0 ? (staleSeconds + 5) * 1000 : pause
      options.say(`${seconds().toFixed(1)} s: ${child.name} is killed, for ${(away / 1000).toFixed(1)} s`)
      busy.add(child)
      await child.kill("SIGKILL")
      kills[child.name] = (kills[child.name] ?? 0) + 1
      restarts.push(
        (async () => {
          await sleep(away)
          // A node that does not reach its database in time ends; whatever runs it starts it again.
          for (let starts = 1; !child.running; starts++) {
            child.start()
            if (isNode) {
              await stack.ready(index).catch((error) => {
                if (starts === 3) throw error
                unexpected["start that failed"] = (unexpected["start that failed"] ?? 0) + 1
              })
            }
          }
          busy.delete(child)
        })().catch((error) => void found.push(String(error)))
      )
    }
  }

  try {
    const owner = await stack.person("storm")
    await publish(owner)
    const people = await Promise.all(
      Array.from({ length: options.accounts }, (_, index) => stack.person(`storm-${index}`))
    )
    options.say(
      `${seconds().toFixed(1)} s: ${options.nodes} nodes and ${options.hosts} hosts are up, ${options.accounts} accounts begin`
    )

    const progress = setInterval(
      () => options.say(`${seconds().toFixed(1)} s: ${ended.length} of ${options.runs} runs have ended`),
      5_000
    )
    let next = 0
    const account = async (person: Person) => {
      const seen = new Set<string>()
      while (next < options.runs) await live(person, next++, seen)
    }
    const done = await Promise.allSettled([reap(), ...people.map(account)])
    clearInterval(progress)
    for (const result of done) if (result.status === "rejected") found.push(String(result.reason))
    await Promise.all(restarts)
    for (const { child } of victims)
      if ((kills[child.name] ?? 0) < options.kills)
        found.push(`${child.name} was killed ${kills[child.name] ?? 0} times`)
    if (ended.length < options.runs) found.push(`${ended.length} of ${options.runs} runs have ended`)

    // What the hosts still held has to go, too: a run that was forgotten nowhere keeps a slot for ever.
    const leftOnHosts = () =>
      stack.hosts.flatMap((host, index) =>
        readdirSync(join(stack.directory, `host-${index}`, "runs")).map((name) => `${host.name} still keeps ${name}`)
      )
    const collected = Date.now() + 20_000
    while (leftOnHosts().length > 0 && Date.now() < collected) await sleep(100)
    found.push(...leftOnHosts())

    found.push(...(await stack.runtime.runPromise(stack.query((sql) => violations(sql, { atTheEnd: true })))))
    const guard = await stack.runtime.runPromise(stack.query(guardOfSecondRun))
    if (guard !== "runs_one_active") found.push(`a second active run of an account is stopped by ${guard}`)

    let downloads = 0
    for (const { expected, person, run } of ended) {
      if (run.outcome !== "succeeded") continue
      const output = await stack.request(person, "GET", `/api/v1/x/runs/${run.id}/outputs/output.tar`)
      const tar = Buffer.from(await output.arrayBuffer())
      const written =
        output.status === 200 ? [...readTar(tar)].find(([name]) => name.endsWith("out.md"))?.[1] : undefined
      if (written?.includes(expected) === true) downloads++
      else
        found.push(
          `the output of ${run.id} is lost: ${output.status}, ${[...readTar(tar).keys()].join(", ")}, ${written}`
        )
    }
    const outcomes: Record<string, number> = {}
    for (const { run } of ended) {
      const name =
        run.outcome === "error"
          ? `error ${JSON.stringify((run.error as { class: string } | null)?.class)}`
          : (run.outcome ?? run.status)
      outcomes[name] = (outcomes[name] ?? 0) + 1
    }
    const slowest = ended
      .toSorted((one, other) => other.seconds - one.seconds)
      .slice(0, 5)
      .map(({ run, seconds }) => `${run.id} ${seconds.toFixed(1)} s ${run.outcome ?? run.status}`)
    if (found.length > 0) {
      for (const { child } of victims)
        options.say(
          `--- ${child.name}\n${child
            .log()
            .split("\n")
            .filter((line) => /"(ERROR|FATAL)"|level=ERROR/u.test(line))
            .slice(-10)
            .join("\n")
            .slice(-3_000)}`
        )
    }
    return { violations: found, outcomes, kills, unexpected, downloads, slowest, seconds: seconds() }
  } finally {
    await stack.stop()
  }
}
