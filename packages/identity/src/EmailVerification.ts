/**
 * Proof that an account's address is its holder's: a mail with a token that
 * works once. For people whose sign-in provider does not vouch for the address.
 * Spec: Registry core routes named; Authentication, other rules 2.
 */
import { Audit, CurrentRequest, Database, RateLimits, randomToken, Settings } from "@quickagents/platform"
import type { Bucket } from "@quickagents/platform"
import { CodeInvalid, RateLimited, Unavailable } from "@quickagents/schema"
import type { Account } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Mail } from "./Mail.ts"
import { secretHash } from "./SecretHash.ts"

const lifeMs = 24 * 3_600_000
const mails: ReadonlyArray<Bucket> = [{ name: "email-verification", limit: 5, windowMs: 3_600_000 }]

export class EmailVerification extends Context.Service<
  EmailVerification,
  {
    /** Sends the mail; nothing is sent for an address that is verified. `Unavailable` without a mail server, or when it does not take the mail. */
    readonly request: (account: Account) => Effect.Effect<void, Unavailable | RateLimited>
    /** Whoever has the token of the last mail, for 24 hours and once. */
    readonly confirm: (token: string) => Effect.Effect<void, CodeInvalid>
  }
>()("identity/EmailVerification") {
  static readonly layer = Layer.effect(
    EmailVerification,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const limits = yield* RateLimits
      const audit = yield* Audit.Audit
      const { send } = yield* Mail

      return EmailVerification.of({
        request: Effect.fn("EmailVerification.request")(function* (account) {
          const [person] = yield* Effect.orDie(
            sql<{ email: string }>`SELECT email FROM accounts WHERE id = ${account.accountId} AND NOT email_verified`
          )
          if (person === undefined) return
          if (send === null) return yield* new Unavailable({ detail: "This deployment sends no mail" })
          if (person.email === "") return yield* new Unavailable({ detail: "The sign-in provider gave no address" })
          const standing = yield* limits.take(account.accountId, mails)
          const request = yield* CurrentRequest
          if (request !== undefined) request.standing = standing
          if (!standing.allowed) return yield* new RateLimited({ detail: "At most five mails in an hour" })
          const token = yield* randomToken(32)
          const row = {
            accountId: account.accountId,
            email: person.email,
            tokenHash: secretHash(token),
            expiresAt: new Date((yield* Clock.currentTimeMillis) + lifeMs)
          }
          yield* Effect.orDie(sql`
            INSERT INTO email_verifications ${sql.insert(row)}
            ON CONFLICT (account_id) DO UPDATE SET email = excluded.email, token_hash = excluded.token_hash, expires_at = excluded.expires_at`)
          yield* send({
            to: person.email,
            subject: "Verify your address",
            // In the fragment: no server, and no log on the way, sees the token.
            text: `Somebody, probably you, signed in to ${settings["service.baseUrl"]} as ${account.handle} with this address.\n\nTo verify that it is yours, open\n\n${settings["service.baseUrl"]}/#/verify-email?token=${token}\n\nThe link works once and for 24 hours. If it was not you, do nothing.\n`
          }).pipe(
            Effect.tapError(({ reason }) =>
              Effect.logWarning("a mail was not sent").pipe(Effect.annotateLogs({ reason }))
            ),
            Effect.mapError(() => new Unavailable({ detail: "The mail could not be sent; try again later" }))
          )
        }),
        confirm: Effect.fn("EmailVerification.confirm")(function* (token) {
          const now = new Date(yield* Clock.currentTimeMillis)
          yield* Database.transaction(sql)(
            Effect.gen(function* () {
              // Of the address that the mail went to: another one, which the provider named since, is not verified by it.
              const [verified] = yield* sql<{ id: string; handle: string }>`
                WITH used AS (
                  DELETE FROM email_verifications WHERE token_hash = ${secretHash(token)} AND expires_at > ${now} RETURNING account_id, email
                )
                UPDATE accounts a SET email_verified = true, verified_email = used.email FROM used
                WHERE a.id = used.account_id AND a.email = used.email RETURNING a.id, a.handle`
              if (verified === undefined) return yield* new CodeInvalid({})
              yield* audit.record({
                actor: { type: "account", id: verified.id, handle: verified.handle },
                action: "user.email_verify",
                target: verified.handle
              })
            })
          )
        })
      })
    })
  )
}
