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
import { exitCodes } from "@quickagents/schema"
import { Console, Effect, Schedule, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { join } from "node:path"
import { ended, failed } from "../CommandFailed.ts"
import { advertisedKeys, pinnedKeys } from "../PinnedKeys.ts"
import { configFolder, readIfThere, replaceFile } from "../Places.ts"
import { line, plain } from "../Progress.ts"
import { openRegistry } from "../Registry.ts"
import { agentPath, noSuch, resolveVersion } from "../Resolve.ts"

const statePath = (registry: string) =>
  join(configFolder(), "logs", `${encodeURIComponent(registry.replace(/^https?:\/\//u, ""))}.json`)

const decodeState = Schema.decodeUnknownEffect(Schema.fromJsonString(LogState))

/** What the last verification saw; nothing before the first. A file that cannot be read is never taken for none. */
const remembered = Effect.fnUntraced(function* (path: string) {
  const text = yield* readIfThere(path)
  if (text === undefined) return undefined
  return yield* Effect.mapError(decodeState(text), () =>
    failed(`${path} is damaged; without it nobody can say that the log only grew. Remove it to begin anew`)
  )
})

/** A release that was published a moment ago is in the log some seconds later. */
const untilLogged = { schedule: Schedule.spaced("1 second"), times: 10 }

const verify = Effect.fnUntraced(function* (text: string) {
  const asked = yield* agentPath(text)
  const { client, credential, registry, signedIn } = yield* openRegistry
  const { name, ns, path } = asked
  const { version } = yield* resolveVersion(client, asked).pipe(
    Effect.catchTag("NotFound", () => noSuch(path, registry))
  )
  const ref = `${path}@${version}`
  const params = { ns, name, version }
  const read = Effect.fnUntraced(function* (as: { readonly credential?: Credential }) {
    const { api } = yield* makeClient({ baseUrl: registry, ...as })
    const { archive, status } = yield* api.agentReads.getVersion({ params })
    return { api, digest: archive.digest, status, public: as.credential === undefined }
  })
  // Without a credential first: whatever anyone may read has to stand in the log in clear.
  const found = yield* Effect.catchTag(read({}), "NotFound", (error) =>
    signedIn ? read(credential) : Effect.fail(error)
  ).pipe(Effect.catchTag("NotFound", () => noSuch(ref, registry)))
  const { api, digest, status } = found

  // Without pinned keys this proves that the registry agrees with itself, and no more.
  const keys = (yield* pinnedKeys(registry)) ?? (yield* advertisedKeys(api))
  const attestation = yield* api.agentReads
    .attestation({ params })
    .pipe(Effect.catchTag("NotFound", () => Effect.fail(failed(`${ref} has no attestation that you may read`))))
  const { keyId } = yield* verifyRelease({ ref, digest, attestation: JSON.stringify(attestation), pinnedKeys: keys })
  yield* Console.log(`${ref} is ${digest}, attested by ${keyId}`)
  if (status !== "published") line(`Warning: what was attested holds, but ${ref} is ${status} now`)

  // Before the checkpoint is asked for: another verification may end meanwhile, and remember a later one.
  const state = statePath(registry)
  const before = yield* remembered(state)
  const proven = Effect.gen(function* () {
    const checkpoint = yield* Effect.flatMap(api.log.checkpoint(), (note) => readCheckpoint(note, keys))
    const proof = yield* api.log.inclusion({ query: { ref, size: checkpoint.size } })
    yield* checkInclusion({ ref, archive: digest, attestation, public: found.public }, proof, checkpoint)
    return { checkpoint, leafIndex: proof.leafIndex }
  })
  const { checkpoint, leafIndex } = yield* Effect.retry(proven, {
    ...untilLogged,
    while: ({ _tag }) => _tag === "NotLogged" || _tag === "Validation"
  })
  yield* Console.log(`It is entry ${leafIndex} of ${checkpoint.size} in the log ${plain(checkpoint.origin)}`)

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
  yield* replaceFile(state, `${JSON.stringify(checkpoint, null, 2)}\n`, 0o644)
})

export const verifyCommand = Command.make(
  "verify",
  {
    release: Argument.String("release").pipe(
      Argument.withDescription("ns/name@version; without a version, or with a range, the one that install would take")
    )
  },
  ({ release }) => ended(verify(release))
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
