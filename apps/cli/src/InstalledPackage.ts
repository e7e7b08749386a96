/** A run of what is installed here: exactly the locked bytes, under the pinned keys. */
import type { RunRequest } from "@quickagents/runner"
import { Effect } from "effect"
import { failed, notVerified, wrongUsage } from "./CommandFailed.ts"
import { readLock } from "./LockFile.ts"
import { isThere } from "./Places.ts"
import { pinnedKeys } from "./PinnedKeys.ts"
import { readAgentPath } from "./Resolve.ts"
import { storedArchive, storedRelease } from "./Store.ts"

/** `undefined` when `text` is a path of this machine. What the lock file names goes before a folder of the same name. */
export const installedPackage = Effect.fnUntraced(function* (text: string) {
  const agent = readAgentPath(text)
  if (agent === undefined) return undefined
  const lock = yield* readLock
  const locked = lock?.agents[agent.path]
  if (lock === undefined || locked === undefined) {
    return (yield* isThere(text))
      ? undefined
      : yield* failed(`${text} is neither a package here nor installed in this folder; quickagent install ${text}`)
  }
  const ref = `${agent.path}@${locked.version}`
  if (agent.range !== undefined && agent.range !== locked.version)
    return yield* wrongUsage(`The lock file holds ${ref}; quickagent install ${text} changes that`)
  const stored = yield* storedRelease(locked.digest, ref)
  if (stored?.attestation === undefined) return yield* failed(`${ref} is not on this machine; quickagent install`)
  if ((yield* storedArchive(locked.digest)) === undefined)
    return yield* notVerified(
      `${stored.archivePath} is not ${locked.digest} any more; to fetch it anew: quickagent install`
    )
  // A lock file alone cannot say that nobody needs to vouch for these bytes: the person at this machine did, or did not.
  if (locked.attestationKeyId === null && stored.attestation !== null)
    return yield* notVerified(`${ref} was installed with an attestation, and the lock file names none`)
  const pinned = (yield* pinnedKeys(lock.registry))?.filter(({ keyId }) => keyId === locked.attestationKeyId) ?? []
  if (locked.attestationKeyId !== null && pinned.length === 0)
    return yield* notVerified(
      `The key ${locked.attestationKeyId} of ${lock.registry} is not pinned; quickagent login, or quickagent keys pin`
    )
  return {
    package: stored.archivePath,
    release: {
      ref,
      digest: locked.digest,
      ...(locked.attestationKeyId === null ? {} : { attested: { attestation: stored.attestation, pinnedKeys: pinned } })
    }
  } satisfies Pick<RunRequest, "package" | "release">
})
