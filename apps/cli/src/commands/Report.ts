/** `quickagent report`: tells the platform's staff what is wrong with an agent. */
import { CreateAbuseReport } from "@quickagents/schema"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended, wrongUsage } from "../CommandFailed.ts"
import { openRegistry } from "../Registry.ts"
import { agentPath, isExact, noSuch } from "../Resolve.ts"

const report = Effect.fnUntraced(function* (input: {
  readonly agent: string
  readonly category: CreateAbuseReport["category"]
  readonly text: string
  readonly json: boolean
}) {
  const { name, ns, path, range } = yield* agentPath(input.agent)
  if (range !== undefined && !isExact(range))
    return yield* wrongUsage("Name the agent, or one exact version of it, as acme/notes@1.2.0")
  const { client, registry } = yield* openRegistry
  const made = yield* client.api.abuseReports
    .create({
      params: { ns, name },
      payload: { category: input.category, text: input.text, ...(range === undefined ? {} : { version: range }) }
    })
    .pipe(Effect.catchTag("NotFound", () => noSuch(input.agent, registry)))
  yield* Console.log(
    input.json ? JSON.stringify(made) : `Reported ${path} as ${made.id}. Its owner does not learn who reported.`
  )
})

export const reportCommand = Command.make(
  "report",
  {
    agent: Argument.String("agent").pipe(Argument.withDescription("ns/name, or ns/name@version of one version")),
    category: Flag.Literals("category", CreateAbuseReport.fields.category.literals).pipe(
      Flag.withDescription("What is wrong")
    ),
    text: Flag.String("text").pipe(
      Flag.withDescription("What you saw"),
      Flag.withSchema(CreateAbuseReport.fields.text)
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print the report's record as JSON"), Flag.withDefault(false))
  },
  (input) => ended(report(input))
).pipe(
  Command.withDescription(
    "Report an agent, or a version of it, to the platform's staff. Its owner does not learn who reported."
  ),
  Command.withShortDescription("Report abuse"),
  Command.withExamples([
    {
      command: 'quickagent report acme/notes@1.2.0 --category data-theft --text "It sends my files to an unknown host."'
    }
  ])
)
