/**
 * What one leaf of the log says: which bytes the registry attested under which
 * name. Of a public agent in clear, so that anyone who reads the log sees when
 * one release was attested twice; of a private one as a commitment that only
 * its readers can open.
 */
import { canonicalJson } from "@quickagents/archive"
import type { Digest, DsseEnvelope, LogOpening } from "@quickagents/schema"
import { createHash } from "node:crypto"

const digestOf = (value: unknown): Digest => `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`

/**
 * Digest of the attestation as it was first signed. A rotation appends
 * countersignatures behind the first one, and leaves this digest as it is.
 */
export const attestationDigest = ({ payload, payloadType, signatures }: DsseEnvelope): Digest =>
  digestOf({ payloadType, payload, signatures: signatures.slice(0, 1) })

export interface Attested {
  /** `ns/name@version` */
  readonly ref: string
  readonly archive: Digest
  readonly attestation: Digest
}

/** The leaf of a release that anyone may read. */
export const clearEntry = ({ archive, attestation, ref }: Attested): string =>
  canonicalJson({ archive, attestation, ref })

/** The leaf of a release of a private agent: without the salt no guess of its name can be checked. */
export const hiddenEntry = (opening: LogOpening): string => canonicalJson({ commitment: digestOf(opening) })
