/**
 * Named points between two durable steps of a run. Nothing happens at them in
 * production; tests and the simulation make a process die or a fiber fail there.
 */
import { Context, Effect } from "effect"

export const faultPoints = [
  "create.admitted",
  "create.opened",
  "claim.claimed",
  "claim.supervised",
  "handOff.staged",
  "handOff.taken",
  "watch.started",
  "finish.stored",
  "settle.settled",
  "settle.forgotten"
] as const
export type FaultPoint = (typeof faultPoints)[number]

export const Faults = Context.Reference<(point: FaultPoint, runId: string) => Effect.Effect<void>>("runs/Faults", {
  defaultValue: () => () => Effect.void
})

export const fault = (point: FaultPoint, runId: string) => Effect.flatMap(Faults, (at) => at(point, runId))
