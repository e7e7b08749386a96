/**
 * The guard of outbound HTTP whose target someone else names: webhooks and the
 * egress of a run. It gives the address to dial, so that what was checked is
 * what is connected to.
 *
 * **Gotchas**
 *
 * - Dial `address` itself, with the host's name only in the `Host` header and as
 *   TLS server name. A second lookup could give another answer (DNS rebinding).
 * - Ask again for each attempt, and for the target of each redirect that is followed.
 */
import { Context, Effect, Schema } from "effect"
import ipaddr from "ipaddr.js"
import { lookup } from "node:dns/promises"
import { isIP, isIPv4 } from "node:net"

/** `host-name`: not a name or plain address. `not-public`: it leads into some private or special network. `not-found`: no address. */
export class AddressRefused extends Schema.TaggedError<AddressRefused>()("AddressRefused", {
  host: Schema.String,
  reason: Schema.Literals(["host-name", "not-public", "not-found"])
}) {}

export interface PublicAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** All of today's global unicast space; what lies outside of it (`::`, `::1`, v4-mapped, NAT64, ULA, link-local, multicast) is for no one here. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3")

/**
 * Whether an address belongs to the public internet. Takes only the plain forms,
 * four decimal parts or IPv6 without a zone. False for everything with a
 * special purpose: private, loopback, link-local, shared (CGNAT), multicast,
 * broadcast, documentation, benchmarking, unspecified and reserved ranges, and
 * the IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo).
 */
export const isPublicUnicast = (address: string): boolean => {
  if (isIP(address) === 0 || address.includes("%")) return false
  if (isIPv4(address)) return ipaddr.IPv4.parse(address).range() === "unicast"
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(globalUnicast) && parsed.range() === "unicast"
}

/**
 * How the guard sees the network: the system's resolver, and `isPublicUnicast`.
 * A test or a simulation provides its own answers here.
 */
export const OutboundNetwork = Context.Reference<{
  /** All addresses of a host name. Any failure counts as none. */
  readonly lookup: (host: string) => Effect.Effect<ReadonlyArray<string>, unknown>
  readonly allows: (address: string) => boolean
}>("platform/OutboundNetwork", {
  defaultValue: () => ({
    lookup: (host) =>
      Effect.map(
        Effect.tryPromise(() => lookup(host, { all: true })),
        (answers) => answers.map((answer) => answer.address)
      ),
    allows: isPublicUnicast
  })
})

const lookupTimeout = "5 seconds"
const maxHostCharacters = 253
const hostName = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?$/iu
/**
 * A last label that is a number makes the whole host an IPv4 address to a URL
 * parser and to the system (`2130706433`, `0x7f.1`, `0177.0.0.1`), each in its
 * own reading. Only the plain form, which `isIP` knows, is taken.
 */
const endsInNumber = /(?:^|\.)(?:0x[0-9a-f]*|\d+)\.?$/iu

const addressesOf = Effect.fnUntraced(function* (host: string) {
  const literal = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host
  if (isIP(literal) !== 0) return [literal]
  if (host.length > maxHostCharacters || !hostName.test(host) || endsInNumber.test(host)) {
    return yield* new AddressRefused({ host, reason: "host-name" })
  }
  const { lookup } = yield* OutboundNetwork
  return yield* lookup(host).pipe(
    Effect.timeout(lookupTimeout),
    Effect.mapError(() => new AddressRefused({ host, reason: "not-found" }))
  )
})

/**
 * The address to dial for a host name or literal address (IPv6 also in
 * brackets). Looks the name up anew each time. One answer that is not public
 * refuses the host, even when others are: the next lookup could put it first.
 */
export const resolvePublic = Effect.fn("OutboundGuard.resolvePublic")(function* (
  host: string
): Effect.fn.Return<PublicAddress, AddressRefused> {
  const addresses = yield* addressesOf(host)
  const { allows } = yield* OutboundNetwork
  const [address] = addresses
  if (address === undefined) return yield* new AddressRefused({ host, reason: "not-found" })
  if (!addresses.every(allows)) return yield* new AddressRefused({ host, reason: "not-public" })
  return { address, family: isIPv4(address) ? 4 : 6 }
})
