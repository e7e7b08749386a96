/** Node's HTTP server as the registry uses it: how long a request may take to arrive, and what is said before any route is asked. */
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** In milliseconds. */
export interface Patience {
  /** For a whole request to arrive. */
  readonly request: number
  /** For a push of git, which may be large and come over a slow line. */
  readonly push: number
  /** For the next bytes of a push. */
  readonly pause: number
}

const patience: Patience = { request: 300_000, push: 3_600_000, pause: 60_000 }

const timeoutCode = "ERR_HTTP_REQUEST_TIMEOUT"
const statusOf: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  [timeoutCode]: "408 Request Timeout"
}

/** Node's own parser refuses some requests before any route sees them: they get a problem too. */
const refuse = (error: NodeJS.ErrnoException, socket: Duplex) => {
  if (!socket.writable || error.code === "ECONNRESET") return
  const status = statusOf[error.code ?? ""] ?? "400 Bad Request"
  const body = JSON.stringify({
    type: "/problems/bad-request",
    title: error.code === timeoutCode ? "The request did not arrive in time" : "The request cannot be read",
    status: Number(status.slice(0, 3))
  })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
  )
}

/** Routes are there a moment after the server listens; until then an answer is better than none. */
const starting = (_request: IncomingMessage, response: ServerResponse) => {
  const body = JSON.stringify({ type: "/problems/unavailable", title: "Not available now", status: 503 })
  response.writeHead(503, { "content-type": "application/problem+json", "retry-after": "1" }).end(body)
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

export const newServer = ({ pause, push, request: whole }: Patience = patience) => {
  // Node knows one limit for all requests.
  const server = createServer({ requestTimeout: push, headersTimeout: 20_000, maxHeaderSize: 16_384 })
  server.on("clientError", refuse)
  server.on("request", (request: IncomingMessage) => {
    if (!hasBody(request)) return
    const { socket } = request
    const late = () => {
      if (!request.complete) refuse(Object.assign(new Error(), { code: timeoutCode }), socket)
    }
    const isPush = request.url?.startsWith("/git/") === true
    let seen = 0
    const timer = isPush
      ? setInterval(() => {
          if (socket.bytesRead === seen) late()
          seen = socket.bytesRead
        }, pause)
      : setTimeout(late, whole)
    timer.unref()
    request.once("close", () => clearTimeout(timer))
  })
  server.on("request", starting)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", starting)
  })
  return server
}
