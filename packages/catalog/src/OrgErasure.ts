/**
 * The end of a decommissioned organization, when its hold has passed: its
 * agents are deleted with all their bytes, its members and teams are gone, and
 * its handle is held for good. Spec: Other states; Events 3.
 */
import { Audit, Database } from "@quickagents/platform"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { removeErased } from "./AgentRemains.ts"
import { AgentsSql } from "./AgentsSql.ts"

const batch = 20

/** Called each hour. Each organization is erased as a whole or not at all; then the bytes of its agents go. */
export const eraseDecommissioned = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* AgentsSql
  const audit = yield* Audit.Audit
  const now = new Date(yield* Clock.currentTimeMillis)
  const due = sql`state = 'decommissioning' AND decommission_at <= ${now}`
  const found = yield* sql<{ id: string; handle: string }>`
    SELECT id, handle FROM organizations WHERE ${due} ORDER BY decommission_at LIMIT ${batch}`
  yield* Effect.forEach(
    found,
    ({ handle, id }) =>
      Database.transaction(sql)(
        Effect.gen(function* () {
          // Asked again with the row: its owner may have taken the decommission back.
          const erased = yield* sql`
            UPDATE organizations SET state = 'erased', display_name = handle, domain = NULL, verified_domains = '[]'
            WHERE id = ${id} AND ${due} RETURNING 1`
          if (erased.length === 0) return
          const agents = yield* rows.buryAll(handle, now)
          for (const table of ["teams", "domain_claims", "access_requests"])
            yield* sql`DELETE FROM ${sql(table)} WHERE org_id = ${id}`
          const members = yield* sql`DELETE FROM members WHERE org_id = ${id} RETURNING 1`
          yield* audit.record({
            actor: Audit.system,
            action: "org.erase",
            target: handle,
            org: handle,
            detail: { agents, members: members.length }
          })
        })
      ).pipe(
        // One that cannot be erased keeps no other from it; it is tried again in an hour.
        Effect.catchCause((cause) =>
          Effect.logError("an organization was not erased", cause).pipe(Effect.annotateLogs({ org: handle }))
        )
      ),
    { discard: true }
  )
  // After what says that it is to be done: also what an earlier hour did not get to.
  yield* removeErased
})
