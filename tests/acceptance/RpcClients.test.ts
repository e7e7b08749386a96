/** The typed RPC clients against a running deployment: a process outside of the cluster sends messages to its entities. */
import { connectHost, layerClusterClient } from "@quickagents/client/rpc"
import { Certificates, Database } from "@quickagents/platform"
import { LedgerEntity, registryUri } from "@quickagents/schema"
import { Effect, Exit, Layer, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import type { Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ postgres: inject("postgresUrl"), hosts: 1 })
})
afterAll(() => stack?.stop())

const identityOf = Effect.fnUntraced(function* (uri: string) {
  const ca = yield* Certificates.loadCa(
    readFileSync(join(stack.directory, "ca.pem"), "utf8"),
    readFileSync(join(stack.directory, "ca.key"), "utf8")
  )
  const leaf = yield* Certificates.leaf(ca, {
    commonName: "tool",
    uri,
    use: "both",
    ttl: "1 hour",
    ipAddresses: ["127.0.0.1"]
  })
  return { caCertificate: ca.certificate, ...leaf }
})

const clusterOf = (uri: string) =>
  Layer.unwrap(Effect.map(identityOf(uri), layerClusterClient)).pipe(
    Layer.provide(
      Database.layerClient({ url: Redacted.make(stack.databaseUrl), maxConnections: 2, applicationName: "test" })
    )
  )

describe("typed RPC", () => {
  it("a grant through the ledger's entity is booked once for its id", async () => {
    const olli = await stack.person("olli")
    const grant = Effect.flatMap(LedgerEntity.client, (of) => of("olli").grant({ payer: "olli", id: "g1", credits: 7 }))
    const booked = await Effect.runPromise(Effect.provide(Effect.all([grant, grant]), clusterOf(registryUri)))
    expect(booked).toEqual([true, false])
    expect(await stack.call(olli, "GET", "/api/v1/credits")).toMatchObject({ balance: 107 })
  })

  it("a host answers its registry, and no one else who holds a certificate of the authority", async () => {
    const [host] = await stack.sql<{ id: string; address: string }>((sql) => sql`SELECT id, address FROM hosts`)
    const health = (uri: string) =>
      Effect.gen(function* () {
        const { rpc } = yield* connectHost(host, yield* identityOf(uri))
        return yield* rpc.Health()
      }).pipe(Effect.scoped)
    expect(await Effect.runPromise(health(registryUri))).toMatchObject({ hostId: host.id, acceptsSealedObjects: true })
    expect(Exit.isFailure(await Effect.runPromiseExit(health("quickagents://someone-else")))).toBe(true)
  })

  it("[HOST-008] another host's identity at the address is refused before anything is sent", async () => {
    const [host] = await stack.sql<{ address: string }>((sql) => sql`SELECT address FROM hosts`)
    const asked = Effect.gen(function* () {
      const { rpc } = yield* connectHost(
        { id: "host_01JD8K2Z4W5X6Y7Z8A9B0C1D2E", address: host.address },
        yield* identityOf(registryUri)
      )
      return yield* rpc.Health()
    }).pipe(Effect.scoped)
    expect(String(await Effect.runPromise(Effect.flip(asked)))).toContain("HttpError")
  })
})
