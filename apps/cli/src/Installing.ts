/** The steps that install, restore and update share. */
import { capabilityList } from "@quickagents/schema"
import { Effect } from "effect"
import { notAgreed } from "./CommandFailed.ts"
import { grantChange, grantLines, grantsDigest } from "./Grants.ts"
import { changeLock } from "./LockFile.ts"
import type { LockedRelease } from "./LockFile.ts"
import { line, now, plain } from "./Progress.ts"
import { agreed } from "./Question.ts"
import type { OpenRegistry } from "./Registry.ts"
import { agreedGrants } from "./Release.ts"
import type { VerifiedRelease } from "./Release.ts"
import { keepRelease } from "./Store.ts"

export interface Agreement {
  readonly yes: boolean
  readonly acceptUnsigned: boolean
  readonly acceptUnscanned: boolean
}

/** Shows what a release may do, and goes on only when that is agreed to. Asks when something is new, or `always`. */
export const agreeTo = Effect.fnUntraced(function* (
  release: VerifiedRelease,
  before: LockedRelease | undefined,
  agreement: Agreement,
  always: boolean
) {
  const change = grantChange(yield* agreedGrants(before), release.grants)
  line(
    `${release.ref}${before === undefined || before.version === release.version ? "" : ` (was ${before.version})`}: ${plain(release.manifest.description)}`
  )
  line(release.grants.length === 0 ? "  asks for nothing" : "  asks for (+ is new to you):")
  for (const grant of grantLines(change)) line(plain(grant))
  if (release.keyId === null && !agreement.acceptUnsigned)
    return yield* notAgreed(
      `${release.ref} has no attestation: nobody vouches for it. To take it all the same, add --accept-unsigned`
    )
  if (!release.scanned && !agreement.acceptUnscanned)
    return yield* notAgreed(`${release.ref} was never scanned. To take it all the same, add --accept-unscanned`)
  if (always || change.added.length > 0) yield* agreed(`Install ${release.ref}?`, agreement.yes)
})

/** Tells the account, when one is signed in. Answers whether it is recorded there. */
const recordInstall = Effect.fnUntraced(function* (registry: OpenRegistry, release: VerifiedRelease) {
  if (!registry.signedIn) return false
  const [ns, name] = release.path.split("/") as [string, string]
  return yield* registry.client.api.installs
    .put({
      params: { ns, name },
      payload: {
        version: release.version,
        acceptCapabilities: capabilityList(release.manifest.capabilities ?? {}),
        acceptUnsigned: release.keyId === null,
        acceptUnscanned: !release.scanned
      }
    })
    .pipe(
      Effect.as(true),
      // A token without user:profile still reads agents.
      Effect.catchTag("Forbidden", () =>
        Effect.sync(() => {
          line("Not recorded in your account: the token lacks user:profile")
          return false
        })
      )
    )
})

export const entryOf = (release: VerifiedRelease, range: string, pinned: boolean): LockedRelease => ({
  range,
  version: release.version,
  digest: release.digest,
  attestationKeyId: release.keyId,
  capabilitiesDigest: grantsDigest(release.grants),
  pinned
})

/** Store, account, lock, in this order: a lock file never names what is not there, and each step may be repeated. */
export const install = Effect.fnUntraced(function* (
  registry: OpenRegistry,
  release: VerifiedRelease,
  entry: LockedRelease
) {
  now(`Installing ${release.ref}`)
  yield* keepRelease(release)
  const recorded = yield* recordInstall(registry, release)
  yield* changeLock(registry.registry, release.path, () => entry)
  return { ref: release.ref, digest: release.digest, attestationKeyId: release.keyId, recorded }
})
