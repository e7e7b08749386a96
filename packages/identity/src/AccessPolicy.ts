/** Who may call an endpoint, given its access rule. Nothing else decides it. Spec: Authentication. */
import { EmailUnverified, Forbidden, SignInTooOld, Unauthorized } from "@quickagents/schema"
import type { AccessRule, Account } from "@quickagents/schema"

/** An endpoint that declares no rule is open to browser sessions only. */
export const undeclared: AccessRule = { caller: "session", scopes: [], unverified: false }

/** GET and HEAD change nothing; all else may. */
export const isChange = (method: string) => method !== "GET" && method !== "HEAD"

const sessionOnly = (rule: AccessRule) => rule.caller === "session" || rule.caller === "staffChange"
const staffOnly = (rule: AccessRule) => rule.caller === "staffRead" || rule.caller === "staffChange"

/** Why `account` may not call, or null when it may. */
export const refusal = (
  rule: AccessRule,
  account: Account | null,
  method: string
): Unauthorized | Forbidden | SignInTooOld | EmailUnverified | null => {
  if (account === null) return rule.caller === "anyone" ? null : new Unauthorized({})
  const { scopes } = account
  if (scopes !== "all") {
    if (sessionOnly(rule)) return new Forbidden({ detail: "Open to a browser session only" })
    // Flat: each one has to be there by name.
    if (!rule.scopes.every((scope) => scopes.has(scope))) {
      return new Forbidden({ detail: "The token lacks a scope", required: [...rule.scopes] })
    }
  }
  if (staffOnly(rule) && account.staffSignInTooOld === true) return new SignInTooOld({})
  if (staffOnly(rule) && !account.staff) return new Forbidden({ detail: "Open to platform staff only" })
  if (isChange(method) && !rule.unverified && !account.emailVerified) return new EmailUnverified({})
  return null
}
