import { assert, describe, it } from "@effect/vitest"
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { packDirectory } from "@quickagents/archive"
import { makeClient, session, token } from "./RegistryClient.ts"

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}

/** A server of the test's own, on loopback. */
const aServer = (answer: (asked: Asked, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request
          .on("data", (chunk: Buffer) => chunks.push(chunk))
          .once("end", () =>
            answer(
              { method: request.method!, url: request.url!, headers: request.headers, body: Buffer.concat(chunks) },
              response
            )
          )
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) => Effect.sync(() => (server.close(), server.closeAllConnections()))
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`))

const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
) =>
  void response
    .writeHead(status, { "content-type": status >= 400 ? "application/problem+json" : "application/json", ...headers })
    .end(JSON.stringify(body))

const id = (prefix: string) => `${prefix}_01JD8K2Z4W5X6Y7Z8A9B0C1D2E`
const at = "2026-11-21T07:00:00.000Z"
const digest = `sha256:${"0".repeat(64)}`

const aVersion = {
  id: id("ver"),
  namespace: "acme",
  name: "notes",
  version: "1.0.0",
  ref: "acme/notes@1.0.0",
  status: "published",
  manifestSchemaVersion: 2,
  scanStatus: "scanned",
  signed: true,
  archive: { digest, bytes: 1, href: "/x" },
  manifest: null,
  modes: ["autonomous"],
  capabilities: null,
  source: { kind: "upload", commit: null },
  submittedBy: "ada",
  warnings: [],
  pipeline: [{ stage: "S1", name: "archive", status: "passed" }],
  createdAt: at,
  publishedAt: at
}

const withClient = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))

describe("the client", () => {
  it.effect("sends an archive as multipart under its digest, with the token", () =>
    Effect.gen(function* () {
      const asked: Array<Asked> = []
      const baseUrl = yield* aServer((request, response) => {
        asked.push(request)
        json(response, 202, aVersion, { location: "/x" })
      })
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "client-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      writeFileSync(
        join(directory, "agent.yaml"),
        "schemaVersion: 2\nname: acme/notes\nversion: 1.0.0\ndescription: x\nmodes: [autonomous]\n"
      )
      writeFileSync(join(directory, "AGENT.md"), "Be brief.")
      const archive = yield* packDirectory(directory)
      const registry = yield* makeClient({ baseUrl, credential: token("pat-1") })
      assert.strictEqual((yield* registry.submit(archive)).version, "1.0.0")
      const [request] = asked
      assert.strictEqual(request.url, "/api/v1/agents/acme/notes/versions")
      assert.strictEqual(request.headers.authorization, "Bearer pat-1")
      assert.strictEqual(request.headers["idempotency-key"], archive.digest)
      assert.match(request.headers["content-type"]!, /^multipart\/form-data/)
      assert.isTrue(request.body.includes(Buffer.from(archive.archive)))
    }).pipe(withClient)
  )

  it.effect("sends a session with its CSRF token, and hands out problems by name", () =>
    Effect.gen(function* () {
      const baseUrl = yield* aServer(({ headers }, response) =>
        json(response, headers["x-csrf-token"] === "c" && headers.cookie === "session=s" ? 402 : 500, {
          type: "/problems/credits-exhausted",
          status: 402,
          title: "Not enough credits",
          account: "olli",
          balance: 3,
          hold: 20,
          resetsAt: null,
          tier: "standard"
        })
      )
      const registry = yield* makeClient({ baseUrl, credential: session("session=s", "c") })
      const error = yield* Effect.flip(registry.createRun({ ref: "acme/notes" }))
      assert.strictEqual(error._tag, "CreditsExhausted")
    }).pipe(withClient)
  )

  it.effect("uploads a file as it reads it", () =>
    Effect.gen(function* () {
      const content = Buffer.alloc(300_000, "ab")
      let received: Asked | undefined
      const baseUrl = yield* aServer((request, response) => {
        received = request
        json(response, 201, { id: id("inp"), name: "table.csv", bytes: request.body.length, digest, expiresAt: at })
      })
      const path = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const path = join(mkdtempSync(join(tmpdir(), "client-")), "table.csv")
          writeFileSync(path, content)
          return path
        }),
        (path) => Effect.sync(() => rmSync(join(path, ".."), { recursive: true }))
      )
      const registry = yield* makeClient({ baseUrl, credential: token("t") })
      assert.strictEqual((yield* registry.uploadInput(path)).bytes, content.length)
      assert.strictEqual(received!.url, "/api/v1/x/runs/inputs?name=table.csv")
      assert.strictEqual(received!.headers["transfer-encoding"], "chunked")
      assert.isTrue(received!.body.equals(content))
    }).pipe(withClient)
  )

  it.effect("repeats a read after Retry-After, and leaves a refused change to the caller", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const baseUrl = yield* aServer(({ method }, response) => {
        asked.push(method)
        if (asked.length === 1 || method === "POST") {
          json(
            response,
            429,
            { type: "/problems/rate-limited", status: 429, title: "Too many requests" },
            { "retry-after": "7" }
          )
        } else json(response, 200, aVersion)
      })
      const registry = yield* makeClient({ baseUrl })
      const fiber = yield* Effect.forkChild(
        registry.api.agentReads.getVersion({ params: { ns: "acme", name: "notes", version: "1.0.0" } })
      )
      // The answer comes over a real socket; the wait for it is on the test clock.
      while (fiber.pollUnsafe() === undefined) {
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual((yield* Fiber.join(fiber)).status, "published")
      yield* Effect.flip(registry.createRun({ ref: "acme/notes" }))
      assert.deepStrictEqual(asked, ["GET", "GET", "POST"])
    }).pipe(withClient)
  )

  it.effect("[SCAN-011] reads the version when its events cannot be had", () =>
    Effect.gen(function* () {
      const baseUrl = yield* aServer(({ url }, response) =>
        url.includes("/events") ? response.destroy() : json(response, 200, aVersion)
      )
      const registry = yield* makeClient({ baseUrl })
      const fiber = yield* Effect.forkChild(Stream.runCollect(registry.watchVersion(aVersion)))
      while (fiber.pollUnsafe() === undefined) {
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(yield* Fiber.join(fiber), [{ stage: "S1", name: "archive", status: "passed" }])
    }).pipe(withClient)
  )
})
