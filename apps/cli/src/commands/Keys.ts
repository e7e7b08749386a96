/** `quickagent keys`: the registry's signing keys, as advertised and as pinned. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { ended } from "../CommandFailed.ts"
import { advertisedKeys, isChange, keyChange, keyChangeLines, pinKeys, pinnedKeys } from "../PinnedKeys.ts"
import { line } from "../Progress.ts"
import { agreed } from "../Question.ts"
import { openRegistry } from "../Registry.ts"

const read = Effect.gen(function* () {
  const { client, registry } = yield* openRegistry
  const advertised = yield* advertisedKeys(client.api)
  const pinned = yield* pinnedKeys(registry)
  return { registry, advertised, pinned, change: keyChange(pinned ?? [], advertised) }
})

const show = Effect.fnUntraced(function* (input: { readonly json: boolean }) {
  const { advertised, change, pinned, registry } = yield* read
  if (input.json) {
    return yield* Console.log(
      JSON.stringify({ registry, pinned: pinned ?? null, advertised, changed: isChange(change) })
    )
  }
  const isPinned = (id: string) => pinned?.some(({ keyId }) => keyId === id)
  yield* Console.log(
    [
      registry,
      ...advertised.map(({ keyId, status }) => `  ${keyId} ${status}, ${isPinned(keyId) ? "pinned" : "not pinned"}`),
      ...change.gone.map(({ keyId }) => `  ${keyId} pinned, no longer advertised`)
    ].join("\n")
  )
})

const pin = Effect.fnUntraced(function* (input: { readonly yes: boolean }) {
  const { advertised, change, registry } = yield* read
  if (!isChange(change)) return yield* Console.log("The advertised keys are pinned already.")
  line(`At ${registry} this would change:`)
  for (const changed of keyChangeLines(change)) line(changed)
  yield* agreed("Do these ids agree with what the registry's operator told you?", input.yes)
  yield* pinKeys(registry, advertised)
  yield* Console.log(`Pinned ${advertised.map(({ keyId }) => keyId).join(", ")}`)
})

const pinCommand = Command.make(
  "pin",
  {
    yes: Flag.Boolean("yes").pipe(
      Flag.withAlias("y"),
      Flag.withDescription("The ids were compared; ask nothing"),
      Flag.withDefault(false)
    )
  },
  (input) => ended(pin(input))
).pipe(
  Command.withDescription(
    "Pin the keys that the registry advertises now, in place of those pinned before. From then on attestations of the new keys are taken."
  ),
  Command.withShortDescription("Pin the keys that are advertised now")
)

export const keysCommand = Command.make(
  "keys",
  { json: Flag.Boolean("json").pipe(Flag.withDescription("Print them as JSON"), Flag.withDefault(false)) },
  (input) => ended(show(input))
).pipe(
  Command.withDescription("Show the registry's signing keys, and which of them are pinned here"),
  Command.withSubcommands([pinCommand])
)
