/**
 * Sign-in of a desktop program: the browser's session makes a code, the program
 * changes it for a token. The code works once, for 60 seconds.
 * Spec: Registry core routes named; Authentication, PAT scopes.
 */
import { Database, randomToken } from "@quickagents/platform"
import { CodeInvalid, desktopScopes } from "@quickagents/schema"
import type { Account, CreatedToken, DesktopGrant } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { secretHash } from "./SecretHash.ts"
import { Tokens } from "./Tokens.ts"

const lifeMs = 60_000

export class DesktopGrants extends Context.Service<
  DesktopGrants,
  {
    readonly create: (account: Account) => Effect.Effect<typeof DesktopGrant.Type>
    /** A token with the scopes of a desktop program, named `name` in the account's list. */
    readonly exchange: (code: string, name: string) => Effect.Effect<typeof CreatedToken.Type, CodeInvalid>
  }
>()("identity/DesktopGrants") {
  static readonly layer = Layer.effect(
    DesktopGrants,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tokens = yield* Tokens
      return DesktopGrants.of({
        create: Effect.fn("DesktopGrants.create")(function* ({ accountId }) {
          const code = yield* randomToken(32)
          const expiresAt = new Date((yield* Clock.currentTimeMillis) + lifeMs)
          yield* sql`INSERT INTO desktop_grants ${sql.insert({ codeHash: secretHash(code), accountId, expiresAt })}`
          return { code, expiresAt: expiresAt.toISOString(), scopes: desktopScopes }
        }, Effect.orDie),
        exchange: Effect.fn("DesktopGrants.exchange")(function* (code, name) {
          const now = new Date(yield* Clock.currentTimeMillis)
          // The code goes with the token that comes of it: one is never without the other.
          return yield* Database.transaction(sql)(
            Effect.gen(function* () {
              const [account] = yield* sql<{ accountId: string; handle: string }>`
                DELETE FROM desktop_grants g USING accounts a
                WHERE g.code_hash = ${secretHash(code)} AND g.expires_at > ${now} AND a.id = g.account_id
                RETURNING a.id AS account_id, a.handle`
              if (account === undefined) return yield* new CodeInvalid({})
              return yield* tokens.create(account, { name, scopes: desktopScopes })
            })
          )
        })
      })
    })
  )
}
