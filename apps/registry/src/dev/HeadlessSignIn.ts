/** Signs in as a browser does, page by page: redirects, cookies, and the form of the development provider. */
import { makeClient, session } from "@quickagents/client"
import type { Credential } from "@quickagents/client"
import { Data, Effect } from "effect"
import type { Person } from "./DevelopmentPeople.ts"

export class SignInBroken extends Data.TaggedError("SignInBroken")<{ readonly reason: string }> {
  override get message() {
    return `signing in did not work: ${this.reason}`
  }
}

const maxPages = 12
const pageTimeoutMs = 10_000

/** Cookies by origin and name. A browser also keeps paths apart; no name is used on two of them here. */
const cookieJar = () => {
  const jar = new Map<string, Map<string, string>>()
  const of = (url: URL) => {
    const cookies = jar.get(url.origin) ?? new Map<string, string>()
    jar.set(url.origin, cookies)
    return cookies
  }
  return {
    header: (url: URL) => [...of(url)].map(([name, value]) => `${name}=${value}`).join("; "),
    keep: (url: URL, response: Response) => {
      for (const line of response.headers.getSetCookie()) {
        const [pair] = line.split(";", 1)
        const [name, ...value] = pair.split("=")
        if (/;\s*max-age=0\b/iu.test(line) || value.join("=") === "") of(url).delete(name.trim())
        else of(url).set(name.trim(), value.join("="))
      }
    }
  }
}

const browse = async (baseUrl: string, start: string, person: Person): Promise<string> => {
  const jar = cookieJar()
  const registry = new URL(baseUrl)
  let url = new URL(start, registry)
  let form: URLSearchParams | undefined
  for (let page = 0; page < maxPages; page++) {
    const response = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(pageTimeoutMs),
      headers: { cookie: jar.header(url) },
      ...(form === undefined ? {} : { method: "POST", body: form })
    })
    await response.arrayBuffer()
    jar.keep(url, response)
    const location = response.headers.get("location")
    if (location !== null && response.status >= 300 && response.status < 400) {
      const back = url.origin === registry.origin && url.pathname.endsWith("/callback")
      if (back) return jar.header(registry)
      url = new URL(location, url)
      form = undefined
    } else if (response.ok && form === undefined && url.origin !== registry.origin) {
      // The page that asks who one is takes its answer at its own address.
      form = new URLSearchParams({ person: person.handle })
    } else {
      throw new SignInBroken({ reason: `${url.origin}${url.pathname} answered ${response.status}` })
    }
  }
  throw new SignInBroken({ reason: `more than ${maxPages} pages` })
}

/** A browser session of `person` at the registry, with what a change needs. */
export const signInAs = Effect.fn("HeadlessSignIn.signInAs")(function* (baseUrl: string, person: Person) {
  const visitor = yield* makeClient({ baseUrl })
  const { signInProviders } = yield* visitor.api.meta.meta()
  const [provider] = signInProviders
  if (provider === undefined) return yield* new SignInBroken({ reason: "the registry has no sign-in provider" })
  const cookie = yield* Effect.tryPromise({
    try: () => browse(baseUrl, provider.start, person),
    catch: (error) => (error instanceof SignInBroken ? error : new SignInBroken({ reason: String(error) }))
  })
  // Reading changes nothing, so it needs no CSRF token yet.
  const reader = yield* makeClient({ baseUrl, credential: session(cookie, "") })
  const { csrfToken, handle } = yield* reader.api.user.me()
  if (csrfToken === undefined) return yield* new SignInBroken({ reason: `no session for ${handle}` })
  const credential: Credential = session(cookie, csrfToken)
  return yield* makeClient({ baseUrl, credential })
})
