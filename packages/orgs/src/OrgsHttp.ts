/** Handlers of the `orgs` group. */
import { Audit } from "@quickagents/platform"
import { Actor, clamp, CoreApi, Forbidden, NotFound } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Orgs, toOrganization } from "./Orgs.ts"
import { mayRead, mayReadAudit } from "./OrgsPolicy.ts"

const auditMax = 200
const auditStandard = 50

export const OrgsHttp = HttpApiBuilder.group(
  CoreApi,
  "orgs",
  Effect.fnUntraced(function* (handlers) {
    const orgs = yield* Orgs
    const audit = yield* Audit.Audit

    /** The organization for those who may read it, with the caller's role. */
    const readable = Effect.fnUntraced(function* (handle: string) {
      const actor = yield* Actor
      const seen = yield* orgs.seenBy(actor.accountId, handle)
      if (seen === null || !mayRead(seen.role, actor.staff)) return yield* new NotFound({})
      return { ...seen, actor }
    })

    return handlers.handleAll({
      create: ({ payload }) =>
        Effect.flatMap(Actor, (actor) => Effect.map(orgs.create(actor, payload), toOrganization)),
      get: ({ params }) => Effect.map(readable(params.org), ({ org }) => toOrganization(org)),
      members: ({ params }) =>
        Effect.gen(function* () {
          const { org } = yield* readable(params.org)
          return { items: yield* orgs.members(org.id) }
        }),
      putMember: ({ params, payload }) =>
        Effect.flatMap(Actor, (actor) => orgs.putMember(actor, params.org, params.handle, payload.role)),
      removeMember: ({ params }) =>
        Effect.flatMap(Actor, (actor) => orgs.removeMember(actor, params.org, params.handle)),
      audit: ({ params, query }) =>
        Effect.gen(function* () {
          const { actor, org, role } = yield* readable(params.org)
          if (!mayReadAudit(role, actor.staff)) return yield* new Forbidden({})
          const limit = clamp(query.limit, auditMax, auditStandard)
          // One more than asked for tells whether there is a next page.
          const rows = yield* audit.listForOrg(org.handle, {
            before: query.cursor ?? null,
            limit: limit + 1,
            action: query.action,
            actor: query.actor
          })
          const page = rows.slice(0, limit)
          return {
            items: page.map((row) => ({
              id: row.id,
              at: row.at.toISOString(),
              actor: { type: row.actorType, id: row.actorId, handle: row.actorHandle },
              action: row.action,
              target: row.target,
              org: row.org,
              ip: row.ip,
              requestId: row.requestId,
              detail: row.detail
            })),
            nextCursor: rows.length > limit ? page.at(-1)!.id : null
          }
        })
    })
  })
)
