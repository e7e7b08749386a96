import { assert, describe, it } from "@effect/vitest"
import { checkConsistency, checkInclusion } from "@quickagents/runner"
import type { DsseEnvelope, InclusionProof } from "@quickagents/schema"
import { Effect } from "effect"
import { attestationDigest, clearEntry, hiddenEntry } from "./LogEntry.ts"
import type { Position } from "./MerkleTree.ts"
import { consistencyRanges, grown, inclusionRanges, leafHash, rangeHash } from "./MerkleTree.ts"

const envelope = (payload: string, ...sigs: ReadonlyArray<string>): DsseEnvelope => ({
  payloadType: "application/vnd.in-toto+json",
  payload,
  signatures: sigs.map((sig) => ({ keyid: `key of ${sig}`, sig }))
})
const attestation = envelope("e30=", "one")
const archive = `sha256:${"a".repeat(64)}` as const
const release = { ref: "acme/notes@1.0.0", archive, attestation, public: true }
const attested = { ref: release.ref, archive, attestation: attestationDigest(attestation) }
const opening = { ...attested, salt: "5".repeat(64) }

/** The log of these entries, and the proof that it gives of its third leaf. */
const logged = (entry: string, size = 7) => {
  const entries = Array.from({ length: size }, (_, index) => (index === 2 ? entry : `{"commitment":"${index}"}`))
  const nodes = new Map(
    grown(
      0,
      entries.map((text) => leafHash(Buffer.from(text))),
      () => assert.fail("an empty tree has no nodes")
    ).map(({ hash, index, level }) => [`${level}/${index}`, hash])
  )
  const at = ({ index, level }: Position) => nodes.get(`${level}/${index}`)!
  const hex = (ranges: ReturnType<typeof inclusionRanges>) =>
    ranges.map((range) => rangeHash(range, at).toString("hex"))
  const proof = (opened: InclusionProof["opening"]): InclusionProof => ({
    leafIndex: 2,
    treeSize: size,
    leafHash: leafHash(Buffer.from(entry)).toString("hex"),
    hashes: hex(inclusionRanges(2, size)),
    entry,
    opening: opened
  })
  const checkpoint = (size: number) => ({
    origin: "log",
    size,
    root: rangeHash({ from: 0, to: size }, at).toString("base64")
  })
  return { proof, checkpoint, consistency: (first: number) => hex(consistencyRanges(first, size)) }
}

const inClear = logged(clearEntry(attested))
const hidden = logged(hiddenEntry(opening))

const refutes = (check: Effect.Effect<void, { readonly message: string }>, message: RegExp) =>
  assert.match(Effect.runSync(Effect.flip(check)).message, message)

describe("an entry of the log", () => {
  it("is of the attestation as it was first signed, whoever countersigns", () => {
    assert.strictEqual(attestationDigest(envelope("e30=", "one", "two")), attestationDigest(attestation))
    assert.notStrictEqual(attestationDigest(envelope("e30=", "two", "one")), attestationDigest(attestation))
    assert.notStrictEqual(attestationDigest(envelope("e31=", "one")), attestationDigest(attestation))
  })

  it("binds release, archive and attestation, in clear and as a commitment", () => {
    Effect.runSync(checkInclusion(release, inClear.proof(null), inClear.checkpoint(7)))
    const secret = { ...release, public: false }
    Effect.runSync(checkInclusion(secret, hidden.proof(opening), hidden.checkpoint(7)))
    for (const over of [
      { ref: "acme/notes@1.0.1" },
      { archive: `sha256:${"b".repeat(64)}` },
      { attestation: envelope("e31=", "one") }
    ]) {
      refutes(checkInclusion({ ...release, ...over }, inClear.proof(null), inClear.checkpoint(7)), /another release/)
      refutes(checkInclusion({ ...secret, ...over }, hidden.proof(opening), hidden.checkpoint(7)), /another release/)
    }
    const another = { ...opening, salt: "6".repeat(64) }
    refutes(checkInclusion(secret, hidden.proof(another), hidden.checkpoint(7)), /commitment is to something else/)
  })

  it("is refused as a commitment when anyone may read the release", () => {
    refutes(checkInclusion(release, hidden.proof(opening), hidden.checkpoint(7)), /hides a release/)
  })

  it("is refused without a proof that leads to the checkpoint", () => {
    const proof = inClear.proof(null)
    for (const over of [
      { leafIndex: 3 },
      { leafIndex: 7 },
      { hashes: proof.hashes.slice(1) },
      { hashes: [...proof.hashes, proof.leafHash] },
      { hashes: proof.hashes.toReversed() }
    ]) {
      refutes(checkInclusion(release, { ...proof, ...over }, inClear.checkpoint(7)), /does not hold the attestation/)
    }
    refutes(checkInclusion(release, proof, hidden.checkpoint(7)), /does not hold the attestation/)
    refutes(checkInclusion(release, proof, inClear.checkpoint(6)), /does not hold the attestation/)
  })

  it("stays where it is: a log that changed it is no continuation", () => {
    Effect.runSync(checkConsistency(inClear.checkpoint(5), inClear.checkpoint(7), inClear.consistency(5)))
    refutes(checkConsistency(inClear.checkpoint(5), hidden.checkpoint(7), hidden.consistency(5)), /not a continuation/)
    refutes(checkConsistency(inClear.checkpoint(7), inClear.checkpoint(5), []), /not a continuation/)
    refutes(checkConsistency(inClear.checkpoint(7), hidden.checkpoint(7), []), /not a continuation/)
  })
})
