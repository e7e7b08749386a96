/**
 * The internal certificate authority of registry and hosts: ECDSA P-256, short
 * leaves, the peer's identity in a URI SAN. Everything is PEM text.
 */
// Must be evaluated before @peculiar/x509, whose container looks for it when it loads.
import "reflect-metadata"
import * as x509 from "@peculiar/x509"
import { Clock, Duration, Effect, Schema } from "effect"
import { randomBytes, webcrypto } from "node:crypto"
import { isIP } from "node:net"

/** A certificate, key or request that is not what it must be. `reason` is for the operator and carries no key. */
export class CertificateInvalid extends Schema.TaggedError<CertificateInvalid>()("CertificateInvalid", {
  reason: Schema.String
}) {}

/** A certificate or a request and the private key that belongs to it, both PEM (the key as PKCS 8). */
export interface CertificateAndKey {
  readonly certificate: string
  readonly privateKey: string
}

export interface CertificateAuthority {
  /** PEM; what peers trust. */
  readonly certificate: string
  readonly parsed: x509.X509Certificate
  readonly signingKey: webcrypto.CryptoKey
}

export interface LeafOptions {
  /** Must differ from the CA's: TLS takes a leaf that is named like its issuer for self-signed. */
  readonly commonName: string
  /** The identity that peers check, such as `spiffe://quickagents/host/host_01J...`. */
  readonly uri: string
  readonly dnsNames?: ReadonlyArray<string>
  readonly ipAddresses?: ReadonlyArray<string>
  readonly use: "server" | "client" | "both"
  readonly ttl: Duration.Input
}

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" }
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" }
/** The clocks of registry and host may differ by this much. */
const clockSkewMs = 60_000
const caYears = 10
/** Far more than a P-256 request takes; a longer one is not parsed. */
const maxCsrCharacters = 16_384

const invalid = (reason: string) => () => new CertificateInvalid({ reason })
const pending = <A>(evaluate: () => Promise<A>, reason: string) =>
  Effect.tryPromise({ try: evaluate, catch: invalid(reason) })

const newKeys = Effect.promise(() => webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]))
const privateKeyPem = (keys: webcrypto.CryptoKeyPair) =>
  Effect.map(
    Effect.promise(() => webcrypto.subtle.exportKey("pkcs8", keys.privateKey)),
    (der) => x509.PemConverter.encode(der, x509.PemConverter.PrivateKeyTag)
  )

/** 127 random bits: positive in ASN.1, and never twice. */
const newSerial = () => {
  const serial = randomBytes(16)
  serial.writeUInt8(serial.readUInt8(0) & 0x7f, 0)
  return serial.toString("hex")
}

/** A name of one common name, built and not written, so that a comma in it stays a comma. */
const nameOf = (commonName: string): x509.JsonName => [{ CN: [commonName] }]

const validity = (ttlMs: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    notBefore: new Date(now - clockSkewMs),
    notAfter: new Date(now + ttlMs)
  }))

/** A new CA for ten years, as text to keep. */
export const selfSignedCa = Effect.fn("Certificates.selfSignedCa")(function* (
  commonName: string
): Effect.fn.Return<CertificateAndKey, CertificateInvalid> {
  const keys = yield* newKeys
  const valid = yield* validity(Duration.toMillis(Duration.days(365 * caYears)))
  const certificate = yield* pending(
    async () =>
      x509.X509CertificateGenerator.createSelfSigned({
        serialNumber: newSerial(),
        name: nameOf(commonName),
        keys,
        signingAlgorithm,
        ...valid,
        extensions: [
          // Path length 0: it signs leaves, never another CA.
          new x509.BasicConstraintsExtension(true, 0, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)
        ]
      }),
    "the common name of the CA cannot be written into a certificate"
  )
  return { certificate: certificate.toString("pem"), privateKey: yield* privateKeyPem(keys) }
})

/** Reads a CA that was kept. Refuses a certificate that may not sign, a key that is not its own, and one out of its time. */
export const loadCa = Effect.fn("Certificates.loadCa")(function* (
  certPem: string,
  keyPem: string
): Effect.fn.Return<CertificateAuthority, CertificateInvalid> {
  const parsed = yield* Effect.try({
    try: () => new x509.X509Certificate(certPem),
    catch: invalid("the CA certificate is not a PEM certificate")
  })
  if (parsed.getExtension(x509.BasicConstraintsExtension)?.ca !== true) {
    return yield* new CertificateInvalid({ reason: "the certificate is not one of a CA" })
  }
  const now = yield* Clock.currentTimeMillis
  if (now < parsed.notBefore.getTime() || now > parsed.notAfter.getTime()) {
    return yield* new CertificateInvalid({ reason: "the CA certificate is not valid now" })
  }
  const signingKey = yield* pending(
    () => webcrypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(keyPem), keyAlgorithm, false, ["sign"]),
    "the key of the CA is not a P-256 private key in PKCS 8"
  )
  const belongs = yield* pending(async () => {
    const probe = randomBytes(32)
    const publicKey = await webcrypto.subtle.importKey("spki", parsed.publicKey.rawData, keyAlgorithm, false, [
      "verify"
    ])
    const signature = await webcrypto.subtle.sign(signingAlgorithm, signingKey, probe)
    return webcrypto.subtle.verify(signingAlgorithm, publicKey, signature, probe)
  }, "the CA certificate has no P-256 key")
  if (!belongs) return yield* new CertificateInvalid({ reason: "the key does not belong to the CA certificate" })
  return { certificate: parsed.toString("pem"), parsed, signingKey }
})

/** A new CA that is ready to sign. */
export const makeCa = (commonName: string): Effect.Effect<CertificateAuthority, CertificateInvalid> =>
  Effect.flatMap(selfSignedCa(commonName), ({ certificate, privateKey }) => loadCa(certificate, privateKey))

const extendedUses = {
  server: [x509.ExtendedKeyUsage.serverAuth],
  client: [x509.ExtendedKeyUsage.clientAuth],
  both: [x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]
}

const sign = Effect.fnUntraced(function* (
  ca: CertificateAuthority,
  publicKey: webcrypto.CryptoKey,
  options: LeafOptions
): Effect.fn.Return<string, CertificateInvalid> {
  const { ipAddresses = [], dnsNames = [], ttl } = options
  if (ca.parsed.subjectName.getField("CN").includes(options.commonName)) {
    return yield* new CertificateInvalid({ reason: "a leaf must not have the CA's common name" })
  }
  if (!ipAddresses.every((address) => isIP(address) !== 0)) {
    return yield* new CertificateInvalid({ reason: "an IP address of the leaf is none" })
  }
  const valid = yield* validity(Duration.toMillis(ttl))
  const certificate = yield* pending(
    async () =>
      x509.X509CertificateGenerator.create({
        serialNumber: newSerial(),
        subject: nameOf(options.commonName),
        issuer: ca.parsed.subjectName,
        publicKey,
        signingKey: ca.signingKey,
        signingAlgorithm,
        ...valid,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension(extendedUses[options.use]),
          new x509.SubjectAlternativeNameExtension([
            { type: "url", value: options.uri },
            ...dnsNames.map((value) => ({ type: "dns" as const, value })),
            ...ipAddresses.map((value) => ({ type: "ip" as const, value }))
          ]),
          await x509.AuthorityKeyIdentifierExtension.create(ca.parsed.publicKey),
          await x509.SubjectKeyIdentifierExtension.create(publicKey)
        ]
      }),
    "the names of the leaf cannot be written into a certificate"
  )
  return certificate.toString("pem")
})

/** A new key pair and its certificate: what the registry issues to itself. */
export const leaf = Effect.fn("Certificates.leaf")(function* (
  ca: CertificateAuthority,
  options: LeafOptions
): Effect.fn.Return<CertificateAndKey, CertificateInvalid> {
  const keys = yield* newKeys
  return { certificate: yield* sign(ca, keys.publicKey, options), privateKey: yield* privateKeyPem(keys) }
})

/**
 * The certificate (PEM) for a request whose sender proved to have its key. Only
 * the key is taken from the request: names, uses and life are ours to give.
 * Refuses garbage, a wrong self-signature and any key but P-256.
 */
export const fromCsr = Effect.fn("Certificates.fromCsr")(function* (
  ca: CertificateAuthority,
  csrPem: string,
  options: LeafOptions
): Effect.fn.Return<string, CertificateInvalid> {
  if (csrPem.length > maxCsrCharacters) {
    return yield* new CertificateInvalid({ reason: "the certificate request is too long" })
  }
  const csr = yield* Effect.try({
    try: () => new x509.Pkcs10CertificateRequest(csrPem),
    catch: invalid("the certificate request is not a PEM request")
  })
  const publicKey = yield* pending(
    () => webcrypto.subtle.importKey("spki", csr.publicKey.rawData, keyAlgorithm, true, ["verify"]),
    "the key of the certificate request is not P-256"
  )
  const proved = yield* pending(() => csr.verify(), "the signature of the certificate request cannot be checked")
  if (!proved) return yield* new CertificateInvalid({ reason: "the certificate request is not signed by its own key" })
  return yield* sign(ca, publicKey, options)
})

/** What a host makes before it enrols: a key pair that never leaves it, and the request for its certificate. */
export const newCsr = Effect.fn("Certificates.newCsr")(function* (
  commonName: string
): Effect.fn.Return<{ readonly csr: string; readonly privateKey: string }, CertificateInvalid> {
  const keys = yield* newKeys
  const csr = yield* pending(
    () => x509.Pkcs10CertificateRequestGenerator.create({ name: nameOf(commonName), keys, signingAlgorithm }),
    "the common name of the request cannot be written"
  )
  return { csr: csr.toString("pem"), privateKey: yield* privateKeyPem(keys) }
})
