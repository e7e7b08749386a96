/** The end that someone outside asks a run for. */
import { Effect } from "effect"

/**
 * Listens from now on, and answers an effect that completes at the first SIGINT
 * or SIGTERM. Later ones change nothing: a run that ends still writes its
 * output, which a second signal must not cut.
 */
export const listenForInterruption: Effect.Effect<Effect.Effect<void>> = Effect.sync(() => {
  const heard = new Promise<void>((resolve) => {
    process.on("SIGTERM", () => resolve())
    process.on("SIGINT", () => resolve())
  })
  return Effect.promise(() => heard)
})
