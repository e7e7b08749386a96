/** Balances and ledger lines, and how staff changes them. Spec: Limits, Credits. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, Idempotent } from "../Callers.ts"
import { clampedLimit, Credits, Handle, IdempotencyKey, Timestamp } from "../Ids.ts"
import { Forbidden, NotFound } from "../Problems.ts"
import { access } from "../Scopes.ts"
import { Tier } from "./Runs.ts"

export const LedgerReason = Schema.Literals([
  "run_hold",
  "run_release",
  "run",
  "run_refund",
  "grant",
  "cycle_grant"
]).annotate({
  identifier: "LedgerReason"
})
export type LedgerReason = typeof LedgerReason.Type

/** `balanceDelta` and `heldDelta` move the two sides of an account; the lines of an account add up to its balance and holds. */
export const LedgerLine = Schema.Struct({
  seq: Schema.Int,
  at: Timestamp,
  reason: LedgerReason,
  /** What the line is recorded under: `run:<id>`, `grant:<id>` or `cycle:<date>`. */
  subject: Schema.String,
  balanceDelta: Credits,
  heldDelta: Credits
}).annotate({ identifier: "LedgerLine" })
export type LedgerLine = typeof LedgerLine.Type

export const CreditsAccount = Schema.Struct({
  account: Handle,
  tier: Tier,
  /** What can be spent or held now. */
  balance: Credits,
  held: Credits,
  unmetered: Schema.Boolean,
  resetsAt: Schema.NullOr(Timestamp),
  /** Newest first. */
  lines: Schema.Array(LedgerLine),
  nextCursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "CreditsAccount" })
export type CreditsAccount = typeof CreditsAccount.Type

const page = {
  cursor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
  limit: Schema.optionalKey(clampedLimit(200, 50))
}

export class CreditsGroup extends HttpApiGroup.make("credits")
  .add(
    HttpApiEndpoint.get("mine", "/api/v1/credits", { query: page, success: CreditsAccount })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "The caller's own credits"),
    HttpApiEndpoint.get("org", "/api/v1/orgs/:org/credits", {
      params: { org: Handle },
      query: page,
      success: CreditsAccount,
      error: [NotFound, Forbidden]
    })
      .annotateMerge(access.account("org:admin"))
      .annotate(OpenApi.Summary, "An organization's credits; admins see the lines of members' runs, never the runs"),
    HttpApiEndpoint.post("grant", "/api/v1/platform/accounts/:handle/credits", {
      params: { handle: Handle },
      headers: { "idempotency-key": IdempotencyKey },
      payload: Schema.Struct({
        credits: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))
      }).annotate({ identifier: "GrantCredits", examples: [{ credits: 500 }] }),
      success: CreditsAccount.pipe(HttpApiSchema.status(201)),
      error: NotFound
    })
      .middleware(Idempotent)
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Grant credits to an account or organization"),
    HttpApiEndpoint.put("setTier", "/api/v1/platform/accounts/:handle/tier", {
      params: { handle: Handle },
      payload: Schema.Struct({ tier: Tier }).annotate({ identifier: "SetTier", examples: [{ tier: "pro" as const }] }),
      success: CreditsAccount,
      error: NotFound
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Set the tier of an account or organization")
  )
  .middleware(Authenticated)
  .annotateMerge(OpenApi.annotations({ title: "Credits", description: "Balances, holds and ledger lines" })) {}
