/**
 * Checkpoints: size and root of the log under a signature, as a note.
 *
 * https://c2sp.org/tlog-checkpoint, https://c2sp.org/signed-note
 */
import { createHash, sign } from "node:crypto"
import type { SigningKeyPair } from "../Attestation.ts"
import type { Hash } from "./MerkleTree.ts"

export interface Checkpoint {
  /** Name of the log: its address without the scheme. */
  readonly origin: string
  /** Leaves. */
  readonly size: number
  readonly root: Hash
}

/** @param baseUrl public address of the registry */
export const originOf = (baseUrl: string): string => `${baseUrl.replace(/^https?:\/\//u, "")}/api/v1/log`

const ed25519 = Uint8Array.of(1)

/** What tells keys apart in a signature line: the first four bytes of a hash over name, algorithm and public key. */
const keyHash = (name: string, publicKey: Uint8Array): Buffer =>
  createHash("sha256").update(`${name}\n`).update(ed25519).update(publicKey).digest().subarray(0, 4)

/** `text`, which ends with a line feed, an empty line, and the line of `key`'s signature under `name`. */
export const signedNote = (text: string, name: string, key: SigningKeyPair): string => {
  const signature = sign(null, Buffer.from(text), key.privateKey)
  return `${text}\n— ${name} ${Buffer.concat([keyHash(name, key.publicKey), signature]).toString("base64")}\n`
}

export const signedCheckpoint = ({ origin, root, size }: Checkpoint, key: SigningKeyPair): string =>
  signedNote(`${origin}\n${size}\n${root.toString("base64")}\n`, origin, key)
