/** Handlers of the `orgs` group. */
import { Audit } from "@quickagents/platform"
import { Actor, CoreApi, Forbidden, NotFound } from "@quickagents/schema"
import type { Account } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { auditPage } from "./AuditHttp.ts"
import { OrgLife } from "./OrgLife.ts"
import { Orgs, toOrganization } from "./Orgs.ts"
import type { OrgRow } from "./Orgs.ts"
import { mayRead, mayReadAudit } from "./OrgsPolicy.ts"

export const OrgsHttp = HttpApiBuilder.group(
  CoreApi,
  "orgs",
  Effect.fnUntraced(function* (handlers) {
    const orgs = yield* Orgs
    const life = yield* OrgLife
    const audit = yield* Audit.Audit

    /** The organization for those who may read it, with the caller's role. */
    const readable = Effect.fnUntraced(function* (handle: string) {
      const actor = yield* Actor
      const seen = yield* orgs.seenBy(actor.accountId, handle)
      if (seen === null || !mayRead(seen.role, actor.staff)) return yield* new NotFound({})
      return { ...seen, actor }
    })

    const changed = <E>(change: (actor: Account) => Effect.Effect<OrgRow, E>) =>
      Effect.map(Effect.flatMap(Actor, change), toOrganization)

    return handlers.handleAll({
      create: ({ payload }) => changed((actor) => orgs.create(actor, payload)),
      get: ({ params }) => Effect.map(readable(params.org), ({ org }) => toOrganization(org)),
      patch: ({ params, payload }) => changed((actor) => orgs.patch(actor, params.org, payload)),
      decommission: ({ params }) => changed((actor) => life.decommission(actor, params.org)),
      cancelDecommission: ({ params }) => changed((actor) => life.cancelDecommission(actor, params.org)),
      suspend: ({ params, payload }) => changed((actor) => life.suspend(actor, params.org, payload.reason)),
      reinstate: ({ params, payload }) => changed((actor) => life.reinstate(actor, params.org, payload.reason)),
      members: ({ params, query }) => Effect.flatMap(readable(params.org), ({ org }) => orgs.members(org.id, query)),
      putMember: ({ params, payload }) =>
        Effect.flatMap(Actor, (actor) => orgs.putMember(actor, params.org, params.handle, payload.role)),
      removeMember: ({ params }) =>
        Effect.flatMap(Actor, (actor) => orgs.removeMember(actor, params.org, params.handle)),
      audit: ({ params, query }) =>
        Effect.gen(function* () {
          const { actor, org, role } = yield* readable(params.org)
          if (!mayReadAudit(role, actor.staff)) return yield* new Forbidden({})
          return yield* Effect.provideService(auditPage(org.handle, query), Audit.Audit, audit)
        })
    })
  })
)
