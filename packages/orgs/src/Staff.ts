/** What organizations answer identity: who is staff, and who is a member of what. */
import { Memberships } from "@quickagents/identity"
import { Settings } from "@quickagents/platform"
import type { Membership } from "@quickagents/schema"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { lacking } from "./Subscriptions.ts"

/** States in which an organization, and everything under it, is to everyone as if it were not there. */
export const unseen = (sql: SqlClient.SqlClient) => sql.literal("('suspended', 'erased')")

/** SQL condition: the account is an active member of the staff organization, and that is not suspended. */
export const staffCondition = (sql: SqlClient.SqlClient, staffOrg: string) => (accountId: Statement.Fragment) =>
  sql`EXISTS (
    SELECT 1 FROM members sm JOIN organizations so ON so.id = sm.org_id
    WHERE sm.account_id = ${accountId} AND sm.active AND so.handle = ${staffOrg} AND so.state NOT IN ${unseen(sql)})`

export const memberships = Layer.effect(
  Memberships,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const settings = yield* Settings.Settings
    return Memberships.of({
      isStaff: staffCondition(sql, settings["orgs.staff"]),
      of: (accountId) =>
        sql<typeof Membership.Type>`
          SELECT o.handle AS org, m.role FROM members m JOIN organizations o ON o.id = m.org_id
          WHERE m.account_id = ${accountId} AND m.active AND o.state NOT IN ${unseen(sql)}`.pipe(Effect.orDie),
      sshRefusal: (accountId) =>
        sql<{ handle: string; features: ReadonlyArray<string> | null }>`
          SELECT o.handle, o.features FROM members m JOIN organizations o ON o.id = m.org_id
          WHERE m.account_id = ${accountId} AND m.active AND o.state NOT IN ${unseen(sql)}`.pipe(
          Effect.orDie,
          Effect.map(([org]) => (org === undefined ? null : lacking(org, "ssh")))
        )
    })
  })
)
