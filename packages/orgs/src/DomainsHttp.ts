/** Handlers of the `domains` and `domainOrg` groups. */
import { Actor, CoreApi, Forbidden, NotFound } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Domains } from "./Domains.ts"
import { Orgs } from "./Orgs.ts"
import { isAdmin, mayRead } from "./OrgsPolicy.ts"

const ClaimsHttp = HttpApiBuilder.group(
  CoreApi,
  "domains",
  Effect.fnUntraced(function* (handlers) {
    const orgs = yield* Orgs
    const domains = yield* Domains

    /** Id of the organization for its admins. */
    const administered = Effect.fnUntraced(function* (handle: string) {
      const actor = yield* Actor
      const seen = yield* orgs.seenBy(actor.accountId, handle)
      if (seen === null || !mayRead(seen.role, actor.staff)) return yield* new NotFound({})
      return isAdmin(seen.role) || actor.staff ? seen.org.id : yield* new Forbidden({})
    })

    return handlers.handleAll({
      list: ({ params }) =>
        Effect.flatMap(administered(params.org), (orgId) => Effect.map(domains.list(orgId), (items) => ({ items }))),
      create: ({ params, payload }) =>
        Effect.flatMap(Actor, (actor) => domains.create(actor, params.org, payload.domain)),
      verify: ({ params }) => Effect.flatMap(Actor, (actor) => domains.verify(actor, params.org, params.domain)),
      remove: ({ params }) => Effect.flatMap(Actor, (actor) => domains.remove(actor, params.org, params.domain)),
      accessRequests: ({ params }) =>
        Effect.flatMap(administered(params.org), (orgId) =>
          Effect.map(domains.accessRequests(orgId), (items) => ({ items }))
        )
    })
  })
)

const DomainOrgHttp = HttpApiBuilder.group(
  CoreApi,
  "domainOrg",
  Effect.fnUntraced(function* (handlers) {
    const domains = yield* Domains
    return handlers.handleAll({
      get: () => Effect.flatMap(Actor, domains.ofAccount),
      requestAccess: () => Effect.flatMap(Actor, domains.requestAccess)
    })
  })
)

export const DomainsHttp = Layer.mergeAll(ClaimsHttp, DomainOrgHttp)
