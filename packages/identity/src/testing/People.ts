/** People for the tests of packages that build on accounts. */
import type { Account } from "@quickagents/schema"
import { Effect } from "effect"
import { Accounts } from "../Accounts.ts"

/** The account of `handle`, with a verified address, as the caller in a session of their own. */
export const aPerson = Effect.fnUntraced(function* (handle: string): Effect.fn.Return<Account, never, Accounts> {
  const { id } = yield* Effect.orDie(
    (yield* Accounts).ensure({
      subject: `oidc:${handle}`,
      email: `${handle}@example.com`,
      emailVerified: true,
      handle,
      displayName: handle
    })
  )
  return {
    accountId: id,
    handle,
    emailVerified: true,
    staff: false,
    credential: { kind: "session", id: "test" },
    scopes: "all"
  }
})
