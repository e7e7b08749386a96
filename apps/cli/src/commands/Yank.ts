/** `quickagent yank`: takes a version out of what ranges resolve to. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended } from "../CommandFailed.ts"
import { openRegistry } from "../Registry.ts"
import { exactRelease, noSuch } from "../Resolve.ts"

const yank = Effect.fnUntraced(function* (input: { readonly release: string; readonly undo: boolean }) {
  const { name, ns, path, version } = yield* exactRelease(input.release)
  const { client, registry } = yield* openRegistry
  const request = { params: { ns, name, version } }
  const { status } = yield* (
    input.undo ? client.api.agentChanges.unyank(request) : client.api.agentChanges.yank(request)
  ).pipe(Effect.catchTag("NotFound", () => noSuch(`${path}@${version}`, registry)))
  yield* Console.log(`${path}@${version} is ${status}`)
})

export const yankCommand = Command.make(
  "yank",
  {
    release: Argument.String("release").pipe(Argument.withDescription("ns/name@version")),
    undo: Flag.Boolean("undo").pipe(Flag.withDescription("Take the yank back"), Flag.withDefault(false))
  },
  (input) => ended(yank(input))
).pipe(
  Command.withDescription(
    "Yank a published version: ranges no longer resolve to it; who names it exactly still gets it, with a warning. A version is never deleted."
  ),
  Command.withShortDescription("Yank a version, or take it back")
)
