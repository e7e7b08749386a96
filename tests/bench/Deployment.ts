/** The deployment that the parts measure: one registry node, one host without a sandbox, a published agent. */
import { freePort } from "@quickagents/platform/testing/server"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import { Child, startStack } from "../stack/Stack.ts"
import type { Person, Stack } from "../stack/Stack.ts"

/** Runs that the host takes at once. */
export const slots = 16

export interface Deployment {
  readonly stack: Stack
  /** Connection string of the database server, without a database. */
  readonly postgres: string
  readonly person: Person
  /** A published agent of `person`. */
  readonly agent: string
  readonly runEnded: (person: Person, id: string) => Promise<Run>
  readonly stop: () => Promise<void>
}

export interface Run {
  readonly id: string
  readonly status: string
  readonly outcome: string | null
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

/** What `read` answers as soon as `done` holds of it. */
export const until = async <A>(
  read: () => Promise<A>,
  done: (value: A) => boolean,
  everyMs = 10,
  withinMs = 60_000
): Promise<A> => {
  const deadline = Date.now() + withinMs
  while (true) {
    const value = await read()
    if (done(value)) return value
    if (Date.now() > deadline) throw new Error(`not in time: ${JSON.stringify(value).slice(0, 500)}`)
    await sleep(everyMs)
  }
}

interface Version {
  readonly status: string
  readonly archive: { readonly href: string }
}

/** Waits for the end of a run, which must be a success. */
export const runEnded = (stack: Stack) => async (who: Person, id: string) => {
  const run = await until(
    () => stack.call<Run>(who, "GET", `/api/v1/x/runs/${id}`),
    ({ status }) => status === "finished" || status === "cancelled",
    5
  )
  if (run.outcome !== "succeeded") throw new Error(`a run ended as ${run.outcome}: ${JSON.stringify(run)}`)
  return run
}

/** A host without a sandbox for the registry of `stack`; it takes runs as soon as the registry has seen it. */
export const startFakeHost = async (stack: Stack) => {
  const { token } = await stack.call<{ token: string }>(stack.staff, "POST", "/api/v1/x/runs/staff/hosts/enrolments", {
    name: "bench"
  })
  const host = new Child(
    "fake-host",
    fileURLToPath(new URL("FakeHost.ts", import.meta.url)),
    {
      REGISTRY_URL: stack.urls[0],
      ENROLMENT_TOKEN: token,
      PORT: String(await freePort()),
      SLOTS: String(slots)
    },
    join(stack.directory, "logs/fake-host.log")
  )
  host.start()
  return host
}

/** Publishes the agent `bench/steps` as `person`, whose handle is `bench`. */
export const publishAgent = async (stack: Stack, person: Person) => {
  const agent = "bench/steps"
  await stack.call(person, "POST", "/api/v1/agents", { namespace: "bench", name: "steps" })
  await stack.call(person, "POST", `/api/v1/agents/${agent}/versions`, form(archiveOf(scriptedAgent(agent, "1.0.0"))))
  const version = await until(
    () => stack.call<Version>(person, "GET", `/api/v1/agents/${agent}/versions/1.0.0`),
    ({ status }) => status !== "scanning"
  )
  if (version.status !== "published") throw new Error(`the agent is ${version.status}: ${JSON.stringify(version)}`)
  return { agent, archive: version.archive.href }
}

/** `postgres` is a running server; the deployment has its database there and drops it at the end. */
export const deployOn = async (postgres: string): Promise<Deployment> => {
  const stack = await startStack({
    postgres,
    settings: { SERVICE_LIMITS_VERSIONS_PER_DAY: "1000", SERVICE_CREDITS_ALLOWANCE_STANDARD: "1000000" }
  })
  let host: Child | undefined
  const stop = async () => {
    await host?.kill("SIGTERM")
    await stack.stop()
  }
  try {
    host = await startFakeHost(stack)
    const person = await stack.person("bench")
    const { agent } = await publishAgent(stack, person)
    await stack.hostsOnline(1)
    return { stack, postgres, person, agent, runEnded: runEnded(stack), stop }
  } catch (error) {
    const said = host?.log().slice(-2_000)
    await stop()
    throw new Error(`the deployment did not come up; its host said: ${said}`, { cause: error })
  }
}
