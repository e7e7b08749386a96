/**
 * From the credential of a request to its account, by one statement for all
 * requests of a moment. Staff is read in the same statement, so a removed staff
 * member is refused at the next request. Spec: Authentication; other rules 6.
 */
import { Batch, Settings } from "@quickagents/platform"
import type { Account, Scope } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { Memberships } from "./Memberships.ts"
import { secretHash } from "./SecretHash.ts"
import { isTokenText } from "./TokenText.ts"

interface CallerRow {
  readonly id: string
  readonly accountId: string
  readonly handle: string
  readonly emailVerified: boolean
  readonly staff: boolean
}
interface SessionCallerRow extends CallerRow, Batch.Answer {
  readonly expiresAt: Date
  /** When the sign-in was: each opens a session of its own. */
  readonly createdAt: Date
  readonly csrfToken: string
}
interface StampedCallerRow extends CallerRow {
  readonly lastUsedAt: Date | null
}
interface TokenCallerRow extends StampedCallerRow, Batch.Answer {
  readonly expiresAt: Date | null
  readonly scopes: ReadonlyArray<Scope>
}

const lastUsedMs = 60_000
/** What git over SSH may do; its routes ask for no other scope. */
const sshKeyScopes: ReadonlySet<Scope> = new Set(["repo:read", "repo:write"])

const accountOf = (row: CallerRow, kind: Account["credential"]["kind"], scopes: Account["scopes"]): Account => ({
  accountId: row.accountId,
  handle: row.handle,
  emailVerified: row.emailVerified,
  staff: row.staff,
  credential: { kind, id: row.id },
  scopes
})

export class Credentials extends Context.Service<
  Credentials,
  {
    /** The account of a session cookie's token, and what the header of a change has to say. Null: unknown, ended or expired. */
    readonly ofSession: (
      token: string
    ) => Effect.Effect<{ readonly account: Account; readonly csrfToken: string } | null>
    /** The account of a personal access token. Null: malformed, unknown, revoked or expired. */
    readonly ofToken: (text: string) => Effect.Effect<Account | null>
    /** The account of an SSH key, and what says that it was used: for the caller once it has seen the key's signature. */
    readonly ofSshKey: (
      fingerprint: string
    ) => Effect.Effect<{ readonly account: Account; readonly used: Effect.Effect<void> } | null>
  }
>()("identity/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const memberships = yield* Memberships
      const settings = yield* Settings.Settings
      const scope = yield* Effect.scope
      const staff = memberships.isStaff(sql.literal("a.id"))
      const stamping = new Set<string>()

      const byHash = <Row extends Batch.Answer>(
        load: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError>
      ) => Batch.batched({ key: (hash: string) => hash, load })
      const sessionOf = yield* byHash(
        (hashes) => sql<SessionCallerRow>`
          SELECT asked.n::integer AS ask, s.id, s.csrf_token, s.created_at, s.expires_at,
            a.id AS account_id, a.handle, a.email_verified, ${staff} AS staff
          FROM unnest(${hashes}::text[]) WITH ORDINALITY AS asked (hash, n)
          JOIN sessions s ON s.token_hash = asked.hash JOIN accounts a ON a.id = s.account_id`
      )
      const tokenOf = yield* byHash(
        (hashes) => sql<TokenCallerRow>`
          SELECT asked.n::integer AS ask, t.id, t.scopes, t.last_used_at, t.expires_at,
            a.id AS account_id, a.handle, a.email_verified, ${staff} AS staff
          FROM unnest(${hashes}::text[]) WITH ORDINALITY AS asked (hash, n)
          JOIN tokens t ON t.token_hash = asked.hash JOIN accounts a ON a.id = t.account_id`
      )

      /** Beside the request, at most once a minute: when a credential was used last must not make its requests slower. */
      const stamp = (table: "tokens" | "ssh_keys", row: StampedCallerRow, now: number) =>
        Effect.suspend(() => {
          if (stamping.has(row.id) || (row.lastUsedAt !== null && now - row.lastUsedAt.getTime() < lastUsedMs))
            return Effect.void
          stamping.add(row.id)
          return sql`
            UPDATE ${sql(table)} SET last_used_at = ${new Date(now)}
            WHERE id = ${row.id} AND (last_used_at IS NULL OR last_used_at < ${new Date(now - lastUsedMs)})`.pipe(
            Effect.ignoreCause({ log: "Warn" }),
            Effect.ensuring(Effect.sync(() => stamping.delete(row.id))),
            Effect.forkIn(scope),
            Effect.asVoid
          )
        })

      return Credentials.of({
        ofSession: Effect.fnUntraced(function* (token) {
          const now = yield* Clock.currentTimeMillis
          const row = yield* sessionOf(secretHash(token))
          if (row === null || row.expiresAt.getTime() <= now) return null
          const account = accountOf(row, "session", "all")
          const tooOld = row.staff && now - row.createdAt.getTime() > settings["auth.staffSignIn"]
          return {
            account: tooOld ? { ...account, staff: false, staffSignInTooOld: true } : account,
            csrfToken: row.csrfToken
          }
        }, Effect.orDie),
        ofToken: Effect.fnUntraced(function* (text) {
          if (!isTokenText(text)) return null
          const now = yield* Clock.currentTimeMillis
          const row = yield* tokenOf(secretHash(text))
          if (row === null || (row.expiresAt !== null && row.expiresAt.getTime() <= now)) return null
          yield* stamp("tokens", row, now)
          return accountOf(row, "token", new Set(row.scopes))
        }, Effect.orDie),
        ofSshKey: Effect.fnUntraced(function* (fingerprint) {
          const now = yield* Clock.currentTimeMillis
          const [row] = yield* sql<StampedCallerRow>`
            SELECT k.id, k.last_used_at, a.id AS account_id, a.handle, a.email_verified, ${staff} AS staff
            FROM ssh_keys k JOIN accounts a ON a.id = k.account_id WHERE k.fingerprint = ${fingerprint}`
          return row === undefined
            ? null
            : { account: accountOf(row, "sshKey", sshKeyScopes), used: stamp("ssh_keys", row, now) }
        }, Effect.orDie)
      })
    })
  )
}
