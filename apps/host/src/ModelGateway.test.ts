import { assert, describe, it } from "@effect/vitest"
import type { ModelAccess } from "@quickagents/schema"
import { Effect } from "effect"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { serveModelGateway } from "./ModelGateway.ts"
import { temporaryDirectory } from "./TestRegistry.ts"

const aGateway = (provider: ModelAccess["provider"]) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const seen: Array<Pick<IncomingMessage, "url" | "headers"> & { readonly body: string }> = []
    const release: Array<() => void> = []
    const upstream = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const answer = async (message: IncomingMessage, response: ServerResponse) => {
          let body = ""
          for await (const chunk of message) body += String(chunk)
          seen.push({ url: message.url!, headers: message.headers, body })
          response.writeHead(200, {
            "content-type": "text/event-stream",
            "set-cookie": "a=b",
            "x-ratelimit-remaining-tokens": "9"
          })
          response.write("data: one\n\n")
          release.push(() => response.end("data: two\n\n"))
        }
        const server = createServer((message, response) => void answer(message, response))
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)).closeAllConnections())
    )
    const { port } = upstream.address() as AddressInfo
    const path = join(directory, "model.sock")
    yield* serveModelGateway(path, {
      provider,
      baseUrl: `http://127.0.0.1:${port}/base/`,
      model: "exact-1",
      apiKey: "the-key"
    })
    return { path, release, seen }
  })

const ask = (path: string, url: string, body: unknown, onPart: (text: string) => void = () => {}, method = "POST") =>
  Effect.callback<{ readonly status: number; readonly text: string; readonly headers: IncomingMessage["headers"] }>(
    (resume) => {
      const outgoing = request(
        {
          socketPath: path,
          path: url,
          method,
          headers: {
            "content-type": "application/json",
            authorization: "Bearer from-the-sandbox",
            "x-api-key": "from-the-sandbox",
            "anthropic-version": "2023-06-01"
          }
        },
        (answer) => {
          let text = ""
          answer
            .on("data", (chunk) => {
              text += String(chunk)
              onPart(String(chunk))
            })
            .on("end", () => resume(Effect.succeed({ status: answer.statusCode!, text, headers: answer.headers })))
        }
      )
      outgoing.end(JSON.stringify(body))
    }
  )

describe("the model gateway", () => {
  it.live("adds the key, streams the answer as it comes, and lets no credential of the sandbox or cookie through", () =>
    Effect.gen(function* () {
      const { path, release, seen } = yield* aGateway("openai-compatible")
      // The second part is only sent once the first has come out here.
      const answer = yield* ask(
        path,
        "/v1/chat/completions",
        { model: "exact-1" },
        (part) => part.includes("one") && release[0]()
      )
      assert.strictEqual(answer.text, "data: one\n\ndata: two\n\n")
      assert.strictEqual(answer.headers["x-ratelimit-remaining-tokens"], "9")
      assert.isUndefined(answer.headers["set-cookie"])
      assert.strictEqual(seen[0].url, "/base/chat/completions")
      assert.strictEqual(seen[0].headers.authorization, "Bearer the-key")
      assert.isUndefined(seen[0].headers["x-api-key"])
    }).pipe(Effect.scoped)
  )

  it.live("speaks to Anthropic with its own path and key header", () =>
    Effect.gen(function* () {
      const { path, release, seen } = yield* aGateway("anthropic")
      yield* ask(path, "/v1/messages", { model: "exact-1" }, (part) => part.includes("one") && release[0]())
      assert.strictEqual(seen[0].url, "/base/v1/messages")
      assert.strictEqual(seen[0].headers["x-api-key"], "the-key")
      assert.strictEqual(seen[0].headers["anthropic-version"], "2023-06-01")
      assert.isUndefined(seen[0].headers.authorization)
    }).pipe(Effect.scoped)
  )

  it.live("refuses every other path, method and model before anything leaves", () =>
    Effect.gen(function* () {
      const { path, seen } = yield* aGateway("openai")
      for (const [url, body, method] of [
        ["/v1/models", { model: "exact-1" }, "GET"],
        ["/v1/files", { model: "exact-1" }, "POST"],
        ["/v1/chat/completions?x=1", { model: "exact-1" }, "POST"],
        ["http://elsewhere.example/v1/chat/completions", { model: "exact-1" }, "POST"],
        ["/v1/chat/completions", { model: "dearer-2" }, "POST"],
        ["/v1/chat/completions", "text", "POST"]
      ] as const) {
        assert.strictEqual((yield* ask(path, url, body, undefined, method)).status, 403, `${method} ${url}`)
      }
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.scoped)
  )
})
