/**
 * The OpenID provider of a development stack: real discovery, keys, PKCE and id
 * tokens by `oidc-provider`, and a page on which one clicks the person one wants
 * to be. It knows no passwords and must never be reachable from elsewhere.
 */
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { people } from "./DevelopmentPeople.ts"
import type { Person } from "./DevelopmentPeople.ts"

type InteractionPolicy = (typeof import("oidc-provider"))["interactionPolicy"]

export const clientId = "quickagents-registry"

export interface ProviderOptions {
  readonly port: number
  readonly clientSecret: string
  readonly redirectUri: string
  readonly cookieKey: string
  /** Private JWK that signs id tokens. */
  readonly key: Readonly<Record<string, unknown>>
}

const maxFormBytes = 1_024

const escape = (text: string) => text.replace(/[&<>"]/gu, (character) => `&#${character.charCodeAt(0)};`)

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 26rem; margin: 12vh auto; padding: 0 1rem }
button { display: block; width: 100%; margin: .75rem 0; padding: .75rem 1rem; font: inherit; text-align: left; cursor: pointer;
  border: 1px solid GrayText; border-radius: .5rem; background: Canvas; color: CanvasText }
button:hover, button:focus-visible { outline: 2px solid Highlight }
small { display: block; opacity: .75 }`

const button = ({ email, handle, name, purpose }: Person) =>
  `<button name="person" value="${escape(handle)}">${escape(name)}<small>${escape(email)}, ${escape(purpose)}</small></button>`

const signInPage = (address: string) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Development sign-in</title><style>${style}</style>
<main><h1>Who are you?</h1>
<p>This is the sign-in of a development stack. Nobody here has a password.</p>
<form method="post" action="${escape(address)}">${people.map(button).join("")}</form></main></html>`

/** Refuses a form that is longer than any that this page sends. */
const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  let text = ""
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > maxFormBytes) throw new Error("the form is too long")
  }
  return new URLSearchParams(text)
}

const withoutSession = (cookies: string) =>
  cookies
    .split(/;\s*/u)
    .filter((cookie) => !/^_session[=.]/u.test(cookie))
    .join("; ")

const claimsOf = ({ email, handle, name }: Person) => ({
  sub: handle,
  name,
  preferred_username: handle,
  email,
  email_verified: true
})

const configuration = (options: ProviderOptions, interactionPolicy: InteractionPolicy) => {
  const policy = interactionPolicy.base()
  // The registry asks for what it needs and everybody agrees: a development stack has no third parties.
  policy.remove("consent")
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: options.clientSecret,
        redirect_uris: [options.redirectUri],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_basic"
      }
    ],
    jwks: { keys: [options.key] },
    cookies: { keys: [options.cookieKey] },
    claims: { openid: ["sub"], profile: ["name", "preferred_username"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { policy, url: (_context: unknown, { uid }: { readonly uid: string }) => `/sign-in/${uid}` },
    pkce: { required: () => true },
    ttl: {
      AccessToken: 3_600,
      AuthorizationCode: 60,
      Grant: 86_400,
      IdToken: 3_600,
      Interaction: 3_600,
      Session: 86_400
    },
    findAccount: (_context: unknown, handle: string) => {
      const person = people.find((person) => person.handle === handle)
      return person === undefined ? undefined : { accountId: handle, claims: () => claimsOf(person) }
    }
  }
}

/** Listens on loopback. The issuer is `http://127.0.0.1:<port>`. */
export const startProvider = async (options: ProviderOptions): Promise<Server> => {
  // Loaded here: the supervisor needs the names of this file, not the library.
  const { default: Provider, interactionPolicy } = await import("oidc-provider")
  const issuer = `http://127.0.0.1:${options.port}`
  const settings = configuration(options, interactionPolicy)
  const provider = new Provider(issuer, {
    ...settings,
    loadExistingGrant: async ({
      oidc
    }: {
      readonly oidc: {
        readonly client: { readonly clientId: string }
        readonly session: { readonly accountId: string }
      }
    }) => {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope("openid email profile")
      await grant.save()
      return grant
    }
  })
  provider.on("server_error", (_context, error) => console.error(error.message))
  const answer = provider.callback()

  const signIn = async (request: IncomingMessage, response: ServerResponse) => {
    const { uid } = await provider.interactionDetails(request, response)
    if (request.method === "POST") {
      const chosen = await readForm(request)
      const person = people.find(({ handle }) => handle === chosen.get("person"))
      if (person !== undefined) {
        return provider.interactionFinished(request, response, { login: { accountId: person.handle } })
      }
    }
    response
      .writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
      })
      .end(signInPage(`/sign-in/${uid}`))
  }

  const server = createServer((request, response) => {
    // Without a session of its own the provider asks each time: one person at the screen plays several.
    request.headers.cookie = withoutSession(request.headers.cookie ?? "")
    if (!request.url?.startsWith("/sign-in/")) return answer(request, response)
    signIn(request, response).catch(() => {
      response
        .writeHead(400, { "content-type": "text/plain; charset=utf-8" })
        .end("This sign-in is over. Go back to the registry and start again.")
    })
  })
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(options.port, "127.0.0.1", () => resolve(server))
  })
}

if (import.meta.main) {
  const options = JSON.parse(process.env["DEVELOPMENT_PROVIDER"]!) as ProviderOptions
  const server = await startProvider(options)
  process.once("SIGTERM", () => {
    server.close()
    server.closeAllConnections()
  })
  process.send?.("ready")
}
