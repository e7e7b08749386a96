/** `quickagent list`, `pin`, `unpin` and `uninstall`: what stands in the lock file. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended, failed } from "../CommandFailed.ts"
import { changeLock, presentLock, readLock } from "../LockFile.ts"
import { line } from "../Progress.ts"
import { openRegistry } from "../Registry.ts"
import { plainAgentPath } from "../Resolve.ts"
import { releaseFolder, storedRelease } from "../Store.ts"

const list = Effect.fnUntraced(function* (input: { readonly json: boolean }) {
  const lock = yield* readLock
  const entries = yield* Effect.forEach(Object.entries(lock?.agents ?? {}), ([path, locked]) =>
    Effect.map(storedRelease(locked.digest, `${path}@${locked.version}`), (stored) => ({
      agent: path,
      ...locked,
      folder: stored === undefined ? null : releaseFolder(locked.digest)
    }))
  )
  if (input.json) return yield* Console.log(JSON.stringify({ registry: lock?.registry ?? null, agents: entries }))
  for (const { agent, attestationKeyId, digest, folder, pinned, range, version } of entries) {
    yield* Console.log(
      `${agent}@${version}  ${pinned ? "pinned" : range}  ${digest.slice(0, 19)}${attestationKeyId === null ? "  without attestation" : ""}${folder === null ? "  not on this machine: quickagent install" : ""}`
    )
  }
  if (entries.length === 0) line("Nothing is installed in this folder.")
})

export const listCommand = Command.make(
  "list",
  { json: Flag.Boolean("json").pipe(Flag.withDescription("Print them as JSON"), Flag.withDefault(false)) },
  (input) => ended(list(input))
).pipe(Command.withDescription("List what is installed in this folder"))

const agent = Argument.String("agent").pipe(Argument.withDescription("ns/name"))

const entry = Effect.fnUntraced(function* (text: string) {
  const { name, ns, path } = yield* plainAgentPath(text)
  const lock = yield* presentLock
  const locked = lock.agents[path]
  if (locked === undefined) return yield* failed(`${path} is not installed in this folder`)
  return { lock, locked, name, ns, path }
})

const setPinned = (pinned: boolean) =>
  Effect.fnUntraced(function* (input: { readonly agent: string }) {
    const { lock, locked, path } = yield* entry(input.agent)
    yield* changeLock(lock.registry, path, (current) => current && { ...current, pinned })
    yield* Console.log(pinned ? `${path} stays at ${locked.version}` : `${path} may change inside ${locked.range}`)
  })

const pin = setPinned(true)
const unpin = setPinned(false)

export const pinCommand = Command.make("pin", { agent }, (input) => ended(pin(input))).pipe(
  Command.withDescription("Keep an installed agent at the version it has: neither update nor install changes it")
)
export const unpinCommand = Command.make("unpin", { agent }, (input) => ended(unpin(input))).pipe(
  Command.withDescription("Let an installed agent change again")
)

const uninstall = Effect.fnUntraced(function* (input: { readonly agent: string }) {
  const { lock, name, ns, path } = yield* entry(input.agent)
  const registry = yield* openRegistry
  if (registry.signedIn && registry.registry === lock.registry) {
    yield* registry.client.api.installs.remove({ params: { ns, name } }).pipe(
      // A token without user:profile recorded nothing either.
      Effect.catchTag("Forbidden", () => Effect.void)
    )
  }
  yield* changeLock(lock.registry, path, () => undefined)
  yield* Console.log(`Uninstalled ${path}`)
})

export const uninstallCommand = Command.make("uninstall", { agent }, (input) => ended(uninstall(input))).pipe(
  Command.withDescription(
    "Take an agent out of this folder's lock file, and out of your account's installs when you are signed in"
  )
)
