/** `quickagent update`: newer versions inside the ranges of the lock file. */
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { ended, failed } from "../CommandFailed.ts"
import { agreeTo, entryOf, install } from "../Installing.ts"
import type { Agreement } from "../Installing.ts"
import { lockOf, presentLock } from "../LockFile.ts"
import type { LockedRelease } from "../LockFile.ts"
import { line, over } from "../Progress.ts"
import { openRegistry } from "../Registry.ts"
import type { OpenRegistry } from "../Registry.ts"
import { fetchRelease } from "../Release.ts"
import { agentPath, isNewer, noSuch, plainAgentPath, resolveVersion } from "../Resolve.ts"
import { agreementFlags } from "./Install.ts"

/** `null`: it stays as it is, and `line` said why. */
const updateOne = Effect.fnUntraced(function* (
  registry: OpenRegistry,
  path: string,
  locked: LockedRelease,
  agreement: Agreement
) {
  const asked = yield* agentPath(`${path}@${locked.range}`)
  const { beyond, version } = yield* resolveVersion(registry.client, asked).pipe(
    Effect.catchTag("NotFound", () => noSuch(path, registry.registry))
  )
  if (beyond !== undefined)
    line(`There is ${path}@${beyond}, outside of ${locked.range}; to take it: quickagent install ${path}@${beyond}`)
  if (!isNewer(version, locked.version)) {
    line(`${path} stays at ${locked.version}`)
    return null
  }
  if (locked.pinned) {
    line(`${path} is pinned at ${locked.version}; there is ${version}`)
    return null
  }
  const release = yield* fetchRelease(registry, path, version)
  yield* agreeTo(release, locked, agreement, true)
  const done = yield* install(registry, release, entryOf(release, locked.range, false))
  return { ...done, from: locked.version }
})

const update = Effect.fnUntraced(function* (
  input: Agreement & { readonly agents: ReadonlyArray<string>; readonly json: boolean }
) {
  const registry = yield* openRegistry
  const { agents } = (yield* lockOf(registry.registry)) ?? (yield* presentLock)
  const named = yield* Effect.forEach(input.agents, (text) => Effect.map(plainAgentPath(text), ({ path }) => path))
  const unknown = named.find((path) => agents[path] === undefined)
  if (unknown !== undefined) return yield* failed(`${unknown} is not installed in this folder`)
  const chosen = Object.entries(agents).filter(([path]) => named.length === 0 || named.includes(path))
  const results = yield* Effect.forEach(chosen, ([path, locked]) =>
    updateOne(registry, path, locked, input).pipe(
      // An agent that has nothing to offer any more does not keep the others back.
      Effect.catchTag("CommandFailed", (failure) => {
        if (failure.exitClass !== "cli" || named.length > 0) return Effect.fail(failure)
        line(`${path} stays at ${locked.version}: ${failure.message}`)
        return Effect.succeed(null)
      })
    )
  )
  const updated = results.filter((result) => result !== null)
  over()
  if (input.json) return yield* Console.log(JSON.stringify(updated))
  for (const { from, ref } of updated) yield* Console.log(`Updated ${ref} from ${from}`)
})

export const updateCommand = Command.make(
  "update",
  {
    agents: Argument.String("agent").pipe(
      Argument.withDescription("ns/name; all that quickagent.lock names when none is named"),
      Argument.variadic()
    ),
    ...agreementFlags
  },
  (input) => ended(update(input))
).pipe(
  Command.withDescription(
    "Move to the newest versions inside the ranges of quickagent.lock. Shows each new version and what it asks for that the old one did not, and asks before it changes the lock file. What is pinned stays."
  ),
  Command.withShortDescription("Move to newer versions")
)
