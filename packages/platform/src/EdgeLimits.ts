/**
 * What an address may ask for before anything is looked up for it: sign-in and
 * git, whose requests cost most. Kept in the memory of this process, without a
 * statement: each node lets in as much for itself. Spec: Registry-wide limits,
 * edge limits.
 */
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import { FindMyWay } from "effect/http"
import type { Values } from "./Settings.ts"

/** Tokens that come back evenly, as many as `burst` of them at once. */
interface Rate {
  readonly perMin: number
  readonly burst: number
}

/** A request that is not let in. */
export interface EdgeRefusal {
  readonly limit: number
  readonly retryAfterSeconds: number
}

const pastRateSeconds = 6
const pastActiveSeconds = 1
const maxAddresses = 50_000

/** Takes a token of `address`. False: there is none left. */
const bucketsOf = ({ burst, perMin }: Rate) => {
  const buckets = new Map<string, { tokens: number; at: number }>()
  return (address: string, now: number) => {
    const held = buckets.get(address) ?? { tokens: burst, at: now }
    const tokens = Math.min(burst, held.tokens + ((now - held.at) / 60_000) * perMin)
    // Last in the order, so that whoever is forgotten for want of room has been away for longest.
    buckets.delete(address)
    if (buckets.size >= maxAddresses) buckets.delete(buckets.keys().next().value!)
    buckets.set(address, { tokens: tokens < 1 ? tokens : tokens - 1, at: now })
    return tokens >= 1
  }
}

/** Lets a request in for as long as its scope is open, or says why not. */
export const edgeLimits = (settings: Values) => {
  const auth = { perMin: settings["limits.edgeAuthPerMin"], burst: settings["limits.edgeAuthBurst"] }
  const git = { perMin: settings["limits.edgeGitPerMin"], burst: settings["limits.edgeGitBurst"] }
  const mostActive = settings["limits.edgeGitActivePerIP"]
  const takeAuth = bucketsOf(auth)
  const takeGit = bucketsOf(git)
  const active = new Map<string, number>()
  // Found as the routes themselves are found: another spelling of an address is no way around.
  const meant = FindMyWay.make<"auth" | "git">()
  meant.all("/api/v1/auth/*", "auth")
  meant.all("/git/*", "git")

  const leave = (address: string) => {
    const left = (active.get(address) ?? 1) - 1
    if (left === 0) active.delete(address)
    else active.set(address, left)
  }

  return Effect.fnUntraced(function* (
    url: string,
    address: string
  ): Effect.fn.Return<EdgeRefusal | null, never, Scope.Scope> {
    const kind = meant.find("GET", url)?.handler
    if (kind === undefined) return null
    const isGit = kind === "git"
    const now = yield* Clock.currentTimeMillis
    if (isGit && (active.get(address) ?? 0) >= mostActive)
      return { limit: mostActive, retryAfterSeconds: pastActiveSeconds }
    if (!(isGit ? takeGit : takeAuth)(address, now))
      return { limit: isGit ? git.perMin : auth.perMin, retryAfterSeconds: pastRateSeconds }
    if (isGit) {
      active.set(address, (active.get(address) ?? 0) + 1)
      yield* Effect.addFinalizer(() => Effect.sync(() => leave(address)))
    }
    return null
  })
}
