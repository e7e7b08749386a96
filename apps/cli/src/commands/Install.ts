/** `quickagent install`: a release into this folder's lock file, or all that the lock file names. */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ended, exitCodesText, notVerified, wrongUsage } from "../CommandFailed.ts"
import { agreeTo, entryOf, install } from "../Installing.ts"
import type { Agreement } from "../Installing.ts"
import { changeLock, lockFile, lockOf } from "../LockFile.ts"
import { line, over } from "../Progress.ts"
import { openRegistry } from "../Registry.ts"
import type { OpenRegistry } from "../Registry.ts"
import { fetchRelease } from "../Release.ts"
import { agentPath, noSuch, resolveVersion } from "../Resolve.ts"
import { keepRelease, releaseFolder } from "../Store.ts"

export const agreementFlags = {
  yes: Flag.Boolean("yes").pipe(
    Flag.withAlias("y"),
    Flag.withDescription("Agree to what is asked for, without a question"),
    Flag.withDefault(false)
  ),
  acceptUnsigned: Flag.Boolean("accept-unsigned").pipe(
    Flag.withDescription("Take a release that has no attestation"),
    Flag.withDefault(false)
  ),
  acceptUnscanned: Flag.Boolean("accept-unscanned").pipe(
    Flag.withDescription("Take a release that was never scanned"),
    Flag.withDefault(false)
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print what was done as JSON"), Flag.withDefault(false))
}

const installOne = Effect.fnUntraced(function* (registry: OpenRegistry, text: string, agreement: Agreement) {
  const asked = yield* agentPath(text)
  const before = (yield* lockOf(registry.registry))?.agents[asked.path]
  if (before?.pinned === true)
    return yield* wrongUsage(`${asked.path} is pinned at ${before.version}; quickagent unpin ${asked.path} first`)
  const { beyond, range, version } = yield* resolveVersion(registry.client, asked).pipe(
    Effect.catchTag("NotFound", () => noSuch(asked.path, registry.registry))
  )
  const release = yield* fetchRelease(registry, asked.path, version)
  yield* agreeTo(release, before, agreement, false)
  const done = yield* install(registry, release, entryOf(release, range, false))
  if (beyond !== undefined) line(`There is ${asked.path}@${beyond}, outside of ${range}`)
  return [done]
})

/** Everything of the lock file, to the byte. It records an agreement, so nobody is asked again. */
const restore = Effect.fnUntraced(function* (registry: OpenRegistry, frozen: boolean) {
  const lock = yield* lockOf(registry.registry)
  if (lock === undefined) {
    return yield* frozen
      ? notVerified(`There is no ${lockFile} in this folder`)
      : wrongUsage(`There is no ${lockFile} in this folder; name what to install, as acme/notes`)
  }
  const releases = yield* Effect.forEach(Object.entries(lock.agents), ([path, locked]) =>
    Effect.map(fetchRelease(registry, path, locked.version, locked), (release) => ({ locked, path, release }))
  )
  for (const { locked, release } of releases) {
    if (frozen && release.keyId !== locked.attestationKeyId)
      return yield* notVerified(
        `${release.ref} is attested by the key ${release.keyId ?? "none"}, the lock file says ${locked.attestationKeyId ?? "none"}`
      )
  }
  for (const { locked, path, release } of releases) {
    yield* keepRelease(release)
    if (release.keyId !== locked.attestationKeyId)
      yield* changeLock(registry.registry, path, (current) =>
        current?.digest === release.digest ? { ...current, attestationKeyId: release.keyId } : current
      )
  }
  return releases.map(({ release: { digest, keyId, ref } }) => ({
    ref,
    digest,
    attestationKeyId: keyId,
    recorded: false
  }))
})

const command = Effect.fnUntraced(function* (
  input: Agreement & { readonly agent: Option.Option<string>; readonly frozen: boolean; readonly json: boolean }
) {
  const agent = Option.getOrUndefined(input.agent)
  if (agent !== undefined && input.frozen)
    return yield* wrongUsage("--frozen restores what the lock file names, and nothing else")
  const registry = yield* openRegistry
  const done = yield* agent === undefined ? restore(registry, input.frozen) : installOne(registry, agent, input)
  over()
  if (input.json) return yield* Console.log(JSON.stringify(done))
  for (const { attestationKeyId, digest, recorded, ref } of done) {
    yield* Console.log(
      `Installed ${ref}, ${attestationKeyId === null ? "without attestation" : `attested by ${attestationKeyId.slice(0, 16)}`}${recorded ? ", recorded in your account" : ""}\n  ${releaseFolder(digest)}`
    )
  }
})

export const installCommand = Command.make(
  "install",
  {
    agent: Argument.String("agent").pipe(
      Argument.withDescription(
        "ns/name or ns/name@range, as acme/notes@^1.2; without it all that quickagent.lock names"
      ),
      Argument.optional
    ),
    frozen: Flag.Boolean("frozen").pipe(
      Flag.withDescription(
        "Fail when quickagent.lock is missing or is not what the registry gives; change nothing in it"
      ),
      Flag.withDefault(false)
    ),
    ...agreementFlags
  },
  (input) => ended(command(input))
).pipe(
  Command.withDescription(
    `Install a release for this folder: resolve it, verify its bytes and its attestation under your pinned keys, show what it asks for, and write quickagent.lock. ${exitCodesText}`
  ),
  Command.withShortDescription("Install a release, or what quickagent.lock names"),
  Command.withExamples([
    { command: "quickagent install acme/notes@^1.2", description: "The highest 1.x from 1.2 on" },
    { command: "quickagent install --frozen", description: "In a build: exactly the lock file, or an error" }
  ])
)
