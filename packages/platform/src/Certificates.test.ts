// Before @peculiar/x509, as in the code under test.
import "reflect-metadata"
import { assert, describe, it } from "@effect/vitest"
import * as x509 from "@peculiar/x509"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { createPrivateKey, webcrypto, X509Certificate } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect, createServer } from "node:tls"
import type { PeerCertificate, TLSSocket } from "node:tls"
import { CertificateInvalid, fromCsr, leaf, loadCa, makeCa, newCsr, selfSignedCa } from "./Certificates.ts"
import type { CertificateAndKey, LeafOptions } from "./Certificates.ts"

// TLS judges certificates by the real time, so the test clock is set to it.
const now = Math.floor(Date.now() / 1000) * 1000
const atRealTime = TestClock.setTime(now)
const hostLeaf: LeafOptions = {
  commonName: "host_1",
  uri: "spiffe://quickagents/host/host_1",
  dnsNames: ["host-1.internal"],
  ipAddresses: ["127.0.0.1", "::1"],
  use: "server",
  ttl: "1 hour"
}
const registryLeaf: LeafOptions = {
  commonName: "registry",
  uri: "spiffe://quickagents/registry",
  use: "client",
  ttl: "1 hour"
}
const refused = <A>(effect: Effect.Effect<A, CertificateInvalid>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.instanceOf(error, CertificateInvalid)
    return error.reason
  })

/** One TLS 1.3 connection with both certificates demanded; gives what each side saw of the other. */
const handshake = (ca: string, server: CertificateAndKey, client: CertificateAndKey) =>
  Effect.promise(async () => {
    const listening = createServer({
      ca,
      cert: server.certificate,
      key: server.privateKey,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3"
    }).listen(0, "127.0.0.1")
    await once(listening, "listening")
    const accepted = new Promise<PeerCertificate | Error>((resolve) => {
      listening.once("secureConnection", (socket: TLSSocket) => {
        resolve(socket.getPeerCertificate())
        socket.end()
      })
      listening.once("tlsClientError", resolve)
    })
    const socket = connect({
      host: "127.0.0.1",
      port: (listening.address() as AddressInfo).port,
      ca,
      cert: client.certificate,
      key: client.privateKey
    })
    const connected = new Promise<PeerCertificate | Error>((resolve) => {
      socket.once("secureConnect", () => resolve(socket.getPeerCertificate()))
      socket.once("error", resolve)
    })
    const [seenByServer, seenByClient] = await Promise.all([accepted, connected])
    socket.destroy()
    listening.close()
    return { seenByServer, seenByClient }
  })

describe("a certificate authority", () => {
  it.effect("issues leaves that both sides of a TLS 1.3 connection accept, with the identity in the URI SAN", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("QuickAgents, internal CA")
      const { seenByClient, seenByServer } = yield* handshake(
        ca.certificate,
        yield* leaf(ca, hostLeaf),
        yield* leaf(ca, registryLeaf)
      )
      assert.strictEqual((seenByServer as PeerCertificate).subjectaltname, "URI:spiffe://quickagents/registry")
      assert.strictEqual(
        (seenByClient as PeerCertificate).subjectaltname,
        "URI:spiffe://quickagents/host/host_1, DNS:host-1.internal, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1"
      )
    })
  )

  it.effect("is trusted for its own leaves only, in their own use and time", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const [ca, rogue] = [yield* makeCa("ca"), yield* makeCa("ca")]
      const host = yield* leaf(ca, hostLeaf)
      const refusedClients = [
        yield* leaf(rogue, registryLeaf),
        yield* leaf(ca, { ...registryLeaf, use: "server" }),
        yield* leaf(ca, { ...registryLeaf, ttl: "-10 seconds" })
      ]
      for (const client of refusedClients) {
        assert.instanceOf((yield* handshake(ca.certificate, host, client)).seenByServer, Error)
      }
      const clientAsServer = yield* leaf(ca, { ...hostLeaf, use: "client" })
      const registry = yield* leaf(ca, registryLeaf)
      assert.instanceOf((yield* handshake(ca.certificate, clientAsServer, registry)).seenByClient, Error)
      const both = yield* leaf(ca, { ...hostLeaf, use: "both" })
      assert.notInstanceOf((yield* handshake(ca.certificate, both, both)).seenByServer, Error)
    })
  )

  it.effect("dates leaves from a minute ago to the end of their life, with a new serial each", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("ca")
      const [one, two] = [yield* leaf(ca, hostLeaf), yield* leaf(ca, hostLeaf)]
      const certificate = new X509Certificate(one.certificate)
      assert.strictEqual(certificate.validFromDate.getTime(), now - 60_000)
      assert.strictEqual(certificate.validToDate.getTime(), now + 3_600_000)
      assert.isFalse(certificate.ca)
      assert.isTrue(certificate.checkPrivateKey(createPrivateKey(one.privateKey)))
      assert.notStrictEqual(certificate.serialNumber, new X509Certificate(two.certificate).serialNumber)
      assert.isTrue(new X509Certificate(ca.certificate).ca)
    })
  )

  it.effect("goes on after a restart from its certificate and key", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const kept = yield* selfSignedCa("ca")
      const ca = yield* loadCa(kept.certificate, kept.privateKey)
      assert.strictEqual(ca.certificate, kept.certificate)
      const host = new X509Certificate((yield* leaf(ca, hostLeaf)).certificate)
      assert.isTrue(host.verify(new X509Certificate(kept.certificate).publicKey))
    })
  )

  it.effect("is not loaded from a leaf, a foreign key, garbage, or after its time", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const [kept, other] = [yield* selfSignedCa("ca"), yield* selfSignedCa("ca")]
      const host = yield* leaf(yield* loadCa(kept.certificate, kept.privateKey), hostLeaf)
      assert.include(yield* refused(loadCa(host.certificate, host.privateKey)), "not one of a CA")
      assert.include(yield* refused(loadCa(kept.certificate, other.privateKey)), "does not belong")
      assert.include(yield* refused(loadCa("garbage", kept.privateKey)), "not a PEM certificate")
      assert.include(yield* refused(loadCa(kept.certificate, "garbage")), "not a P-256 private key")
      yield* TestClock.adjust("3651 days")
      assert.include(yield* refused(loadCa(kept.certificate, kept.privateKey)), "not valid now")
    })
  )

  it.effect("issues no leaf with its own common name or with an address that is none", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("quickagents")
      assert.include(yield* refused(leaf(ca, { ...hostLeaf, commonName: "quickagents" })), "common name")
      assert.include(yield* refused(leaf(ca, { ...hostLeaf, ipAddresses: ["127.0.0.1", "host"] })), "IP address")
    })
  )
})

describe("a certificate request", () => {
  it.effect("is signed for the key in it, and gives no say in names or uses", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("ca")
      const { csr, privateKey } = yield* newCsr("registry, O=someone else")
      const certificate = yield* fromCsr(ca, csr, hostLeaf)
      const read = new X509Certificate(certificate)
      assert.strictEqual(read.subject, "CN=host_1")
      assert.isTrue(read.checkPrivateKey(createPrivateKey(privateKey)))
      const { seenByClient } = yield* handshake(
        ca.certificate,
        { certificate, privateKey },
        yield* leaf(ca, registryLeaf)
      )
      assert.notInstanceOf(seenByClient, Error)
    })
  )

  it.effect("is refused when its own key did not sign it", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("ca")
      const { csr } = yield* newCsr("host_1")
      const der = Buffer.from(x509.PemConverter.decodeFirst(csr))
      // The last byte belongs to the signature.
      der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
      const forged = x509.PemConverter.encode(der, "CERTIFICATE REQUEST")
      assert.include(yield* refused(fromCsr(ca, forged, hostLeaf)), "not signed by its own key")
    })
  )

  it.effect("is refused for any key but P-256", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("ca")
      const rsa = {
        name: "RSASSA-PKCS1-v1_5",
        hash: "SHA-256",
        modulusLength: 2048,
        publicExponent: new Uint8Array([1, 0, 1])
      }
      const p384 = { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" }
      for (const algorithm of [rsa, p384]) {
        const csr = yield* Effect.promise(async () => {
          const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
          return x509.Pkcs10CertificateRequestGenerator.create({ name: "CN=host_1", keys, signingAlgorithm: algorithm })
        })
        assert.include(yield* refused(fromCsr(ca, csr.toString("pem"), hostLeaf)), "not P-256")
      }
    })
  )

  it.effect("is refused when it is garbage, a certificate, or very long", () =>
    Effect.gen(function* () {
      yield* atRealTime
      const ca = yield* makeCa("ca")
      const { csr } = yield* newCsr("host_1")
      for (const garbage of ["", "garbage", ca.certificate, csr.slice(0, csr.length / 2)]) {
        assert.include(yield* refused(fromCsr(ca, garbage, hostLeaf)), "not a PEM request")
      }
      assert.include(yield* refused(fromCsr(ca, csr + " ".repeat(20_000), hostLeaf)), "too long")
    })
  )
})
