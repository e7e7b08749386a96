/** What is known of the request that the current fiber serves: for logs, audit entries and rate limits. */
import { Context } from "effect"
import type { Standing } from "./RateLimits.ts"

export interface RequestState {
  readonly id: string
  readonly ip: string | null
  /** Set once a bucket was charged; the edge shows it in the rate-limit headers. */
  standing: Standing | undefined
}

export const CurrentRequest = Context.Reference<RequestState | undefined>("platform/CurrentRequest", {
  defaultValue: () => undefined
})
