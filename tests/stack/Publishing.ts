/** Steps that most acceptance tests take: publish a package, ask for a run, wait for what comes of it. */
import type { AgentVersion, Run } from "@quickagents/schema"
import { setTimeout as sleep } from "node:timers/promises"
import { archiveOf, form } from "./Packages.ts"
import type { PackageFiles } from "./Packages.ts"
import type { Person, Stack } from "./Stack.ts"

/** Reads again until `done`; fails with the last value when that takes longer than `ms`. */
export const until = async <A>(read: () => Promise<A>, done: (value: A) => boolean, ms = 45_000): Promise<A> => {
  const deadline = Date.now() + ms
  while (true) {
    const value = await read()
    if (done(value)) return value
    if (Date.now() > deadline) throw new Error(`not in time: ${JSON.stringify(value)}`)
    await sleep(40)
  }
}

const named = (files: PackageFiles) => {
  const field = (key: string) => new RegExp(`^${key}: (.*)$`, "m").exec(files["agent.yaml"])![1]
  const [namespace, name] = field("name").split("/") as [string, string]
  return { namespace, name, version: field("version") }
}

export const createAgent = (stack: Stack, who: Person, path: string, visibility: "public" | "private" = "public") => {
  const [namespace, name] = path.split("/")
  return stack.call(who, "POST", "/api/v1/agents", { namespace, name, visibility })
}

/** Submits a version and answers it as the gate left it. The agent exists. */
export const submit = async (stack: Stack, who: Person, files: PackageFiles): Promise<AgentVersion> => {
  const { name, namespace, version } = named(files)
  await stack.call(who, "POST", `/api/v1/agents/${namespace}/${name}/versions`, form(archiveOf(files)))
  return until(
    () => stack.call<AgentVersion>(who, "GET", `/api/v1/agents/${namespace}/${name}/versions/${version}`),
    ({ status }) => status !== "scanning"
  )
}

/** A new agent with one published version. */
export const publish = async (
  stack: Stack,
  who: Person,
  files: PackageFiles,
  visibility: "public" | "private" = "public"
) => {
  const { name, namespace } = named(files)
  await createAgent(stack, who, `${namespace}/${name}`, visibility)
  const version = await submit(stack, who, files)
  if (version.status !== "published")
    throw new Error(`${namespace}/${name} is ${version.status}: ${JSON.stringify(version.holding)}`)
  return version
}

/** A task that the scripted model follows. */
export const script = (...steps: ReadonlyArray<object>) =>
  `\`\`\`script\n${steps.map((step) => `- ${JSON.stringify(step)}`).join("\n")}\n\`\`\``

export const runIs = (stack: Stack, who: Person, id: string, statuses: ReadonlyArray<Run["status"]>) =>
  until(
    () => stack.call<Run>(who, "GET", `/api/v1/x/runs/${id}`),
    ({ status }) => statuses.includes(status)
  )

/** The run as it ended. */
export const ended = (stack: Stack, who: Person, id: string) => runIs(stack, who, id, ["finished", "cancelled"])

export const runToEnd = async (stack: Stack, who: Person, request: object) => {
  const { id } = await stack.call<Run>(who, "POST", "/api/v1/x/runs/", request)
  return ended(stack, who, id)
}
