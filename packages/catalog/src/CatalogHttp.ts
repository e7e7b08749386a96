/** Handlers of the agent and version routes. */
import { CoreApi } from "@quickagents/schema"
import { Effect, Layer, Stream } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { agentRecord, Agents } from "./Agents.ts"
import { asActor, asViewer } from "./Callers.ts"
import { Forks } from "./Forks.ts"
import { Grants } from "./Grants.ts"
import { Installs } from "./Installs.ts"
import { Reviews } from "./Reviews.ts"
import { Search } from "./Search.ts"
import { Transfers } from "./Transfers.ts"
import { Versions } from "./Versions.ts"

const AgentReadsHttp = HttpApiBuilder.group(
  CoreApi,
  "agentReads",
  Effect.fnUntraced(function* (handlers) {
    const agents = yield* Agents
    const versions = yield* Versions
    return handlers
      .handle("list", ({ query }) => asViewer((viewer) => agents.list(viewer, query)))
      .handle("get", ({ params }) =>
        asViewer((viewer) => Effect.map(agents.seen(viewer, params.ns, params.name), ({ agent }) => agentRecord(agent)))
      )
      .handle("stats", ({ params }) => asViewer((viewer) => agents.stats(viewer, params.ns, params.name)))
      .handle("listVersions", ({ params, query }) =>
        asViewer((viewer) => versions.list(viewer, params.ns, params.name, query))
      )
      .handle("getVersion", ({ params }) =>
        asViewer((viewer) => versions.get(viewer, params.ns, params.name, params.version))
      )
      .handle("resolve", ({ params, query }) =>
        asViewer((viewer) =>
          versions.resolveVersion(viewer, params.ns, params.name, query.range, query.prerelease === "true")
        )
      )
      .handle("versionEvents", ({ headers, params, query }) =>
        asViewer((viewer) =>
          versions.events(viewer, params.ns, params.name, params.version, headers["last-event-id"] ?? query.after ?? 0)
        )
      )
      .handle("report", ({ params }) =>
        asViewer((viewer) => versions.report(viewer, params.ns, params.name, params.version))
      )
      .handle("attestation", ({ params }) =>
        asViewer((viewer) => versions.attestation(viewer, params.ns, params.name, params.version))
      )
      .handle("archive", ({ params }) =>
        asViewer((viewer) =>
          Effect.map(versions.archive(viewer, params.ns, params.name, params.digest), (archive) =>
            HttpApiSchema.withHeaders({
              body: Stream.orDie(archive.content),
              headers: {
                // Content-addressed: these bytes never change, so a public archive may be kept for ever.
                "cache-control": archive.public ? "public, max-age=31536000, immutable" : "private, no-store",
                etag: `"${params.digest}"`,
                "content-length": String(archive.bytes)
              }
            })
          )
        )
      )
  })
)

const AgentChangesHttp = HttpApiBuilder.group(
  CoreApi,
  "agentChanges",
  Effect.fnUntraced(function* (handlers) {
    const agents = yield* Agents
    const versions = yield* Versions
    const forks = yield* Forks
    const transfers = yield* Transfers
    return handlers
      .handle("create", ({ payload }) => asActor((actor) => agents.create(actor, payload)))
      .handle("patch", ({ params, payload }) =>
        asActor((actor) => agents.patch(actor, params.ns, params.name, payload))
      )
      .handle("retire", ({ params }) => asActor((actor) => agents.retire(actor, params.ns, params.name)))
      .handle("restore", ({ params }) => asActor((actor) => agents.restore(actor, params.ns, params.name)))
      .handle("fork", ({ params, payload }) => asActor((actor) => forks.fork(actor, params.ns, params.name, payload)))
      .handle("transfer", ({ params, payload }) =>
        asActor((actor) => transfers.transfer(actor, params.ns, params.name, payload))
      )
      .handle("delete", ({ params, query }) =>
        asActor((actor) => agents.remove(actor, params.ns, params.name, query.confirm))
      )
      .handle("submit", ({ params, payload }) =>
        asActor((actor) =>
          Effect.map(versions.submit(actor, params.ns, params.name, payload.archive.path), (version) =>
            HttpApiSchema.withHeaders({
              body: version,
              headers: { location: `/api/v1/agents/${version.namespace}/${version.name}/versions/${version.version}` }
            })
          )
        )
      )
      .handle("yank", ({ params }) => asActor((actor) => versions.yank(actor, params.ns, params.name, params.version)))
      .handle("unyank", ({ params }) =>
        asActor((actor) => versions.unyank(actor, params.ns, params.name, params.version))
      )
  })
)

const GrantsHttp = HttpApiBuilder.group(
  CoreApi,
  "grants",
  Effect.fnUntraced(function* (handlers) {
    const grants = yield* Grants
    return handlers.handleAll({
      list: ({ params: { name, ns }, query }) => asActor((actor) => grants.list(actor, ns, name, query)),
      putPerson: ({ params: { handle, name, ns }, payload }) =>
        asActor((actor) => grants.putPerson(actor, ns, name, handle, payload.level)),
      removePerson: ({ params: { handle, name, ns } }) =>
        asActor((actor) => grants.removePerson(actor, ns, name, handle)),
      putTeam: ({ params: { name, ns, team }, payload }) =>
        asActor((actor) => grants.putTeam(actor, ns, name, team, payload.level)),
      removeTeam: ({ params: { name, ns, team } }) => asActor((actor) => grants.removeTeam(actor, ns, name, team))
    })
  })
)

const PlatformHttp = HttpApiBuilder.group(
  CoreApi,
  "platform",
  Effect.fnUntraced(function* (handlers) {
    const versions = yield* Versions
    const reviews = yield* Reviews
    const moderate =
      (decision: "quarantine" | "block") =>
      ({
        params,
        payload
      }: {
        readonly params: { readonly ns: string; readonly name: string }
        readonly payload: { readonly version: string; readonly reason: string }
      }) =>
        asActor((actor) => versions.moderate(actor, params.ns, params.name, payload.version, decision, payload.reason))
    return handlers
      .handle("quarantine", moderate("quarantine"))
      .handle("release", ({ params, payload }) =>
        asActor((actor) => reviews.release(actor, params.ns, params.name, payload.version, payload.reason))
      )
      .handle("block", moderate("block"))
  })
)

const InstallsHttp = HttpApiBuilder.group(
  CoreApi,
  "installs",
  Effect.fnUntraced(function* (handlers) {
    const installs = yield* Installs
    return handlers
      .handle("list", ({ query }) => asActor((actor) => installs.list(actor, query)))
      .handle("put", ({ params, payload }) => asActor((actor) => installs.put(actor, params.ns, params.name, payload)))
      .handle("remove", ({ params }) => asActor((actor) => installs.remove(actor, params.ns, params.name)))
      .handle("star", ({ params }) => asActor((actor) => installs.star(actor, params.ns, params.name)))
      .handle("unstar", ({ params }) => asActor((actor) => installs.unstar(actor, params.ns, params.name)))
  })
)

const SearchHttp = HttpApiBuilder.group(
  CoreApi,
  "search",
  Effect.fnUntraced(function* (handlers) {
    const { search } = yield* Search
    return handlers.handle("search", ({ query }) => asViewer((viewer) => search(viewer, query)))
  })
)

export const CatalogHttp = Layer.mergeAll(
  SearchHttp,
  AgentReadsHttp,
  AgentChangesHttp,
  GrantsHttp,
  InstallsHttp,
  PlatformHttp
)
