/** `quickagent dispute`: what an owner says against the hold of a version. */
import { DisputeHold } from "@quickagents/schema"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended } from "../CommandFailed.ts"
import { openRegistry } from "../Registry.ts"
import { exactRelease, noSuch } from "../Resolve.ts"

const dispute = Effect.fnUntraced(function* (input: {
  readonly release: string
  readonly reason: string
  readonly json: boolean
}) {
  const { name, ns, path, version } = yield* exactRelease(input.release)
  const { client, registry } = yield* openRegistry
  const held = yield* client.api.disputes
    .dispute({ params: { ns, name, version }, payload: { reason: input.reason } })
    .pipe(Effect.catchTag("NotFound", () => noSuch(`${path}@${version}`, registry)))
  yield* Console.log(
    input.json
      ? JSON.stringify(held)
      : `The hold of ${path}@${version} is disputed; a decision is due ${held.dueAt ?? "when a reviewer takes it"}`
  )
})

export const disputeCommand = Command.make(
  "dispute",
  {
    release: Argument.String("release").pipe(Argument.withDescription("ns/name@version")),
    reason: Flag.String("reason").pipe(
      Flag.withDescription("Why it should not be held; a reviewer reads it"),
      Flag.withSchema(DisputeHold.fields.reason)
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print what holds the version as JSON"),
      Flag.withDefault(false)
    )
  },
  (input) => ended(dispute(input))
).pipe(
  Command.withDescription("Dispute the hold of a version of yours, once: a reviewer reads the reason and decides."),
  Command.withShortDescription("Dispute the hold of a version"),
  Command.withExamples([
    { command: 'quickagent dispute acme/notes@1.2.0 --reason "The key in the example is a made-up one."' }
  ])
)
