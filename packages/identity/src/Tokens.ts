/** Personal access tokens: shown once, kept as a hash, with scopes that never imply another. */
import { Audit, newId } from "@quickagents/platform"
import { NotFound } from "@quickagents/schema"
import type { Account, CreatedToken, CreateToken, Scope, TokenRecord } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { secretHash } from "./SecretHash.ts"
import { hintOf, newTokenText } from "./TokenText.ts"

interface TokenRow {
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  readonly hint: string
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly lastUsedAt: Date | null
}

const standardDays = 90
const dayMs = 86_400_000

const toRecord = (row: TokenRow): TokenRecord => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  hint: row.hint,
  createdAt: row.createdAt.toISOString(),
  expiresAt: row.expiresAt?.toISOString() ?? null,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null
})

export class Tokens extends Context.Service<
  Tokens,
  {
    /** The answer is the only place where the token's text ever stands. Lives 90 days unless asked otherwise. */
    readonly create: (
      account: Pick<Account, "accountId" | "handle">,
      token: typeof CreateToken.Type
    ) => Effect.Effect<typeof CreatedToken.Type>
    /** Newest first; expired ones too, until they are revoked. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<TokenRecord>>
    /** Fails with `NotFound` when the account has no such token. */
    readonly revoke: (account: Account, tokenId: string) => Effect.Effect<void, NotFound>
  }
>()("identity/Tokens") {
  static readonly layer = Layer.effect(
    Tokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit.Audit
      return Tokens.of({
        create: Effect.fn("Tokens.create")(
          function* (account, { expiresInDays, name, scopes }) {
            const text = yield* newTokenText
            const now = yield* Clock.currentTimeMillis
            const row: TokenRow = {
              id: yield* newId("tok"),
              name,
              scopes: [...new Set(scopes)],
              hint: hintOf(text),
              createdAt: new Date(now),
              expiresAt: new Date(now + (expiresInDays ?? standardDays) * dayMs),
              lastUsedAt: null
            }
            yield* sql`INSERT INTO tokens ${sql.insert({
              ...row,
              scopes: JSON.stringify(row.scopes),
              accountId: account.accountId,
              tokenHash: secretHash(text)
            })}`
            yield* audit.record({
              actor: { type: "account", id: account.accountId, handle: account.handle },
              action: "user.token_create",
              target: row.id,
              detail: { name, scopes: row.scopes }
            })
            return { ...toRecord(row), token: text }
          },
          sql.withTransaction,
          Effect.orDie
        ),
        list: (accountId) =>
          sql<TokenRow>`
            SELECT id, name, scopes, hint, created_at, expires_at, last_used_at FROM tokens
            WHERE account_id = ${accountId} ORDER BY id DESC`.pipe(
            Effect.map((rows) => rows.map(toRecord)),
            Effect.orDie
          ),
        revoke: Effect.fn("Tokens.revoke")(
          function* (account, tokenId) {
            const revoked =
              yield* sql`DELETE FROM tokens WHERE id = ${tokenId} AND account_id = ${account.accountId} RETURNING 1`
            if (revoked.length === 0) return yield* new NotFound({})
            yield* audit.record({
              actor: { type: "account", id: account.accountId, handle: account.handle },
              action: "user.token_revoke",
              target: tokenId
            })
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", Effect.die)
        )
      })
    })
  )
}
