/**
 * Public keys as OpenSSH writes them. Only the one exact spelling of a key is
 * taken: a key that had two would have two fingerprints, and two owners. Pure.
 */
import { createHash, createPublicKey } from "node:crypto"
import type { webcrypto } from "node:crypto"

export interface SshPublicKey {
  /** Type and base64, without the comment. */
  readonly text: string
  readonly fingerprint: string
}

/** `SHA256:` and base64 without padding, as OpenSSH shows it, of a key in its wire format. */
export const fingerprintOf = (wire: Uint8Array) =>
  `SHA256:${createHash("sha256").update(wire).digest("base64").replace(/=+$/, "")}`

const minRsaBits = 2048
const maxRsaBits = 16_384
const curves: Readonly<Record<string, { readonly crv: string; readonly bytes: number }>> = {
  "ecdsa-sha2-nistp256": { crv: "P-256", bytes: 32 },
  "ecdsa-sha2-nistp384": { crv: "P-384", bytes: 48 },
  "ecdsa-sha2-nistp521": { crv: "P-521", bytes: 66 }
}
const accepted = "ssh-ed25519, ecdsa-sha2-nistp256, -nistp384, -nistp521 and ssh-rsa from 2048 bits"

/** The strings that the wire format is made of. Null: it is cut short or goes on. */
const stringsOf = (wire: Buffer): ReadonlyArray<Buffer> | null => {
  const found: Array<Buffer> = []
  for (let at = 0; at < wire.length;) {
    if (at + 4 > wire.length) return null
    const end = at + 4 + wire.readUInt32BE(at)
    if (end > wire.length) return null
    found.push(wire.subarray(at + 4, end))
    at = end
  }
  return found
}

/** A positive integer in the one way in which it is written; undefined for every other. */
const integer = (bytes: Buffer | undefined) => {
  if (bytes === undefined || bytes.length === 0 || bytes[0] > 127) return undefined
  if (bytes[0] > 0) return bytes
  return bytes.length > 1 && bytes[1] > 127 ? bytes.subarray(1) : undefined
}

/** The key as a JSON Web Key. Undefined: it is not of its type. */
const webKey = (type: string, fields: ReadonlyArray<Buffer>): webcrypto.JsonWebKey | undefined => {
  if (type === "ssh-ed25519") {
    const [x] = fields
    return fields.length === 1 && x.length === 32
      ? { kty: "OKP", crv: "Ed25519", x: x.toString("base64url") }
      : undefined
  }
  if (type === "ssh-rsa") {
    const [e, n] = [integer(fields[0]), integer(fields[1])]
    return fields.length === 2 && e !== undefined && n !== undefined
      ? { kty: "RSA", e: e.toString("base64url"), n: n.toString("base64url") }
      : undefined
  }
  const { bytes, crv } = curves[type]
  const [name, point] = fields
  return fields.length === 2 && name.toString() === type.slice(11) && point.length === 1 + 2 * bytes && point[0] === 4
    ? {
        kty: "EC",
        crv,
        x: point.subarray(1, 1 + bytes).toString("base64url"),
        y: point.subarray(1 + bytes).toString("base64url")
      }
    : undefined
}

/** Reads the line of a `.pub` file. A string is the reason, for the person, why it is not taken. */
export const readSshPublicKey = (line: string): SshPublicKey | string => {
  if (/PRIVATE KEY/.test(line)) return "this is a private key: it must never leave your machine; send the .pub file"
  const [type = "", base64 = "", ...comment] = line.trim().split(/[ \t]+/)
  if (/[\r\n]/.test([type, base64, ...comment].join(" "))) return "holds more than one line; add keys one by one"
  if (/-cert-v0[01]@/.test(type)) return "certificates are not taken, only plain keys"
  if (type === "ssh-dss") return "DSA keys are not safe; make one with ssh-keygen -t ed25519"
  if (type !== "ssh-ed25519" && type !== "ssh-rsa" && !Object.hasOwn(curves, type))
    return `is not a public key of a type that is taken: ${accepted}`
  const wire = Buffer.from(base64, "base64")
  const [name, ...fields] = stringsOf(wire) ?? []
  if (wire.toString("base64") !== base64 || name?.toString() !== type) return "is not a whole OpenSSH public key"
  const key = webKey(type, fields)
  if (key === undefined) return "is not a whole OpenSSH public key"
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: "jwk" })
    const bits = asymmetricKeyDetails?.modulusLength
    if (bits !== undefined && (bits < minRsaBits || bits > maxRsaBits))
      return `has ${bits} bits; RSA keys have ${minRsaBits} to ${maxRsaBits}`
  } catch {
    return "is not a sound key of its type"
  }
  return { text: `${type} ${base64}`, fingerprint: fingerprintOf(wire) }
}
