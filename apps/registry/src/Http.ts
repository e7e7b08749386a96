/** The REST API, the pages and the operations routes on one server. */
import { AuthHttp, authentication, UserHttp } from "@quickagents/identity"
import { CatalogHttp, GitTransports, GovernanceHttp, McpPackagesHttp } from "@quickagents/catalog"
import { DomainsHttp, OrgsHttp, PlatformAuditHttp, TeamsHttp } from "@quickagents/orgs"
import { HttpEdge, Idempotency, Settings } from "@quickagents/platform"
import {
  AdmissionCallbacks,
  CreditsHttp,
  HostEnrolHttp,
  RunsHttp,
  RunsStatusHttp,
  StaffHostsHttp
} from "@quickagents/runs"
import { LogHttp, RulesetReleasesHttp, ScanHttp } from "@quickagents/scan"
import { Api, CoreApi } from "@quickagents/schema"
import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpStaticServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { MetaHttp } from "./MetaHttp.ts"
import { operations } from "./Operations.ts"

const CoreHandlers = Layer.mergeAll(
  MetaHttp,
  AuthHttp,
  UserHttp,
  OrgsHttp,
  TeamsHttp,
  DomainsHttp,
  PlatformAuditHttp,
  CatalogHttp,
  McpPackagesHttp,
  GovernanceHttp,
  ScanHttp,
  RulesetReleasesHttp,
  LogHttp
)
const RunsHandlers = Layer.mergeAll(CreditsHttp, RunsStatusHttp, RunsHttp, HostEnrolHttp, StaffHostsHttp)
const Middlewares = Layer.mergeAll(authentication, Idempotency.layer)

const CoreRoutes = Layer.mergeAll(
  HttpApiBuilder.layer(CoreApi).pipe(Layer.provide(CoreHandlers), Layer.provide(Middlewares)),
  HttpEdge.layer(CoreApi),
  operations(CoreApi)
)

/** With the extension mounted; without it its routes do not exist at all. */
const AllRoutes = Layer.mergeAll(
  HttpApiBuilder.layer(Api).pipe(Layer.provide([CoreHandlers, RunsHandlers]), Layer.provide(Middlewares)),
  HttpEdge.layer(Api),
  operations(Api)
)

const Pages = HttpStaticServer.layer({
  root: fileURLToPath(new URL("../../web/public", import.meta.url)),
  cacheControl: "no-cache"
})

/** Node's own parser refuses some requests before any route sees them: they get a problem too. */
const newServer = () => {
  const server = createServer({ requestTimeout: 300_000, headersTimeout: 20_000, maxHeaderSize: 16_384 })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === "ECONNRESET") return
    const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request"
    const body = JSON.stringify({
      type: "/problems/bad-request",
      title: "The request cannot be read",
      status: Number(status.slice(0, 3))
    })
    socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
    )
  })
  // Routes are there a moment after the server listens; until then an answer is better than none.
  const starting = (_request: IncomingMessage, response: ServerResponse) => {
    const body = JSON.stringify({ type: "/problems/unavailable", title: "Not available now", status: 503 })
    response.writeHead(503, { "content-type": "application/problem+json", "retry-after": "1" }).end(body)
  }
  server.on("request", starting)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", starting)
  })
  return server
}

export const HttpLive = Layer.unwrap(
  Effect.map(Settings.Settings, (settings) => {
    const routes = settings["service.extensions"].includes("runs") ? AllRoutes : CoreRoutes
    return HttpRouter.serve(Layer.mergeAll(routes, GitTransports, AdmissionCallbacks, Pages), {
      disableLogger: true
    }).pipe(
      Layer.provide(NodeHttpServer.layer(newServer, { port: settings.port, host: settings["service.listen"] })),
      Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.mebibytes(1)))
    )
  })
)
