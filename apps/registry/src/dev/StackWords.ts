/** What a development stack says to the person who starts it. */
import { Cause, Effect } from "effect"
import { AlreadyRunning } from "./DataDirectory.ts"
import { grantedCredits, olli, people } from "./DevelopmentPeople.ts"
import { CannotStart } from "./DevelopmentStack.ts"
import type { DevelopmentStack } from "./DevelopmentStack.ts"

const standardPort = 4000

/** `SERVICE_PORT`, 4000 when it is not set. */
export const portOf = (environment: NodeJS.ProcessEnv): Effect.Effect<number, CannotStart> => {
  const text = environment["SERVICE_PORT"] ?? String(standardPort)
  const port = /^\d+$/u.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535
    ? Effect.succeed(port)
    : Effect.fail(new CannotStart({ message: `SERVICE_PORT must be a port from 1 to 65535, not ${text}` }))
}

const line = (name: string, value: string) => `  ${name.padEnd(14)}${value}`

/** Who can sign in, as lines. */
const whoIsThere = people.map(({ email, handle, name, purpose }) =>
  line(
    "",
    `${handle.padEnd(6)}${name} <${email}>, ${purpose}${handle === olli.handle ? ` (${grantedCredits} at first)` : ""}`
  )
)

export const describeStack = (stack: DevelopmentStack, ms: number) =>
  [
    "",
    `Up after ${(ms / 1000).toFixed(1)} s.`,
    "",
    line("web page", `${stack.baseUrl}/`),
    line("REST API", `${stack.baseUrl}/api/v1`),
    line("OpenAPI", `${stack.baseUrl}/openapi.yaml`),
    line("git", `${stack.baseUrl}/git/{namespace}/{name}.git (password: a personal access token)`),
    ...(stack.sshPort === null
      ? []
      : [line("git over SSH", `ssh://git@127.0.0.1:${stack.sshPort}/{namespace}/{name}.git (a key of the account)`)]),
    line("sign-in", `${stack.issuer} (development provider): open the web page, sign in, click a person`),
    ...whoIsThere,
    line("database", `PostgreSQL on 127.0.0.1:${stack.ports.database}`),
    line("sandbox host", `127.0.0.1:${stack.ports.host}, ${stack.slots} runs at once`),
    line("data", stack.dataDirectory),
    line("logs", stack.logDirectory),
    ...(stack.weakIsolation.length === 0
      ? []
      : [
          "",
          "The sandbox of this machine is WEAKER than a production host's. It lacks:",
          ...stack.weakIsolation.map((part) => `  - ${part}`),
          "Run only agents that you trust."
        ]),
    "",
    "Next: npm run demo",
    "Stop: Ctrl-C",
    ""
  ].join("\n")

/** The reason why a stack did not start or did not stay, without stack traces unless it is a defect. */
export const describeFailure = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof AlreadyRunning) {
    return error.running === undefined
      ? `Another start uses ${error.directory}.`
      : `It runs already: ${error.running.baseUrl} (process ${error.running.pid}, data in ${error.directory}).`
  }
  if (error instanceof Error && "_tag" in error) return error.message
  return Cause.pretty(cause)
}
