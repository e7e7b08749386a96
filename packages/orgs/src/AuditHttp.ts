/** A page of the audit log, and the handler of the `platformAudit` group. */
import { Audit } from "@quickagents/platform"
import { auditMax, AuditQuery, auditStandard, clamp, CoreApi } from "@quickagents/schema"
import type { AuditEntry, AuditPage } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"

const auditQuery = Schema.Struct(AuditQuery)

const toEntry = (row: Audit.AuditRow): AuditEntry => ({
  id: row.id,
  at: row.at.toISOString(),
  actor: { type: row.actorType, id: row.actorId, handle: row.actorHandle },
  action: row.action,
  target: row.target,
  org: row.org,
  ip: row.ip,
  requestId: row.requestId,
  detail: row.detail
})

/** Newest first; `org` undefined is the whole registry. */
export const auditPage = Effect.fnUntraced(function* (org: string | undefined, query: typeof auditQuery.Type) {
  const audit = yield* Audit.Audit
  const limit = clamp(query.limit, auditMax, auditStandard)
  // One more than asked for tells whether there is a next page.
  const rows = yield* audit.list({
    org,
    before: query.cursor,
    limit: limit + 1,
    action: query.action,
    actor: query.actor,
    from: query.from === undefined ? undefined : new Date(query.from),
    to: query.to === undefined ? undefined : new Date(query.to)
  })
  const page = rows.slice(0, limit)
  return {
    items: page.map(toEntry),
    nextCursor: rows.length > limit ? page.at(-1)!.id : null
  } satisfies typeof AuditPage.Type
})

export const PlatformAuditHttp = HttpApiBuilder.group(
  CoreApi,
  "platformAudit",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit.Audit
    return handlers.handle("list", ({ query }) =>
      Effect.provideService(auditPage(query.org, query), Audit.Audit, audit)
    )
  })
)
