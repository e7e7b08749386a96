/** An OpenID provider that says what it is told to say, also what no provider should. */
import { Effect } from "effect"
import { generateKeyPairSync, randomUUID, sign } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { listening } from "./Listening.ts"

export interface Says {
  readonly claims?: Readonly<Record<string, unknown>>
  /** Overrides what is right in the id token; `undefined` leaves the claim out. */
  readonly idToken?: Readonly<Record<string, unknown>>
  readonly signature?: "other key" | "none"
  /** The id token lacks the address, the userinfo endpoint has it. */
  readonly userinfo?: boolean
  /** Answers everything with this status. */
  readonly status?: number
}

const keys = generateKeyPairSync("rsa", { modulusLength: 2048 })
const otherKeys = generateKeyPairSync("rsa", { modulusLength: 2048 })
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

const jwt = (claims: unknown, signature: Says["signature"]) => {
  if (signature === "none") return `${encode({ alg: "none" })}.${encode(claims)}.`
  const body = `${encode({ alg: "RS256", kid: "1", typ: "JWT" })}.${encode(claims)}`
  const { privateKey } = signature === "other key" ? otherKeys : keys
  return `${body}.${sign("sha256", Buffer.from(body), privateKey).toString("base64url")}`
}

export interface HostileProvider {
  says: Says
  readonly issuer: string
  /** Requests by path, in order. */
  readonly seen: Array<{
    readonly path: string
    readonly body: URLSearchParams
    readonly authorization: string | undefined
  }>
}

/** Listens on `port` until the scope closes. */
export const startHostileProvider = Effect.fnUntraced(function* (port: number, clientId: string) {
  const issuer = `http://127.0.0.1:${port}`
  const provider: HostileProvider = { says: {}, issuer, seen: [] }
  const grants = new Map<string, string | null>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url!, issuer)
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = new URLSearchParams(Buffer.concat(chunks).toString())
    provider.seen.push({ path: url.pathname, body, authorization: request.headers.authorization })
    const json = (value: unknown, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    }
    const { says } = provider
    const claims = {
      sub: "1",
      email: "mallory@example.com",
      email_verified: true,
      preferred_username: "mallory",
      ...says.claims
    }
    if (says.status !== undefined) return json({ error: "secret inner text of the provider" }, says.status)
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          userinfo_endpoint: `${issuer}/userinfo`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
          code_challenge_methods_supported: ["S256"]
        })
      case "/jwks":
        return json({ keys: [{ ...keys.publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" }] })
      case "/authorize": {
        const code = randomUUID()
        grants.set(code, url.searchParams.get("nonce"))
        const back = new URL(url.searchParams.get("redirect_uri")!)
        back.searchParams.set("code", code)
        back.searchParams.set("state", url.searchParams.get("state")!)
        response.writeHead(302, { location: back.href }).end()
        return
      }
      case "/token": {
        const now = Math.floor(Date.now() / 1000)
        const { email: _email, email_verified: _verified, ...withoutAddress } = claims
        return json({
          access_token: "access",
          token_type: "Bearer",
          expires_in: 60,
          id_token: jwt(
            {
              iss: issuer,
              aud: clientId,
              iat: now,
              exp: now + 60,
              nonce: grants.get(body.get("code")!),
              ...(says.userinfo === true ? withoutAddress : claims),
              ...says.idToken
            },
            says.signature
          )
        })
      }
      case "/userinfo":
        return json(claims)
      default:
        return json({}, 404)
    }
  }
  yield* listening(port, (request, response) => void answer(request, response))
  return provider
})
