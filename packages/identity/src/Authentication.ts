/**
 * The middlewares that find out who calls. All of them run one decision:
 * credential, then rate limit, then the endpoint's access rule.
 * Spec: Authentication; Registry-wide limits, rule 2.
 */
import { CurrentRequest, RateLimits, Settings } from "@quickagents/platform"
import type { Bucket } from "@quickagents/platform"
import {
  Access,
  Actor,
  Authenticated,
  EnrolmentAuthenticated,
  EnrolmentToken,
  Forbidden,
  Identified,
  RateLimited,
  Unauthorized,
  Viewer
} from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { isChange, refusal, undeclared } from "./AccessPolicy.ts"
import { Credentials } from "./Credentials.ts"
import { sameSecret } from "./SecretHash.ts"
import { signInCookies } from "./SignInCookies.ts"

/** The credential of an `Authorization: <scheme> <credential>` header, or null when the scheme is another. */
const credentialOf = (authorization: string | undefined, scheme: string) => {
  const match = /^([A-Za-z]+) +([^\s]+)$/.exec(authorization ?? "")
  return match !== null && match[1].toLowerCase() === scheme ? match[2] : null
}

const make = Effect.gen(function* () {
  const credentials = yield* Credentials
  const limits = yield* RateLimits
  const settings = yield* Settings.Settings
  const cookies = signInCookies(settings["service.baseUrl"])
  const account: ReadonlyArray<Bucket> = [
    { name: "authed-hour", limit: settings["limits.authedPerHour"], windowMs: 3_600_000 },
    { name: "authed-burst", limit: settings["limits.authedBurstPerMin"], windowMs: 60_000 }
  ]
  const anonymous: Bucket = { name: "anonymous", limit: settings["limits.anonymousPerMin"], windowMs: 60_000 }
  const signIn: Bucket = { name: "login", limit: settings["limits.loginPerMin"], windowMs: 60_000 }

  const take = Effect.fnUntraced(function* (subject: string, buckets: ReadonlyArray<Bucket>) {
    const standing = yield* limits.take(subject, buckets)
    const request = yield* CurrentRequest
    if (request !== undefined) request.standing = standing
    if (!standing.allowed) return yield* new RateLimited({})
  })
  const takeByAddress = Effect.fnUntraced(function* (...buckets: ReadonlyArray<Bucket>) {
    yield* take((yield* CurrentRequest)?.ip ?? "unknown", buckets)
  })

  const sessionEnded = new Unauthorized({ detail: "The session has ended" })

  /**
   * The caller, or null when no credential was sent. A credential that is no good is never as good as none, but for
   * the cookie of an ended session: a browser sends it by itself, and whoever reads what is public need not know.
   */
  const identify = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const { authorization } = request.headers
    const cookie = request.cookies[cookies.session]
    if (authorization === undefined && cookie === undefined) return null
    if (authorization !== undefined) {
      const text = credentialOf(authorization, "bearer")
      const found = text === null ? null : yield* credentials.ofToken(text)
      return found === null
        ? yield* new Unauthorized({ detail: "The token is not valid" })
        : { account: found, csrfToken: null }
    }
    return yield* credentials.ofSession(cookie)
  })

  const decide = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const rule = Context.getOrUndefined(endpoint.annotations as Context.Context<Access>, Access) ?? undeclared
    const caller = yield* Effect.tapError(identify(request), () => takeByAddress(anonymous))
    if (caller === null) yield* takeByAddress(anonymous)
    else yield* take(caller.account.accountId, account)
    if (
      caller !== null &&
      caller.csrfToken !== null &&
      isChange(request.method) &&
      !sameSecret(request.headers["x-csrf-token"] ?? "", caller.csrfToken)
    ) {
      return yield* new Forbidden({ detail: "X-CSRF-Token is missing or wrong" })
    }
    const refused = refusal(rule, caller?.account ?? null, request.method)
    if (refused !== null)
      return yield* caller === null && request.cookies[cookies.session] !== undefined ? sessionEnded : refused
    return caller?.account ?? null
  })

  const authenticated = Authenticated.of((httpEffect, { endpoint }) =>
    Effect.gen(function* () {
      const caller = yield* decide(endpoint)
      if (caller === null) return yield* new Unauthorized({})
      return yield* Effect.provideService(httpEffect, Actor, caller)
    })
  )

  const identified = Identified.of((httpEffect, { endpoint, group }) =>
    Effect.gen(function* () {
      // Sign-in looks at no credential: a browser with an ended session is just who needs it.
      if (group.identifier === "auth") {
        yield* takeByAddress(anonymous, signIn)
        return yield* Effect.provideService(httpEffect, Viewer, null)
      }
      const caller = yield* Effect.catchTags(decide(endpoint), {
        EmailUnverified: Effect.die,
        SignInTooOld: Effect.die
      })
      return yield* Effect.provideService(httpEffect, Viewer, caller)
    })
  )

  const enrolment = EnrolmentAuthenticated.of((httpEffect) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* takeByAddress(anonymous)
      const { authorization } = request.headers
      if (request.cookies[cookies.session] !== undefined || /^bearer /i.test(authorization ?? "")) {
        return yield* new Forbidden({ detail: "Open to an enrolment token only" })
      }
      const token = credentialOf(authorization, "enrolment")
      if (token === null) return yield* new Unauthorized({})
      return yield* Effect.provideService(httpEffect, EnrolmentToken, { token })
    })
  )

  return Context.make(Authenticated, authenticated).pipe(
    Context.add(Identified, identified),
    Context.add(EnrolmentAuthenticated, enrolment)
  )
})

/** `Authenticated`, `Identified` and `EnrolmentAuthenticated`. */
export const authentication = Layer.effectContext(make)
