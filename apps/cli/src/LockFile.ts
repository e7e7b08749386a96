/**
 * `quickagent.lock`: which releases this folder runs, to the byte. Written whole
 * and in one form, so that two people's changes merge like any text.
 */
import { Digest, Version } from "@quickagents/schema"
import { Effect, Result, Schema, SemVerRange } from "effect"
import { resolve } from "node:path"
import { failed, notVerified } from "./CommandFailed.ts"
import { alone, readIfThere, replaceFile } from "./Places.ts"
import { readAgentPath } from "./Resolve.ts"

export const lockFile = "quickagent.lock"

export const LockedRelease = Schema.Struct({
  /** What was asked for; `update` stays inside it. */
  range: Schema.String.check(Schema.makeFilter((text) => text !== "" && Result.isSuccess(SemVerRange.parse(text)))),
  version: Version,
  /** Of the archive. */
  digest: Digest,
  /** The pinned key that signed the attestation; null for a release that was accepted without one. */
  attestationKeyId: Schema.NullOr(Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))),
  /** Of what the release asks for, as it was agreed to. */
  capabilitiesDigest: Digest,
  /** `update` and `install` leave it alone. */
  pinned: Schema.Boolean
})
export type LockedRelease = typeof LockedRelease.Type

const Lock = Schema.Struct({
  lockVersion: Schema.Literal(1),
  /** Where the releases are from. */
  registry: Schema.String,
  /** By `ns/name`. */
  agents: Schema.Record(Schema.String, LockedRelease).check(
    // Checked as a whole: a record leaves out the keys that its own schema does not take.
    Schema.makeFilter((agents) => Object.keys(agents).every((path) => readAgentPath(path)?.path === path))
  )
})
export type Lock = typeof Lock.Type

const decodeLock = Schema.decodeUnknownEffect(Schema.fromJsonString(Lock))

/** The lock file of the current folder, when there is one. */
export const readLock = Effect.gen(function* () {
  const text = yield* readIfThere(resolve(lockFile))
  return text === undefined
    ? undefined
    : yield* Effect.mapError(decodeLock(text), () =>
        notVerified(`${resolve(lockFile)} is damaged, or of another version`)
      )
})

/** The lock file, which must be there. */
export const presentLock = Effect.flatMap(readLock, (lock) =>
  lock === undefined ? Effect.fail(failed(`There is no ${lockFile} in this folder`)) : Effect.succeed(lock)
)

/** The lock file of a registry: what is locked from one is not to be had from another. */
export const lockOf = Effect.fnUntraced(function* (registry: string) {
  const lock = yield* readLock
  if (lock !== undefined && lock.registry !== registry) {
    return yield* notVerified(`${lockFile} is of ${lock.registry}, not of ${registry}; add --registry ${lock.registry}`)
  }
  return lock
})

/** What an entry becomes; `undefined` is none. */
type Next = (current: LockedRelease | undefined) => LockedRelease | undefined

const change = Effect.fnUntraced(function* (registry: string, path: string, next: Next) {
  const { [path]: current, ...others } = (yield* lockOf(registry))?.agents ?? {}
  const release = next(current)
  const agents = Object.entries(release === undefined ? others : { ...others, [path]: release })
  const lock: Lock = {
    lockVersion: 1,
    registry,
    agents: Object.fromEntries(agents.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }
  yield* replaceFile(resolve(lockFile), `${JSON.stringify(lock, null, 2)}\n`, 0o644)
})

/** Changes one entry. Read anew and alone, so that nothing is lost that a second command in this folder has just written. */
export const changeLock = (registry: string, path: string, next: Next) =>
  alone(resolve(lockFile), change(registry, path, next))
