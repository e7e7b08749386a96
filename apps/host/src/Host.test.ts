import { assert, describe, it } from "@effect/vitest"
import { OutboundNetwork } from "@quickagents/platform/outbound"
import type { HandOff } from "@quickagents/schema"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { findControlGroups } from "./ControlGroups.ts"
import { startHost } from "./Host.ts"
import { aHost, aWaitingSandbox, isEvent, openOutput, quiet } from "./TestHost.ts"
import {
  archiveOf,
  asRegistry,
  bubblewrapMissing,
  certifyHost,
  digestOf,
  handOffOf,
  makeRegistry,
  manifestText,
  newRunId,
  push,
  rawRequest,
  registryLeaf,
  rpcClient,
  sealedInput,
  shownCertificate
} from "./TestRegistry.ts"

const controlGroupsMissing = (await Effect.runPromise(findControlGroups)) === undefined

describe("a host's peers", () => {
  it.live("[HOST-008] only the enrolled registry's certificate is answered, on RPC and raw routes", () =>
    Effect.gen(function* () {
      const { archive, client, hostId, port, registry } = yield* aHost()
      assert.strictEqual((yield* client.Health()).hostId, hostId)
      const path = `/objects/${digestOf(archive)}`
      const { ca } = asRegistry(registry)
      assert.strictEqual((yield* rawRequest({ ca }, port, "HEAD", path)).status, -1)
      const rogue = yield* makeRegistry
      const rogueTls = { ...asRegistry(rogue), ca }
      assert.strictEqual((yield* rawRequest(rogueTls, port, "HEAD", path)).status, -1)
      const other = yield* registryLeaf(registry.ca, "quickagents://host/host_01JD8K2Z4W5X6Y7Z8A9B0C1D2E")
      const otherTls = { ca, cert: other.certificate, key: other.privateKey }
      for (const [method, route] of [
        ["HEAD", path],
        ["PUT", path],
        ["GET", `/runs/${newRunId()}/output`],
        ["GET", "/rpc"]
      ] as const) {
        assert.strictEqual((yield* rawRequest(otherTls, port, method, route)).status, 403, `${method} ${route}`)
      }
      const asOther = yield* rpcClient({ ca: registry.ca, client: other }, port)
      assert(Exit.isFailure(yield* Effect.exit(asOther.Health())))
      assert.strictEqual((yield* rawRequest(asRegistry(registry), port, "HEAD", path)).status, 200)
    }).pipe(Effect.scoped)
  )

  it.live("a renewed certificate is shown to the next handshake while an open stream goes on", () =>
    Effect.gen(function* () {
      const { archive, client, config, exitOf, hostId, port, registry, scope, watch } = yield* aHost()
      const { handOff } = handOffOf(archive, { stayMs: 700 })
      yield* client.Take(handOff)
      const watching = yield* Effect.forkScoped(Stream.runCollect(watch(handOff.runId)))
      const before = (yield* client.Health()).certificateExpiresAt
      const { csr } = yield* client.RenewalRequest()
      const certificate = yield* certifyHost(registry.ca, hostId, csr, 2)
      const wrong = yield* certifyHost(registry.ca, "host_01JD8K2Z4W5X6Y7Z8A9B0C1D2E", csr)
      assert(Exit.isFailure(yield* Effect.exit(client.Renew({ certificate: wrong, caChain: registry.ca.certificate }))))
      yield* client.Renew({ certificate, caChain: registry.ca.certificate })
      assert.strictEqual((yield* shownCertificate(registry, port)).trim(), certificate.trim())
      assert.isTrue((yield* client.Health()).certificateExpiresAt > before)
      assert.strictEqual((yield* Fiber.join(watching)).at(-1)!.event.type, "exited")
      assert.strictEqual((yield* exitOf(handOff.runId)).exitClass, "ok")
      yield* Scope.close(scope, Exit.void)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* startHost(config).pipe(quiet)
          assert.strictEqual((yield* shownCertificate(registry, port)).trim(), certificate.trim())
        })
      )
    }).pipe(Effect.scoped)
  )
})

describe("objects", () => {
  it.live("bytes that are not their digest are refused and not kept", () =>
    Effect.gen(function* () {
      const { port, registry } = yield* aHost()
      const path = `/objects/${digestOf(Buffer.from("right"))}`
      assert.strictEqual((yield* rawRequest(asRegistry(registry), port, "PUT", path, Buffer.from("wrong"))).status, 422)
      assert.strictEqual((yield* rawRequest(asRegistry(registry), port, "HEAD", path)).status, 404)
      assert.strictEqual((yield* rawRequest(asRegistry(registry), port, "PUT", path, Buffer.from("right"))).status, 201)
      assert.strictEqual((yield* rawRequest(asRegistry(registry), port, "HEAD", path)).status, 200)
      assert.strictEqual(
        (yield* rawRequest(asRegistry(registry), port, "PUT", "/objects/sha256:..", Buffer.from("x"))).status,
        400
      )
      assert.strictEqual(
        (yield* rawRequest(asRegistry(registry), port, "PUT", path, Buffer.alloc(64 * 1024 * 1024 + 1))).status,
        413
      )
    }).pipe(Effect.scoped)
  )
})

describe("taking runs", () => {
  it.live("a run is refused without its objects, beyond the slots, for what the host lacks, and while it drains", () =>
    Effect.gen(function* () {
      const { archive, client, exitOf, port, registry } = yield* aHost({ capacity: 1 })
      const refusal = (handOff: HandOff) =>
        Effect.map(Effect.flip(client.Take(handOff)), (error) => ("reason" in error ? error.reason : error))
      assert.strictEqual(yield* refusal(handOffOf(Buffer.from("unknown"), {}).handOff), "object-missing")
      assert.strictEqual(yield* refusal(handOffOf(archive, {}, { mode: "interactive" }).handOff), "unsupported")
      const browsing = yield* archiveOf({ "agent.yaml": manifestText("capabilities: {browser: {scope: sites}}\n") })
      yield* push(registry, port, browsing)
      assert.strictEqual(yield* refusal(handOffOf(browsing, {}).handOff), "unsupported")

      const { handOff } = handOffOf(archive, { stayMs: 20_000 })
      yield* client.Take(handOff)
      yield* client.Take(handOff)
      assert.deepStrictEqual((yield* client.Health()).slots, { total: 1, used: 1 })
      assert.deepStrictEqual((yield* client.Health()).runs, [handOff.runId])
      assert.strictEqual(yield* refusal(handOffOf(archive, {}).handOff), "no-slot")
      yield* client.Drain()
      assert.isTrue((yield* client.Health()).draining)
      assert.strictEqual(yield* refusal(handOffOf(archive, {}).handOff), "draining")
      yield* client.Cancel({ runId: handOff.runId, reason: "cancelled" })
      // Also a runner that is only just being started ends at once.
      assert.isTrue((yield* exitOf(handOff.runId).pipe(Effect.timeout("5 seconds"))).interrupted)
      assert.deepStrictEqual((yield* client.Health()).slots, { total: 1, used: 0 })
      yield* client.Forget({ runId: handOff.runId })
      assert.deepStrictEqual((yield* client.Health()).runs, [])
    }).pipe(Effect.scoped)
  )

  it.live("a run that is not held cannot be watched, and to cancel or forget it changes nothing", () =>
    Effect.gen(function* () {
      const { client, events } = yield* aHost()
      const runId = newRunId()
      assert.strictEqual((yield* Effect.flip(events(runId)))._tag, "RunUnknown")
      yield* client.Cancel({ runId, reason: "tokens" })
      yield* client.Forget({ runId })
    }).pipe(Effect.scoped)
  )
})

describe("the life of a run", () => {
  it.live("[RUN-012] one output, sealed to the person's key, numbered events, and a resumed watch gets the rest", () =>
    Effect.gen(function* () {
      const { archive, client, events, port, registry, watch } = yield* aHost()
      const input = sealedInput("notes.txt", "an input")
      yield* push(registry, port, input.sealed)
      const { handOff, recipient } = handOffOf(
        archive,
        {
          narrate: [
            ...Array.from({ length: 50 }, (_, index) => ({ type: "tokens", input: index, output: 0, total: index })),
            { type: "turn", turns: 1 },
            { nonsense: true },
            { type: "tokens", input: 100, output: 20, total: 120 }
          ],
          output: "the tar of the run",
          copyInputs: ["notes.txt"],
          stayMs: 300
        },
        { inputs: [input.input] }
      )
      yield* client.Take(handOff)
      // A registry that stops after the first event, as if it lost its connection.
      const first = yield* Stream.runCollect(Stream.take(watch(handOff.runId), 1))
      const rest = yield* events(handOff.runId, 1)
      const all = [...first, ...rest]
      assert.deepStrictEqual(
        all.map(({ seq }) => seq),
        all.map((_, index) => index + 1)
      )
      assert.deepStrictEqual(
        all.map(({ event }) => event.type).filter((type) => type !== "tokens"),
        ["started", "turn", "sealed", "exited"]
      )
      const tokens = all.map(({ event }) => event).filter((event) => event.type === "tokens")
      assert.isAtMost(tokens.length, 4)
      assert.deepStrictEqual(tokens.at(-1), { type: "tokens", input: 100, output: 20, total: 120 })
      const { body, status } = yield* rawRequest(asRegistry(registry), port, "GET", `/runs/${handOff.runId}/output`)
      assert.strictEqual(status, 200)
      assert.strictEqual(
        String(yield* openOutput(handOff, recipient.privateKey, all, body)),
        "an inputthe tar of the run"
      )
      assert.deepStrictEqual(yield* events(handOff.runId), all)
      assert.deepStrictEqual(yield* events(handOff.runId, all.length), [])
      yield* client.Forget({ runId: handOff.runId })
      assert.strictEqual(
        (yield* rawRequest(asRegistry(registry), port, "GET", `/runs/${handOff.runId}/output`)).status,
        404
      )
    }).pipe(Effect.scoped)
  )

  it.live("a watcher hears a heartbeat each second while nothing happens", () =>
    Effect.gen(function* () {
      const { archive, client } = yield* aHost()
      const { handOff } = handOffOf(archive, { stayMs: 5_000 })
      yield* client.Take(handOff)
      const heartbeats = client.Watch({ runId: handOff.runId, afterSeq: 0 }).pipe(
        Stream.filter((item) => !isEvent(item)),
        Stream.take(2)
      )
      assert.lengthOf(yield* Stream.runCollect(heartbeats).pipe(Effect.timeout("4 seconds")), 2)
      yield* client.Forget({ runId: handOff.runId })
      assert.deepStrictEqual((yield* client.Health()).slots.used, 0)
    }).pipe(Effect.scoped)
  )

  it.live("a runner that ends without an envelope is the class cli with what was narrated, and has no output", () =>
    Effect.gen(function* () {
      const { archive, client, events, port, registry } = yield* aHost()
      const { handOff } = handOffOf(archive, {
        narrate: [{ type: "tokens", input: 5, output: 1, total: 6 }],
        output: "half",
        crash: true
      })
      yield* client.Take(handOff)
      const all = yield* events(handOff.runId)
      const last = all.at(-1)!.event
      assert(last.type === "exited")
      assert.deepInclude(last.exit, { exitClass: "cli", reason: "internal", interrupted: false, receipt: null })
      assert.deepInclude(last.exit.usage, { inputTokens: 5, outputTokens: 1, totalTokens: 6, turns: 0 })
      assert.isFalse(all.some(({ event }) => event.type === "sealed"))
      assert.strictEqual(
        (yield* rawRequest(asRegistry(registry), port, "GET", `/runs/${handOff.runId}/output`)).status,
        404
      )
    }).pipe(Effect.scoped)
  )

  it.live("an output over the run's limit ends the run, and nothing of it is kept", () =>
    Effect.gen(function* () {
      const { archive, client, events } = yield* aHost()
      const { handOff } = handOffOf(archive, { outputBytes: 200_000, stayMs: 20_000 }, { maxOutputBytes: 100_000 })
      yield* client.Take(handOff)
      const all = yield* events(handOff.runId)
      const last = all.at(-1)!.event
      assert(last.type === "exited")
      assert.deepInclude(last.exit, { exitClass: "cli", reason: "output-too-large", interrupted: false })
      assert.isFalse(all.some(({ event }) => event.type === "sealed"))
    }).pipe(Effect.scoped)
  )

  it.live("an input that does not open ends the run before it starts", () =>
    Effect.gen(function* () {
      const { archive, client, events, port, registry } = yield* aHost()
      const input = sealedInput("a.txt", "text")
      yield* push(registry, port, input.sealed)
      const { handOff } = handOffOf(
        archive,
        {},
        {
          inputs: [{ ...input.input, sealed: { ...input.input.sealed, context: "another context" } }]
        }
      )
      yield* client.Take(handOff)
      const all = yield* events(handOff.runId)
      assert.deepStrictEqual(
        all.map(({ event }) => event.type),
        ["exited"]
      )
      const [only] = all
      assert(only.event.type === "exited")
      assert.deepInclude(only.event.exit, { exitClass: "cli", reason: "digest-mismatch" })
    }).pipe(Effect.scoped)
  )

  for (const warmRunners of [0, 1]) {
    it.live.skipIf(bubblewrapMissing)(
      `in bubblewrap ${warmRunners === 0 ? "a runner" : "a runner that waited"} has the workspace and one socket, and no network, files or processes of the host`,
      () =>
        Effect.gen(function* () {
          const { archive, client, config, events, port, registry } = yield* aHost({ warmRunners })
          if (warmRunners > 0) yield* aWaitingSandbox(config)
          const secretFile = join(config.dataDir, "host-file")
          writeFileSync(secretFile, "secret")
          const { handOff, recipient } = handOffOf(archive, {
            probe: { hostFile: secretFile, dataDir: config.dataDir, port }
          })
          yield* client.Take(handOff)
          const all = yield* events(handOff.runId)
          const last = all.at(-1)!.event
          assert(last.type === "exited")
          assert.strictEqual(last.exit.exitClass, "ok")
          assert.isTrue(
            last.exit.receipt!.capabilities_enforced.runtime.some((sentence) =>
              sentence.startsWith("bubblewrap namespaces")
            )
          )
          const { body } = yield* rawRequest(asRegistry(registry), port, "GET", `/runs/${handOff.runId}/output`)
          const seen = JSON.parse(String(yield* openOutput(handOff, recipient.privateKey, all, body)))
          assert.deepStrictEqual(seen, {
            hostFile: "ENOENT",
            dataDir: "ENOENT",
            network: "ECONNREFUSED",
            egress: "connected",
            workspace: "written",
            archive: "EROFS",
            environment: ["HOME", "LANG", "NODE_COMPILE_CACHE", "PATH", "PWD", "TMPDIR"],
            ptrace: existsSync("/usr/bin/perl") ? "-1" : "ENOENT",
            // bubblewrap's first process and the runner
            processes: 2
          })
        }).pipe(Effect.scoped)
    )
  }

  it.live("a run reaches exactly the hosts that the manifest in its archive lists", () =>
    Effect.gen(function* () {
      const site = yield* Effect.acquireRelease(
        Effect.callback<Server>((resume) => {
          const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1", () =>
            resume(Effect.succeed(server))
          )
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { port: sitePort } = site.address() as AddressInfo
      const { client, events, port, registry } = yield* aHost()
      const archive = yield* archiveOf({
        "agent.yaml": manifestText(`capabilities: {network: {egress: ["api.example.com:${sitePort}"]}}\n`)
      })
      yield* push(registry, port, archive)
      const { handOff, recipient } = handOffOf(archive, {
        fetch: [`http://api.example.com:${sitePort}/`, `http://other.example.com:${sitePort}/`]
      })
      yield* client.Take(handOff)
      const all = yield* events(handOff.runId)
      const { body } = yield* rawRequest(asRegistry(registry), port, "GET", `/runs/${handOff.runId}/output`)
      assert.strictEqual(String(yield* openOutput(handOff, recipient.privateKey, all, body)), "200 403 ")
    }).pipe(
      Effect.provideService(OutboundNetwork, { lookup: () => Effect.succeed(["127.0.0.1"]), allows: () => true }),
      Effect.scoped
    )
  )

  it.live.skipIf(controlGroupsMissing)("a run that takes more memory than it may is ended, and the host goes on", () =>
    Effect.gen(function* () {
      const { archive, client, exitOf } = yield* aHost({ runMemoryBytes: 128 * 1024 * 1024 })
      const { handOff } = handOffOf(archive, { allocateMiB: 400 })
      yield* client.Take(handOff)
      assert.deepInclude(yield* exitOf(handOff.runId), { exitClass: "cli", reason: "internal" })
      assert.strictEqual((yield* client.Health()).slots.used, 0)
    }).pipe(Effect.scoped)
  )
})
