/**
 * The step `verify`: the release is what a pinned key of the registry attests.
 *
 * Shares no code with the signer, so that one mistake cannot be made on both sides.
 * https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
 */
import { DsseEnvelope } from "@quickagents/schema"
import { Effect, Option, Schema } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import type { PinnedKey } from "./HostedRequest.ts"
import { type RunFailure, verifyFailed } from "./RunFailure.ts"

const payloadType = "application/vnd.in-toto+json"

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(DsseEnvelope))

const readStatement = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      _type: Schema.Literal("https://in-toto.io/Statement/v1"),
      subject: Schema.Array(Schema.Struct({ name: Schema.String, digest: Schema.Struct({ sha256: Schema.String }) })),
      predicateType: Schema.String
    })
  )
)

/** The raw 32 bytes, when the key is one and its id is its own. */
const rawKey = ({ keyId, publicKey }: PinnedKey): Buffer | undefined => {
  const raw = Buffer.from(publicKey, "base64")
  return raw.length === 32 && createHash("sha256").update(raw).digest("hex") === keyId ? raw : undefined
}

const isSignedBy = (raw: Buffer, message: Buffer, signature: string): boolean => {
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") }, format: "jwk" })
  try {
    return verify(null, message, key, Buffer.from(signature, "base64"))
  } catch {
    return false
  }
}

/** The pinned key that signed the statement over exactly this `digest`, and the release that it names; another than `ref` is refused. */
export const verifyRelease = (release: {
  readonly ref: string | undefined
  readonly digest: string
  readonly attestation: string | null
  readonly pinnedKeys: ReadonlyArray<PinnedKey>
}): Effect.Effect<{ readonly keyId: string; readonly ref: string }, RunFailure> =>
  Effect.gen(function* () {
    if (release.attestation === null)
      return yield* verifyFailed("attestation-missing", "The release has no attestation")
    const envelope = Option.getOrUndefined(readEnvelope(release.attestation))
    if (envelope === undefined || envelope.payloadType !== payloadType) {
      return yield* verifyFailed(
        "attestation-invalid",
        "The attestation is not a DSSE envelope of an in-toto statement"
      )
    }
    const payload = Buffer.from(envelope.payload, "base64")
    const message = Buffer.concat([
      Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `),
      payload
    ])
    const known = envelope.signatures.flatMap((signature) => {
      const pinned = release.pinnedKeys.find(({ keyId }) => keyId === signature.keyid)
      const raw = pinned === undefined ? undefined : rawKey(pinned)
      return raw === undefined ? [] : [{ ...signature, raw }]
    })
    if (known.length === 0) return yield* verifyFailed("signing-key-unknown", "No pinned key signed the attestation")
    const good = known.find(({ raw, sig }) => isSignedBy(raw, message, sig))
    if (good === undefined)
      return yield* verifyFailed("attestation-invalid", "The attestation's signature does not hold")
    const statement = Option.getOrUndefined(readStatement(payload.toString("utf8")))
    const subject = statement?.subject.length === 1 ? statement.subject[0] : undefined
    if (subject === undefined)
      return yield* verifyFailed("attestation-invalid", "The attestation holds no statement about one release")
    if (subject.name !== (release.ref ?? subject.name) || `sha256:${subject.digest.sha256}` !== release.digest) {
      return yield* verifyFailed("digest-mismatch", "The attestation is about another release or other bytes")
    }
    return { keyId: good.keyid, ref: subject.name }
  })
