/**
 * Where an agent may go: what a new one, a fork and a transferred one are asked
 * alike. Called in the transaction that puts it there; the namespace is locked
 * until its end, so that two of them cannot both take the last place.
 */
import { holdOf, Orgs } from "@quickagents/orgs"
import type { NamespaceRow } from "@quickagents/orgs"
import { Database, Settings } from "@quickagents/platform"
import { invalidField, NameHeld, NamespaceFull, NameTaken, NotFound, PrivateAgentCap } from "@quickagents/schema"
import type { Account } from "@quickagents/schema"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { AgentsSql } from "./AgentsSql.ts"
import { mistakenFor, popularInstalls, reservedFor, veryPopularInstalls } from "./NamePolicy.ts"

export interface Place {
  readonly namespace: NamespaceRow
  readonly name: string
  readonly visibility: "public" | "private"
}

export const agentPlaces = Effect.gen(function* () {
  const rows = yield* AgentsSql
  const orgs = yield* Orgs
  const settings = yield* Settings.Settings

  /** A namespace of the actor's, for a change, with their role in it. Of one that is not theirs nothing is told. */
  const own = Effect.fnUntraced(function* (actor: Account, handle: string) {
    const namespace = yield* orgs.namespace(handle)
    const role = namespace === null ? null : yield* orgs.roleIn(actor.accountId, handle)
    if (namespace === null || role === null)
      return yield* new NotFound({ detail: "No namespace of yours has this handle" })
    const hold = holdOf(namespace)
    return hold === null ? { namespace, role } : yield* hold
  })

  const lock = (...namespaces: ReadonlyArray<string>) =>
    // In one order, so that two transfers in opposite directions do not wait for each other.
    Effect.orDie(rows.lock(...[...new Set(namespaces)].toSorted().map((handle) => `namespace:${handle}`)))

  const privateCap = Effect.fnUntraced(function* (namespace: string) {
    const cap = settings["limits.privateAgentsPerNamespace"]
    if (cap === null) return
    const counts = yield* Effect.orDie(rows.countIn(namespace))
    if (counts.private >= cap)
      return yield* new PrivateAgentCap({ detail: `The namespace keeps at most ${cap} private agents` })
  })

  const room = Effect.fnUntraced(function* ({ namespace, visibility }: Place) {
    const cap = settings[namespace.kind === "org" ? "limits.agentsPerOrgNamespace" : "limits.agentsPerUserNamespace"]
    if ((yield* Effect.orDie(rows.countIn(namespace.handle))).all >= cap) {
      return yield* new NamespaceFull({ detail: `A namespace of this kind holds at most ${cap} agents` })
    }
    if (visibility === "private") yield* privateCap(namespace.handle)
  })

  /** `own`, the agent that gets the name, may take a former name back and is not mistaken for itself. */
  const freeName = Effect.fnUntraced(function* (actor: Account, { name, namespace }: Place, own?: string) {
    const path = `${namespace.handle}/${name}`
    const holder = yield* Effect.orDie(rows.nameHeld(namespace.handle, name))
    if (holder !== null && holder.agentId !== own) {
      return yield* new NameHeld({
        detail: holder.deleted
          ? `${path} was deleted; its name is held for good`
          : `${path} was the name of an agent that moved; it is held for good`
      })
    }
    if ((actor.staff && actor.credential.kind === "session") || holder !== null) return
    const reserved = reservedFor(namespace.handle, name)
    if (reserved !== undefined) return yield* invalidField("/name", reserved)
    const other = mistakenFor(
      name,
      yield* Effect.orDie(
        rows.mistakable(namespace.handle, name, { installs: popularInstalls, many: veryPopularInstalls, own })
      )
    )
    if (other !== undefined) {
      return yield* invalidField(
        "/name",
        `${name} is easily mistaken for the popular agent ${other.namespace}/${other.name}; choose another name`
      )
    }
  })

  /** Two may have found the name free; the row that is there first has it. */
  const take = <A, R>({ name, namespace }: Place, row: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.catch(row, (error) =>
      Database.uniqueConstraint(error) === "agents_name"
        ? new NameTaken({ detail: `${namespace.handle}/${name} exists` })
        : Effect.die(error)
    )

  return { own, lock, privateCap, room, freeName, take }
})
