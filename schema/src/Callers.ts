/**
 * Who calls, as handlers see it, and the middleware that finds out. The checks
 * live in `packages/identity`; here is only what the contract says about them.
 * Validation can come out of every endpoint, so it is declared here.
 */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  EmailUnverified,
  Forbidden,
  IdempotencyConflict,
  RateLimited,
  SignInTooOld,
  Unauthorized,
  Validation
} from "./Problems.ts"
import type { Scope } from "./Scopes.ts"

/** A signed-in account and the credential it came with. */
export interface Account {
  readonly accountId: string
  readonly handle: string
  readonly emailVerified: boolean
  /** Platform staff; by a session only while its sign-in is recent. */
  readonly staff: boolean
  /** Platform staff, were the session's sign-in not too old for it. */
  readonly staffSignInTooOld?: boolean
  /** Id of a session, token or SSH key: the credential itself never travels further than the middleware. No route takes an SSH key. */
  readonly credential: { readonly kind: "session" | "token" | "sshKey"; readonly id: string }
  /** Scopes of a token, or what an SSH key stands for; a session has the account's full authority. */
  readonly scopes: ReadonlySet<Scope> | "all"
}

/** The caller of an endpoint that needs one. */
export class Actor extends Context.Service<Actor, Account>()("schema/Actor") {}

/** The caller of an endpoint that anyone may call; `null` when nobody is signed in. */
export class Viewer extends Context.Service<Viewer, Account | null>()("schema/Viewer") {}

export class Authenticated extends HttpApiMiddleware.Service<Authenticated, { provides: Actor }>()(
  "schema/Authenticated",
  { error: [Unauthorized, Forbidden, SignInTooOld, EmailUnverified, RateLimited, Validation] }
) {}

export class Identified extends HttpApiMiddleware.Service<Identified, { provides: Viewer }>()("schema/Identified", {
  error: [Unauthorized, Forbidden, RateLimited, Validation]
}) {}

/** Authorization: `Enrolment <token>`; any session or personal access token is 403. */
export class EnrolmentToken extends Context.Service<EnrolmentToken, { readonly token: string }>()(
  "schema/EnrolmentToken"
) {}

export class EnrolmentAuthenticated extends HttpApiMiddleware.Service<
  EnrolmentAuthenticated,
  { provides: EnrolmentToken }
>()("schema/EnrolmentAuthenticated", { error: [Unauthorized, Forbidden, RateLimited, Validation] }) {}

/** Keeps the first answer of an Idempotency-Key for 24 hours and gives it again. Spec: Registry-wide limits. */
export class Idempotent extends HttpApiMiddleware.Service<Idempotent, { requires: Actor }>()("schema/Idempotent", {
  error: [IdempotencyConflict, Validation]
}) {}
