/** Handlers of the `auth` group: browser navigations that end in redirects, codes that are changed for what they stand for, and sign-out. */
import { randomToken, Settings } from "@quickagents/platform"
import { Actor, CoreApi } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { DesktopGrants } from "./DesktopGrants.ts"
import { EmailVerification } from "./EmailVerification.ts"
import { Sessions } from "./Sessions.ts"
import { SignIn } from "./SignIn.ts"
import { dropCookie, signInCookies } from "./SignInCookies.ts"

const attemptLife = "10 minutes"
const browserSecret = /^[A-Za-z0-9_-]{43}$/

export const AuthHttp = HttpApiBuilder.group(
  CoreApi,
  "auth",
  Effect.fnUntraced(function* (handlers) {
    const settings = yield* Settings.Settings
    const signIn = yield* SignIn
    const sessions = yield* Sessions
    const desktop = yield* DesktopGrants
    const emails = yield* EmailVerification
    const cookies = signInCookies(settings["service.baseUrl"])

    return handlers.handleAll({
      start: ({ params, query, request }) =>
        Effect.gen(function* () {
          // A browser that signs in from two tabs keeps one secret for both.
          const sent = request.cookies[cookies.signIn]
          const browser = sent !== undefined && browserSecret.test(sent) ? sent : yield* randomToken(32)
          const address = yield* signIn.start({ provider: params.provider, browser, next: query.next ?? "/" })
          return HttpServerResponse.redirect(address).pipe(
            HttpServerResponse.setCookieUnsafe(cookies.signIn, browser, { ...cookies.options, maxAge: attemptLife })
          )
        }),
      callback: ({ params, request }) =>
        Effect.gen(function* () {
          const { expiresAt, next, token } = yield* signIn.finish({
            provider: params.provider,
            browser: request.cookies[cookies.signIn] ?? null,
            answer: new URLSearchParams(request.url.split("?", 2)[1] ?? ""),
            userAgent: request.headers["user-agent"] ?? null
          })
          return HttpServerResponse.redirect(next).pipe(
            HttpServerResponse.setCookieUnsafe(cookies.session, token, { ...cookies.options, expires: expiresAt }),
            dropCookie(cookies.signIn, cookies)
          )
        }),
      desktopExchange: ({ payload }) => desktop.exchange(payload.code, payload.name ?? "desktop"),
      verifyEmail: ({ payload }) => emails.confirm(payload.token),
      signOut: () =>
        Effect.gen(function* () {
          const actor = yield* Actor
          // Ended already by another request: signed out is what was asked for.
          yield* Effect.ignore(sessions.end(actor, actor.credential.id))
          return HttpServerResponse.empty().pipe(dropCookie(cookies.session, cookies))
        })
    })
  })
)
