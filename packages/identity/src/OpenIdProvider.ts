/**
 * The configured OpenID Connect provider, through openid-client: authorization
 * code with PKCE and a client secret. What the provider answers is believed
 * only after signature, issuer, audience, expiry and nonce were checked.
 * Spec: Authentication, other rules 1.
 */
import { Settings } from "@quickagents/platform"
import { Context, Data, Effect, Layer, Schedule } from "effect"
import * as client from "openid-client"

/** The provider does not answer, or answers with a fault of its own. */
export class ProviderUnavailable extends Data.TaggedError("ProviderUnavailable")<{ readonly reason: string }> {}

/** The provider refused, or its answer does not pass the checks. */
export class ProviderRefused extends Data.TaggedError("ProviderRefused")<{ readonly reason: string }> {}

/** What a sign-in has to remember until the provider's answer. */
export interface Attempt {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

export interface ProviderClaims {
  readonly sub: string
  readonly email: string
  readonly emailVerified: boolean
  readonly preferredUsername: string | null
  readonly name: string | null
}

const timeoutSeconds = 5
const scope = "openid email profile"

/** Thrown inside openid-client, which keeps it as the cause of what it throws itself. */
class Unreachable extends Error {}

const reaching: client.CustomFetch = async (url, options) => {
  // `body` of the library is wider than what fetch's type admits; the library itself hands it to fetch as it is.
  const response = await fetch(url, options as RequestInit).catch((error: unknown) => {
    throw new Unreachable("no answer", { cause: error })
  })
  if (response.status >= 500) throw new Unreachable(`status ${response.status}`)
  return response
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Error && error.cause !== undefined && isUnreachable(error.cause))

/** The messages of an error and its causes. Their other members hold tokens and claims, which no log may see. */
const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.message}${error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : ""}`
    : "unknown"

const failure = (error: unknown) =>
  isUnreachable(error)
    ? new ProviderUnavailable({ reason: reasonOf(error) })
    : new ProviderRefused({ reason: reasonOf(error) })

const isLoopback = ({ hostname }: URL) => hostname === "127.0.0.1" || hostname === "[::1]" || hostname === "localhost"

/** The method that the provider takes; client_secret_basic is what it must take when it names none. */
const authenticateBy = (secret: string): client.ClientAuth => {
  const basic = client.ClientSecretBasic(secret)
  const post = client.ClientSecretPost(secret)
  return (server, metadata, body, headers) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    return (supported.includes("client_secret_basic") ? basic : post)(server, metadata, body, headers)
  }
}

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : null)

export class OpenIdProvider extends Context.Service<
  OpenIdProvider,
  {
    /** False when no provider is configured: nobody can sign in. */
    readonly configured: boolean
    /** Where the browser is sent to. */
    readonly authorizationUrl: (attempt: Attempt) => Effect.Effect<string, ProviderUnavailable>
    /** Exchanges the code in `answer`, the query of the callback, and gives the checked claims. */
    readonly claims: (
      answer: URLSearchParams,
      attempt: Attempt
    ) => Effect.Effect<ProviderClaims, ProviderUnavailable | ProviderRefused>
  }
>()("identity/OpenIdProvider") {
  static readonly layer = Layer.effect(
    OpenIdProvider,
    Effect.gen(function* () {
      const settings = yield* Settings.Settings
      const issuer = settings["auth.oidc.issuer"]
      const clientId = settings["auth.oidc.clientId"]
      const secret = settings["auth.oidc.clientSecret"]
      const redirectUri = `${settings["service.baseUrl"]}/api/v1/auth/oidc/${settings["auth.oidc.id"]}/callback`
      if (issuer === null || clientId === null || secret === null) {
        const unavailable = Effect.fail(new ProviderUnavailable({ reason: "no sign-in provider is configured" }))
        return OpenIdProvider.of({
          configured: false,
          authorizationUrl: () => unavailable,
          claims: () => unavailable
        })
      }
      const server = new URL(issuer)
      const insecure = server.protocol === "http:" && isLoopback(server)

      const configuration = yield* Effect.tryPromise({
        try: () =>
          client.discovery(server, clientId, secret, authenticateBy(secret), {
            timeout: timeoutSeconds,
            [client.customFetch]: reaching,
            execute: [
              // Without it an id token that comes straight from the token endpoint is taken without a look at its signature.
              client.enableNonRepudiationChecks,
              // oxlint-disable-next-line typescript/no-deprecated -- deprecated to warn; there is no other way to a loopback provider
              ...(insecure ? [client.allowInsecureRequests] : [])
            ]
          }),
        catch: (error) => new ProviderUnavailable({ reason: reasonOf(error) })
      }).pipe(
        Effect.retry({ schedule: Schedule.exponential("100 millis"), times: 2 }),
        // The keys and addresses of a provider change now and then; a failure is asked again at the next sign-in.
        Effect.cachedWithTTL((exit) => (exit._tag === "Success" ? "1 hour" : "0 millis"))
      )

      /** Some providers put the address into the id token, others only say it at the userinfo endpoint. */
      const claimsOf = async (
        config: client.Configuration,
        answer: URLSearchParams,
        attempt: Attempt
      ): Promise<ProviderClaims> => {
        const callback = new URL(redirectUri)
        callback.search = answer.toString()
        const tokens = await client.authorizationCodeGrant(config, callback, {
          pkceCodeVerifier: attempt.codeVerifier,
          expectedState: attempt.state,
          expectedNonce: attempt.nonce,
          idTokenExpected: true
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new Error("the provider sent no id token")
        const more =
          text(claims["email"]) === null && config.serverMetadata().userinfo_endpoint !== undefined
            ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
            : {}
        const all: Record<string, unknown> = { ...more, ...claims }
        return {
          sub: claims.sub,
          email: text(all["email"]) ?? "",
          emailVerified: all["email_verified"] === true,
          preferredUsername: text(all["preferred_username"]),
          name: text(all["name"])
        }
      }

      return OpenIdProvider.of({
        configured: true,
        authorizationUrl: Effect.fn("OpenIdProvider.authorizationUrl")(function* (attempt) {
          const config = yield* configuration
          const challenge = yield* Effect.promise(() => client.calculatePKCECodeChallenge(attempt.codeVerifier))
          return client.buildAuthorizationUrl(config, {
            redirect_uri: redirectUri,
            scope,
            state: attempt.state,
            nonce: attempt.nonce,
            code_challenge: challenge,
            code_challenge_method: "S256"
          }).href
        }),
        claims: Effect.fn("OpenIdProvider.claims")(function* (answer, attempt) {
          const config = yield* configuration
          return yield* Effect.tryPromise({ try: () => claimsOf(config, answer, attempt), catch: failure })
        })
      })
    })
  )
}
