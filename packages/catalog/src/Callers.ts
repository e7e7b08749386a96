/** The caller of a request, for handlers. */
import { Actor, Viewer } from "@quickagents/schema"
import type { Account } from "@quickagents/schema"
import { Effect } from "effect"

export const asViewer = <A, E, R>(use: (viewer: Account | null) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(Viewer, use)
export const asActor = <A, E, R>(use: (actor: Account) => Effect.Effect<A, E, R>) => Effect.flatMap(Actor, use)
