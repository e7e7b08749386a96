/** The two cookies: the session, and the short one that binds a sign-in to the browser that started it. */
import { HttpServerResponse } from "effect/http"
import type { Cookies } from "effect/http"

export interface SignInCookies {
  readonly session: string
  readonly signIn: string
  readonly options: NonNullable<Cookies.Cookie["options"]>
}

/** `__Host-` makes a browser refuse the cookie from another host or path, but also wants Secure, which plain http on a loopback address has not. */
export const signInCookies = (baseUrl: string): SignInCookies => {
  const secure = baseUrl.startsWith("https:")
  return {
    session: secure ? "__Host-session" : "session",
    signIn: secure ? "__Host-sign-in" : "sign-in",
    // Lax: the provider's answer is a navigation from another site and must carry the cookie.
    options: { httpOnly: true, sameSite: "lax", path: "/", secure }
  }
}

export const dropCookie = (name: string, { options }: SignInCookies) =>
  HttpServerResponse.expireCookieUnsafe(name, options)
