import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { BlockList } from "node:net"
import { AddressRefused, isPublicUnicast, OutboundNetwork, resolvePublic } from "./OutboundGuard.ts"

const special = {
  unspecified: ["0.0.0.0", "0.1.2.3", "::", "::0"],
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  "link-local": ["169.254.169.254", "fe80::1", "febf::1", "fe80::1%eth0", "2606:4700::1%eth0"],
  "unique local": ["fc00::1", "fd00:ec2::254", "fec0::1"],
  "shared (CGNAT)": ["100.64.0.1", "100.127.255.255"],
  multicast: ["224.0.0.1", "239.255.255.255", "ff02::1"],
  "broadcast and reserved": ["255.255.255.255", "240.0.0.1", "192.0.0.8", "4000::1", "::7f00:1"],
  documentation: ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
  benchmarking: ["198.18.0.1", "198.19.255.255", "2001:2::1"],
  "IPv4 mapped": ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0a00:1", "0:0:0:0:0:ffff:808:808"],
  NAT64: ["64:ff9b::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1"],
  "6to4 and Teredo": ["2002:7f00:1::1", "2002:808:808::1", "192.88.99.1", "2001::1"],
  "odd forms and garbage": [
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.1",
    "8.8.8.8.",
    " 8.8.8.8",
    "[::1]",
    "08.8.8.8",
    "x",
    ""
  ]
}

describe("isPublicUnicast", () => {
  for (const [kind, addresses] of Object.entries(special)) {
    it(`is false for ${kind}`, () => {
      for (const address of addresses) assert.isFalse(isPublicUnicast(address), address)
    })
  }

  it("is true for addresses of the public internet, up to the edges of the special ranges", () => {
    const addresses = [
      "1.1.1.1",
      "8.8.8.8",
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "172.15.255.255",
      "172.32.0.0",
      "223.255.255.255",
      "2606:4700:4700::1111",
      "2a00:1450:4001:81b::200e"
    ]
    for (const address of addresses) assert.isTrue(isPublicUnicast(address), address)
  })

  it("agrees with the special purpose registry for every IPv4 address", () => {
    const registry = new BlockList()
    const ranges = [
      "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24",
      "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15",
      "198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    ]
      .join(" ")
      .split(" ")
      .map((range) => range.split("/") as [string, string])
    for (const [network, bits] of ranges) registry.addSubnet(network, Number(bits), "ipv4")
    const nearSpecial = fc
      .tuple(fc.constantFrom(...ranges), fc.integer({ min: -300, max: 300 }))
      .map(
        ([[network], offset]) => network.split(".").reduce((number, part) => number * 256 + Number(part), 0) + offset
      )
      .filter((number) => number >= 0 && number < 2 ** 32)
    fc.assert(
      fc.property(fc.oneof(fc.nat(2 ** 32 - 1), nearSpecial), (number) => {
        const address = [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".")
        assert.strictEqual(isPublicUnicast(address), !registry.check(address, "ipv4"), address)
      }),
      { numRuns: 5_000 }
    )
  })
})

/** A network in which every name has the given answers, one list for each lookup. */
const answering = (...lookups: ReadonlyArray<ReadonlyArray<string>>) => {
  const left = [...lookups]
  return Effect.provideService(OutboundNetwork, {
    lookup: () => Effect.sync(() => left.shift() ?? []),
    allows: isPublicUnicast
  })
}
const refusal = (host: string) => Effect.map(Effect.flip(resolvePublic(host)), (refused) => refused.reason)

describe("resolvePublic", () => {
  it.effect("gives the first of the addresses when all of them are public", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resolvePublic("hooks.example.com"), { address: "1.1.1.1", family: 4 })
      assert.deepStrictEqual(yield* resolvePublic("hooks.example.com."), { address: "2606:4700::1", family: 6 })
    }).pipe(answering(["1.1.1.1", "2606:4700::1"], ["2606:4700::1", "1.1.1.1"]))
  )

  it.effect("refuses a host when any of its addresses is not public, or when it has none", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refusal("mixed.example.com"), "not-public")
      assert.strictEqual(yield* refusal("mapped.example.com"), "not-public")
      assert.strictEqual(yield* refusal("nothing.example.com"), "not-found")
    }).pipe(answering(["1.1.1.1", "10.0.0.1"], ["::ffff:1.1.1.1"], []))
  )

  it.effect("looks up anew each time, so a name that turns inward is refused at the next attempt", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* resolvePublic("rebind.example.com")).address, "1.1.1.1")
      assert.strictEqual(yield* refusal("rebind.example.com"), "not-public")
    }).pipe(answering(["1.1.1.1"], ["169.254.169.254"]))
  )

  it.effect("takes plain literal addresses without a lookup, and only public ones", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resolvePublic("8.8.8.8"), { address: "8.8.8.8", family: 4 })
      assert.deepStrictEqual(yield* resolvePublic("[2606:4700::1]"), { address: "2606:4700::1", family: 6 })
      for (const host of ["127.0.0.1", "[::1]", "::1", "[::ffff:8.8.8.8]", "169.254.169.254", "[fe80::1%1]"]) {
        assert.strictEqual(yield* refusal(host), "not-public", host)
      }
    }).pipe(answering())
  )

  it.effect("refuses odd forms of addresses and what is no host name, whatever a resolver makes of them", () =>
    Effect.gen(function* () {
      const hosts = [
        "2130706433",
        "0x7f000001",
        "0X7F.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "1.1.1.0x",
        "example.1",
        "①②⑦.0.0.1",
        "a b.example.com",
        "user@example.com",
        "example.com:80",
        "example.com/..",
        "example..com",
        ".",
        "",
        `${"a.".repeat(130)}com`,
        `${"a".repeat(64)}.com`,
        "example.com\u0000.internal"
      ]
      for (const host of hosts) assert.strictEqual(yield* refusal(host), "host-name", host)
    }).pipe(
      Effect.provideService(OutboundNetwork, {
        lookup: () => Effect.succeed(["1.1.1.1"]),
        allows: isPublicUnicast
      })
    )
  )

  it.effect("gives up on a resolver that fails or does not answer in five seconds", () =>
    Effect.gen(function* () {
      const failing = Effect.provideService(OutboundNetwork, {
        lookup: () => Effect.fail("SERVFAIL"),
        allows: isPublicUnicast
      })
      assert.strictEqual(yield* failing(refusal("example.com")), "not-found")
      const silent = Effect.provideService(OutboundNetwork, { lookup: () => Effect.never, allows: isPublicUnicast })
      const waiting = yield* Effect.forkChild(silent(refusal("example.com")))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(waiting), "not-found")
    })
  )

  it.effect("refuses localhost through the system's own resolver", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* Effect.flip(resolvePublic("localhost")),
        new AddressRefused({ host: "localhost", reason: "not-public" })
      )
    })
  )
})
