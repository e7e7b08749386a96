/**
 * Teams: names for some of an organization's members, so that agents can be
 * granted to all of them at once. Who is in one is read from the database each
 * time. Spec: Scopes (org:admin); Authentication, other rules 6.
 */
import { Audit, Database, newId, pageOf } from "@quickagents/platform"
import type { AskedPage, Page } from "@quickagents/platform"
import { NameTaken, NotFound } from "@quickagents/schema"
import type {
  Account,
  CreateTeam,
  Forbidden,
  OrgDecommissioning,
  PatchTeam,
  Team,
  TeamMember
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { administeredOrg } from "./AdministeredOrg.ts"
import type { AdministeredOrg } from "./AdministeredOrg.ts"

interface TeamRow {
  readonly id: string
  readonly org: string
  readonly name: string
  readonly description: string
  readonly members: number
  readonly createdAt: Date
}
interface TeamMemberRow {
  readonly handle: string
  readonly displayName: string
  readonly since: Date
}
const toTeam = (row: TeamRow): Team => ({ ...row, createdAt: row.createdAt.toISOString() })
const toMember = (row: TeamMemberRow): TeamMember => ({ ...row, since: row.since.toISOString() })

type Refused = NotFound | Forbidden | OrgDecommissioning

export class Teams extends Context.Service<
  Teams,
  {
    /** By name. The caller may read the organization. */
    readonly list: (orgId: string, asked: AskedPage) => Effect.Effect<Page<Team>>
    readonly byName: (orgId: string, team: string) => Effect.Effect<Team, NotFound>
    readonly members: (teamId: string, asked: AskedPage) => Effect.Effect<Page<TeamMember>>
    readonly create: (
      actor: Account,
      org: string,
      team: typeof CreateTeam.Type
    ) => Effect.Effect<Team, Refused | NameTaken>
    readonly patch: (
      actor: Account,
      org: string,
      team: string,
      change: typeof PatchTeam.Type
    ) => Effect.Effect<Team, Refused | NameTaken>
    /** With its members and its grants. */
    readonly remove: (actor: Account, org: string, team: string) => Effect.Effect<void, Refused>
    /** `NotFound` also when the organization has no member of this handle. */
    readonly putMember: (
      actor: Account,
      org: string,
      team: string,
      member: string
    ) => Effect.Effect<TeamMember, Refused>
    readonly removeMember: (actor: Account, org: string, team: string, member: string) => Effect.Effect<void, Refused>
  }
>()("orgs/Teams") {
  static readonly layer = Layer.effect(
    Teams,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const columns = sql.literal(`
        t.id, o.handle AS org, t.name, t.description, t.created_at,
        (SELECT count(*)::integer FROM team_members m WHERE m.team_id = t.id) AS members`)

      const limits = { max: 100, standard: 50 }
      const byName = Effect.fnUntraced(function* (orgId: string, name: string) {
        const [row] = yield* Effect.orDie(sql<TeamRow>`
          SELECT ${columns} FROM teams t JOIN organizations o ON o.id = t.org_id WHERE t.org_id = ${orgId} AND t.name = ${name}`)
        return row === undefined ? yield* new NotFound({}) : toTeam(row)
      })

      const administered = administeredOrg(sql)
      const memberOf = (orgId: string, handle: string) =>
        Effect.map(
          Effect.orDie(sql<{ id: string; handle: string; displayName: string }>`
            SELECT a.id, a.handle, a.display_name FROM accounts a JOIN members m ON m.account_id = a.id
            WHERE a.handle = ${handle} AND m.org_id = ${orgId} AND m.active`),
          ([row]) => row
        )
      const record = (
        actor: Account,
        action: string,
        org: AdministeredOrg,
        team: string,
        detail: Record<string, unknown>
      ) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: `${org.handle}/${team}`,
          org: org.handle,
          detail
        })
      const orNameTaken = Effect.mapError((error: Parameters<typeof Database.uniqueConstraint>[0]) =>
        Database.uniqueConstraint(error) === "teams_name"
          ? new NameTaken({ detail: "The organization has a team of this name" })
          : error
      )

      return Teams.of({
        list: Effect.fnUntraced(function* (orgId, asked) {
          const { page, rows } = yield* pageOf(asked, limits, (offset, limit) =>
            Effect.orDie(sql<TeamRow & { readonly total: number }>`
              SELECT ${columns}, count(*) OVER ()::integer AS total FROM teams t JOIN organizations o ON o.id = t.org_id
              WHERE t.org_id = ${orgId} ORDER BY t.name LIMIT ${limit} OFFSET ${offset}`)
          )
          return { items: rows.map(toTeam), ...page }
        }),
        byName,
        members: Effect.fnUntraced(function* (teamId, asked) {
          const { page, rows } = yield* pageOf(asked, limits, (offset, limit) =>
            Effect.orDie(sql<TeamMemberRow & { readonly total: number }>`
              SELECT a.handle, a.display_name, t.since, count(*) OVER ()::integer AS total
              FROM team_members t JOIN accounts a ON a.id = t.account_id
              WHERE t.team_id = ${teamId} ORDER BY a.handle LIMIT ${limit} OFFSET ${offset}`)
          )
          return { items: rows.map(toMember), ...page }
        }),
        create: Effect.fn("Teams.create")(function* (actor, handle, { description = "", name }) {
          const id = yield* newId("team")
          const createdAt = yield* now
          yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              yield* orNameTaken(
                sql`INSERT INTO teams ${sql.insert({ id, orgId: org.id, name, description, createdAt })}`
              )
              yield* record(actor, "team.create", org, name, {})
            })
          )
          return toTeam({ id, org: handle, name, description, members: 0, createdAt })
        }),
        patch: Effect.fn("Teams.patch")(function* (actor, handle, name, change) {
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const team = yield* byName(org.id, name)
              if (Object.keys(change).length === 0) return team
              yield* orNameTaken(sql`UPDATE teams SET ${sql.update(change)} WHERE id = ${team.id}`)
              yield* record(actor, "team.update", org, name, change)
              return { ...team, ...change }
            })
          )
        }),
        remove: Effect.fn("Teams.remove")(function* (actor, handle, name) {
          yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const team = yield* byName(org.id, name)
              yield* sql`DELETE FROM teams WHERE id = ${team.id}`
              yield* record(actor, "team.delete", org, name, { members: team.members })
            })
          )
        }),
        putMember: Effect.fn("Teams.putMember")(function* (actor, handle, name, member) {
          const since = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const team = yield* byName(org.id, name)
              const person = yield* memberOf(org.id, member)
              if (person === undefined)
                return yield* new NotFound({ detail: `${handle} has no member with the handle ${member}` })
              const [added] = yield* sql<{ since: Date }>`
                INSERT INTO team_members ${sql.insert({ teamId: team.id, accountId: person.id, since })}
                ON CONFLICT DO NOTHING RETURNING since`
              if (added !== undefined) yield* record(actor, "team.member_add", org, name, { member })
              const [row] = yield* sql<{ since: Date }>`
                SELECT since FROM team_members WHERE team_id = ${team.id} AND account_id = ${person.id}`
              return toMember({ handle: person.handle, displayName: person.displayName, since: row.since })
            })
          )
        }),
        removeMember: Effect.fn("Teams.removeMember")(function* (actor, handle, name, member) {
          yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const team = yield* byName(org.id, name)
              const removed = yield* sql`
                DELETE FROM team_members t USING accounts a
                WHERE a.id = t.account_id AND t.team_id = ${team.id} AND a.handle = ${member} RETURNING 1`
              if (removed.length === 0) return yield* new NotFound({})
              yield* record(actor, "team.member_remove", org, name, { member })
            })
          )
        })
      })
    })
  )
}
