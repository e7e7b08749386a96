/** `quickagent search` and `quickagent show`. */
import { capabilityList } from "@quickagents/schema"
import type { AgentVersion, Mode } from "@quickagents/schema"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended } from "../CommandFailed.ts"
import { grantsOf } from "../Grants.ts"
import { line, plain } from "../Progress.ts"
import { openRegistry } from "../Registry.ts"
import { agentPath, noSuch, resolveVersion } from "../Resolve.ts"

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print the answer as JSON"), Flag.withDefault(false))

const search = Effect.fnUntraced(function* (input: {
  readonly words: ReadonlyArray<string>
  readonly mode: Option.Option<Mode>
  readonly limit: number
  readonly json: boolean
}) {
  const { client } = yield* openRegistry
  const q = input.words.join(" ")
  const mode = Option.getOrUndefined(input.mode)
  const answer = yield* client.api.search.search({
    query: { ...(q === "" ? {} : { q }), ...(mode === undefined ? {} : { mode }), limit: input.limit }
  })
  if (input.json) return yield* Console.log(JSON.stringify(answer))
  for (const { description, latestVersion, name, namespace } of answer.items)
    yield* Console.log(`${namespace}/${name}@${latestVersion ?? "none"}  ${plain(description)}`)
  if (answer.total > answer.items.length)
    line(`${answer.items.length} of ${answer.total}; narrow the words or raise --limit`)
  if (answer.total === 0) line("Nothing matches.")
})

export const searchCommand = Command.make(
  "search",
  {
    words: Argument.String("words").pipe(
      Argument.withDescription("Words to look for; all agents without"),
      Argument.variadic()
    ),
    mode: Flag.Literals("mode", ["autonomous", "interactive"]).pipe(
      Flag.withDescription("Only agents that run in this mode"),
      Flag.optional
    ),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 100"), Flag.withDefault(20)),
    json
  },
  (input) => ended(search(input))
).pipe(Command.withDescription("Search the registry"))

const sourceText = ({ source: { commit, kind, url } }: AgentVersion, registry: string) =>
  commit === null ? kind : `${kind} commit ${plain(commit)}${url === undefined ? "" : ` of ${registry}${plain(url)}`}`

const show = Effect.fnUntraced(function* (input: { readonly agent: string; readonly json: boolean }) {
  const asked = yield* agentPath(input.agent)
  const { client, registry } = yield* openRegistry
  const { name, ns, path } = asked
  const agent = yield* client.api.agentReads
    .get({ params: { ns, name } })
    .pipe(Effect.catchTag("NotFound", () => noSuch(path, registry)))
  const versions = yield* client.api.agentReads.listVersions({ params: { ns, name }, query: { limit: 20 } })
  const published = asked.range !== undefined || versions.items.some(({ status }) => status === "published")
  const wanted = published ? (yield* resolveVersion(client, asked)).version : versions.items[0]?.version
  const version =
    wanted === undefined
      ? undefined
      : yield* client.api.agentReads
          .getVersion({ params: { ns, name, version: wanted } })
          .pipe(Effect.catchTag("NotFound", () => noSuch(`${path}@${wanted}`, registry)))
  if (input.json) return yield* Console.log(JSON.stringify({ agent, version: version ?? null }))
  const current = `${agent.namespace}/${agent.name}`
  const asks =
    version === undefined
      ? []
      : version.manifest === null
        ? capabilityList(version.capabilities ?? {})
        : grantsOf(version.manifest)
  yield* Console.log(
    [
      `${path}${version === undefined ? "" : `@${version.version}`}, ${agent.visibility}${agent.retiredAt === null ? "" : ", retired"}`,
      ...(current === path ? [] : [`  transferred: it is ${current} now`]),
      `  ${plain(agent.description)}`,
      ...(version === undefined
        ? ["  no version yet"]
        : [
            `  state     ${version.status}, verdict ${version.verdict ?? "none yet"}, ${version.signed ? "signed" : "not signed"}`,
            `  modes     ${version.modes.join(", ")}`,
            `  archive   ${version.archive.digest}, ${version.archive.bytes} bytes`,
            `  source    ${sourceText(version, registry)}`,
            `  submitted ${version.createdAt} by ${version.submittedBy}`,
            ...(version.manifest?.license === undefined ? [] : [`  licence   ${plain(version.manifest.license)}`]),
            ...(asks.length === 0 ? ["  asks for nothing"] : asks.map((grant) => `  asks for  ${plain(grant)}`))
          ]),
      `  versions  ${versions.items.length === 0 ? "none" : ""}${versions.items.map((one) => (one.status === "published" ? one.version : `${one.version} (${one.status})`)).join(", ")}${versions.total > versions.items.length ? ", ..." : ""}`
    ].join("\n")
  )
})

export const showCommand = Command.make(
  "show",
  { agent: Argument.String("agent").pipe(Argument.withDescription("ns/name, or ns/name@range")), json },
  (input) => ended(show(input))
).pipe(
  Command.withDescription("Show an agent and one of its versions: what it asks for, its verdict, where it is from"),
  Command.withShortDescription("Show an agent and a version")
)
