/** Agents: names in a namespace, public or private. Spec: Other records; Registry core routes; Errors, registry core. */
import { holdOf, Orgs } from "@quickagents/orgs"
import { Audit, Database, newId, Settings } from "@quickagents/platform"
import {
  AgentInUse,
  AgentNotRetired,
  AgentRetired,
  BuiltinFirstParty,
  clamp,
  clampOffset,
  ConfirmName,
  Forbidden,
  NameHeld,
  NamespaceFull,
  NameTaken,
  NotFound,
  PrivateAgentCap
} from "@quickagents/schema"
import type { Account, Agent, AgentStats, CreateAgent, Mode, OrgDecommissioning, PatchAgent } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Standing } from "./AgentsPolicy.ts"
import { canKnow, canManage, canRead } from "./AgentsPolicy.ts"
import type { AgentRow } from "./AgentsSql.ts"
import { AgentsSql } from "./AgentsSql.ts"

export const agentRecord = (row: AgentRow): Agent => ({
  id: row.id,
  namespace: row.namespace,
  name: row.name,
  description: row.description,
  visibility: row.visibility,
  builtin: row.builtin !== null,
  modes: row.modes ?? [],
  latestVersion: row.latestVersion,
  retiredAt: row.retiredAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString()
})

const monthMs = 30 * 86_400_000

export interface ListAgents {
  readonly namespace?: string | undefined
  readonly q?: string | undefined
  readonly mode?: Mode | undefined
  readonly state?: "active" | "retired" | undefined
  readonly sort?: "name" | "newest" | "installs" | "submitted" | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

export interface SeenAgent {
  readonly agent: AgentRow
  readonly standing: Standing
  /** The organization that owns it, in whose audit log its changes stand; null in a person's namespace. */
  readonly org: string | null
  /** Why it may not change now: its organization is read-only until it is erased. */
  readonly hold: OrgDecommissioning | null
}

export class Agents extends Context.Service<
  Agents,
  {
    readonly list: (
      viewer: Account | null,
      filter: ListAgents
    ) => Effect.Effect<{
      readonly items: ReadonlyArray<Agent>
      readonly total: number
      readonly offset: number
      readonly limit: number
    }>
    /** The agent with what the viewer is to it; `NotFound` also when the viewer may not know of it. */
    readonly seen: (viewer: Account | null, namespace: string, name: string) => Effect.Effect<SeenAgent, NotFound>
    /** As `seen`, for a change: whether a token may make it is said by the scope of the change, not by `agent:read`. */
    readonly known: (actor: Account, namespace: string, name: string) => Effect.Effect<SeenAgent, NotFound>
    /** As `known`, for those who manage it. */
    readonly managed: (actor: Account, namespace: string, name: string) => Effect.Effect<SeenAgent, NotFound>
    /** As `managed`, for a change. */
    readonly changeable: (
      actor: Account,
      namespace: string,
      name: string
    ) => Effect.Effect<SeenAgent, NotFound | OrgDecommissioning>
    readonly create: (
      actor: Account,
      request: typeof CreateAgent.Type
    ) => Effect.Effect<Agent, NotFound | NameTaken | NameHeld | NamespaceFull | PrivateAgentCap | OrgDecommissioning>
    readonly patch: (
      actor: Account,
      namespace: string,
      name: string,
      change: typeof PatchAgent.Type
    ) => Effect.Effect<
      Agent,
      NotFound | Forbidden | PrivateAgentCap | AgentRetired | BuiltinFirstParty | OrgDecommissioning
    >
    /** Private with `retiredAt`; takes no submission until it is restored. */
    readonly retire: (
      actor: Account,
      namespace: string,
      name: string
    ) => Effect.Effect<Agent, NotFound | AgentRetired | OrgDecommissioning>
    /** Gives back the visibility that it had. */
    readonly restore: (
      actor: Account,
      namespace: string,
      name: string
    ) => Effect.Effect<Agent, NotFound | AgentNotRetired | PrivateAgentCap | OrgDecommissioning>
    /** For good. With versions a tombstone holds the name; without any the name is free again. */
    readonly remove: (
      actor: Account,
      namespace: string,
      name: string,
      confirm: string | undefined
    ) => Effect.Effect<void, NotFound | ConfirmName | AgentInUse | OrgDecommissioning>
    readonly stats: (viewer: Account | null, namespace: string, name: string) => Effect.Effect<AgentStats, NotFound>
  }
>()("catalog/Agents") {
  static readonly layer = Layer.effect(
    Agents,
    Effect.gen(function* () {
      const rows = yield* AgentsSql
      const orgs = yield* Orgs
      const audit = yield* Audit.Audit
      const settings = yield* Settings.Settings
      const sql = yield* SqlClient.SqlClient
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const transaction = Database.transaction(sql)

      const ownerOf = (namespace: string, kind: "account" | "org") => (kind === "org" ? namespace : undefined)
      const found = Effect.fnUntraced(function* (
        viewer: Account | null,
        namespace: string,
        name: string
      ): Effect.fn.Return<SeenAgent, NotFound> {
        const agent = yield* Effect.orDie(rows.agent(namespace, name))
        if (agent === null) return yield* new NotFound({})
        // A suspended organization's namespace answers null: everything under it is not there.
        const owner = yield* orgs.namespace(namespace)
        if (owner === null) return yield* new NotFound({})
        const role = viewer === null ? null : yield* orgs.roleIn(viewer.accountId, namespace)
        // Owners and admins need no grant; a plain member may have been given more than members have.
        const grant =
          viewer === null || role === "owner" || role === "admin"
            ? null
            : yield* Effect.orDie(rows.grant(agent.id, viewer.accountId))
        const standing: Standing = { visibility: agent.visibility, role, grant }
        return { agent, standing, org: ownerOf(namespace, owner.kind) ?? null, hold: holdOf(owner) }
      })
      const seen = Effect.fnUntraced(function* (viewer: Account | null, namespace: string, name: string) {
        const agent = yield* found(viewer, namespace, name)
        return canRead(viewer, agent.standing) ? agent : yield* new NotFound({})
      })
      const known = Effect.fnUntraced(function* (actor: Account, namespace: string, name: string) {
        const agent = yield* found(actor, namespace, name)
        return canKnow(agent.standing) ? agent : yield* new NotFound({})
      })

      const record = (
        actor: Account,
        action: string,
        target: string,
        org: string | undefined,
        detail: Record<string, unknown>
      ) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target,
          org,
          detail
        })

      const managed = Effect.fnUntraced(function* (actor: Account, namespace: string, name: string) {
        const seen = yield* known(actor, namespace, name)
        return canManage(seen.standing) ? seen : yield* new NotFound({})
      })
      const changeable = Effect.fnUntraced(function* (actor: Account, namespace: string, name: string) {
        const seen = yield* managed(actor, namespace, name)
        return seen.hold === null ? seen : yield* seen.hold
      })
      const reread = (namespace: string, name: string) =>
        Effect.map(Effect.orDie(rows.agent(namespace, name)), (agent) => agentRecord(agent!))

      const privateCap = Effect.fnUntraced(function* (namespace: string) {
        const cap = settings["limits.privateAgentsPerNamespace"]
        if (cap === null) return
        const counts = yield* Effect.orDie(rows.countIn(namespace))
        if (counts.private >= cap)
          return yield* new PrivateAgentCap({ detail: `The namespace keeps at most ${cap} private agents` })
      })

      return Agents.of({
        list: Effect.fnUntraced(function* (viewer, filter) {
          const limit = clamp(filter.limit, 100, 20)
          const offset = clampOffset(filter.offset)
          const page = (offset: number, limit: number) =>
            Effect.orDie(
              rows.list({
                accountId: viewer?.accountId ?? null,
                privateToo: viewer !== null && (viewer.scopes === "all" || viewer.scopes.has("agent:read")),
                namespace: filter.namespace,
                q: filter.q,
                mode: filter.mode,
                state: filter.state,
                sort: filter.sort ?? "newest",
                offset,
                limit
              })
            )
          const found = yield* page(offset, limit)
          // A page past the end has no row that could tell the total.
          const [counted] = found.length > 0 || offset === 0 ? found : yield* page(0, 1)
          return { items: found.map(agentRecord), total: counted?.total ?? 0, offset, limit }
        }),
        seen,
        known,
        managed,
        changeable,
        create: Effect.fnUntraced(function* (actor, request) {
          const namespace = yield* orgs.namespace(request.namespace)
          const role = namespace === null ? null : yield* orgs.roleIn(actor.accountId, request.namespace)
          // Of a namespace that is not the caller's nothing is told.
          if (namespace === null || role === null)
            return yield* new NotFound({ detail: "No namespace of yours has this handle" })
          const hold = holdOf(namespace)
          if (hold !== null) return yield* hold
          const at = yield* now
          const id = yield* newId("agt")
          const visibility = request.visibility ?? "public"
          yield* transaction(
            Effect.gen(function* () {
              yield* Effect.orDie(rows.lock(`namespace:${request.namespace}`))
              const cap =
                settings[namespace.kind === "org" ? "limits.agentsPerOrgNamespace" : "limits.agentsPerUserNamespace"]
              if ((yield* Effect.orDie(rows.countIn(request.namespace))).all >= cap) {
                return yield* new NamespaceFull({ detail: `A namespace of this kind holds at most ${cap} agents` })
              }
              if (visibility === "private") yield* privateCap(request.namespace)
              if (yield* Effect.orDie(rows.nameHeld(request.namespace, request.name))) {
                return yield* new NameHeld({
                  detail: `${request.namespace}/${request.name} was deleted; its name is held for good`
                })
              }
              yield* rows
                .insertAgent({
                  id,
                  namespace: request.namespace,
                  name: request.name,
                  description: request.description ?? "",
                  visibility,
                  createdBy: actor.accountId,
                  createdAt: at
                })
                .pipe(
                  Effect.catch((error) =>
                    Database.uniqueConstraint(error) === "agents_name"
                      ? new NameTaken({ detail: `${request.namespace}/${request.name} exists` })
                      : Effect.die(error)
                  )
                )
              yield* record(
                actor,
                "agent.create",
                `${request.namespace}/${request.name}`,
                ownerOf(request.namespace, namespace.kind),
                { visibility }
              )
            })
          )
          return agentRecord((yield* Effect.orDie(rows.agent(request.namespace, request.name)))!)
        }),
        patch: Effect.fnUntraced(function* (actor, namespace, name, change) {
          const { agent, hold, org, standing } = yield* known(actor, namespace, name)
          if (!canManage(standing) && !(actor.staff && change.builtin !== undefined)) return yield* new NotFound({})
          if (hold !== null) return yield* hold
          if (change.builtin !== undefined) {
            if (!actor.staff || actor.credential.kind !== "session") {
              return yield* new Forbidden({ detail: "Only platform staff says what is built in" })
            }
            if (namespace !== settings["orgs.firstParty"]) return yield* new BuiltinFirstParty({})
          }
          if (change.visibility !== undefined && agent.retiredAt !== null) {
            return yield* new AgentRetired({ detail: "Restore the agent to change its visibility" })
          }
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              if (change.visibility === "private" && agent.visibility === "public") {
                yield* Effect.orDie(rows.lock(`namespace:${namespace}`))
                yield* privateCap(namespace)
              }
              yield* Effect.orDie(rows.patchAgent(agent.id, change, at))
              yield* record(actor, "agent.update", `${namespace}/${name}`, org ?? undefined, change)
            })
          )
          return yield* reread(namespace, name)
        }),
        retire: Effect.fnUntraced(function* (actor, namespace, name) {
          const { agent, org } = yield* changeable(actor, namespace, name)
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              if (!(yield* Effect.orDie(rows.retire(agent.id, at)))) return yield* new AgentRetired({})
              yield* record(actor, "agent.retire", `${namespace}/${name}`, org ?? undefined, {})
            })
          )
          return yield* reread(namespace, name)
        }),
        restore: Effect.fnUntraced(function* (actor, namespace, name) {
          const { agent, org } = yield* changeable(actor, namespace, name)
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              if (agent.visibilityBefore === "private") {
                yield* Effect.orDie(rows.lock(`namespace:${namespace}`))
                yield* privateCap(namespace)
              }
              if (!(yield* Effect.orDie(rows.restore(agent.id, at)))) return yield* new AgentNotRetired({})
              yield* record(actor, "agent.restore", `${namespace}/${name}`, org ?? undefined, {
                visibility: agent.visibilityBefore
              })
            })
          )
          return yield* reread(namespace, name)
        }),
        remove: Effect.fnUntraced(function* (actor, namespace, name, confirm) {
          const { agent, org } = yield* changeable(actor, namespace, name)
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              // The lock of submissions: no version comes in between the look and the end.
              yield* Effect.orDie(rows.lock(`agent:${agent.id}`))
              const states = yield* Effect.orDie(rows.versionStates(agent.id))
              if (states.length > 0 && confirm !== name) {
                return yield* new ConfirmName({
                  detail: `Say confirm=${name}: the agent has versions, and its name will be held for good`
                })
              }
              const open = states.find(
                (status) =>
                  status === "scanning" || status === "needs_review" || status === "quarantined" || status === "blocked"
              )
              if (open !== undefined) return yield* new AgentInUse({ detail: `A version of the agent is ${open}` })
              yield* Effect.orDie(states.length > 0 ? rows.bury(agent.id, at) : rows.remove(agent.id))
              yield* record(actor, "agent.delete", `${namespace}/${name}`, org ?? undefined, {
                versions: states.length > 0
              })
            })
          )
        }),
        stats: Effect.fnUntraced(function* (viewer, namespace, name) {
          const { agent } = yield* seen(viewer, namespace, name)
          return yield* Effect.orDie(rows.stats(agent.id, new Date((yield* Clock.currentTimeMillis) - monthMs)))
        })
      })
    })
  )
}
