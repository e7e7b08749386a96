import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, verify } from "node:crypto"
import type { webcrypto } from "node:crypto"
import type { Server } from "node:http"
import { createServer } from "node:net"
import { people } from "./DevelopmentPeople.ts"
import { clientId, startProvider } from "./DevelopmentProvider.ts"

const clientSecret = randomBytes(24).toString("base64url")
const redirectUri = "http://127.0.0.1:1/api/v1/auth/oidc/oidc/callback"
const verifier = randomBytes(32).toString("base64url")

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })

let server: Server
let issuer: string

beforeAll(async () => {
  const port = await freePort()
  issuer = `http://127.0.0.1:${port}`
  server = await startProvider({
    port,
    clientSecret,
    redirectUri,
    cookieKey: "test",
    key: {
      ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
      use: "sig",
      alg: "RS256",
      kid: "test"
    }
  })
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})

/** A browser that keeps cookies and follows redirects one at a time. */
const aBrowser = () => {
  const cookies = new Map<string, string>()
  return async (address: string, form?: Readonly<Record<string, string>>) => {
    const response = await fetch(new URL(address, issuer), {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) })
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/u.exec(line)!
      cookies.set(name, value)
    }
    return response
  }
}

const authorization = (changes: Readonly<Record<string, string>> = {}) =>
  `/auth?${new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    scope: "openid email profile",
    redirect_uri: redirectUri,
    state: "state",
    nonce: "nonce",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changes
  }).toString()}`

const next = (response: Response) => response.headers.get("location")!

/** From the first redirect to the one that leads back to the registry. */
const signIn = async (browse: ReturnType<typeof aBrowser>, person: string) => {
  const page = next(await browse(authorization()))
  assert.match(page, /^\/sign-in\//)
  const shown = await (await browse(page)).text()
  const back = await browse(next(await browse(page, { person })))
  return { shown, back: new URL(next(back)) }
}

const exchange = (code: string, codeVerifier: string) =>
  fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}` },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier
    })
  })

const part = (jwt: string, index: number) =>
  JSON.parse(Buffer.from(jwt.split(".")[index], "base64url").toString()) as Record<string, unknown>

describe("the development provider", () => {
  it("shows everybody who is there, and signs in whom one clicks", async () => {
    const { back, shown } = await signIn(aBrowser(), "sam")
    for (const { email, name } of people) {
      assert.include(shown, name)
      assert.include(shown, email)
    }
    assert.strictEqual(back.origin + back.pathname, redirectUri)
    assert.strictEqual(back.searchParams.get("state"), "state")
    const answer = await exchange(back.searchParams.get("code")!, verifier)
    const { id_token: jwt } = (await answer.json()) as { readonly id_token: string }
    const { keys } = (await (await fetch(`${issuer}/jwks`)).json()) as {
      readonly keys: ReadonlyArray<webcrypto.JsonWebKey>
    }
    const signed = jwt.slice(0, jwt.lastIndexOf("."))
    assert.isTrue(
      verify(
        "RSA-SHA256",
        Buffer.from(signed),
        createPublicKey({ key: keys[0], format: "jwk" }),
        Buffer.from(jwt.split(".")[2], "base64url")
      )
    )
    assert.deepInclude(part(jwt, 1), {
      iss: issuer,
      aud: clientId,
      sub: "sam",
      nonce: "nonce",
      email: "sam@staff.example",
      email_verified: true,
      preferred_username: "sam",
      name: "Sam Staff"
    })
  })

  it("asks again each time, so that one browser can be several people", async () => {
    const browse = aBrowser()
    await signIn(browse, "ada")
    const { back } = await signIn(browse, "olli")
    const { id_token: jwt } = (await (await exchange(back.searchParams.get("code")!, verifier)).json()) as {
      readonly id_token: string
    }
    assert.strictEqual(part(jwt, 1)["sub"], "olli")
  })

  it("refuses a code without its PKCE verifier, and a request without PKCE", async () => {
    const { back } = await signIn(aBrowser(), "ada")
    assert.strictEqual((await exchange(back.searchParams.get("code")!, "x".repeat(43))).status, 400)
    const refused = new URL(next(await aBrowser()(authorization({ code_challenge: "", code_challenge_method: "" }))))
    assert.strictEqual(refused.searchParams.get("error"), "invalid_request")
  })

  it("stays on its page for somebody whom it does not know", async () => {
    const browse = aBrowser()
    const page = next(await browse(authorization()))
    const answer = await browse(page, { person: "mallory" })
    assert.strictEqual(answer.status, 200)
    assert.include(await answer.text(), "Who are you?")
  })

  it("answers a sign-in that is over with words", async () => {
    const answer = await fetch(`${issuer}/sign-in/nothing`)
    assert.strictEqual(answer.status, 400)
    assert.include(await answer.text(), "start again")
  })
})
