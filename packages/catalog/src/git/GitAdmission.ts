/**
 * Who may fetch from and push to a repository, and how much: one answer for
 * every transport. Spec: Scopes; Authentication; Registry-wide limits.
 */
import { CurrentRequest, RateLimits, Settings } from "@quickagents/platform"
import type { Bucket } from "@quickagents/platform"
import type { Account } from "@quickagents/schema"
import { Context, Data, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { Agents } from "../Agents.ts"
import { canPublish } from "../AgentsPolicy.ts"
import type { AgentRow } from "../AgentsSql.ts"
import type { GitService } from "./GitPolicy.ts"
import { holds } from "./GitPolicy.ts"

/** A request that is not served. The message is for the person at the other end. */
export class GitRefused extends Data.TaggedError("GitRefused")<{
  readonly reason: "unauthorized" | "forbidden" | "missing" | "held" | "too-many" | "crowded"
  readonly message: string
}> {}

const perRepository = 4
const perProcess = 32

const unauthorized = (message: string) => new GitRefused({ reason: "unauthorized", message })
const forbidden = (message: string) => new GitRefused({ reason: "forbidden", message })
export const notFound = new GitRefused({ reason: "missing", message: "Repository not found." })

export class GitAdmission extends Context.Service<
  GitAdmission,
  {
    /** Counts a request of the account, or of the address when there is none. */
    readonly countRequest: (account: Account | null, address: string) => Effect.Effect<void, GitRefused>
    readonly countPush: (agentId: string) => Effect.Effect<void, GitRefused>
    /** Counts an SSH key that is offered. False: the address has offered too many. */
    readonly countKeyOffer: (address: string) => Effect.Effect<boolean>
    /** The agent whose repository is asked for, when `account` may do to it what it asks. */
    readonly permit: (
      service: GitService,
      account: Account | null,
      ns: string,
      name: string
    ) => Effect.Effect<AgentRow, GitRefused>
    /** A place among the requests that run now, for as long as the scope is open. */
    readonly enter: (address: string, agentId: string) => Effect.Effect<void, GitRefused, Scope.Scope>
  }
>()("catalog/GitAdmission") {
  static readonly layer = Layer.effect(
    GitAdmission,
    Effect.gen(function* () {
      const settings = yield* Settings.Settings
      const agents = yield* Agents
      const limits = yield* RateLimits
      const pushesPerHour = settings["limits.gitPushesPerHour"]
      const ofAccount: ReadonlyArray<Bucket> = [
        { name: "authed-hour", limit: settings["limits.authedPerHour"], windowMs: 3_600_000 },
        { name: "authed-burst", limit: settings["limits.authedBurstPerMin"], windowMs: 60_000 }
      ]
      const ofAddress: ReadonlyArray<Bucket> = [
        { name: "anonymous", limit: settings["limits.anonymousPerMin"], windowMs: 60_000 }
      ]
      const pushes: ReadonlyArray<Bucket> = [{ name: "git-push", limit: pushesPerHour, windowMs: 3_600_000 }]
      const keyOffers: ReadonlyArray<Bucket> = [
        { name: "ssh-key-offer", limit: settings["limits.sshKeyOffersPerMin"], windowMs: 60_000 }
      ]

      const take = Effect.fnUntraced(function* (subject: string, buckets: ReadonlyArray<Bucket>, message: string) {
        const standing = yield* limits.take(subject, buckets)
        const request = yield* CurrentRequest
        if (request !== undefined) request.standing = standing
        if (!standing.allowed) return yield* new GitRefused({ reason: "too-many", message })
      })

      const allowed = Effect.fnUntraced(function* (
        service: GitService,
        account: Account | null,
        ns: string,
        name: string
      ) {
        if (service === "git-upload-pack") {
          const reader = account !== null && holds(account, "repo:read") ? account : null
          const seen =
            reader === null
              ? agents.seen(null, ns, name)
              : // By a name that it had before, what is public is read by all alike.
                Effect.catchTag(agents.known(reader, ns, name), "NotFound", () => agents.seen(null, ns, name))
          return yield* Effect.mapError(seen, () =>
            account === null
              ? unauthorized("Sign in with a personal access token as the password.")
              : reader === null
                ? forbidden("Your token lacks the scope repo:read.")
                : notFound
          ).pipe(Effect.map(({ agent }) => agent))
        }
        if (account === null) return yield* unauthorized("Pushing needs a personal access token as the password.")
        if (!holds(account, "repo:write")) return yield* forbidden("Your token lacks the scope repo:write.")
        const { agent, hold, standing } = yield* Effect.mapError(agents.known(account, ns, name), () => notFound)
        if (!account.emailVerified) return yield* forbidden("Verify your email address before you push.")
        if (!canPublish(standing)) return yield* forbidden(`You may read ${ns}/${name}, but not push to it.`)
        if (hold !== null) {
          return yield* new GitRefused({
            reason: "held",
            message: `${hold.org} is read-only: it is going to be erased at ${hold.decommissionAt}.`
          })
        }
        if (agent.retiredAt !== null) return yield* forbidden(`${ns}/${name} is retired and takes no push.`)
        return agent
      })

      const permit = Effect.fnUntraced(function* (...asked: Parameters<typeof allowed>) {
        const agent = yield* allowed(...asked)
        // A repository that is opened now would be in the way of the one that is copied.
        return agent.forkState === "copying"
          ? yield* forbidden("This fork is still being copied; try again in a moment.")
          : agent
      })

      const active = new Map<string, number>()
      const enter = (address: string, agentId: string) => {
        const places = [
          { key: "process", most: perProcess },
          { key: `ip:${address}`, most: settings["limits.gitConcurrentPerIP"] },
          { key: `repository:${agentId}`, most: perRepository }
        ]
        return Effect.acquireRelease(
          Effect.suspend(() => {
            if (places.some(({ key, most }) => (active.get(key) ?? 0) >= most)) {
              return Effect.fail(
                new GitRefused({ reason: "crowded", message: "Too many git requests at once; try again." })
              )
            }
            for (const { key } of places) active.set(key, (active.get(key) ?? 0) + 1)
            return Effect.void
          }),
          () =>
            Effect.sync(() => {
              for (const { key } of places) {
                const left = (active.get(key) ?? 1) - 1
                if (left === 0) active.delete(key)
                else active.set(key, left)
              }
            })
        )
      }

      return GitAdmission.of({
        countRequest: (account, address) => {
          const message = "Too many requests; wait a little."
          return account === null ? take(address, ofAddress, message) : take(account.accountId, ofAccount, message)
        },
        countPush: (agentId) => take(agentId, pushes, `A repository takes at most ${pushesPerHour} pushes in an hour.`),
        countKeyOffer: (address) => Effect.map(limits.take(address, keyOffers), ({ allowed }) => allowed),
        permit,
        enter
      })
    })
  )
}
