/**
 * An agent moves to another namespace or gets another name. Its versions stay
 * what they are: a manifest and an attestation name the agent as it was
 * released, so a version keeps that name as its `ref`, and runs, hosts and
 * clients go on verifying it by that. The old name is held and leads readers on.
 */
import { lacking } from "@quickagents/orgs"
import { Audit, Database, Settings } from "@quickagents/platform"
import {
  AgentInUse,
  AgentRetired,
  AgentUnscanned,
  BuiltinFirstParty,
  Forbidden,
  invalidField,
  PipelineSkipPersonal
} from "@quickagents/schema"
import type {
  FeatureNotIncluded,
  Account,
  Agent,
  NameHeld,
  NameTaken,
  NotFound,
  NamespaceFull,
  PrivateAgentCap,
  TransferAgent,
  Validation,
  OrgDecommissioning
} from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { agentPlaces } from "./AgentPlaces.ts"
import { agentRecord, Agents } from "./Agents.ts"
import { canManage, isUnsettled, readerOf } from "./AgentsPolicy.ts"
import { AgentsSql } from "./AgentsSql.ts"

export class Transfers extends Context.Service<
  Transfers,
  {
    /** Who manages the agent and the namespace that it goes to may transfer it. */
    readonly transfer: (
      actor: Account,
      ns: string,
      name: string,
      request: TransferAgent
    ) => Effect.Effect<
      Agent,
      | NotFound
      | Forbidden
      | NameTaken
      | NameHeld
      | NamespaceFull
      | PrivateAgentCap
      | AgentInUse
      | AgentRetired
      | AgentUnscanned
      | PipelineSkipPersonal
      | FeatureNotIncluded
      | BuiltinFirstParty
      | Validation
      | OrgDecommissioning
    >
  }
>()("catalog/Transfers") {
  static readonly layer = Layer.effect(
    Transfers,
    Effect.gen(function* () {
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const audit = yield* Audit.Audit
      const settings = yield* Settings.Settings
      const places = yield* agentPlaces
      const transaction = Database.transaction(yield* SqlClient.SqlClient)

      return Transfers.of({
        transfer: Effect.fnUntraced(function* (actor, ns, name, request) {
          const { agent, org } = yield* agents.changeable(actor, ns, name)
          const { namespace, role } = yield* places.own(actor, request.namespace)
          if (!canManage({ role, grant: null, visibility: agent.visibility }))
            return yield* new Forbidden({ detail: `Only admins of ${request.namespace} take an agent into it` })
          const from = { namespace: ns, name }
          const to = { namespace: request.namespace, name: request.name ?? name }
          const leaves = to.namespace !== from.namespace
          if (!leaves && to.name === from.name)
            return yield* invalidField("/name", "is the name that the agent has already")
          if (agent.forkState === "copying") return yield* new AgentInUse({ detail: "The fork is still being copied" })
          const at = new Date(yield* Clock.currentTimeMillis)
          yield* transaction(
            Effect.gen(function* () {
              yield* places.lock(from.namespace, to.namespace)
              // No version is submitted under the old name in between.
              const locked = yield* rows.lockedAs(agent, from)
              if (locked.retiredAt !== null)
                return yield* new AgentRetired({ detail: "Restore the agent to transfer it" })
              if (locked.builtin !== null && to.namespace !== settings["orgs.firstParty"])
                return yield* new BuiltinFirstParty({})
              const unsettled = (yield* Effect.orDie(rows.versionStates(agent.id))).find(isUnsettled)
              if (unsettled !== undefined)
                return yield* new AgentInUse({ detail: `A version of the agent is ${unsettled}` })
              const unincluded = leaves && locked.pipelineSkip ? lacking(namespace, "pipelineSkip") : null
              if (unincluded !== null) return yield* unincluded
              if (namespace.kind === "account") {
                if (locked.pipelineSkip) return yield* new PipelineSkipPersonal({})
                if (locked.unscanned > 0) return yield* new AgentUnscanned({ unscanned: locked.unscanned })
              }
              const place = { namespace, name: to.name, visibility: locked.visibility }
              if (leaves) yield* places.room(place)
              yield* places.freeName(actor, place, agent.id)
              yield* places.take(place, rows.rename(agent.id, from, to, at))
              const entry = {
                actor: { type: "account" as const, id: actor.accountId, handle: actor.handle },
                action: "agent.transfer",
                target: `${to.namespace}/${to.name}`,
                detail: { from: `${ns}/${name}` }
              }
              // Organizations on both sides find it in their logs.
              yield* audit.record({ ...entry, org: org ?? undefined })
              if (leaves && namespace.kind === "org") yield* audit.record({ ...entry, org: to.namespace })
            })
          )
          return agentRecord((yield* Effect.orDie(rows.agent(readerOf(actor), to.namespace, to.name)))!)
        })
      })
    })
  )
}
