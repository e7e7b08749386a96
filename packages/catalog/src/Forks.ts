/**
 * Forks: a new agent that starts with the source of another's published
 * versions. The request writes the agent's row, which says what is to be
 * copied; `CopyForks.ts` copies it, on this node at once or wherever its job runs. Spec: Other records; Other states; Errors,
 * registry core.
 */
import { Audit, Database, newId } from "@quickagents/platform"
import { ForkSource, NothingToFork } from "@quickagents/schema"
import type {
  Account,
  Agent,
  ForkAgent,
  NameHeld,
  NameTaken,
  NotFound,
  NamespaceFull,
  OrgDecommissioning,
  PrivateAgentCap,
  Validation
} from "@quickagents/schema"
import { Clock, Context, Effect, FiberHandle, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { agentPlaces } from "./AgentPlaces.ts"
import { agentRecord, Agents } from "./Agents.ts"
import { readerOf } from "./AgentsPolicy.ts"
import { AgentsSql } from "./AgentsSql.ts"
import { copyForks } from "./CopyForks.ts"

export class Forks extends Context.Service<
  Forks,
  {
    /** Answers the new agent in `copying`. Who may read the source and create agents in the namespace may fork. */
    readonly fork: (
      actor: Account,
      ns: string,
      name: string,
      request: ForkAgent
    ) => Effect.Effect<
      Agent,
      | NotFound
      | NameTaken
      | NameHeld
      | NamespaceFull
      | PrivateAgentCap
      | ForkSource
      | NothingToFork
      | Validation
      | OrgDecommissioning
    >
  }
>()("catalog/Forks") {
  static readonly layer = Layer.effect(
    Forks,
    Effect.gen(function* () {
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const audit = yield* Audit.Audit
      const places = yield* agentPlaces
      const transaction = Database.transaction(yield* SqlClient.SqlClient)
      const services = yield* Effect.context<Effect.Services<typeof copyForks>>()
      const copying = yield* FiberHandle.make()

      return Forks.of({
        fork: Effect.fnUntraced(function* (actor, ns, name, request) {
          const { agent: source } = yield* agents.seen(actor, ns, name)
          const { namespace } = yield* places.own(actor, request.namespace)
          const to = { namespace: request.namespace, name: request.name ?? source.name }
          if (to.namespace === source.namespace && to.name === source.name)
            return yield* new ForkSource({ detail: "An agent is not forked into itself: give the fork another name" })
          if (source.retiredAt !== null) return yield* new ForkSource({ detail: "A retired agent is not forked" })
          if (source.forkState === "copying")
            return yield* new ForkSource({ detail: "The agent is a fork that is still being copied" })
          if (source.latestVersion === null) return yield* new NothingToFork({})
          const forkedVersion = source.latestVersion
          const id = yield* newId("agt")
          const at = new Date(yield* Clock.currentTimeMillis)
          yield* transaction(
            Effect.gen(function* () {
              const place = { namespace, name: to.name, visibility: source.visibility }
              yield* places.lock(to.namespace)
              yield* places.room(place)
              yield* places.freeName(actor, place)
              yield* places.take(
                place,
                rows.insertAgent({
                  ...to,
                  id,
                  description: source.description,
                  visibility: source.visibility,
                  createdBy: actor.accountId,
                  createdAt: at,
                  forkedFrom: source.id,
                  forkedVersion,
                  forkedAs: source.visibility === "public" ? `${source.namespace}/${source.name}` : null,
                  forkState: "copying"
                })
              )
              yield* audit.record({
                actor: { type: "account", id: actor.accountId, handle: actor.handle },
                action: "agent.fork",
                target: `${to.namespace}/${to.name}`,
                org: namespace.kind === "org" ? to.namespace : undefined,
                detail: { from: `${source.namespace}/${source.name}@${forkedVersion}` }
              })
            })
          )
          const fork = agentRecord((yield* Effect.orDie(rows.agent(readerOf(actor), to.namespace, to.name)))!)
          // So that nobody waits for the watchdog, which copies what this node does not.
          yield* FiberHandle.run(copying, Effect.provideContext(copyForks, services), { onlyIfMissing: true })
          return fork
        })
      })
    })
  )
}
