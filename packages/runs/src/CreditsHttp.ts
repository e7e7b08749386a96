/** Handlers of the credit routes. */
import { Orgs } from "@quickagents/orgs"
import type { NamespaceRow } from "@quickagents/orgs"
import { Audit, newId, Settings } from "@quickagents/platform"
import { Actor, Api, clamp, Forbidden, NotFound } from "@quickagents/schema"
import type { CreditsAccount } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Ledger } from "./Ledger.ts"

export const CreditsHttp = HttpApiBuilder.group(
  Api,
  "credits",
  Effect.fnUntraced(function* (handlers) {
    const ledger = yield* Ledger
    const orgs = yield* Orgs
    const audit = yield* Audit.Audit
    const settings = yield* Settings.Settings

    const show = Effect.fnUntraced(function* (
      payer: string,
      page: { readonly cursor?: string; readonly limit?: number }
    ): Effect.fn.Return<CreditsAccount> {
      const limit = clamp(page.limit, 200, 50)
      const before = page.cursor !== undefined && /^\d{1,15}$/.test(page.cursor) ? Number(page.cursor) : null
      const account = yield* ledger.account(payer)
      const lines = yield* ledger.lines(payer, before, limit + 1)
      const items = lines.slice(0, limit)
      return {
        account: account.payer,
        tier: account.tier,
        balance: account.balance,
        held: account.held,
        unmetered: account.payer === settings["orgs.firstParty"],
        resetsAt: account.cycleEndsAt.toISOString(),
        lines: items.map(({ at, ...line }) => ({ ...line, at: at.toISOString() })),
        nextCursor: lines.length > limit ? String(items.at(-1)!.seq) : null
      }
    })
    const existing = (handle: string) =>
      Effect.flatMap(orgs.namespace(handle), (namespace) =>
        namespace === null ? Effect.fail(new NotFound({})) : Effect.succeed(namespace)
      )
    const record = (action: string, { handle, kind }: NamespaceRow, detail: Record<string, unknown>) =>
      Effect.flatMap(Actor, (actor) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: handle,
          org: kind === "org" ? handle : undefined,
          detail
        })
      )

    return handlers
      .handle("mine", ({ query }) => Effect.flatMap(Actor, (actor) => show(actor.handle, query)))
      .handle("org", ({ params, query }) =>
        Effect.gen(function* () {
          const actor = yield* Actor
          const role = yield* orgs.roleIn(actor.accountId, params.org)
          const namespace = yield* existing(params.org)
          // Who is not a member learns nothing; a member without the right is told so.
          if (namespace.kind !== "org" || (role === null && !actor.staff)) return yield* new NotFound({})
          if (role === "member" && !actor.staff)
            return yield* new Forbidden({ detail: "For admins of the organization" })
          return yield* show(params.org, query)
        })
      )
      .handle("grant", ({ headers, params, payload }) =>
        Effect.gen(function* () {
          const namespace = yield* existing(params.handle)
          const actor = yield* Actor
          const key = headers["idempotency-key"]
          // Named by the key, so that a grant cut off between its booking and its answer is not booked again.
          const id = key === undefined ? yield* newId("grant") : `${actor.accountId}:${key}`
          if (yield* ledger.grant(params.handle, id, payload.credits)) {
            yield* record("credits.grant", namespace, { credits: payload.credits })
          }
          return yield* show(params.handle, {})
        })
      )
      .handle("setTier", ({ params, payload }) =>
        Effect.gen(function* () {
          const namespace = yield* existing(params.handle)
          yield* ledger.setTier(params.handle, payload.tier)
          yield* record("credits.tier", namespace, { tier: payload.tier })
          return yield* show(params.handle, {})
        })
      )
  })
)
