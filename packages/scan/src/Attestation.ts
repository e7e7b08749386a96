/**
 * What the registry signs: in-toto statements about a release and its scan
 * report, in DSSE envelopes with Ed25519.
 *
 * https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
 * https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
 */
import type { Capabilities, Digest, DsseEnvelope, ScanReport, Verdict } from "@quickagents/schema"
import { Effect, Redacted, Result, Schema } from "effect"
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signBytes,
  verify as verifyBytes
} from "node:crypto"
import type { KeyObject } from "node:crypto"
import { canonicalJson } from "@quickagents/archive"
import { reportBytes } from "./Report.ts"

export const statementPayloadType = "application/vnd.in-toto+json"
export const reportPayloadType = "application/vnd.quickagents.report+json"
export const statementType = "https://in-toto.io/Statement/v1"

/** An Ed25519 key. The private half never leaves node's key object, so no log or serialization can show it. */
export interface SigningKeyPair {
  /** Hex SHA-256 of the raw public key. */
  readonly keyId: string
  /** Raw public key, 32 bytes. */
  readonly publicKey: Uint8Array
  readonly privateKey: KeyObject
}

/** The configured key is no Ed25519 private key. Says nothing of its content. */
export class SigningKeyInvalid extends Schema.TaggedError<SigningKeyInvalid>()("SigningKeyInvalid", {
  reason: Schema.String
}) {}

const rawPublicKey = (key: KeyObject): Uint8Array => {
  const { x } = key.export({ format: "jwk" })
  return Buffer.from(x!, "base64url")
}

/** Hex SHA-256 of the raw public key. */
export const keyIdOf = (publicKey: Uint8Array): string => createHash("sha256").update(publicKey).digest("hex")

const toPair = (privateKey: KeyObject): SigningKeyPair => {
  const publicKey = rawPublicKey(createPublicKey(privateKey))
  return { keyId: keyIdOf(publicKey), publicKey, privateKey }
}

export const generateSigningKey: Effect.Effect<SigningKeyPair> = Effect.sync(() =>
  toPair(generateKeyPairSync("ed25519").privateKey)
)

/** PKCS #8 of an Ed25519 key up to its 32 bytes of seed. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

/** Reads a PKCS #8 PEM, or the 32-byte seed in base64. */
export const importSigningKey = (secret: Redacted.Redacted): Result.Result<SigningKeyPair, SigningKeyInvalid> => {
  const text = Redacted.value(secret).trim()
  const invalid = (reason: string) => Result.fail(new SigningKeyInvalid({ reason }))
  if (text.startsWith("-----BEGIN")) {
    const key = Result.try(() => createPrivateKey(text))
    if (Result.isFailure(key)) return invalid("the PEM cannot be read")
    return key.success.asymmetricKeyType === "ed25519"
      ? Result.succeed(toPair(key.success))
      : invalid("the key is not Ed25519")
  }
  const seed = Buffer.from(text, "base64")
  if (!/^[A-Za-z0-9+/]{43}=?$/u.test(text) || seed.length !== 32) return invalid("neither a PEM nor 32 bytes in base64")
  return Result.succeed(
    toPair(createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" }))
  )
}

/** PKCS #8 PEM, to keep a generated key. */
export const exportSigningKey = (key: SigningKeyPair): Redacted.Redacted =>
  Redacted.make(key.privateKey.export({ format: "pem", type: "pkcs8" }))

/** Pre-authentication encoding: type and body are signed together, each behind its length. */
const preAuthenticationEncoding = (payloadType: string, payload: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `), payload])

const signature = (payloadType: string, payload: Uint8Array, key: SigningKeyPair) => ({
  keyid: key.keyId,
  sig: signBytes(null, preAuthenticationEncoding(payloadType, payload), key.privateKey).toString("base64")
})

const seal = (payloadType: string, payload: Uint8Array, key: SigningKeyPair): DsseEnvelope => ({
  payloadType,
  payload: Buffer.from(payload).toString("base64"),
  signatures: [signature(payloadType, payload, key)]
})

export interface ScanPredicate {
  readonly verdict: Verdict
  /** Each stage that ran, by the version of its code and its status. */
  readonly stages: ReadonlyArray<{ readonly stage: string; readonly version: string; readonly status: string }>
  readonly rulesetHash: string
  readonly rubricHash: string
  readonly judge: { readonly provider: string; readonly model: string }
  readonly report: { readonly digest: Digest }
  readonly manifest: { readonly digest: Digest }
  readonly capabilities: Capabilities
  /** Handle of the account that submitted the version. */
  readonly submitter: string
  readonly source: { readonly kind: "upload" } | { readonly kind: "git"; readonly commit: string }
  readonly submittedAt: string
  readonly scannedAt: string
  readonly signedAt: string
}

export interface Statement {
  readonly _type: typeof statementType
  readonly subject: readonly [{ readonly name: string; readonly digest: { readonly sha256: string } }]
  readonly predicateType: string
  readonly predicate: ScanPredicate
}

/** `baseUrl` is the registry's own address; `ref` is `ns/name@version`. */
export const makeStatement = (options: {
  readonly baseUrl: string
  readonly ref: string
  readonly archive: Digest
  readonly predicate: ScanPredicate
}): Statement => ({
  _type: statementType,
  subject: [{ name: options.ref, digest: { sha256: options.archive.slice("sha256:".length) } }],
  predicateType: `${options.baseUrl.replace(/\/$/u, "")}/attestation/scan/v1`,
  predicate: options.predicate
})

export const stagesOf = (report: ScanReport): ScanPredicate["stages"] =>
  report.stages.map(({ stage, inputs, status }) => ({ stage, version: inputs["stageVersion"] ?? "0", status }))

export const sign = (statement: Statement, key: SigningKeyPair): DsseEnvelope =>
  seal(statementPayloadType, Buffer.from(canonicalJson(statement)), key)

export const signReport = (report: ScanReport, key: SigningKeyPair): DsseEnvelope =>
  seal(reportPayloadType, reportBytes(report), key)

/** Appends `key`'s signature over the unchanged payload. A key that has signed already adds nothing. Spec: Versioning 4. */
export const countersign = (envelope: DsseEnvelope, key: SigningKeyPair): DsseEnvelope =>
  envelope.signatures.some(({ keyid }) => keyid === key.keyId)
    ? envelope
    : {
        ...envelope,
        signatures: [
          ...envelope.signatures,
          signature(envelope.payloadType, Buffer.from(envelope.payload, "base64"), key)
        ]
      }

/** Ids of those of `publicKeys` (raw, 32 bytes) that signed `envelope`. */
export const verifiedBy = (envelope: DsseEnvelope, publicKeys: ReadonlyArray<Uint8Array>): ReadonlyArray<string> => {
  const message = preAuthenticationEncoding(envelope.payloadType, Buffer.from(envelope.payload, "base64"))
  return publicKeys.flatMap((publicKey) => {
    const keyId = keyIdOf(publicKey)
    const key = createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") },
      format: "jwk"
    })
    return envelope.signatures.some(
      ({ keyid, sig }) => keyid === keyId && verifyBytes(null, message, key, Buffer.from(sig, "base64"))
    )
      ? [keyId]
      : []
  })
}
