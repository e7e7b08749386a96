import type { DsseEnvelope } from "@quickagents/schema"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { webcrypto } from "node:crypto"
import {
  countersign,
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  makeStatement,
  sign,
  signReport,
  stagesOf,
  verifiedBy
} from "./Attestation.ts"
import type { ScanPredicate } from "./Attestation.ts"
import { decide } from "./Gate.ts"
import { buildReport, reportDigest } from "./Report.ts"

/** A verifier written from the DSSE text alone: its own encoding, WebCrypto instead of node's signatures. */
const verify = async (envelope: DsseEnvelope, rawKey: Uint8Array): Promise<boolean> => {
  const decoded = Uint8Array.from(atob(envelope.payload), (character) => character.charCodeAt(0))
  const type = new TextEncoder().encode(envelope.payloadType)
  const front = new TextEncoder().encode(
    ["DSSEv1", String(type.length), envelope.payloadType, String(decoded.length), ""].join(" ")
  )
  const message = new Uint8Array(front.length + decoded.length)
  message.set(front)
  message.set(decoded, front.length)
  const key = await webcrypto.subtle.importKey("raw", Uint8Array.from(rawKey), "Ed25519", false, ["verify"])
  const keyId = Buffer.from(await webcrypto.subtle.digest("SHA-256", Uint8Array.from(rawKey))).toString("hex")
  for (const { keyid, sig } of envelope.signatures) {
    if (
      keyid === keyId &&
      (await webcrypto.subtle.verify(
        "Ed25519",
        key,
        Uint8Array.from(atob(sig), (character) => character.charCodeAt(0)),
        message
      ))
    )
      return true
  }
  return false
}

const digest = `sha256:${"a".repeat(64)}` as const
const report = buildReport(
  { ref: "acme/notes@1.0.0", archive: digest, manifest: undefined, startedAt: new Date(0), finishedAt: new Date(1) },
  decide([])
)
const predicate: ScanPredicate = {
  verdict: "clean",
  stages: stagesOf(report),
  rulesetHash: digest,
  rubricHash: digest,
  judge: { provider: "local", model: "local-1-0123456789ab" },
  report: { digest: reportDigest(report) },
  manifest: { digest },
  capabilities: { exec: { commands: ["git"] } },
  submitter: "ada",
  source: { kind: "git", commit: "0123" },
  submittedAt: "2026-11-21T00:00:00.000Z",
  scannedAt: "2026-11-21T00:00:01.000Z",
  signedAt: "2026-11-21T00:00:02.000Z"
}
const statement = makeStatement({
  baseUrl: "https://registry.example/",
  ref: "acme/notes@1.0.0",
  archive: digest,
  predicate
})

describe("an attestation", () => {
  it.effect("[SCAN-003] is signed with the registry's key, as code that shares nothing with the signer confirms", () =>
    Effect.gen(function* () {
      const key = yield* generateSigningKey
      const other = yield* generateSigningKey
      const envelope = sign(statement, key)
      expect(yield* Effect.promise(() => verify(envelope, key.publicKey))).toBe(true)
      expect(yield* Effect.promise(() => verify(envelope, other.publicKey))).toBe(false)
      const forged = {
        ...envelope,
        payload: Buffer.from(Buffer.from(envelope.payload, "base64").toString().replace("clean", "clear")).toString(
          "base64"
        )
      }
      expect(yield* Effect.promise(() => verify(forged, key.publicKey))).toBe(false)
      expect(yield* Effect.promise(() => verify({ ...envelope, payloadType: "text/plain" }, key.publicKey))).toBe(false)
    })
  )

  it.effect("is an in-toto statement about the release's archive", () =>
    Effect.gen(function* () {
      const envelope = sign(statement, yield* generateSigningKey)
      expect(envelope.payloadType).toBe("application/vnd.in-toto+json")
      expect(JSON.parse(Buffer.from(envelope.payload, "base64").toString())).toEqual({
        _type: "https://in-toto.io/Statement/v1",
        subject: [{ name: "acme/notes@1.0.0", digest: { sha256: "a".repeat(64) } }],
        predicateType: "https://registry.example/attestation/scan/v1",
        predicate
      })
    })
  )

  it.effect("keeps its payload and first signature when another key countersigns, once", () =>
    Effect.gen(function* () {
      const [old, next] = [yield* generateSigningKey, yield* generateSigningKey]
      const envelope = sign(statement, old)
      const both = countersign(envelope, next)
      expect(both.payload).toBe(envelope.payload)
      expect(both.signatures.map(({ keyid }) => keyid)).toEqual([old.keyId, next.keyId])
      expect(countersign(both, next)).toBe(both)
      for (const key of [old, next]) expect(yield* Effect.promise(() => verify(both, key.publicKey))).toBe(true)
      expect(verifiedBy(both, [next.publicKey, old.publicKey, (yield* generateSigningKey).publicKey])).toEqual([
        next.keyId,
        old.keyId
      ])
    })
  )

  it.effect("signs the report as canonical bytes of its own type", () =>
    Effect.gen(function* () {
      const key = yield* generateSigningKey
      const envelope = signReport(report, key)
      expect(envelope.payloadType).toBe("application/vnd.quickagents.report+json")
      expect(yield* Effect.promise(() => verify(envelope, key.publicKey))).toBe(true)
      expect(JSON.parse(Buffer.from(envelope.payload, "base64").toString())).toEqual(report)
    })
  )
})

describe("a signing key", () => {
  it("is RFC 8032's first test key when its seed is imported", () => {
    const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex").toString(
      "base64"
    )
    const key = Result.getOrThrow(importSigningKey(Redacted.make(seed)))
    expect(Buffer.from(key.publicKey).toString("hex")).toBe(
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )
  })

  it.effect("survives export and import as PEM", () =>
    Effect.gen(function* () {
      const key = yield* generateSigningKey
      expect(Result.getOrThrow(importSigningKey(exportSigningKey(key))).keyId).toBe(key.keyId)
    })
  )

  it("is refused, without a word of its content, when it is something else", () => {
    for (const secret of [
      "",
      "hunter2hunter2",
      Buffer.alloc(31).toString("base64"),
      "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"
    ]) {
      const refused = importSigningKey(Redacted.make(secret))
      expect(Result.isFailure(refused) && !JSON.stringify(refused.failure).includes("hunter2")).toBe(true)
    }
  })
})
