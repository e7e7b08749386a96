import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { connect, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { HostedRequest } from "./HostedRequest.ts"
import type { NarrationLine } from "./Narration.ts"
import { readPackage } from "./ReleasePackage.ts"
import { fromHosted, run } from "./Runner.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "runner-sandbox-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const listening = (server: Server, at: string | number) =>
  Effect.acquireRelease(
    Effect.promise(() => new Promise<Server>((resolve) => server.listen(at, () => resolve(server)))),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )

interface Asked {
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly body: {
    readonly model: string
    readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  }
}

/** A model gateway that answers each completion with one call of the given ones, in turn. */
const gateway = (at: string, calls: ReadonlyArray<readonly [string, object]>) =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const answer = (turn: number) => {
      const [name, args] = calls[turn]
      const delta = {
        tool_calls: [{ index: 0, id: `call-${turn}`, function: { name, arguments: JSON.stringify(args) } }]
      }
      return (
        [
          { choices: [{ delta, finish_reason: "tool_calls" }] },
          { choices: [], usage: { prompt_tokens: 10, completion_tokens: 2 } }
        ]
          .map((event) => `data: ${JSON.stringify(event)}\n\n`)
          .join("") + "data: [DONE]\n\n"
      )
    }
    const answered = async (message: IncomingMessage, response: ServerResponse) => {
      const body = JSON.parse(await text(message)) as Asked["body"]
      asked.push({ path: message.url, authorization: message.headers.authorization, body })
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.end(answer(asked.length - 1))
    }
    yield* listening(
      createServer((message, response) => {
        void answered(message, response)
      }),
      at
    )
    return asked
  })

/** A proxy that takes every name to one port of this machine. */
const egressProxy = (at: string, port: number) =>
  Effect.gen(function* () {
    const targets: Array<string | undefined> = []
    const server = createServer()
    server.on("connect", (message, client) => {
      targets.push(message.url)
      const upstream = connect(port, "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection Established\r\n\r\n")
        upstream.pipe(client).pipe(upstream)
      })
      upstream.on("error", () => client.destroy())
      client.on("error", () => upstream.destroy())
    })
    yield* listening(server, at)
    return targets
  })

const manifest = {
  schemaVersion: 2,
  name: "demo/agent",
  version: "1.0.0",
  description: "A test.",
  modes: ["autonomous"],
  capabilities: { network: { egress: ["api.example.test:80"] }, exec: { commands: ["printenv"] } }
}

describe("a run on a host", () => {
  it.live("reaches its model and its listed hosts through the host's sockets alone", () =>
    Effect.gen(function* () {
      const place = yield* directory
      const packageDirectory = join(place, "package")
      const workspace = join(place, "workspace")
      mkdirSync(packageDirectory)
      mkdirSync(workspace)
      writeFileSync(join(packageDirectory, "agent.yaml"), JSON.stringify(manifest))
      writeFileSync(join(packageDirectory, "AGENT.md"), "Do it.")
      const site = yield* listening(
        createServer(
          (message, response) => void response.end(`${message.method} ${message.headers.host}${message.url}`)
        ),
        0
      )
      const sockets = { model: join(place, "model.sock"), egress: join(place, "egress.sock") }
      const targets = yield* egressProxy(sockets.egress, (site.address() as AddressInfo).port)
      const asked = yield* gateway(sockets.model, [
        ["fetch", { url: "http://api.example.test/one?two" }],
        ["fetch", { url: "http://other.example.test/" }],
        ["run_command", { command: "printenv", args: ["HTTPS_PROXY"] }],
        ["no_such_tool", {}],
        ["finish", { result: "done" }]
      ])
      const request = yield* Schema.decodeUnknownEffect(HostedRequest)({
        ref: "demo/agent@1.0.0",
        digest: (yield* readPackage(packageDirectory)).digest,
        archive: packageDirectory,
        attestation: null,
        pinnedKeys: [],
        task: "Go.",
        intake: {},
        mode: "autonomous",
        workspace,
        inputs: [],
        secrets: [],
        caps: { seconds: 20, turns: 9 },
        model: { provider: "openai-compatible", model: "exact-model", socket: sockets.model },
        egressSocket: sockets.egress,
        maxOutputBytes: 1_000_000,
        runtime: ["held by a test"]
      })
      const lines: Array<NarrationLine> = []
      const { envelope } = yield* run({
        ...fromHosted(request),
        // Nobody attests a package that this test wrote.
        release: { ref: request.ref, digest: request.digest },
        narrate: (line) => lines.push(line),
        onStep: () => {},
        interrupted: Effect.never
      })

      assert.deepEqual([envelope.exitClass, envelope.result], ["ok", "done"])
      assert.deepEqual(
        asked.map(({ path }) => path),
        Array.from({ length: 5 }, () => "/v1/chat/completions")
      )
      assert.isTrue(
        asked.every(({ authorization, body }) => authorization === undefined && body.model === "exact-model")
      )
      const results = asked
        .at(-1)!
        .body.messages.filter(({ role }) => role === "tool")
        .map(({ content }) => content)
      assert.include(results[0], "status 200")
      assert.include(results[0], "GET api.example.test/one?two")
      assert.include(results[1], "does not list this host")
      assert.match(results[2], /^exit 0\nhttp:\/\/127\.0\.0\.1:\d+\n$/u)
      assert.include(results[3], "no such tool")
      assert.deepEqual(targets, ["api.example.test:80"])

      assert.deepEqual(lines[0], { type: "started" })
      assert.deepEqual(
        lines.filter(({ type }) => type === "turn"),
        [1, 2, 3, 4, 5].map((turns) => ({ type: "turn" as const, turns }))
      )
      assert.deepEqual(
        lines.findLast(({ type }) => type === "tokens"),
        { type: "tokens", input: 50, output: 10, total: 60 }
      )
      assert.deepEqual(envelope.receipt.toolCalls, { fetch: 2, finish: 1, run_command: 1 })
    }).pipe(Effect.scoped)
  )
})
