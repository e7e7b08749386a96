/** Handlers of the ruleset-release and rescan routes. */
import { Versions } from "@quickagents/catalog"
import { Actor, CoreApi, Viewer } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { RulesetReleases } from "./RulesetReleases.ts"

const ReleasesHttp = HttpApiBuilder.group(
  CoreApi,
  "rulesetReleases",
  Effect.fnUntraced(function* (handlers) {
    const releases = yield* RulesetReleases
    return handlers
      .handle("create", ({ payload }) => Effect.flatMap(Actor, (actor) => releases.create(actor, payload.notes)))
      .handle("list", ({ query }) => releases.list(query))
      .handle("get", ({ params }) => releases.get(params.id))
  })
)

const RescansHttp = HttpApiBuilder.group(
  CoreApi,
  "rescans",
  Effect.fnUntraced(function* (handlers) {
    const releases = yield* RulesetReleases
    const versions = yield* Versions
    return handlers.handle("list", ({ params: { name, ns, version } }) =>
      Viewer.pipe(
        Effect.flatMap((viewer) => versions.get(viewer, ns, name, version)),
        Effect.flatMap(({ id }) => releases.rescansOf(id)),
        Effect.map((items) => ({ items }))
      )
    )
  })
)

export const RulesetReleasesHttp = Layer.mergeAll(ReleasesHttp, RescansHttp)
