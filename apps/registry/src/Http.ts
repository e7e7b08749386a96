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
import { ByteSize, Context, Effect, FileSystem, Layer, Logger, Path, Scope } from "effect"
import { HttpIncomingMessage, HttpPlatform, HttpRouter, HttpServer, HttpStaticServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { fileURLToPath } from "node:url"
import { MetaHttp } from "./MetaHttp.ts"
import { newServer } from "./NodeServer.ts"
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

/** Endpoints bring the services that their handlers were made with, whatever the types of their routes still ask for. */
const endpoints = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  routes as Layer.Layer<A, E, Exclude<R, HttpRouter.Request<"Requires", unknown>>>

const CoreRoutes = Layer.mergeAll(
  endpoints(HttpApiBuilder.layer(CoreApi).pipe(Layer.provide(CoreHandlers), Layer.provide(Middlewares))),
  HttpEdge.layer(CoreApi),
  operations(CoreApi)
)

/** With the extension mounted; without it its routes do not exist at all. */
const AllRoutes = Layer.mergeAll(
  endpoints(HttpApiBuilder.layer(Api).pipe(Layer.provide([CoreHandlers, RunsHandlers]), Layer.provide(Middlewares))),
  HttpEdge.layer(Api),
  operations(Api)
)

const Pages = HttpStaticServer.layer({
  root: fileURLToPath(new URL("../../web/public", import.meta.url)),
  cacheControl: "no-cache"
})

type RequestServices =
  | HttpServer.HttpServer
  | HttpPlatform.HttpPlatform
  | FileSystem.FileSystem
  | Path.Path
  | Scope.Scope

/**
 * What a request starts with. Its context is copied whole when its handler is found, and routes hold the services
 * that they were made with: all others of a node would be copied for nothing.
 */
const requestServices = (context: Context.Context<RequestServices>): Context.Context<RequestServices> =>
  Context.pick(
    HttpServer.HttpServer,
    HttpPlatform.HttpPlatform,
    FileSystem.FileSystem,
    Path.Path,
    Scope.Scope,
    Logger.CurrentLoggers,
    HttpIncomingMessage.MaxBodySize
  )(context)

const serve = Layer.effectDiscard(
  Effect.gen(function* () {
    const router = yield* HttpRouter.HttpRouter
    yield* HttpServer.serveEffect(router.asHttpEffect()).pipe(Effect.updateContext(requestServices))
  })
)

/** The edge answers every failure of every route. */
const answered = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  routes as Layer.Layer<A, E, Exclude<R, HttpRouter.Request<"GlobalError" | "Error", unknown>>>

export const HttpLive = Layer.unwrap(
  Effect.map(Settings.Settings, (settings) => {
    const routes = settings["service.extensions"].includes("runs") ? AllRoutes : CoreRoutes
    return HttpServer.withLogAddress(serve).pipe(
      Layer.provide(answered(Layer.mergeAll(routes, GitTransports, AdmissionCallbacks, Pages))),
      Layer.provide(HttpRouter.layer),
      Layer.provide(NodeHttpServer.layer(() => newServer(), { port: settings.port, host: settings["service.listen"] })),
      Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.mebibytes(1)))
    )
  })
)
