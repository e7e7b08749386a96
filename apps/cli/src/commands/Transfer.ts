/** `quickagent transfer`: to another namespace or name. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended } from "../CommandFailed.ts"
import { agreed } from "../Question.ts"
import { openRegistry } from "../Registry.ts"
import { agentPlace, plainAgentPath } from "../Resolve.ts"

const transfer = Effect.fnUntraced(function* (input: {
  readonly agent: string
  readonly to: string
  readonly yes: boolean
  readonly json: boolean
}) {
  const { name, ns, path } = yield* plainAgentPath(input.agent)
  const to = yield* agentPlace(input.to)
  const { client } = yield* openRegistry
  const ending = to.namespace === ns ? "" : " Grants on it end."
  yield* agreed(`Transfer ${path} to ${to.namespace}/${to.name ?? name}?${ending}`, input.yes)
  const moved = yield* client.api.agentChanges.transfer({ params: { ns, name }, payload: to })
  yield* Console.log(input.json ? JSON.stringify(moved) : `${path} is ${moved.namespace}/${moved.name} now`)
})

export const transferCommand = Command.make(
  "transfer",
  {
    agent: Argument.String("agent").pipe(Argument.withDescription("ns/name")),
    to: Argument.String("to").pipe(Argument.withDescription("Namespace that you manage, or ns/name to rename it too")),
    yes: Flag.Boolean("yes").pipe(Flag.withDescription("Agree without being asked"), Flag.withDefault(false)),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print the agent's record as JSON"), Flag.withDefault(false))
  },
  (input) => ended(transfer(input))
).pipe(
  Command.withDescription(
    "Move an agent to another namespace that you manage, or give it another name. The old name goes on leading readers to it; what is released keeps the name that it was released under. In another namespace its grants end."
  ),
  Command.withShortDescription("Move or rename an agent"),
  Command.withExamples([
    { command: "quickagent transfer olli/notes acme" },
    { command: "quickagent transfer olli/notes olli/minutes" }
  ])
)
