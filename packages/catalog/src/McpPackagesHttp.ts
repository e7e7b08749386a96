/** Handlers of the routes about MCP packages and dependency alerts. */
import { Actor, CoreApi, Viewer } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { McpPackages } from "./McpPackages.ts"

const McpServersHttp = HttpApiBuilder.group(
  CoreApi,
  "mcpServers",
  Effect.fnUntraced(function* (handlers) {
    const packages = yield* McpPackages
    return handlers.handle("scan", ({ query }) =>
      Effect.flatMap(Viewer, (viewer) =>
        packages.lastCheck(viewer, { ecosystem: query.ecosystem, name: query.package, version: query.version })
      )
    )
  })
)

const DependencyAlertsHttp = HttpApiBuilder.group(
  CoreApi,
  "dependencyAlerts",
  Effect.fnUntraced(function* (handlers) {
    const packages = yield* McpPackages
    return handlers.handle("list", ({ query }) => Effect.flatMap(Actor, (actor) => packages.alerts(actor, query)))
  })
)

export const McpPackagesHttp = Layer.mergeAll(McpServersHttp, DependencyAlertsHttp).pipe(
  Layer.provide(McpPackages.layer)
)
