/** `quickagent verify`: a release against its attestation and the registry's transparency log. */
import { makeClient } from "@quickagents/client"
import type { Credential } from "@quickagents/client"
import {
  checkConsistency,
  checkInclusion,
  LogRefuted,
  LogState,
  readCheckpoint,
  verifyRelease
} from "@quickagents/runner"
import { exitCodes, ReleaseRef } from "@quickagents/schema"
import { Console, Effect, Schedule, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { advertisedKeys, pinnedKeys } from "../PinnedKeys.ts"
import { configFolder } from "../Places.ts"
import { openRegistry } from "../Registry.ts"

/** The state that is remembered of a log cannot be read or kept. */
class StateUnusable extends Schema.TaggedError<StateUnusable>()("StateUnusable", { message: Schema.String }) {}

const flags = {
  ref: Argument.String("release").pipe(
    Argument.withSchema(ReleaseRef),
    Argument.withDescription("The release, as ns/name@version")
  )
}

const statePath = (registry: string) =>
  join(configFolder(), "logs", `${encodeURIComponent(registry.replace(/^https?:\/\//u, ""))}.json`)

const decodeState = Schema.decodeUnknownEffect(Schema.fromJsonString(LogState))

/** What the last verification saw; nothing before the first. A file that cannot be read is never taken for none. */
const remembered = (path: string): Effect.Effect<LogState | undefined, StateUnusable> => {
  const unreadable = () => new StateUnusable({ message: `${path} cannot be read` })
  return Effect.tryPromise({
    try: () =>
      readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined
        throw error
      }),
    catch: unreadable
  }).pipe(
    Effect.flatMap((text) => (text === undefined ? Effect.undefined : Effect.mapError(decodeState(text), unreadable)))
  )
}

/** The whole file or the one before, also when two verifications end at once. */
const remember = (path: string, state: LogState) =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(dirname(path), { recursive: true })
      const written = `${path}.${process.pid}`
      await writeFile(written, `${JSON.stringify(state, null, 2)}\n`)
      await rename(written, path)
    },
    catch: () => new StateUnusable({ message: `${path} cannot be written` })
  })

const partsOf = (ref: string) => {
  const [path, version] = ref.split("@") as [string, string]
  const [ns, name] = path.split("/") as [string, string]
  return { ns, name, version }
}

/** A release that was published a moment ago is in the log some seconds later. */
const untilLogged = { schedule: Schedule.spaced("1 second"), times: 10 }

const verify = Effect.fnUntraced(function* (ref: string) {
  const params = partsOf(ref)
  const { credential, registry, signedIn } = yield* openRegistry
  const read = Effect.fnUntraced(function* (as: { readonly credential?: Credential }) {
    const { api } = yield* makeClient({ baseUrl: registry, ...as })
    return { api, version: yield* api.agentReads.getVersion({ params }), public: as.credential === undefined }
  })
  // Without a credential first: whatever anyone may read has to stand in the log in clear.
  const found = yield* Effect.catchTag(read({}), "NotFound", (error) =>
    signedIn ? read(credential) : Effect.fail(error)
  )
  const { api, version } = found

  // Without pinned keys this proves that the registry agrees with itself, and no more.
  const keys = (yield* pinnedKeys(registry)) ?? (yield* advertisedKeys(api))
  const attestation = yield* api.agentReads.attestation({ params })
  const { keyId } = yield* verifyRelease({
    ref,
    digest: version.archive.digest,
    attestation: JSON.stringify(attestation),
    pinnedKeys: keys
  })
  yield* Console.log(`${ref} is ${version.archive.digest}, attested by ${keyId}`)

  const proven = Effect.gen(function* () {
    const checkpoint = yield* Effect.flatMap(api.log.checkpoint(), (note) => readCheckpoint(note, keys))
    const proof = yield* api.log.inclusion({ query: { ref, size: checkpoint.size } })
    yield* checkInclusion(
      { ref, archive: version.archive.digest, attestation, public: found.public },
      proof,
      checkpoint
    )
    return { checkpoint, leafIndex: proof.leafIndex }
  })
  const { checkpoint, leafIndex } = yield* Effect.retry(proven, {
    ...untilLogged,
    while: ({ _tag }) => _tag === "NotLogged" || _tag === "Validation"
  })
  yield* Console.log(`It is entry ${leafIndex} of ${checkpoint.size} in the log ${checkpoint.origin}`)

  const path = statePath(registry)
  const before = yield* remembered(path)
  if (before !== undefined) {
    if (before.origin !== checkpoint.origin || before.size > checkpoint.size) {
      return yield* new LogRefuted({
        message: `the log is ${checkpoint.origin} of ${checkpoint.size} entries, and was ${before.origin} of ${before.size}`
      })
    }
    const { hashes } = yield* api.log.consistency({ query: { first: before.size, second: checkpoint.size } })
    yield* checkConsistency(before, checkpoint, hashes)
    yield* Console.log(`The log only grew since its ${before.size} entries of the last time`)
  }
  yield* remember(path, checkpoint)
  return exitCodes.ok
})

const explain = (text: string, code: number) => Effect.as(Console.error(text), code)

export const verifyCommand = Command.make("verify", flags, ({ ref }) =>
  Effect.gen(function* () {
    process.exitCode = yield* verify(ref).pipe(
      Effect.catchTags({
        RunFailure: ({ message, reason }) => explain(`verify (${reason}): ${message}`, exitCodes.verify),
        LogRefuted: ({ message }) => explain(`verify: ${message}`, exitCodes.verify),
        CommandFailed: ({ exitClass, message }) => explain(message, exitCodes[exitClass]),
        StateUnusable: ({ message }) => explain(message, exitCodes.cli)
      }),
      Effect.catch((error) => explain(`${ref} cannot be verified: ${error.message}`, exitCodes.cli))
    )
  })
).pipe(
  Command.withDescription(
    `Check that a release is what the registry attests, that the attestation is in the registry's transparency log, and that the log only grew since the last time.

The last state of each log is kept in the user's configuration directory. Attestation and checkpoint are verified with the keys that you pinned, with those that the registry advertises when you pinned none. What is private is read with the token of your sign-in, which needs agent:read. Exits with ${exitCodes.verify} when something does not hold.`
  ),
  Command.withShortDescription("Check a release against its attestation and the transparency log"),
  Command.withExamples([
    { command: "quickagent verify acme/meeting-notes@1.2.0", description: "Check a public release" }
  ])
)
