/** The organization for a change by one of its admins. */
import { Forbidden, NotFound } from "@quickagents/schema"
import type { Account } from "@quickagents/schema"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { holdOf, isAdmin } from "./OrgsPolicy.ts"
import type { Role } from "./OrgsPolicy.ts"
import { unseen } from "./Staff.ts"

export interface AdministeredOrg {
  readonly id: string
  readonly handle: string
  readonly decommissionAt: Date | null
  readonly role: Role
}

/**
 * Locked for the rest of the transaction, as for a change of its members: who is removed from it
 * must not come into one of its teams at the same time. Fails for those who may not change it, and in a hold.
 */
export const administeredOrg = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (actor: Account, handle: string) {
    const [org] = yield* Effect.orDie(sql<AdministeredOrg>`
      SELECT o.id, o.handle, o.decommission_at,
        (SELECT m.role FROM members m WHERE m.org_id = o.id AND m.account_id = ${actor.accountId} AND m.active) AS role
      FROM organizations o WHERE o.handle = ${handle} AND o.state NOT IN ${unseen(sql)} FOR UPDATE OF o`)
    if (org === undefined || org.role === null) return yield* new NotFound({})
    if (!isAdmin(org.role)) return yield* new Forbidden({})
    const hold = holdOf(org)
    return hold === null ? org : yield* hold
  })
