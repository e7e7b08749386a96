import { assert, layer } from "@effect/vitest"
import type { Settings } from "@quickagents/platform"
import { Api } from "@quickagents/schema"
import { toOpenApi } from "@quickagents/schema/openapi"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "./Accounts.ts"
import { startHostileProvider } from "./testing/HostileProvider.ts"
import type { HostileProvider, Says } from "./testing/HostileProvider.ts"
import { signInAtProvider, startRealProvider } from "./testing/RealProvider.ts"
import { Browser, freePort, layerTestRegistry, send, TestRegistry } from "./testing/TestRegistry.ts"

const clientId = "registry"
const clientSecret = "registry secret: & with + odd characters"
const callbackPath = "/api/v1/auth/oidc/oidc/callback"

const providerSettings = (port: number): Partial<Settings.Values> => ({
  "auth.oidc.issuer": `http://127.0.0.1:${port}`,
  "auth.oidc.clientId": clientId,
  "auth.oidc.clientSecret": clientSecret
})

interface Problem {
  readonly type: string
  readonly status: number
}

/** The registry's answer to the start of a sign-in: the provider's address. */
const start = Effect.fnUntraced(function* (browser: Browser, next = "/agents?sort=name") {
  const { url } = yield* TestRegistry
  const response = yield* Effect.promise(() =>
    browser.send(`${url}/api/v1/auth/oidc/oidc/start?next=${encodeURIComponent(next)}`)
  )
  assert.strictEqual(response.status, 302)
  return new URL(response.headers.get("location")!)
})

const finish = Effect.fnUntraced(function* (browser: Browser, callback: string) {
  const response = yield* Effect.promise(() => browser.send(callback))
  const text = yield* Effect.promise(() => response.text())
  return {
    status: response.status,
    location: response.headers.get("location"),
    cookies: response.headers.getSetCookie(),
    text,
    problem: response.status < 400 ? undefined : (JSON.parse(text) as Problem)
  }
})

const me = Effect.fnUntraced(function* (browser: Browser) {
  const { url } = yield* TestRegistry
  const response = yield* Effect.promise(() => browser.send(`${url}/api/v1/user`))
  return { status: response.status, body: (yield* Effect.promise(() => response.json())) as Record<string, unknown> }
})

const RealProvider = Layer.unwrap(
  Effect.gen(function* () {
    const port = yield* freePort
    return Layer.effectDiscard(
      Effect.gen(function* () {
        const { url } = yield* TestRegistry
        yield* startRealProvider({
          port,
          clientId,
          clientSecret,
          redirectUri: url + callbackPath,
          people: {
            ada: {
              email: "Ada@Example.com",
              email_verified: true,
              preferred_username: "Ada Lovelace",
              name: "Ada Lovelace"
            },
            eve: { email: "eve@example.com", email_verified: false, preferred_username: "admin", name: "Eve" }
          }
        })
      })
    ).pipe(Layer.provideMerge(layerTestRegistry(() => providerSettings(port))))
  })
)

layer(RealProvider)("sign-in at a real provider", (it) => {
  it.effect(
    "[AUTH-001] people sign in through the one provider that is configured, and no password is kept or taken",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestRegistry
        const browser = new Browser()
        const callback = yield* Effect.flatMap(start(browser), (address) =>
          Effect.promise(() => signInAtProvider(browser, address.href, "ada", url + callbackPath))
        )
        assert.strictEqual((yield* finish(browser, callback)).status, 302)
        assert.strictEqual((yield* me(browser)).status, 200)
        for (const other of ["google", "native", "OIDC"]) {
          assert.strictEqual((yield* send(`/api/v1/auth/oidc/${other}/start`)).status, 404, other)
        }
        // Every operation of the contract that can make a session or a token of nothing but its request.
        const document = toOpenApi(Api) as {
          paths: Record<string, Record<string, { security?: ReadonlyArray<object> }>>
        }
        const open = Object.entries(document.paths).flatMap(([path, operations]) =>
          Object.entries(operations)
            .filter(([, { security = [{}] }]) => security.some((scheme) => Object.keys(scheme).length === 0))
            .map(([method]) => `${method} ${path}`)
        )
        assert.sameMembers(
          open.filter((route) => route.includes("/auth/")),
          [
            "get /api/v1/auth/oidc/{provider}/start",
            "get /api/v1/auth/oidc/{provider}/callback",
            "post /api/v1/auth/desktop/exchange",
            "post /api/v1/auth/verify-email"
          ]
        )
        assert.notMatch(JSON.stringify(document), /"[^"]*(password|passphrase|passwd)[^"]*":/i)
        const sql = yield* SqlClient.SqlClient
        const columns = yield* sql<{ name: string }>`
        SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'public'`
        assert.isAbove(columns.length, 30)
        assert.deepStrictEqual(
          columns.filter(({ name }) => /password|passphrase|passwd|salt/i.test(name)),
          []
        )
      })
  )

  it.effect(
    "[AUTH-005] [AUTH-023] starts with code, PKCE, state and nonce, and ends with a session at the path that was asked for",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestRegistry
        const browser = new Browser()
        const address = yield* start(browser)
        assert.strictEqual(address.searchParams.get("response_type"), "code")
        assert.strictEqual(address.searchParams.get("code_challenge_method"), "S256")
        assert.strictEqual(address.searchParams.get("redirect_uri"), url + callbackPath)
        for (const name of ["state", "nonce", "code_challenge"])
          assert.lengthOf(address.searchParams.get(name)!, 43, name)

        const callback = yield* Effect.promise(() => signInAtProvider(browser, address.href, "ada", url + callbackPath))
        const done = yield* finish(browser, callback)
        assert.strictEqual(done.status, 302, done.text)
        assert.strictEqual(done.location, "/agents?sort=name")
        const cookie = done.cookies.find((line) => line.startsWith("session="))!
        assert.match(cookie, /HttpOnly/i)
        assert.match(cookie, /SameSite=Lax/i)
        assert.match(cookie, /Path=\//i)
        assert.notMatch(cookie, /Domain/i)
        assert.notMatch(cookie, /Secure/i)
        const profile = yield* me(browser)
        assert.strictEqual(profile.status, 200)
        assert.deepInclude(profile.body, {
          handle: "ada-lovelace",
          displayName: "Ada Lovelace",
          email: "ada@example.com",
          emailVerified: true,
          staff: false
        })

        // The same answer a second time, and its code in another sign-in.
        const replayed = yield* finish(browser, callback)
        assert.strictEqual(replayed.status, 400)
        assert.strictEqual(replayed.problem?.type, "/problems/sign-in-failed")
        const code = new URL(callback).searchParams.get("code")!
        const again = yield* start(browser)
        const stolen = new URL(callback)
        stolen.searchParams.set("state", again.searchParams.get("state")!)
        stolen.searchParams.set("code", code)
        const refused = yield* finish(browser, stolen.href)
        assert.strictEqual(refused.status, 400)
        assert.strictEqual(refused.problem?.type, "/problems/sign-in-failed")
      })
  )

  it.effect("knows the person again, and links on the subject", () =>
    Effect.gen(function* () {
      const { url } = yield* TestRegistry
      const sql = yield* SqlClient.SqlClient
      const ids: Array<unknown> = []
      for (const browser of [new Browser(), new Browser()]) {
        const address = yield* start(browser)
        const callback = yield* Effect.promise(() => signInAtProvider(browser, address.href, "ada", url + callbackPath))
        assert.strictEqual((yield* finish(browser, callback)).status, 302)
        ids.push((yield* me(browser)).body["id"])
      }
      assert.strictEqual(ids[0], ids[1])
      const links = yield* sql<{ subject: string }>`SELECT subject FROM identities WHERE account_id = ${ids[0]}`
      assert.deepStrictEqual(
        links.map(({ subject }) => subject),
        ["oidc:ada"]
      )
      const sessions = yield* sql`
        SELECT 1 FROM audit_entries JOIN sessions ON sessions.id = audit_entries.target
        WHERE action = 'user.sign_in' AND actor_id = ${ids[0]} AND actor_id = account_id AND ip = '127.0.0.1'`
      assert.isAtLeast(sessions.length, 2)
    })
  )

  it.effect("takes over that an address is unverified, and gives nobody a reserved handle", () =>
    Effect.gen(function* () {
      const { url } = yield* TestRegistry
      const browser = new Browser()
      const address = yield* start(browser)
      const callback = yield* Effect.promise(() => signInAtProvider(browser, address.href, "eve", url + callbackPath))
      assert.strictEqual((yield* finish(browser, callback)).status, 302)
      assert.deepInclude((yield* me(browser)).body, { handle: "admin-2", emailVerified: false })
    })
  )

  it.effect("is refused in another browser than it was started in, and with another state", () =>
    Effect.gen(function* () {
      const { url } = yield* TestRegistry
      const browser = new Browser()
      const address = yield* start(browser)
      const callback = yield* Effect.promise(() => signInAtProvider(browser, address.href, "ada", url + callbackPath))
      const other = new Browser()
      yield* start(other)
      assert.strictEqual((yield* finish(other, callback)).problem?.type, "/problems/sign-in-failed")
      assert.strictEqual((yield* finish(new Browser(), callback)).problem?.type, "/problems/sign-in-failed")
      const wrong = new URL(callback)
      wrong.searchParams.set("state", "x".repeat(43))
      assert.strictEqual((yield* finish(browser, wrong.href)).problem?.type, "/problems/sign-in-failed")
      const none = new URL(callback)
      none.searchParams.delete("state")
      assert.strictEqual((yield* finish(browser, none.href)).problem?.type, "/problems/sign-in-failed")
      // None of that used it up.
      assert.strictEqual((yield* finish(browser, callback)).status, 302)
    })
  )
})

class Hostile extends Context.Service<Hostile, HostileProvider>()("test/Hostile") {}

const HostileRegistry = Layer.unwrap(
  Effect.gen(function* () {
    const port = yield* freePort
    return Layer.effect(Hostile, startHostileProvider(port, clientId)).pipe(
      Layer.provideMerge(layerTestRegistry(() => providerSettings(port)))
    )
  })
)

/** A whole sign-in at a provider that says `says`. */
const signInWhere = Effect.fnUntraced(function* (says: Says) {
  const provider = yield* Hostile
  provider.says = {}
  const browser = new Browser()
  const address = yield* start(browser)
  const sent = yield* Effect.promise(() => browser.send(address.href))
  provider.says = says
  const done = yield* finish(browser, sent.headers.get("location")!)
  provider.says = {}
  return { ...done, browser }
})

const accountCount = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ count: number }>`SELECT count(*)::int AS count FROM accounts`, ([row]) => row.count)
)

layer(HostileRegistry)("sign-in at a hostile provider", (it) => {
  it.effect(
    "[AUTH-024] checks signature, issuer, audience, expiry and nonce, and stores nothing when one is wrong",
    () =>
      Effect.gen(function* () {
        const now = Math.floor(Date.now() / 1000)
        const wrong: Record<string, Says> = {
          "signature of another key": { signature: "other key" },
          "no signature": { signature: "none" },
          issuer: { idToken: { iss: "https://elsewhere.example" } },
          audience: { idToken: { aud: "another-client" } },
          "audience of several without us": { idToken: { aud: ["one", "two"], azp: "one" } },
          expired: { idToken: { iat: now - 700, exp: now - 600 } },
          "no expiry": { idToken: { exp: undefined } },
          nonce: { idToken: { nonce: "x".repeat(43) } },
          "no nonce": { idToken: { nonce: undefined } },
          "no subject": { idToken: { sub: undefined } }
        }
        for (const [name, says] of Object.entries(wrong)) {
          const done = yield* signInWhere(says)
          assert.strictEqual(done.status, 400, name)
          assert.strictEqual(done.problem?.type, "/problems/sign-in-failed", name)
          assert.deepStrictEqual(
            done.cookies.filter((line) => line.startsWith("session=")),
            [],
            name
          )
        }
        assert.strictEqual(yield* accountCount, 0)
        assert.strictEqual((yield* signInWhere({})).status, 302)
        assert.strictEqual(yield* accountCount, 1)
      })
  )

  it.effect("sends its secret and the code verifier to the token endpoint, and the answer counts once", () =>
    Effect.gen(function* () {
      const provider = yield* Hostile
      provider.seen.length = 0
      yield* signInWhere({})
      const [exchange, ...more] = provider.seen.filter(({ path }) => path === "/token")
      assert.deepStrictEqual(more, [])
      assert.lengthOf(exchange.body.get("code_verifier")!, 43)
      assert.match(exchange.authorization!, /^Basic /)
      // Its description was read before, and is not read again for each sign-in.
      assert.notInclude(
        provider.seen.map(({ path }) => path),
        "/.well-known/openid-configuration"
      )
    })
  )

  it.effect("asks the userinfo endpoint for an address that the id token lacks", () =>
    Effect.gen(function* () {
      const done = yield* signInWhere({ userinfo: true, claims: { sub: "userinfo", email: "info@example.com" } })
      assert.strictEqual(done.status, 302)
      assert.deepInclude((yield* me(done.browser)).body, { email: "info@example.com", emailVerified: true })
    })
  )

  it.effect("a provider that does not answer is 503, one that says no is 400, and neither's text gets out", () =>
    Effect.gen(function* () {
      const down = yield* signInWhere({ status: 502 })
      assert.strictEqual(down.status, 503)
      assert.strictEqual(down.problem?.type, "/problems/sign-in-unavailable")
      assert.notInclude(down.text, "secret inner text")
      const no = yield* signInWhere({ status: 400 })
      assert.strictEqual(no.status, 400)
      assert.notInclude(no.text, "secret inner text")

      const provider = yield* Hostile
      const browser = new Browser()
      const state = (yield* start(browser)).searchParams.get("state")!
      const { url } = yield* TestRegistry
      const denied = yield* finish(
        browser,
        `${url}${callbackPath}?state=${state}&error=access_denied&error_description=secret+inner+text`
      )
      assert.strictEqual(denied.status, 400)
      assert.notInclude(denied.text, "secret inner text")
      provider.says = {}
    })
  )

  it.effect("[AUTH-025] a first sign-in with an address that an account holds links only when both are verified", () =>
    Effect.gen(function* () {
      const signIn = (sub: string, email: string, verified: boolean) =>
        signInWhere({ claims: { sub, email, email_verified: verified, preferred_username: sub } })
      const id = (browser: Browser) => Effect.map(me(browser), ({ body }) => body["id"])

      const first = yield* signIn("link-1", "shared@example.com", true)
      const linked = yield* signIn("link-2", "Shared@example.com", true)
      assert.strictEqual(yield* id(linked.browser), yield* id(first.browser))
      const unverified = yield* signIn("link-3", "shared@example.com", false)
      assert.strictEqual(unverified.status, 409)
      assert.strictEqual(unverified.problem?.type, "/problems/sso-link-required")

      yield* signIn("open-1", "open@example.com", false)
      for (const verified of [true, false]) {
        const refused = yield* signIn("open-2", "open@example.com", verified)
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(refused.problem?.type, "/problems/sso-link-required")
      }
      // Who is known by subject is not asked again, and what the provider now says of the address is taken over.
      const known = yield* signIn("open-1", "open@example.com", true)
      assert.strictEqual(known.status, 302)
      assert.deepInclude((yield* me(known.browser)).body, { emailVerified: true })
      assert.strictEqual((yield* signIn("open-2", "open@example.com", true)).status, 302)
    })
  )

  it.effect("makes one account of two first sign-ins of one person at once", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ensure = accounts.ensure({
        subject: "oidc:twins",
        email: "twins@example.com",
        emailVerified: true,
        handle: "twins",
        displayName: "Twins"
      })
      const made = yield* Effect.all(
        Array.from({ length: 5 }, () => ensure),
        { concurrency: "unbounded" }
      )
      assert.lengthOf([...new Set(made.map(({ id }) => id))], 1)
    })
  )

  it.effect("sends nobody to another site, and knows no other provider", () =>
    Effect.gen(function* () {
      for (const next of ["//evil.example", "https://evil.example", "/\\evil.example", "evil"]) {
        assert.strictEqual(
          (yield* send(`/api/v1/auth/oidc/oidc/start?next=${encodeURIComponent(next)}`)).status,
          422,
          next
        )
      }
      assert.strictEqual((yield* send("/api/v1/auth/oidc/google/start")).status, 404)
      assert.strictEqual((yield* send("/api/v1/auth/oidc/google/callback?code=x&state=y")).status, 404)
    })
  )

  it.effect("a browser whose session has ended can sign in again", () =>
    Effect.gen(function* () {
      const { url } = yield* TestRegistry
      const browser = new Browser()
      browser.cookies(url).set("session", "ended")
      yield* start(browser)
    })
  )
})

// The retries are between real sockets, so their 300 ms pass for real.
layer(Layer.unwrap(Effect.map(freePort, (port) => layerTestRegistry(() => providerSettings(port)))), {
  excludeTestServices: true
})("without the provider", (it) => {
  it.effect("sign-in is 503 at once, and the registry goes on", () =>
    Effect.gen(function* () {
      const answer = yield* send("/api/v1/auth/oidc/oidc/start")
      assert.strictEqual(answer.status, 503)
      assert.strictEqual(answer.body.type, "/problems/sign-in-unavailable")
      assert.strictEqual((yield* send("/probe/anyone")).status, 200)
    })
  )
})

layer(layerTestRegistry(() => ({ "auth.oidc.id": "corp" })))("the provider id", (it) => {
  it.effect("[AUTH-026] must not change once accounts exist: the start is refused", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const person = { email: "", emailVerified: false, handle: "someone", displayName: "" }
      yield* accounts.assertProviderUnchanged
      yield* accounts.ensure({ ...person, subject: "corp:1" })
      yield* accounts.assertProviderUnchanged
      yield* accounts.ensure({ ...person, subject: "oidc:1" })
      const error = yield* Effect.flip(accounts.assertProviderUnchanged)
      assert.include(error.message, "auth.oidc.id is corp, but accounts exist under oidc")
    })
  )

  it.effect("without a configured provider nobody signs in", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send("/api/v1/auth/oidc/corp/start")).status, 404)
    })
  )
})

layer(layerTestRegistry(() => ({ ...providerSettings(1), "limits.loginPerMin": 2 })))("sign-in limits", (it) => {
  it.effect("count the address", () =>
    Effect.gen(function* () {
      const statuses = yield* Effect.forEach(Array.from({ length: 3 }), () =>
        Effect.map(send("/api/v1/auth/oidc/oidc/callback?state=x&code=y"), ({ status }) => status)
      )
      assert.deepStrictEqual(statuses, [400, 400, 429])
    })
  )
})
