/** Browser sessions. The cookie's token is kept as a hash; the row lives until it expires or is ended. */
import { Audit, newId, randomToken, Settings } from "@quickagents/platform"
import { NotFound } from "@quickagents/schema"
import type { Account, SessionRecord } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { secretHash } from "./SecretHash.ts"

interface SessionRow {
  readonly id: string
  readonly userAgent: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

const dayMs = 86_400_000
const maxUserAgent = 300

export class Sessions extends Context.Service<
  Sessions,
  {
    /** A new session; `token` is what the cookie carries and is not kept. */
    readonly open: (
      accountId: string,
      userAgent: string | null
    ) => Effect.Effect<{
      readonly id: string
      readonly token: string
      readonly csrfToken: string
      readonly expiresAt: Date
    }>
    /** What the browser sends back with every change; null when the session has ended. */
    readonly csrfToken: (sessionId: string) => Effect.Effect<string | null>
    readonly list: (account: Account) => Effect.Effect<ReadonlyArray<SessionRecord>>
    /** Ends a session of the account; fails with `NotFound` when it has no such session. */
    readonly end: (account: Account, sessionId: string) => Effect.Effect<void, NotFound>
  }
>()("identity/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const audit = yield* Audit.Audit
      return Sessions.of({
        open: Effect.fn("Sessions.open")(function* (accountId, userAgent) {
          const id = yield* newId("ses")
          const token = yield* randomToken(32)
          const csrfToken = yield* randomToken(32)
          const now = yield* Clock.currentTimeMillis
          const expiresAt = new Date(now + settings["auth.sessionDays"] * dayMs)
          yield* sql`INSERT INTO sessions ${sql.insert({
            id,
            accountId,
            tokenHash: secretHash(token),
            csrfToken,
            userAgent: userAgent?.slice(0, maxUserAgent) ?? null,
            createdAt: new Date(now),
            expiresAt
          })}`
          return { id, token, csrfToken, expiresAt }
        }, Effect.orDie),
        csrfToken: (sessionId) =>
          sql<{ csrfToken: string }>`SELECT csrf_token FROM sessions WHERE id = ${sessionId}`.pipe(
            Effect.map(([row]) => row?.csrfToken ?? null),
            Effect.orDie
          ),
        list: Effect.fn("Sessions.list")(function* (account) {
          const now = new Date(yield* Clock.currentTimeMillis)
          const rows = yield* sql<SessionRow>`
            SELECT id, user_agent, created_at, expires_at FROM sessions
            WHERE account_id = ${account.accountId} AND expires_at > ${now} ORDER BY id DESC`
          return rows.map((row) => ({
            id: row.id,
            current: account.credential.kind === "session" && account.credential.id === row.id,
            userAgent: row.userAgent,
            createdAt: row.createdAt.toISOString(),
            expiresAt: row.expiresAt.toISOString()
          }))
        }, Effect.orDie),
        end: Effect.fn("Sessions.end")(
          function* (account, sessionId) {
            const ended =
              yield* sql`DELETE FROM sessions WHERE id = ${sessionId} AND account_id = ${account.accountId} RETURNING 1`
            if (ended.length === 0) return yield* new NotFound({})
            yield* audit.record({
              actor: { type: "account", id: account.accountId, handle: account.handle },
              action: account.credential.id === sessionId ? "user.sign_out" : "user.session_revoke",
              target: sessionId
            })
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", Effect.die)
        )
      })
    })
  )
}

/** Sessions, sign-in attempts and codes past their time; called by a cron. */
export const sweepSessions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = new Date(yield* Clock.currentTimeMillis)
  yield* sql`DELETE FROM sessions WHERE expires_at < ${now}`
  yield* sql`DELETE FROM sign_in_attempts WHERE expires_at < ${now}`
  yield* sql`DELETE FROM email_verifications WHERE expires_at < ${now}`
  yield* sql`DELETE FROM desktop_grants WHERE expires_at < ${now}`
})
