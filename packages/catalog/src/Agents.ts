/** Agents: names in a namespace, public or private. Spec: Other records; Registry core routes; Errors, registry core. */
import { holdOf, lacking, Orgs } from "@quickagents/orgs"
import { Audit, Database, newId, pageOf, Settings } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import {
  AgentInUse,
  AgentNotRetired,
  AgentRetired,
  AgentUnscanned,
  BuiltinFirstParty,
  ConfirmName,
  Forbidden,
  ForkStaysPrivate,
  NotFound,
  PipelineSkipPersonal,
  PipelineSkipPublic
} from "@quickagents/schema"
import type {
  FeatureNotIncluded,
  NameHeld,
  NameTaken,
  NamespaceFull,
  PrivateAgentCap,
  Validation,
  Account,
  Agent,
  AgentStats,
  CreateAgent,
  Mode,
  OrgDecommissioning,
  PatchAgent
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Standing } from "./AgentsPolicy.ts"
import { agentPlaces } from "./AgentPlaces.ts"
import { removeRemains } from "./AgentRemains.ts"
import { canKnow, canManage, canRead, isUnsettled, readerOf, standingOf } from "./AgentsPolicy.ts"
import type { AgentRow } from "./AgentsSql.ts"
import { affecting, AgentsSql } from "./AgentsSql.ts"

/** A public agent's name stays known when it goes; of a private one only its readers learn it. */
const sourceOf = (row: AgentRow): Agent["forkedFrom"] => {
  const [namespace = null, name = null] = (row.source ?? row.forkedAs)?.split("/") ?? []
  return {
    namespace,
    name,
    version: name === null ? null : row.forkedVersion,
    available: row.source !== null
  }
}

export const agentRecord = (row: AgentRow): Agent => ({
  id: row.id,
  namespace: row.namespace,
  name: row.name,
  description: row.description,
  visibility: row.visibility,
  builtin: row.builtin !== null,
  modes: row.modes ?? [],
  latestVersion: row.latestVersion,
  ...affecting(row.advisories, row.latestVersion),
  retiredAt: row.retiredAt?.toISOString() ?? null,
  dependencyAlerts: row.dependencyAlerts,
  forkedFrom: row.forkedFrom === null ? null : sourceOf(row),
  forkCount: row.forkCount,
  forkState: row.forkState,
  forkDetail: row.forkDetail,
  forkArchive:
    row.forkArchive === null
      ? null
      : {
          digest: row.forkArchive,
          bytes: row.forkArchiveBytes!,
          href: `/api/v1/agents/${row.namespace}/${row.name}/archives/${row.forkArchive}`
        },
  pipelineSkip: row.pipelineSkip,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString()
})

const monthMs = 30 * 86_400_000

export interface ListAgents {
  readonly namespace?: string | undefined
  readonly q?: string | undefined
  readonly mode?: Mode | undefined
  readonly state?: "active" | "retired" | undefined
  readonly forks?: "only" | "none" | undefined
  /** `ns/name` */
  readonly forkOf?: string | undefined
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
    readonly list: (viewer: Account | null, filter: ListAgents) => Effect.Effect<Page<Agent>>
    /** The agent with what the viewer is to it, also by a name that it had before; `NotFound` also when the viewer may not know of it. */
    readonly seen: (viewer: Account | null, namespace: string, name: string) => Effect.Effect<SeenAgent, NotFound>
    /** As `seen`, for a change, by the name that it has: whether a token may make it is said by the scope of the change, not by `agent:read`. */
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
    ) => Effect.Effect<
      Agent,
      NotFound | NameTaken | NameHeld | NamespaceFull | PrivateAgentCap | Validation | OrgDecommissioning
    >
    readonly patch: (
      actor: Account,
      namespace: string,
      name: string,
      change: typeof PatchAgent.Type
    ) => Effect.Effect<
      Agent,
      | NotFound
      | Forbidden
      | PrivateAgentCap
      | AgentRetired
      | BuiltinFirstParty
      | ForkStaysPrivate
      | PipelineSkipPublic
      | PipelineSkipPersonal
      | FeatureNotIncluded
      | AgentUnscanned
      | OrgDecommissioning
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
      const places = yield* agentPlaces
      const services = yield* Effect.context<Effect.Services<ReturnType<typeof removeRemains>>>()

      const ownerOf = (namespace: string, kind: "account" | "org") => (kind === "org" ? namespace : undefined)
      const found = Effect.fnUntraced(function* (
        viewer: Account | null,
        namespace: string,
        name: string
      ): Effect.fn.Return<SeenAgent, NotFound> {
        const agent = yield* Effect.orDie(rows.seenAgent(readerOf(viewer), namespace, name))
        if (agent === null) return yield* new NotFound({})
        return {
          agent,
          standing: standingOf(agent),
          org: agent.namespaceKind === "org" ? agent.namespace : null,
          // The namespace is the agent's own: it may have moved from the one that was asked for.
          hold: holdOf({ handle: agent.namespace, decommissionAt: agent.decommissionAt })
        }
      })
      const seen = Effect.fnUntraced(function* (viewer: Account | null, namespace: string, name: string) {
        const agent = yield* found(viewer, namespace, name)
        return canRead(viewer, agent.standing) ? agent : yield* new NotFound({})
      })
      const known = Effect.fnUntraced(function* (actor: Account, namespace: string, name: string) {
        const agent = yield* found(actor, namespace, name)
        // A former name leads readers on. Whoever changes something says what it is called now.
        const byItsName = agent.agent.namespace === namespace && agent.agent.name === name
        return byItsName && canKnow(agent.standing) ? agent : yield* new NotFound({})
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
      const reread = (actor: Account, namespace: string, name: string) =>
        Effect.map(Effect.orDie(rows.agent(readerOf(actor), namespace, name)), (agent) => agentRecord(agent!))

      return Agents.of({
        list: Effect.fnUntraced(function* (viewer, filter) {
          const [ns, name] = (filter.forkOf ?? "").split("/")
          // Of a source that the viewer may not read nothing is listed: its forks would tell its name.
          const forkedFrom =
            filter.forkOf === undefined
              ? undefined
              : yield* Effect.match(seen(viewer, ns, name), {
                  onFailure: () => null,
                  onSuccess: ({ agent }) => agent.id
                })
          const { page, rows: found } = yield* pageOf(filter, { max: 100, standard: 20 }, (offset, limit) =>
            Effect.orDie(
              rows.list({
                ...readerOf(viewer),
                namespace: filter.namespace,
                q: filter.q,
                mode: filter.mode,
                state: filter.state,
                forks: filter.forks,
                forkedFrom,
                sort: filter.sort ?? "newest",
                offset,
                limit
              })
            )
          )
          return { items: found.map(agentRecord), ...page }
        }),
        seen,
        known,
        managed,
        changeable,
        create: Effect.fnUntraced(function* (actor, request) {
          const { namespace } = yield* places.own(actor, request.namespace)
          const at = yield* now
          const id = yield* newId("agt")
          const visibility = request.visibility ?? "public"
          yield* transaction(
            Effect.gen(function* () {
              const place = { namespace, name: request.name, visibility }
              yield* places.lock(request.namespace)
              yield* places.room(place)
              yield* places.freeName(actor, place)
              yield* places.take(
                place,
                rows.insertAgent({
                  id,
                  namespace: request.namespace,
                  name: request.name,
                  description: request.description ?? "",
                  visibility,
                  createdBy: actor.accountId,
                  createdAt: at
                })
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
          return yield* reread(actor, request.namespace, request.name)
        }),
        patch: Effect.fnUntraced(function* (actor, namespace, name, change) {
          const { agent, hold, org, standing } = yield* known(actor, namespace, name)
          // Staff says what is built in and, of agents of others, nothing else.
          const asStaff = actor.staff && Object.keys(change).join() === "builtin"
          if (!canManage(standing) && !asStaff) return yield* new NotFound({})
          if (hold !== null) return yield* hold
          if (change.builtin !== undefined) {
            if (!actor.staff || actor.credential.kind !== "session") {
              return yield* new Forbidden({ detail: "Only platform staff says what is built in" })
            }
            if (namespace !== settings["orgs.firstParty"]) return yield* new BuiltinFirstParty({})
          }
          if (change.pipelineSkip === true) {
            const owner = yield* orgs.namespace(namespace)
            if (owner?.kind !== "org") return yield* new PipelineSkipPersonal({})
            const refusal = lacking(owner, "pipelineSkip")
            if (refusal !== null) return yield* refusal
          }
          if (
            change.visibility === "public" &&
            agent.forkedFrom !== null &&
            agent.forkedAs === null &&
            !(yield* Effect.orDie(rows.isPublic(agent.forkedFrom)))
          ) {
            return yield* new ForkStaysPrivate({})
          }
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              if (change.visibility === "private") yield* places.lock(namespace)
              const locked = yield* rows.lockedAs(agent, { namespace, name })
              if (change.visibility !== undefined || change.pipelineSkip !== undefined) {
                if (locked.retiredAt !== null)
                  return yield* new AgentRetired({ detail: "Restore the agent to change its visibility or its scans" })
                if (change.visibility === "private" && locked.visibility === "public")
                  yield* places.privateCap(namespace)
                if ((change.visibility ?? locked.visibility) === "public") {
                  if (change.pipelineSkip ?? locked.pipelineSkip) return yield* new PipelineSkipPublic({})
                  if (locked.unscanned > 0) return yield* new AgentUnscanned({ unscanned: locked.unscanned })
                }
              }
              yield* Effect.orDie(rows.patchAgent(agent.id, change, at))
              yield* record(actor, "agent.update", `${namespace}/${name}`, org ?? undefined, change)
            })
          )
          return yield* reread(actor, namespace, name)
        }),
        retire: Effect.fnUntraced(function* (actor, namespace, name) {
          const { agent, org } = yield* changeable(actor, namespace, name)
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              yield* rows.lockedAs(agent, { namespace, name })
              if (!(yield* Effect.orDie(rows.retire(agent.id, at)))) return yield* new AgentRetired({})
              yield* record(actor, "agent.retire", `${namespace}/${name}`, org ?? undefined, {})
            })
          )
          return yield* reread(actor, namespace, name)
        }),
        restore: Effect.fnUntraced(function* (actor, namespace, name) {
          const { agent, org } = yield* changeable(actor, namespace, name)
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              yield* places.lock(namespace)
              const { visibilityBefore } = yield* rows.lockedAs(agent, { namespace, name })
              if (visibilityBefore === "private") yield* places.privateCap(namespace)
              if (!(yield* Effect.orDie(rows.restore(agent.id, at)))) return yield* new AgentNotRetired({})
              yield* record(actor, "agent.restore", `${namespace}/${name}`, org ?? undefined, {
                visibility: visibilityBefore
              })
            })
          )
          return yield* reread(actor, namespace, name)
        }),
        remove: Effect.fnUntraced(function* (actor, namespace, name, confirm) {
          const { agent, org } = yield* changeable(actor, namespace, name)
          const at = yield* now
          const remains = yield* transaction(
            Effect.gen(function* () {
              // No version comes in between the look and the end.
              const { forkArchive } = yield* rows.lockedAs(agent, { namespace, name })
              const states = yield* Effect.orDie(rows.versionStates(agent.id))
              if (states.length > 0 && confirm !== name) {
                return yield* new ConfirmName({
                  detail: `Say confirm=${name}: the agent has versions, and its name will be held for good`
                })
              }
              const open = states.find(isUnsettled)
              if (open !== undefined) return yield* new AgentInUse({ detail: `A version of the agent is ${open}` })
              const matters = yield* Effect.orDie(rows.openMatters(agent.id))
              if (matters.advisories) return yield* new AgentInUse({ detail: "Advisories on the agent exist" })
              if (matters.abuseReports) return yield* new AgentInUse({ detail: "A report on the agent is open" })
              if (matters.reviews) return yield* new AgentInUse({ detail: "A version of the agent is in review" })
              yield* Effect.orDie(states.length > 0 ? rows.bury(agent.id, at) : rows.remove(agent.id))
              yield* record(actor, "agent.delete", `${namespace}/${name}`, org ?? undefined, {
                versions: states.length > 0
              })
              return states.length > 0 ? null : { id: agent.id, forkArchive }
            })
          )
          if (remains !== null) yield* Effect.provideContext(removeRemains(remains), services)
        }),
        stats: Effect.fnUntraced(function* (viewer, namespace, name) {
          const { agent } = yield* seen(viewer, namespace, name)
          return yield* Effect.orDie(rows.stats(agent.id, new Date((yield* Clock.currentTimeMillis) - monthMs)))
        })
      })
    })
  )
}
