/** A release as it comes from the registry, checked before anything of it is believed. */
import { defaultArchiveLimits, openPackage } from "@quickagents/archive"
import type { PackageFile } from "@quickagents/archive"
import { verifyRelease } from "@quickagents/runner"
import type { AgentVersion, Digest, Manifest } from "@quickagents/schema"
import { Effect, Result, Stream } from "effect"
import { failed, notVerified } from "./CommandFailed.ts"
import { grantsDigest, grantsOf } from "./Grants.ts"
import type { LockedRelease } from "./LockFile.ts"
import { pinnedKeys } from "./PinnedKeys.ts"
import { line, now } from "./Progress.ts"
import type { OpenRegistry } from "./Registry.ts"
import { noSuch } from "./Resolve.ts"
import { storedArchive } from "./Store.ts"

export interface VerifiedRelease {
  /** `ns/name`. */
  readonly path: string
  readonly version: string
  readonly ref: string
  readonly digest: Digest
  readonly archive: Uint8Array
  readonly files: ReadonlyArray<PackageFile>
  readonly manifest: Manifest
  /** What the archive itself asks for. */
  readonly grants: ReadonlyArray<string>
  readonly attestation: string | null
  /** The pinned key that signed the attestation; null when there is none. */
  readonly keyId: string | null
  readonly scanned: boolean
}

/** Never more than an archive may have, whatever is sent. */
const download = Effect.fnUntraced(function* ({ client }: OpenRegistry, ns: string, name: string, digest: Digest) {
  const { body } = yield* client.api.agentReads.archive({ params: { ns, name, digest } })
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  yield* Stream.runForEach(body, (chunk) => {
    chunks.push(chunk)
    bytes += chunk.length
    return bytes > defaultArchiveLimits.archiveMaxBytes
      ? Effect.fail(
          notVerified(`The registry sends more than the ${defaultArchiveLimits.archiveMaxBytes} bytes of an archive`)
        )
      : Effect.void
  })
  return Buffer.concat(chunks)
})

/** What a version that is not published answers, in words. */
const refusal = (ref: string, status: AgentVersion["status"]): string | undefined => {
  switch (status) {
    case "published":
    case "yanked":
      return undefined
    case "scanning":
      return `${ref} is still being scanned`
    case "needs_review":
      return `${ref} is held for review`
    case "quarantined":
      return `${ref} is quarantined: it may be harmful`
    case "blocked":
      return `${ref} is blocked: it is harmful, or breaks the registry's rules`
  }
}

const attestationOf = Effect.fnUntraced(function* (
  { client, registry }: OpenRegistry,
  release: { readonly ns: string; readonly name: string; readonly version: string; readonly digest: Digest }
) {
  const { digest, name, ns, version } = release
  const envelope = yield* client.api.agentReads.attestation({ params: { ns, name, version } })
  const pinned = yield* pinnedKeys(registry)
  if (pinned === undefined) {
    return yield* notVerified(
      `No signing key of ${registry} is pinned, so nothing can be verified; quickagent login pins them, or quickagent keys pin`
    )
  }
  const attestation = JSON.stringify(envelope)
  const { keyId } = yield* verifyRelease({
    ref: `${ns}/${name}@${version}`,
    digest,
    attestation,
    pinnedKeys: pinned
  }).pipe(
    Effect.mapError((failure) =>
      failure.reason === "signing-key-unknown"
        ? notVerified(
            "The attestation is signed with none of the keys that you pinned. See quickagent keys; when the registry's operator tells of a new key, compare the ids and pin it: quickagent keys pin"
          )
        : notVerified(failure.message)
    )
  )
  return { attestation, keyId }
})

/** Fetches a version and checks it: the bytes by their digest, the attestation by the pinned keys, both by what is locked. */
export const fetchRelease = Effect.fnUntraced(function* (
  registry: OpenRegistry,
  path: string,
  version: string,
  locked?: LockedRelease
) {
  const [ns, name] = path.split("/") as [string, string]
  const ref = `${path}@${version}`
  now(`Resolving ${ref}`)
  const record = yield* registry.client.api.agentReads
    .getVersion({ params: { ns, name, version } })
    .pipe(Effect.catchTag("NotFound", () => noSuch(ref, registry.registry)))
  const refused = refusal(ref, record.status)
  if (refused !== undefined) return yield* failed(refused)
  // Nobody but who names a release learns that it is another one's: else a mirror could hand out any attested release for it.
  if (record.ref !== ref)
    return yield* failed(
      `${ref} was released as ${record.ref}, and its attestation says so: its agent was transferred. Name it so.`
    )
  if (record.status === "yanked")
    line(`Warning: ${ref} was yanked by its author; it is taken only because it is named exactly.`)
  const digest = record.archive.digest
  if (locked !== undefined && locked.digest !== digest)
    return yield* notVerified(`${ref}: the registry has the archive ${digest}, the lock file ${locked.digest}`)
  const stored = yield* storedArchive(digest)
  if (stored === undefined) now(`Downloading ${ref}, ${record.archive.bytes} bytes`)
  const archive = stored ?? (yield* download(registry, ns, name, digest))
  now(`Verifying ${ref}`)
  const opened = openPackage(archive, defaultArchiveLimits)
  if (Result.isFailure(opened)) {
    return yield* notVerified(`${ref}: the archive is refused: ${opened.failure.problems[0]?.message ?? "unreadable"}`)
  }
  const { files, manifest } = opened.success
  if (opened.success.digest !== digest) return yield* notVerified(`${ref}: the archive is not the one with its digest`)
  if (manifest === undefined) return yield* notVerified(`${ref}: the archive has no valid agent.yaml`)
  const attested = record.signed ? yield* attestationOf(registry, { ns, name, version, digest }) : undefined
  if (locked !== undefined && locked.attestationKeyId !== null && attested === undefined)
    return yield* notVerified(`${ref}: the lock file knows an attestation, and the registry has none`)
  const grants = grantsOf(manifest)
  if (locked !== undefined && locked.capabilitiesDigest !== grantsDigest(grants))
    return yield* notVerified(`${ref} asks for something else than the lock file says`)
  const release: VerifiedRelease = {
    path,
    version,
    ref,
    digest,
    archive,
    files,
    manifest,
    grants,
    attestation: attested?.attestation ?? null,
    keyId: attested?.keyId ?? null,
    scanned: record.scanStatus === "scanned"
  }
  return release
})

/** What was agreed to with a release that is installed; nothing, when it is not here any more. */
export const agreedGrants = Effect.fnUntraced(function* (locked: LockedRelease | undefined) {
  if (locked === undefined) return []
  const archive = yield* storedArchive(locked.digest)
  const opened = archive === undefined ? undefined : openPackage(archive, defaultArchiveLimits)
  const manifest = opened === undefined || Result.isFailure(opened) ? undefined : opened.success.manifest
  return manifest === undefined ? [] : grantsOf(manifest)
})
