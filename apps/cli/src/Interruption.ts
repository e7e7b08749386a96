/** Completes at the first SIGINT or SIGTERM. */
import { Effect } from "effect"

export const interruption: Effect.Effect<void> = Effect.callback((resume) => {
  const heard = () => resume(Effect.void)
  process.once("SIGTERM", heard).once("SIGINT", heard)
  return Effect.sync(() => process.off("SIGTERM", heard).off("SIGINT", heard))
})
