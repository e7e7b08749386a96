/** `oidc-provider` with its own login and consent pages, and a person who fills them in. */
import { Effect } from "effect"
import type { RequestListener } from "node:http"
import type { Browser } from "./TestRegistry.ts"
import { listening } from "./Listening.ts"

interface Person {
  readonly email: string
  readonly email_verified: boolean
  readonly preferred_username: string
  readonly name: string
}

interface ProviderModule {
  readonly Provider: new (
    issuer: string,
    configuration: Readonly<Record<string, unknown>>
  ) => { readonly callback: () => RequestListener }
}

// The package has no types: its name is kept from the type checker.
const packageName: string = "oidc-provider"

/** Listens on `port` until the scope closes. Logins are the names in `people`. */
export const startRealProvider = Effect.fnUntraced(function* (options: {
  readonly port: number
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
  readonly people: Readonly<Record<string, Person>>
}) {
  const { Provider } = yield* Effect.promise(() => import(packageName) as Promise<ProviderModule>)
  const provider = new Provider(`http://127.0.0.1:${options.port}`, {
    clients: [
      { client_id: options.clientId, client_secret: options.clientSecret, redirect_uris: [options.redirectUri] }
    ],
    claims: { email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
    pkce: { required: () => true },
    findAccount: (_context: unknown, login: string) => {
      const person = options.people[login]
      return person === undefined ? undefined : { accountId: login, claims: () => ({ sub: login, ...person }) }
    }
  })
  yield* listening(options.port, provider.callback())
})

const maxSteps = 15

/** Goes from `address` over login and consent until the provider sends the browser to `callback`; gives that address. */
export const signInAtProvider = async (
  browser: Browser,
  address: string,
  login: string,
  callback: string
): Promise<string> => {
  let url = address
  let init: RequestInit = {}
  for (let step = 0; step < maxSteps; step++) {
    if (url.startsWith(callback)) return url
    const response = await browser.send(url, init)
    init = {}
    const location = response.headers.get("location")
    if (location !== null) {
      url = new URL(location, url).href
      continue
    }
    const page = await response.text()
    const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
    if (action === undefined) throw new Error(`no form at ${url}: ${response.status} ${page.slice(0, 300)}`)
    const form = new URLSearchParams()
    for (const [input] of page.matchAll(/<input[^>]*>/g)) {
      const name = /name="([^"]+)"/.exec(input)?.[1]
      if (name !== undefined) form.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? login)
    }
    url = new URL(action, url).href
    init = { method: "POST", body: form }
  }
  throw new Error("the provider did not come to an end")
}
