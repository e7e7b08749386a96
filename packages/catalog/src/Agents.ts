/** Agents: names in a namespace, public or private. Spec: Other records; Registry core routes; Errors, registry core. */
import { Orgs } from "@quickagents/orgs"
import { Audit, Database, newId, Settings } from "@quickagents/platform"
import { clamp, clampOffset, NamespaceFull, NameTaken, NotFound, PrivateAgentCap } from "@quickagents/schema"
import type { Account, Agent, CreateAgent, Mode, PatchAgent } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Standing } from "./AgentsPolicy.ts"
import { canManage, canRead } from "./AgentsPolicy.ts"
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
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString()
})

export interface ListAgents {
  readonly namespace?: string | undefined
  readonly q?: string | undefined
  readonly mode?: Mode | undefined
  readonly sort?: "name" | "newest" | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

export interface SeenAgent {
  readonly agent: AgentRow
  readonly standing: Standing
}

export class Agents extends Context.Service<Agents, {
  readonly list: (viewer: Account | null, filter: ListAgents) => Effect.Effect<{
    readonly items: ReadonlyArray<Agent>
    readonly total: number
    readonly offset: number
    readonly limit: number
  }>
  /** The agent with what the viewer is to it; `NotFound` also when the viewer may not know of it. */
  readonly seen: (viewer: Account | null, namespace: string, name: string) => Effect.Effect<SeenAgent, NotFound>
  readonly create: (actor: Account, request: typeof CreateAgent.Type) => Effect.Effect<Agent, NotFound | NameTaken | NamespaceFull | PrivateAgentCap>
  readonly patch: (actor: Account, namespace: string, name: string, change: typeof PatchAgent.Type) => Effect.Effect<Agent, NotFound | PrivateAgentCap>
}>()("catalog/Agents") {
  static readonly layer = Layer.effect(
    Agents,
    Effect.gen(function*() {
      const rows = yield* AgentsSql
      const orgs = yield* Orgs
      const audit = yield* Audit.Audit
      const settings = yield* Settings.Settings
      const sql = yield* SqlClient.SqlClient
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const transaction = Database.transaction(sql)

      const seen = Effect.fnUntraced(function*(viewer: Account | null, namespace: string, name: string): Effect.fn.Return<SeenAgent, NotFound> {
        const agent = yield* Effect.orDie(rows.agent(namespace, name))
        if (agent === null) return yield* new NotFound({})
        // A suspended organization's namespace answers null: everything under it is not there.
        if ((yield* orgs.namespace(namespace)) === null) return yield* new NotFound({})
        const role = viewer === null ? null : yield* orgs.roleIn(viewer.accountId, namespace)
        // Owners and admins need no grant; a plain member may have been given more than members have.
        const grant = viewer === null || role === "owner" || role === "admin" ? null : yield* Effect.orDie(rows.grant(agent.id, viewer.accountId))
        const standing: Standing = { visibility: agent.visibility, role, grant }
        return canRead(viewer, standing) ? { agent, standing } : yield* new NotFound({})
      })

      const ownerOf = (namespace: string, kind: "account" | "org") => (kind === "org" ? namespace : undefined)
      const record = (actor: Account, action: string, target: string, org: string | undefined, detail: Record<string, unknown>) =>
        audit.record({ actor: { type: "account", id: actor.accountId, handle: actor.handle }, action, target, org, detail })

      const privateCap = Effect.fnUntraced(function*(namespace: string) {
        const cap = settings["limits.privateAgentsPerNamespace"]
        if (cap === null) return
        const counts = yield* Effect.orDie(rows.countIn(namespace))
        if (counts.private >= cap) return yield* new PrivateAgentCap({ detail: `The namespace keeps at most ${cap} private agents` })
      })

      return Agents.of({
        list: Effect.fnUntraced(function*(viewer, filter) {
          const limit = clamp(filter.limit, 100, 20)
          const offset = clampOffset(filter.offset)
          const page = (offset: number, limit: number) =>
            Effect.orDie(rows.list({
              accountId: viewer?.accountId ?? null,
              privateToo: viewer !== null && (viewer.scopes === "all" || viewer.scopes.has("agent:read")),
              namespace: filter.namespace,
              q: filter.q,
              mode: filter.mode,
              sort: filter.sort ?? "newest",
              offset,
              limit
            }))
          const found = yield* page(offset, limit)
          // A page past the end has no row that could tell the total.
          const [counted] = found.length > 0 || offset === 0 ? found : yield* page(0, 1)
          return { items: found.map(agentRecord), total: counted?.total ?? 0, offset, limit }
        }),
        seen,
        create: Effect.fnUntraced(function*(actor, request) {
          const namespace = yield* orgs.namespace(request.namespace)
          const role = namespace === null ? null : yield* orgs.roleIn(actor.accountId, request.namespace)
          // Of a namespace that is not the caller's nothing is told.
          if (namespace === null || role === null) return yield* new NotFound({ detail: "No namespace of yours has this handle" })
          const at = yield* now
          const id = yield* newId("agt")
          const visibility = request.visibility ?? "public"
          yield* transaction(Effect.gen(function*() {
            yield* Effect.orDie(rows.lock(`namespace:${request.namespace}`))
            const cap = settings[namespace.kind === "org" ? "limits.agentsPerOrgNamespace" : "limits.agentsPerUserNamespace"]
            if ((yield* Effect.orDie(rows.countIn(request.namespace))).all >= cap) {
              return yield* new NamespaceFull({ detail: `A namespace of this kind holds at most ${cap} agents` })
            }
            if (visibility === "private") yield* privateCap(request.namespace)
            yield* rows.insertAgent({
              id,
              namespace: request.namespace,
              name: request.name,
              description: request.description ?? "",
              visibility,
              createdBy: actor.accountId,
              createdAt: at
            }).pipe(
              Effect.catch((error) => Database.uniqueConstraint(error) === "agents_name" ? new NameTaken({ detail: `${request.namespace}/${request.name} exists` }) : Effect.die(error))
            )
            yield* record(actor, "agent.create", `${request.namespace}/${request.name}`, ownerOf(request.namespace, namespace.kind), { visibility })
          }))
          return agentRecord((yield* Effect.orDie(rows.agent(request.namespace, request.name)))!)
        }),
        patch: Effect.fnUntraced(function*(actor, namespace, name, change) {
          const { agent, standing } = yield* seen(actor, namespace, name)
          if (!canManage(standing)) return yield* new NotFound({})
          const kind = (yield* orgs.namespace(namespace))?.kind ?? "account"
          const at = yield* now
          yield* transaction(Effect.gen(function*() {
            if (change.visibility === "private" && agent.visibility === "public") {
              yield* Effect.orDie(rows.lock(`namespace:${namespace}`))
              yield* privateCap(namespace)
            }
            yield* Effect.orDie(rows.patchAgent(agent.id, change, at))
            yield* record(actor, "agent.update", `${namespace}/${name}`, ownerOf(namespace, kind), change)
          }))
          return agentRecord((yield* Effect.orDie(rows.agent(namespace, name)))!)
        })
      })
    })
  )
}

