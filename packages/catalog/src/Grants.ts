/**
 * What people and teams were given on one agent. Read again with every request
 * that asks for it; see `AgentsSql.grant`. Spec: Run creation rules 1;
 * Authentication, other rules 6 and 7.
 */
import { Accounts } from "@quickagents/identity"
import { Audit, Database, pageOf } from "@quickagents/platform"
import type { AskedPage, Page } from "@quickagents/platform"
import { NotFound } from "@quickagents/schema"
import type { Account, AgentGrant, GrantLevel, OrgDecommissioning, PersonGrant, TeamGrant } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SeenAgent } from "./Agents.ts"
import { Agents } from "./Agents.ts"
import { AgentsSql } from "./AgentsSql.ts"

interface Row {
  readonly kind: "person" | "team"
  readonly name: string
  readonly level: GrantLevel
  readonly total: number
}

export class Grants extends Context.Service<
  Grants,
  {
    /** People by handle, then teams by name. For those who manage the agent; to all others it is not there. */
    readonly list: (
      actor: Account,
      namespace: string,
      name: string,
      asked: AskedPage
    ) => Effect.Effect<Page<AgentGrant>, NotFound>
    readonly putPerson: (
      actor: Account,
      namespace: string,
      name: string,
      handle: string,
      level: GrantLevel
    ) => Effect.Effect<typeof PersonGrant.Type, NotFound | OrgDecommissioning>
    readonly removePerson: (
      actor: Account,
      namespace: string,
      name: string,
      handle: string
    ) => Effect.Effect<void, NotFound | OrgDecommissioning>
    /** `NotFound` also for a team of another organization than the one that owns the agent. */
    readonly putTeam: (
      actor: Account,
      namespace: string,
      name: string,
      team: string,
      level: GrantLevel
    ) => Effect.Effect<typeof TeamGrant.Type, NotFound | OrgDecommissioning>
    readonly removeTeam: (
      actor: Account,
      namespace: string,
      name: string,
      team: string
    ) => Effect.Effect<void, NotFound | OrgDecommissioning>
  }
>()("catalog/Grants") {
  static readonly layer = Layer.effect(
    Grants,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agents = yield* Agents
      const rows = yield* AgentsSql
      const accounts = yield* Accounts
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)

      const record = (actor: Account, action: string, { agent, org }: SeenAgent, detail: Record<string, unknown>) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: `${agent.namespace}/${agent.name}`,
          org: org ?? undefined,
          detail
        })
      /** Under the lock of transfers: nobody grants on what has gone to somebody else. */
      const still = ({ agent }: SeenAgent) => rows.lockedAs(agent, agent)
      const personOf = Effect.fnUntraced(function* (handle: string) {
        const person = yield* accounts.byHandle(handle)
        return person ?? (yield* new NotFound({ detail: `Nobody has the handle ${handle}` }))
      })

      return Grants.of({
        list: Effect.fn("Grants.list")(function* (actor, namespace, name, asked) {
          const { agent, org } = yield* agents.managed(actor, namespace, name)
          const { page, rows } = yield* pageOf(asked, { max: 100, standard: 50 }, (offset, limit) =>
            Effect.orDie(sql<Row>`
              SELECT kind, name, level, count(*) OVER ()::integer AS total FROM (
                SELECT 'person' AS kind, p.handle AS name, g.level FROM agent_grants g JOIN accounts p ON p.id = g.account_id WHERE g.agent_id = ${agent.id}
                UNION ALL
                SELECT 'team', t.name, g.level FROM agent_team_grants g JOIN teams t ON t.id = g.team_id WHERE g.agent_id = ${agent.id}
              ) grants ORDER BY kind, name LIMIT ${limit} OFFSET ${offset}`)
          )
          const items = rows.map((row) =>
            row.kind === "person"
              ? { kind: row.kind, handle: row.name, level: row.level }
              : { kind: row.kind, org: org ?? namespace, team: row.name, level: row.level }
          )
          return { items, ...page }
        }),
        putPerson: Effect.fn("Grants.putPerson")(function* (actor, namespace, name, handle, level) {
          const seen = yield* agents.changeable(actor, namespace, name)
          const person = yield* personOf(handle)
          yield* transaction(
            Effect.gen(function* () {
              yield* still(seen)
              yield* sql`
                INSERT INTO agent_grants ${sql.insert({ agentId: seen.agent.id, accountId: person.id, level })}
                ON CONFLICT (agent_id, account_id) DO UPDATE SET level = excluded.level`
              yield* record(actor, "agent.grant", seen, { person: handle, level })
            })
          )
          return { kind: "person", handle, level }
        }),
        removePerson: Effect.fn("Grants.removePerson")(function* (actor, namespace, name, handle) {
          const seen = yield* agents.changeable(actor, namespace, name)
          const person = yield* personOf(handle)
          yield* transaction(
            Effect.gen(function* () {
              const removed = yield* sql`
                DELETE FROM agent_grants WHERE agent_id = ${seen.agent.id} AND account_id = ${person.id} RETURNING 1`
              if (removed.length === 0) return yield* new NotFound({})
              yield* record(actor, "agent.grant_revoke", seen, { person: handle })
            })
          )
        }),
        putTeam: Effect.fn("Grants.putTeam")(function* (actor, namespace, name, team, level) {
          const seen = yield* agents.changeable(actor, namespace, name)
          yield* transaction(
            Effect.gen(function* () {
              yield* still(seen)
              // A team that is just deleted is waited for: it is there or not.
              const granted = yield* sql`
                INSERT INTO agent_team_grants (agent_id, team_id, level)
                SELECT ${seen.agent.id}, t.id, ${level} FROM organizations o JOIN teams t ON t.org_id = o.id
                WHERE o.handle = ${namespace} AND t.name = ${team} FOR KEY SHARE OF t
                ON CONFLICT (agent_id, team_id) DO UPDATE SET level = excluded.level RETURNING 1`
              if (granted.length === 0) {
                return yield* new NotFound({ detail: `${namespace} has no team with the name ${team}` })
              }
              yield* record(actor, "agent.grant", seen, { team, level })
            })
          )
          return { kind: "team", org: namespace, team, level }
        }),
        removeTeam: Effect.fn("Grants.removeTeam")(function* (actor, namespace, name, team) {
          const seen = yield* agents.changeable(actor, namespace, name)
          yield* transaction(
            Effect.gen(function* () {
              const removed = yield* sql`
                DELETE FROM agent_team_grants g USING teams t
                WHERE t.id = g.team_id AND g.agent_id = ${seen.agent.id} AND t.name = ${team} RETURNING 1`
              if (removed.length === 0) return yield* new NotFound({})
              yield* record(actor, "agent.grant_revoke", seen, { team })
            })
          )
        })
      })
    })
  )
}
