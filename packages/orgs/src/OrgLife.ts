/**
 * What becomes of an organization: suspended and reinstated by staff,
 * decommissioned by an owner, read-only for a hold, then erased.
 * Spec: Other states; Errors, registry core.
 */
import { Audit, Database, Settings } from "@quickagents/platform"
import { Forbidden, NotFound } from "@quickagents/schema"
import type { Account, OrgDecommissioning } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { orgColumns } from "./Orgs.ts"
import type { OrgRow } from "./Orgs.ts"
import { holdOf, mayDecommission } from "./OrgsPolicy.ts"
import type { Role } from "./OrgsPolicy.ts"

export class OrgLife extends Context.Service<
  OrgLife,
  {
    /** Owners only. Read-only at once; erased when the hold of `orgs.decommissionHold` has passed. */
    readonly decommission: (
      actor: Account,
      org: string
    ) => Effect.Effect<OrgRow, NotFound | Forbidden | OrgDecommissioning>
    /** Owners only, while the hold lasts. One that is active stays as it is. */
    readonly cancelDecommission: (actor: Account, org: string) => Effect.Effect<OrgRow, NotFound | Forbidden>
    /** Staff. It answers 404 from the next request on; one that is suspended stays as it is. Never the staff organization itself. */
    readonly suspend: (actor: Account, org: string, reason: string) => Effect.Effect<OrgRow, NotFound | Forbidden>
    /** Staff. Gives back what it was; a hold that was interrupted starts anew, since nobody could have taken it back. */
    readonly reinstate: (actor: Account, org: string, reason: string) => Effect.Effect<OrgRow, NotFound>
  }
>()("orgs/OrgLife") {
  static readonly layer = Layer.effect(
    OrgLife,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)
      const columns = sql.literal(orgColumns)
      const now = Clock.currentTimeMillis
      const holdEnd = Effect.map(now, (millis) => new Date(millis + settings["orgs.decommissionHold"]))

      /** Locked: two changes of an organization's life come one after the other. */
      const locked = Effect.fnUntraced(function* (actor: Account, handle: string) {
        const [row] = yield* sql<OrgRow & { readonly role: Role }>`
          SELECT ${columns}, (SELECT m.role FROM members m WHERE m.org_id = o.id AND m.account_id = ${actor.accountId} AND m.active) AS role
          FROM organizations o WHERE o.handle = ${handle} AND o.state <> 'erased' FOR UPDATE OF o`
        return row === undefined ? yield* new NotFound({}) : row
      })
      const owned = Effect.fnUntraced(function* (actor: Account, handle: string) {
        const org = yield* locked(actor, handle)
        if (org.state === "suspended" || org.role === null) return yield* new NotFound({})
        return mayDecommission(org.role) ? org : yield* new Forbidden({ detail: "Open to owners only" })
      })
      const move = Effect.fnUntraced(function* (
        actor: Account,
        action: string,
        org: OrgRow,
        state: OrgRow["state"],
        decommissionAt: Date | null,
        detail: Record<string, unknown>
      ): Effect.fn.Return<OrgRow, SqlError.SqlError> {
        const [moved] = yield* sql<OrgRow>`
          UPDATE organizations AS o SET state = ${state}, decommission_at = ${decommissionAt} WHERE o.id = ${org.id} RETURNING ${columns}`
        yield* audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: org.handle,
          org: org.handle,
          detail
        })
        return moved
      })
      /** Without it nobody could take this back. */
      const notStaffs = (handle: string) =>
        handle === settings["orgs.staff"]
          ? Effect.fail(new Forbidden({ detail: "The staff organization stays" }))
          : Effect.void

      return OrgLife.of({
        decommission: Effect.fn("OrgLife.decommission")(function* (actor, handle) {
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* owned(actor, handle)
              yield* notStaffs(handle)
              const hold = holdOf(org)
              if (hold !== null) return yield* hold
              const end = yield* holdEnd
              return yield* move(actor, "org.decommission", org, "decommissioning", end, {
                decommissionAt: end.toISOString()
              })
            })
          )
        }),
        cancelDecommission: Effect.fn("OrgLife.cancelDecommission")(function* (actor, handle) {
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* owned(actor, handle)
              return org.state === "active"
                ? org
                : yield* move(actor, "org.decommission_cancel", org, "active", null, {})
            })
          )
        }),
        suspend: Effect.fn("OrgLife.suspend")(function* (actor, handle, reason) {
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* locked(actor, handle)
              yield* notStaffs(handle)
              return org.state === "suspended"
                ? org
                : yield* move(actor, "org.suspend", org, "suspended", org.decommissionAt, { reason })
            })
          )
        }),
        reinstate: Effect.fn("OrgLife.reinstate")(function* (actor, handle, reason) {
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* locked(actor, handle)
              if (org.state !== "suspended") return org
              return org.decommissionAt === null
                ? yield* move(actor, "org.reinstate", org, "active", null, { reason })
                : yield* move(actor, "org.reinstate", org, "decommissioning", yield* holdEnd, { reason })
            })
          )
        })
      })
    })
  )
}
