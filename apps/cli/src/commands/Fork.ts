/** `quickagent fork`: a new agent with the sources of another one's published versions. */
import { Console, Effect, Option, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended, failed } from "../CommandFailed.ts"
import { line, now, over, plain } from "../Progress.ts"
import type { OpenRegistry } from "../Registry.ts"
import { openRegistry } from "../Registry.ts"
import { agentPlace, plainAgentPath } from "../Resolve.ts"

const ownHandle = ({ client, handle }: OpenRegistry) =>
  handle === null ? Effect.map(client.api.user.me(), (profile) => profile.handle) : Effect.succeed(handle)

/** A copy takes seconds; one that takes longer goes on without being watched. */
const untilCopied = { schedule: Schedule.spaced("500 millis"), times: 120 }

const fork = Effect.fnUntraced(function* (input: {
  readonly agent: string
  readonly to: Option.Option<string>
  readonly json: boolean
}) {
  const { name, ns, path } = yield* plainAgentPath(input.agent)
  const registry = yield* openRegistry
  const { client } = registry
  const to = Option.isSome(input.to) ? yield* agentPlace(input.to.value) : { namespace: yield* ownHandle(registry) }
  const made = yield* client.api.agentChanges.fork({ params: { ns, name }, payload: to })
  const ref = `${made.namespace}/${made.name}`
  now(`Copying ${path} to ${ref}`)
  const copy = yield* Effect.repeat(client.api.agentReads.get({ params: { ns: made.namespace, name: made.name } }), {
    until: ({ forkState }) => forkState !== "copying",
    ...untilCopied
    // A token that publishes need not read what is private.
  }).pipe(Effect.catchTag("NotFound", () => Effect.succeed(made)))
  over()
  if (copy.forkState === "failed")
    return yield* failed(`${ref} could not be copied: ${plain(copy.forkDetail ?? "no reason was given")}`)
  if (input.json) return yield* Console.log(JSON.stringify(copy))
  if (copy.forkState === "copying") return line(`${ref} is still being copied; quickagent show ${ref} tells of it`)
  yield* Console.log(`Forked ${path} to ${ref}: ${plain(copy.forkDetail ?? "")}`)
})

export const forkCommand = Command.make(
  "fork",
  {
    agent: Argument.String("agent").pipe(Argument.withDescription("ns/name")),
    to: Flag.String("to").pipe(
      Flag.withDescription("Namespace, or ns/name, of the fork; else your own with the name of the source"),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print the fork's record as JSON"), Flag.withDefault(false))
  },
  (input) => ended(fork(input))
).pipe(
  Command.withDescription(
    "Fork an agent: a new agent with the sources of its published versions, and no version of its own yet. Clone it with git, or take its files from its page, and publish."
  ),
  Command.withShortDescription("Fork an agent"),
  Command.withExamples([
    { command: "quickagent fork acme/notes" },
    { command: "quickagent fork acme/notes --to olli/my-notes" }
  ])
)
