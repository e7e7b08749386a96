/** Handlers of the ruleset-release routes. */
import { Actor, CoreApi } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { RulesetReleases } from "./RulesetReleases.ts"

export const RulesetReleasesHttp = HttpApiBuilder.group(
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
