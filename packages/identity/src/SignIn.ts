/**
 * A sign-in from its start to a session. What was begun is a row that works
 * once, for ten minutes, and only in the browser that began it.
 */
import { Audit, randomToken, Settings } from "@quickagents/platform"
import { NotFound, SignInFailed, SignInUnavailable } from "@quickagents/schema"
import type { SsoLinkRequired } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "./Accounts.ts"
import { OpenIdProvider } from "./OpenIdProvider.ts"
import { secretHash } from "./SecretHash.ts"
import { Sessions } from "./Sessions.ts"

const attemptMs = 600_000

interface AttemptRow {
  readonly nonce: string
  readonly codeVerifier: string
  readonly next: string
}

export interface SignedIn {
  /** Path of this registry to go to. */
  readonly next: string
  /** What the session cookie carries. */
  readonly token: string
  readonly expiresAt: Date
}

export class SignIn extends Context.Service<
  SignIn,
  {
    /** `browser` is the secret of the browser's sign-in cookie. Gives the provider's address to go to. */
    readonly start: (request: {
      readonly provider: string
      readonly browser: string
      readonly next: string
    }) => Effect.Effect<string, NotFound | SignInUnavailable>
    /** `answer` is the query that the provider sent the browser back with. */
    readonly finish: (request: {
      readonly provider: string
      readonly browser: string | null
      readonly answer: URLSearchParams
      readonly userAgent: string | null
    }) => Effect.Effect<SignedIn, NotFound | SignInFailed | SignInUnavailable | SsoLinkRequired>
  }
>()("identity/SignIn") {
  static readonly layer = Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const provider = yield* OpenIdProvider
      const accounts = yield* Accounts
      const sessions = yield* Sessions
      const audit = yield* Audit.Audit

      const assertProvider = (id: string) =>
        provider.configured && id === settings["auth.oidc.id"] ? Effect.void : Effect.fail(new NotFound({}))

      // The reason goes to our log only.
      const unavailable = ({ reason }: { readonly reason: string }) =>
        Effect.andThen(
          Effect.logWarning("the sign-in provider does not answer").pipe(Effect.annotateLogs({ reason })),
          Effect.fail(new SignInUnavailable({}))
        )
      const refused = ({ reason }: { readonly reason: string }) =>
        Effect.andThen(
          Effect.logInfo("sign-in refused").pipe(Effect.annotateLogs({ reason })),
          Effect.fail(new SignInFailed({}))
        )

      /** The row goes with the first try, whatever comes of it. */
      const take = Effect.fnUntraced(function* (state: string, browser: string) {
        const now = new Date(yield* Clock.currentTimeMillis)
        const [row] = yield* sql<AttemptRow>`
          DELETE FROM sign_in_attempts
          WHERE state_hash = ${secretHash(state)} AND browser_hash = ${secretHash(browser)} AND expires_at > ${now}
          RETURNING nonce, code_verifier, next`
        return row
      }, Effect.orDie)

      return SignIn.of({
        start: Effect.fn("SignIn.start")(function* ({ browser, next, provider: id }) {
          yield* assertProvider(id)
          const state = yield* randomToken(32)
          const nonce = yield* randomToken(32)
          const codeVerifier = yield* randomToken(32)
          const address = yield* Effect.catchTag(
            provider.authorizationUrl({ state, nonce, codeVerifier }),
            "ProviderUnavailable",
            unavailable
          )
          const expiresAt = new Date((yield* Clock.currentTimeMillis) + attemptMs)
          yield* Effect.orDie(
            sql`INSERT INTO sign_in_attempts ${sql.insert({
              stateHash: secretHash(state),
              browserHash: secretHash(browser),
              nonce,
              codeVerifier,
              next,
              expiresAt
            })}`
          )
          return address
        }),
        finish: Effect.fn("SignIn.finish")(function* ({ answer, browser, provider: id, userAgent }) {
          yield* assertProvider(id)
          const state = answer.get("state")
          const attempt = state === null || browser === null ? undefined : yield* take(state, browser)
          if (state === null || attempt === undefined) {
            return yield* new SignInFailed({
              detail: "This sign-in was not started here, or it took too long. Start again"
            })
          }
          const claims = yield* provider
            .claims(answer, { state, nonce: attempt.nonce, codeVerifier: attempt.codeVerifier })
            .pipe(Effect.catchTags({ ProviderUnavailable: unavailable, ProviderRefused: refused }))
          const account = yield* accounts.ensure({
            subject: `${id}:${claims.sub}`,
            email: claims.email,
            emailVerified: claims.emailVerified,
            handle: claims.preferredUsername ?? claims.email.split("@", 1)[0],
            displayName: claims.name ?? claims.preferredUsername ?? ""
          })
          const session = yield* sessions.open(account.id, userAgent)
          yield* audit.record({
            actor: { type: "account", id: account.id, handle: account.handle },
            action: "user.sign_in",
            target: session.id,
            detail: { provider: id }
          })
          return { next: attempt.next, token: session.token, expiresAt: session.expiresAt }
        })
      })
    })
  )
}
