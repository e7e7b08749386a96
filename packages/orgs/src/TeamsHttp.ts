/** Handlers of the `teams` group. */
import { Actor, CoreApi, NotFound } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Orgs } from "./Orgs.ts"
import { mayRead } from "./OrgsPolicy.ts"
import { Teams } from "./Teams.ts"

export const TeamsHttp = HttpApiBuilder.group(
  CoreApi,
  "teams",
  Effect.fnUntraced(function* (handlers) {
    const orgs = yield* Orgs
    const teams = yield* Teams

    /** Id of the organization for those who may read it. */
    const readable = Effect.fnUntraced(function* (handle: string) {
      const actor = yield* Actor
      const seen = yield* orgs.seenBy(actor.accountId, handle)
      return seen === null || !mayRead(seen.role, actor.staff) ? yield* new NotFound({}) : seen.org.id
    })
    const readTeam = ({ params }: { readonly params: { readonly org: string; readonly team: string } }) =>
      Effect.flatMap(readable(params.org), (orgId) => teams.byName(orgId, params.team))

    return handlers.handleAll({
      list: ({ params, query }) => Effect.flatMap(readable(params.org), (orgId) => teams.list(orgId, query)),
      create: ({ params, payload }) => Effect.flatMap(Actor, (actor) => teams.create(actor, params.org, payload)),
      get: readTeam,
      patch: ({ params, payload }) =>
        Effect.flatMap(Actor, (actor) => teams.patch(actor, params.org, params.team, payload)),
      remove: ({ params }) => Effect.flatMap(Actor, (actor) => teams.remove(actor, params.org, params.team)),
      members: (request) => Effect.flatMap(readTeam(request), ({ id }) => teams.members(id, request.query)),
      putMember: ({ params }) =>
        Effect.flatMap(Actor, (actor) => teams.putMember(actor, params.org, params.team, params.handle)),
      removeMember: ({ params }) =>
        Effect.flatMap(Actor, (actor) => teams.removeMember(actor, params.org, params.team, params.handle))
    })
  })
)
