/**
 * The sandbox's only way to a model: a unix socket that passes completion
 * requests for the run's own model on, with the key added here. The key and the
 * address never enter the sandbox, and no other path or model is served.
 */
import type { ModelAccess } from "@quickagents/schema"
import { Effect, type Scope } from "effect"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"
import { Agent, request } from "undici"
import { listenAt } from "./SocketServer.ts"

/** Largest completion request: a whole conversation with the results of its tools. */
const maxRequestBytes = 32 * 1024 * 1024
/** A model may think this long before it answers, and between two parts of an answer. */
const answerTimeoutMs = 600_000

interface Upstream {
  readonly url: string
  readonly headers: Record<string, string>
}

/** Where a provider takes completions, and how it is told who asks. None for `scripted`, which runs inside the sandbox. */
export const upstreamOf = (model: ModelAccess): Upstream | undefined => {
  const key = model.apiKey
  const base = (fallback: string) => (model.baseUrl ?? fallback).replace(/\/+$/u, "")
  switch (model.provider) {
    case "scripted":
      return undefined
    case "anthropic":
      return {
        url: `${base("https://api.anthropic.com")}/v1/messages`,
        headers: key === undefined ? {} : { "x-api-key": key }
      }
    case "openai":
    case "openai-compatible":
      return {
        url: `${base("https://api.openai.com/v1")}/chat/completions`,
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` }
      }
  }
}

/** The path at which the sandbox asks: the provider's own. */
export const completionPath = (provider: ModelAccess["provider"]) =>
  provider === "anthropic" ? "/v1/messages" : "/v1/chat/completions"

/** What of a request's headers goes on; everything else, credentials above all, stays behind. */
const passedOn = ["content-type", "accept", "anthropic-version", "anthropic-beta"]
/** What of an answer's headers comes back: what a client needs to decode, wait and retry. */
const passedBack = /^(content-type|retry-after|retry-after-ms|x-ratelimit-.*|anthropic-ratelimit-.*|x-should-retry)$/u

const picked = (headers: IncomingHttpHeaders, keep: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => value !== undefined && keep(name)))

const readBody = async (message: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxRequestBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const asksFor = (body: Buffer, model: string): boolean => {
  try {
    const parsed: unknown = JSON.parse(body.toString())
    return typeof parsed === "object" && parsed !== null && "model" in parsed && parsed.model === model
  } catch {
    return false
  }
}

const refuse = (response: ServerResponse, status: number, message: string) => {
  response.writeHead(status, { "content-type": "application/json", connection: "close" })
  response.end(JSON.stringify({ error: { type: "model_gateway", message } }))
}

/**
 * Serves the gateway at `path` until the scope closes. The request is read whole
 * before it goes on, because the model it names is checked; the answer streams.
 */
export const serveModelGateway = (path: string, model: ModelAccess): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const upstream = upstreamOf(model)
    if (upstream === undefined) return
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs })),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const forward = async (message: IncomingMessage, response: ServerResponse) => {
      if (message.method !== "POST" || message.url !== completionPath(model.provider)) {
        return refuse(response, 403, "only completions are served here")
      }
      const body = await readBody(message)
      if (body === undefined) return refuse(response, 413, "the request is too large")
      if (!asksFor(body, model.model)) return refuse(response, 403, "the request is not for the model of this run")
      const gone = new AbortController()
      response.once("close", () => gone.abort())
      const answer = await request(upstream.url, {
        method: "POST",
        headers: { ...picked(message.headers, (name) => passedOn.includes(name)), ...upstream.headers },
        body,
        dispatcher: agent,
        signal: gone.signal
      })
      response.writeHead(
        answer.statusCode,
        picked(answer.headers, (name) => passedBack.test(name))
      )
      // An event stream's first line may be seconds before the next: the runner must see the headers now.
      response.flushHeaders()
      await pipeline(answer.body, response)
    }
    yield* listenAt(
      path,
      createServer((message, response) => {
        forward(message, response).catch(() => {
          if (response.headersSent) response.destroy()
          else refuse(response, 502, "the model does not answer")
        })
      })
    )
  })
