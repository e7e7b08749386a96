/**
 * The sandbox's only way to the network: an HTTP proxy on a unix socket that
 * lets out exactly the `host:port` entries of the release's manifest, and those
 * only to public addresses. A name is resolved here and the address that was
 * checked is the one that is dialled, so that a name cannot change in between.
 */
import { resolvePublic } from "@quickagents/platform/outbound"
import { Effect, type Scope } from "effect"
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { listenAt } from "./SocketServer.ts"

/** A connection without a byte in either direction is closed. */
const idleTimeoutMs = 60_000
const connectTimeoutMs = 10_000

export interface EgressTarget {
  readonly host: string
  readonly port: number
}

/** `host:port` with a port that is a port; none otherwise. IPv6 literals are never in a manifest. */
export const parseTarget = (authority: string): EgressTarget | undefined => {
  const match = /^([a-z0-9.-]{1,253}):(\d{1,5})$/iu.exec(authority)
  if (match === null) return undefined
  const port = Number(match[2])
  return port >= 1 && port <= 65_535 ? { host: match[1].toLowerCase(), port } : undefined
}

/** An entry is an exact `host:port`, or `*.name:port` for every name below `name` but not `name` itself. */
export const allows = (egress: ReadonlyArray<string>, target: EgressTarget): boolean =>
  egress.some((entry) => {
    const [pattern, port] = entry.split(":")
    return (
      Number(port) === target.port &&
      (pattern.startsWith("*.")
        ? target.host.endsWith(pattern.slice(1)) && target.host.length > pattern.length - 1
        : target.host === pattern)
    )
  })

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

const forwarded = (message: IncomingMessage, host: string) => ({
  ...Object.fromEntries(Object.entries(message.headers).filter(([name]) => !hopByHop.has(name))),
  ...(message.headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }),
  // The target decided where this goes; a second name in the request must not reach another site behind the same address.
  host
})

/** The authority of an absolute-form `http://` address, with its path; https goes through CONNECT. */
const absoluteForm = (url: string): { readonly target: EgressTarget; readonly path: string } | undefined => {
  if (!URL.canParse(url)) return undefined
  const parsed = new URL(url)
  const target = parseTarget(`${parsed.hostname}:${parsed.port || "80"}`)
  return parsed.protocol === "http:" && target !== undefined
    ? { target, path: parsed.pathname + parsed.search }
    : undefined
}

export interface EgressUse {
  readonly bytesOut: number
  readonly bytesIn: number
  readonly refused: number
}

/** Serves the proxy at `path` until the scope closes. Answers a function that reads what went through so far. */
export const serveEgressProxy = (
  path: string,
  egress: ReadonlyArray<string>
): Effect.Effect<() => EgressUse, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context())
    let closedOut = 0
    let closedIn = 0
    let refused = 0
    const live = new Set<Socket>()

    const counted = (socket: Socket) => {
      live.add(socket)
      socket.once("close", () => {
        live.delete(socket)
        closedOut += socket.bytesWritten
        closedIn += socket.bytesRead
      })
      socket.setTimeout(connectTimeoutMs)
      socket.once("connect", () => socket.setTimeout(idleTimeoutMs))
      socket.on("timeout", () => socket.destroy())
    }

    /** An address for the target, or the status that says why not. */
    const admit = async (target: EgressTarget | undefined): Promise<string | 403 | 502> => {
      if (target === undefined || !allows(egress, target)) return 403
      return run(
        resolvePublic(target.host).pipe(
          Effect.map(({ address }) => address),
          Effect.catchTag("AddressRefused", ({ reason }) =>
            Effect.succeed(reason === "not-found" ? (502 as const) : (403 as const))
          )
        )
      )
    }

    const tunnel = async (message: IncomingMessage, client: Duplex, head: Buffer) => {
      client.on("error", () => client.destroy())
      const target = parseTarget(message.url ?? "")
      const address = await admit(target)
      if (typeof address === "number" || target === undefined) {
        refused++
        client.end(
          `HTTP/1.1 ${address === 502 ? "502 Bad Gateway" : "403 Forbidden"}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`
        )
        return
      }
      const server = connect({ host: address, port: target.port })
      counted(server)
      client.once("close", () => server.destroy())
      server.once("close", () => client.destroy())
      server.on("error", () => client.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"))
      server.once("connect", () => {
        server.removeAllListeners("error").on("error", () => server.destroy())
        client.write("HTTP/1.1 200 Connection Established\r\n\r\n")
        server.write(head)
        server.pipe(client)
        client.pipe(server)
      })
    }

    const pass = async (message: IncomingMessage, response: ServerResponse) => {
      const form = absoluteForm(message.url ?? "")
      const address = await admit(form?.target)
      if (typeof address === "number" || form === undefined) {
        refused++
        response.writeHead(address === 502 ? 502 : 403, { "content-length": 0, connection: "close" }).end()
        return
      }
      const { path, target } = form
      const outgoing = httpRequest({
        host: address,
        port: target.port,
        method: message.method,
        path,
        headers: forwarded(message, target.port === 80 ? target.host : `${target.host}:${target.port}`),
        agent: false
      })
      outgoing.once("socket", counted)
      outgoing.on("error", () =>
        response.headersSent ? response.destroy() : response.writeHead(502, { "content-length": 0 }).end()
      )
      outgoing.on("response", (answer) => {
        response.writeHead(
          answer.statusCode!,
          Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name)))
        )
        answer.on("error", () => response.destroy())
        answer.pipe(response)
      })
      response.once("close", () => outgoing.destroy())
      message.pipe(outgoing)
    }

    const server = createServer((message, response) => void pass(message, response).catch(() => response.destroy()))
    server.on("connect", (message, client, head) => void tunnel(message, client, head).catch(() => client.destroy()))
    yield* listenAt(path, server)
    return () => ({
      bytesOut: [...live].reduce((sum, socket) => sum + socket.bytesWritten, closedOut),
      bytesIn: [...live].reduce((sum, socket) => sum + socket.bytesRead, closedIn),
      refused
    })
  })
