/**
 * Who may call an endpoint, declared once on the endpoint: the same annotation
 * drives the check at run time and the document. Spec: Authentication.
 */
import { Context, Schema } from "effect"
import { OpenApi } from "effect/http-api"

/** Scopes are flat: none implies another. */
export const Scope = Schema.Literals([
  "agent:read",
  "agent:publish",
  "agent:manage",
  "repo:read",
  "repo:write",
  "user:profile",
  "org:admin",
  "review:act",
  "audit:read",
  "run:read",
  "run:write",
  "knowledge:read",
  "knowledge:write",
  "secret:write",
  "voice:read",
  "voice:write"
]).annotate({ identifier: "Scope", description: "What a personal access token may do" })
export type Scope = typeof Scope.Type

/** What the token of a desktop program may do: all that its person does every day, and nothing of an organization or of staff. */
export const desktopScopes: ReadonlyArray<Scope> = [
  "agent:read",
  "agent:publish",
  "agent:manage",
  "repo:read",
  "repo:write",
  "user:profile",
  "run:read",
  "run:write",
  "knowledge:read",
  "knowledge:write",
  "secret:write",
  "voice:read",
  "voice:write"
]

export interface AccessRule {
  /**
   * - `anyone`: no credential needed; a signed-in caller is known to the handler
   * - `account`: browser session, or token with all of `scopes`
   * - `session`: browser session only; a token is 403
   * - `staffRead`: staff by session, or by token with all of `scopes`
   * - `staffChange`: staff by session only
   */
  readonly caller: "anyone" | "account" | "session" | "staffRead" | "staffChange"
  /** What a token needs. On `anyone` it is needed only when a token is sent. */
  readonly scopes: ReadonlyArray<Scope>
  /** An account whose address is unverified may call this although it changes something. */
  readonly unverified: boolean
}

export class Access extends Context.Service<Access, AccessRule>()("schema/Access") {}

const sessionScheme = { session: [] as ReadonlyArray<string> }

const rule = (rule: AccessRule) =>
  Context.make(Access, rule).pipe(
    Context.add(OpenApi.Transform, (operation: Record<string, any>) => ({
      ...operation,
      security:
        rule.caller === "session" || rule.caller === "staffChange"
          ? [sessionScheme]
          : [...(rule.caller === "anyone" ? [{}] : []), sessionScheme, { token: [...rule.scopes] }],
      ...(rule.scopes.length === 0 ? {} : { "x-required-scopes": rule.scopes }),
      ...(rule.caller.startsWith("staff") ? { "x-staff-only": true } : {})
    }))
  )

export const access = {
  /** Open to all; `scopes` are asked of a token that is sent along. */
  anyone: (...scopes: ReadonlyArray<Scope>) => rule({ caller: "anyone", scopes, unverified: true }),
  account: (...scopes: readonly [Scope, ...Array<Scope>]) => rule({ caller: "account", scopes, unverified: false }),
  session: rule({ caller: "session", scopes: [], unverified: false }),
  sessionUnverified: rule({ caller: "session", scopes: [], unverified: true }),
  staffRead: rule({ caller: "staffRead", scopes: ["audit:read"], unverified: false }),
  staffChange: rule({ caller: "staffChange", scopes: [], unverified: false })
}
