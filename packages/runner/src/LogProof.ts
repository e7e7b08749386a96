/**
 * Checks what a registry says of its transparency log: that a checkpoint is
 * signed, that it holds a release's attestation, and that it only grew.
 *
 * Shares no code with the log, so that one mistake cannot be made on both sides.
 * RFC 9162, 2.1.3.2 and 2.1.4.2; https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint
 */
import { canonicalJson } from "@quickagents/archive"
import type { DsseEnvelope, InclusionProof } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import type { PinnedKey } from "./HostedRequest.ts"

/** What the log says does not hold; `message` says what. */
export class LogRefuted extends Schema.TaggedError<LogRefuted>()("LogRefuted", { message: Schema.String }) {}

const refuted = (message: string) => new LogRefuted({ message })

/** A state of a log: its name, its leaves and the root over them, base64. */
export const LogState = Schema.Struct({ origin: Schema.String, size: Schema.Int, root: Schema.String })
export type LogState = typeof LogState.Type

const sha256 = (...parts: ReadonlyArray<Uint8Array>) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const parent = (left: Buffer, right: Buffer) => sha256(Buffer.from([1]), left, right)

const isSignedBy = ({ publicKey }: PinnedKey, origin: string, text: string, line: string): boolean => {
  const raw = Buffer.from(publicKey, "base64")
  const bytes = Buffer.from(line, "base64")
  const keyHash = sha256(Buffer.from(`${origin}\n`), Buffer.from([1]), raw).subarray(0, 4)
  if (raw.length !== 32 || bytes.length !== 68 || !bytes.subarray(0, 4).equals(keyHash)) return false
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") }, format: "jwk" })
  return verify(null, Buffer.from(text), key, bytes.subarray(4))
}

/** Reads a note that one of `keys` has signed under the log's own name. */
export const readCheckpoint = (note: string, keys: ReadonlyArray<PinnedKey>): Effect.Effect<LogState, LogRefuted> => {
  const end = note.indexOf("\n\n")
  const text = note.slice(0, end + 1)
  const [origin = "", size = "", root = ""] = text.split("\n")
  if (end === -1 || origin === "" || !/^(0|[1-9]\d*)$/.test(size) || Buffer.from(root, "base64").length !== 32) {
    return Effect.fail(refuted("the checkpoint is not one"))
  }
  const signed = note
    .slice(end + 2)
    .split("\n")
    .some((line) => {
      const [dash, name, signature = ""] = line.split(" ")
      return dash === "—" && name === origin && keys.some((key) => isSignedBy(key, origin, text, signature))
    })
  return signed
    ? Effect.succeed({ origin, size: Number(size), root })
    : Effect.fail(refuted("no signing key of the registry signed the checkpoint"))
}

/** The root that an audit path leads to; nothing when the path is none of this leaf. */
export const rootOfInclusion = (
  leafIndex: number,
  treeSize: number,
  leafHash: Buffer,
  hashes: ReadonlyArray<Buffer>
): Buffer | undefined => {
  if (leafIndex >= treeSize) return undefined
  let [node, last, root] = [leafIndex, treeSize - 1, leafHash]
  for (const hash of hashes) {
    if (last === 0) return undefined
    if (node % 2 === 1 || node === last) {
      root = parent(hash, root)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else root = parent(root, hash)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 ? root : undefined
}

/** Whether `hashes` prove that the tree of `second` leaves begins with that of `first`. */
export const isConsistent = (
  first: { readonly size: number; readonly root: Buffer },
  second: { readonly size: number; readonly root: Buffer },
  hashes: ReadonlyArray<Buffer>
): boolean => {
  if (first.size > second.size) return false
  if (first.size === second.size) return hashes.length === 0 && first.root.equals(second.root)
  if (first.size === 0) return hashes.length === 0
  let [node, last] = [first.size - 1, second.size - 1]
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  const [start, ...rest] = Number.isInteger(Math.log2(first.size)) ? [first.root, ...hashes] : hashes
  if (start === undefined) return false
  let [one, two] = [start, start]
  for (const hash of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      one = parent(hash, one)
      two = parent(hash, two)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else two = parent(two, hash)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 && one.equals(first.root) && two.equals(second.root)
}

const fromHex = (hashes: ReadonlyArray<string>) => hashes.map((hash) => Buffer.from(hash, "hex"))
const digestOf = (value: unknown) => `sha256:${sha256(Buffer.from(canonicalJson(value))).toString("hex")}`

/**
 * The checkpoint holds this release with this archive and this attestation. A
 * release that anyone may read has to stand there in clear, where everyone
 * would see a second attestation of it.
 */
export const checkInclusion = (
  release: {
    readonly ref: string
    readonly archive: string
    readonly attestation: DsseEnvelope
    readonly public: boolean
  },
  proof: InclusionProof,
  checkpoint: LogState
): Effect.Effect<void, LogRefuted> => {
  const { payload, payloadType, signatures } = release.attestation
  const attested = {
    archive: release.archive,
    attestation: digestOf({ payloadType, payload, signatures: signatures.slice(0, 1) }),
    ref: release.ref
  }
  if (proof.opening === null) {
    if (proof.entry !== canonicalJson(attested)) {
      return Effect.fail(refuted("the log holds another release, archive or attestation"))
    }
  } else {
    if (release.public) return Effect.fail(refuted("the log hides a release that anyone may read"))
    const { salt, ...opened } = proof.opening
    if (canonicalJson(opened) !== canonicalJson(attested)) {
      return Effect.fail(refuted("the log holds another release, archive or attestation"))
    }
    if (proof.entry !== canonicalJson({ commitment: digestOf({ ...opened, salt }) })) {
      return Effect.fail(refuted("the log's commitment is to something else"))
    }
  }
  const leaf = sha256(Buffer.from([0]), Buffer.from(proof.entry))
  const root = rootOfInclusion(proof.leafIndex, checkpoint.size, leaf, fromHex(proof.hashes))
  return root?.toString("base64") === checkpoint.root
    ? Effect.void
    : Effect.fail(refuted("the log's checkpoint does not hold the attestation"))
}

/** The log of `second` begins with what it was at `first`. */
export const checkConsistency = (
  first: LogState,
  second: LogState,
  hashes: ReadonlyArray<string>
): Effect.Effect<void, LogRefuted> => {
  const tree = ({ root, size }: LogState) => ({ size, root: Buffer.from(root, "base64") })
  return isConsistent(tree(first), tree(second), fromHex(hashes))
    ? Effect.void
    : Effect.fail(refuted(`the log of ${second.size} leaves is not a continuation of the one of ${first.size}`))
}
