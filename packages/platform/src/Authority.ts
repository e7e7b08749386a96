/**
 * The deployment's internal certificate authority: identities of registry nodes
 * towards each other and towards sandbox hosts, and the hosts' certificates.
 */
import { hostUri, registryUri } from "@quickagents/schema"
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import type { CertificateAndKey } from "./Certificates.ts"
import { CertificateInvalid, fromCsr, leaf, loadCa } from "./Certificates.ts"
import { Settings, SettingsInvalid } from "./Settings.ts"

/** The cluster port keeps the certificate of its start, so a node runs at most this long without a restart. */
const nodeLife = Duration.days(365)
const nodeRenewal = Duration.days(30)
/** A host renews at a third of this, so it may be away for two thirds. */
export const hostLife = Duration.days(7)

export class Authority extends Context.Service<
  Authority,
  {
    /** PEM; what every peer trusts. */
    readonly caCertificate: string
    /** This node's own identity, client and server. Renewed well before it ends: ask again for each connection. */
    readonly node: Effect.Effect<CertificateAndKey>
    /** The certificate of a host that asks with its CSR; its address goes in as name. */
    readonly signHost: (
      csr: string,
      hostId: string,
      address: string
    ) => Effect.Effect<{ certificate: string; expiresAt: Date }, CertificateInvalid>
  }
>()("platform/Authority") {
  static readonly layer = Layer.effect(
    Authority,
    Effect.gen(function* () {
      const settings = yield* Settings
      const [certificatePath, keyPath] = [settings["ca.certificate"], settings["ca.key"]]
      if (certificatePath === null || keyPath === null) {
        return yield* new SettingsInvalid({
          problems: ["ca.certificate and ca.key are missing: nodes and hosts know each other by them"]
        })
      }
      const read = (path: string) =>
        Effect.try({
          try: () => readFileSync(path, "utf8"),
          catch: () => new SettingsInvalid({ problems: [`${path} cannot be read`] })
        })
      const ca = yield* loadCa(yield* read(certificatePath), yield* read(keyPath))
      const namesOf = (host: string) => (isIP(host) === 0 ? { dnsNames: [host] } : { ipAddresses: [host] })
      const hostOf = (address: string) => address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, "")
      const issue = leaf(ca, {
        commonName: "registry node",
        uri: registryUri,
        use: "both",
        ttl: nodeLife,
        ...namesOf(hostOf(settings["cluster.address"]))
      })
      let current = yield* issue
      yield* Effect.andThen(issue, (next) => Effect.sync(() => (current = next))).pipe(
        Effect.delay(nodeRenewal),
        Effect.tapCause((cause) => Effect.logError("the node's certificate could not be renewed", cause)),
        Effect.ignore,
        Effect.repeat(Schedule.forever),
        Effect.forkScoped
      )
      return Authority.of({
        caCertificate: ca.certificate,
        node: Effect.sync(() => current),
        signHost: (csr, hostId, address) =>
          Effect.gen(function* () {
            const certificate = yield* fromCsr(ca, csr, {
              commonName: hostId,
              uri: hostUri(hostId),
              use: "server",
              ttl: hostLife,
              ...namesOf(hostOf(address))
            })
            return { certificate, expiresAt: new Date((yield* Clock.currentTimeMillis) + Duration.toMillis(hostLife)) }
          })
      })
    })
  )
}
