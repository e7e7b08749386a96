import { assert, layer } from "@effect/vitest"
import { RateLimits, Settings } from "@quickagents/platform"
import type { Scope } from "@quickagents/schema"
import { Effect, Layer, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { aPerson, layerTestRegistry, send } from "./testing/TestRegistry.ts"
import { isTokenText } from "./TokenText.ts"

const aToken = Effect.fnUntraced(function* (
  person: Effect.Success<ReturnType<typeof aPerson>>,
  ...scopes: ReadonlyArray<Scope>
) {
  const made = yield* send("/api/v1/user/tokens", {
    method: "POST",
    headers: { ...person.changing, "content-type": "application/json" },
    body: JSON.stringify({ name: "laptop", scopes })
  })
  assert.strictEqual(made.status, 201)
  return {
    id: made.body.id as string,
    text: made.body.token as string,
    headers: { authorization: `Bearer ${made.body.token}` },
    body: made.body
  }
})

const slug = (answer: { readonly body: { readonly type: string } }) => answer.body.type

layer(layerTestRegistry(() => ({})))("who calls", (it) => {
  it.effect("is nobody without a credential: 401 where an account is needed, nobody elsewhere", () =>
    Effect.gen(function* () {
      const refused = yield* send("/probe/account")
      assert.strictEqual(refused.status, 401)
      assert.strictEqual(slug(refused), "/problems/unauthorized")
      assert.strictEqual(refused.headers.get("content-type"), "application/problem+json")
      assert.strictEqual((yield* send("/probe/anyone")).body, "nobody")
    })
  )

  it.effect("is the account of a session or of a token", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const token = yield* aToken(ada, "run:read", "agent:read")
      assert.strictEqual((yield* send("/probe/account", { headers: ada.headers })).body, "ada")
      assert.strictEqual((yield* send("/probe/account", { headers: token.headers })).body, "ada")
      assert.strictEqual((yield* send("/probe/anyone", { headers: ada.headers })).body, "ada")
    })
  )

  it.effect(
    "is refused with a credential that is no good, also where none is needed, and Authorization outweighs the cookie",
    () =>
      Effect.gen(function* () {
        const ada = yield* aPerson("ada")
        const token = yield* aToken(ada, "run:read")
        const lastOther = token.text.slice(0, -1) + (token.text.endsWith("0") ? "1" : "0")
        for (const headers of [
          { authorization: `Bearer ${lastOther}` },
          { authorization: "Bearer" },
          { authorization: "Basic YTpi" },
          { authorization: "Enrolment abc" },
          { ...ada.headers, authorization: `Bearer ${lastOther}` }
        ]) {
          for (const path of ["/probe/account", "/probe/anyone"]) {
            assert.strictEqual(
              (yield* send(path, { headers: headers as Record<string, string> })).status,
              401,
              JSON.stringify(headers)
            )
          }
        }
      })
  )

  it.effect("is nobody with the cookie of an ended session, and is told so where an account is needed", () =>
    Effect.gen(function* () {
      const headers = { cookie: "session=nothing" }
      assert.strictEqual((yield* send("/probe/anyone", { headers })).body, "nobody")
      for (const method of ["GET", "POST"]) {
        const refused = yield* send("/probe/account", { method, headers })
        assert.deepInclude(refused.body, { status: 401, detail: "The session has ended" })
      }
    })
  )

  it.effect("[AUTH-006] a change by cookie needs the session's CSRF header; a read and a token do not", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const other = yield* aPerson("ada")
      const post = (headers: Record<string, string>) => send("/probe/account", { method: "POST", headers })
      assert.strictEqual((yield* post(ada.changing)).status, 200)
      for (const csrf of ["", "x".repeat(43), other.session.csrfToken, `${ada.session.csrfToken}x`]) {
        const refused = yield* post({ ...ada.headers, "x-csrf-token": csrf })
        assert.strictEqual(refused.status, 403)
        assert.strictEqual(slug(refused), "/problems/forbidden")
      }
      assert.strictEqual((yield* post(ada.headers)).status, 403)
      const me = yield* send("/api/v1/user", { headers: ada.headers })
      assert.strictEqual(me.body.csrfToken, ada.session.csrfToken)
      const token = yield* aToken(ada, "run:read", "run:write", "user:profile")
      assert.strictEqual((yield* post(token.headers)).status, 200)
      assert.notProperty((yield* send("/api/v1/user", { headers: token.headers })).body, "csrfToken")
    })
  )

  it.effect("[AUTH-007] scopes are flat: a token needs every scope by name and is told which", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const write = yield* aToken(ada, "run:write")
      const read = yield* aToken(ada, "run:read")
      const refusedRead = yield* send("/probe/account", { headers: write.headers })
      assert.strictEqual(refusedRead.status, 403)
      assert.deepStrictEqual(refusedRead.body.required, ["run:read"])
      const refusedChange = yield* send("/probe/account", { method: "POST", headers: read.headers })
      assert.strictEqual(refusedChange.status, 403)
      assert.deepStrictEqual(refusedChange.body.required, ["run:read", "run:write"])
      assert.strictEqual((yield* send("/probe/anyone", { headers: read.headers })).status, 403)
    })
  )

  it.effect("user:profile opens own settings, tokens and sessions, and no other scope does", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const profile = yield* aToken(ada, "user:profile")
      const other = yield* aToken(ada, "org:admin")
      for (const path of ["/api/v1/user", "/api/v1/user/tokens", "/api/v1/user/sessions"]) {
        assert.strictEqual((yield* send(path, { headers: profile.headers })).status, 200, path)
        assert.strictEqual((yield* send(path, { headers: other.headers })).status, 403, path)
      }
    })
  )

  it.effect(
    "[AUTH-028] a token on a session-only route is 403, whatever its scopes; so is one where no rule is declared",
    () =>
      Effect.gen(function* () {
        const ada = yield* aPerson("ada")
        const token = yield* aToken(ada, "run:read", "run:write", "user:profile", "audit:read")
        for (const path of ["/probe/session", "/probe/undeclared"]) {
          assert.strictEqual((yield* send(path, { headers: token.headers })).status, 403)
          assert.strictEqual((yield* send(path, { headers: ada.headers })).status, 200)
        }
        const mint = yield* send("/api/v1/user/tokens", {
          method: "POST",
          headers: { ...token.headers, "content-type": "application/json" },
          body: JSON.stringify({ name: "more", scopes: ["run:read"] })
        })
        assert.strictEqual(mint.status, 403)
      })
  )

  it.effect("staff reads by session or a token with audit:read; staff changes by session only", () =>
    Effect.gen(function* () {
      const staff = yield* aPerson("staff-person")
      const ada = yield* aPerson("ada")
      const audit = yield* aToken(staff, "audit:read")
      const plain = yield* aToken(staff, "run:read")
      const outsider = yield* aToken(ada, "audit:read")
      const status = (method: string, headers: Record<string, string>) =>
        Effect.map(send("/probe/staff", { method, headers }), (answer) => answer.status)
      assert.strictEqual(yield* status("GET", staff.headers), 200)
      assert.strictEqual(yield* status("GET", audit.headers), 200)
      assert.strictEqual(yield* status("GET", plain.headers), 403)
      assert.strictEqual(yield* status("GET", ada.headers), 403)
      assert.strictEqual(yield* status("GET", outsider.headers), 403)
      assert.strictEqual(yield* status("POST", staff.changing), 200)
      assert.strictEqual(yield* status("POST", audit.headers), 403)
      assert.strictEqual(yield* status("POST", ada.changing), 403)
    })
  )

  it.effect("[AUTH-027] an account whose address is unverified reads but does not write, and can sign out", () =>
    Effect.gen(function* () {
      const eve = yield* aPerson("eve", { verified: false })
      assert.strictEqual((yield* send("/probe/account", { headers: eve.headers })).status, 200)
      const refused = yield* send("/probe/account", { method: "POST", headers: eve.changing })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(slug(refused), "/problems/email-unverified")
      assert.strictEqual((yield* send("/probe/session", { method: "POST", headers: eve.changing })).status, 200)
    })
  )

  it.effect("an enrolment token opens the enrol route alone: a session or a token there is 403, nothing is 401", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const token = yield* aToken(ada, "run:write")
      const enrol = (headers: Record<string, string>) => send("/probe/enrol", { method: "POST", headers })
      assert.strictEqual((yield* enrol({ authorization: "Enrolment s3cret" })).body, "s3cret")
      assert.strictEqual((yield* enrol({})).status, 401)
      assert.strictEqual((yield* enrol({ authorization: "Enrolment" })).status, 401)
      assert.strictEqual((yield* enrol(ada.changing)).status, 403)
      assert.strictEqual((yield* enrol(token.headers)).status, 403)
      assert.strictEqual((yield* enrol({ ...ada.headers, authorization: "Enrolment s3cret" })).status, 403)
    })
  )

  it.effect("[AUTH-002] a token is shown once, kept as a hash only, listed by its hint, and refused once revoked", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* aPerson("ada-tokens")
      const token = yield* aToken(ada, "run:read", "run:read", "agent:read")
      assert.isTrue(isTokenText(token.text))
      assert.deepStrictEqual(token.body.scopes, ["run:read", "agent:read"])
      const days = (Date.parse(token.body.expiresAt) - Date.parse(token.body.createdAt)) / 86_400_000
      assert.strictEqual(days, 90)
      const [dump] = yield* sql<{ text: string }>`SELECT string_agg(t::text, '') AS text FROM tokens t`
      assert.notInclude(dump.text, token.text.slice(4))
      const listed = yield* send("/api/v1/user/tokens", { headers: ada.headers })
      assert.lengthOf(listed.body.items, 1)
      assert.strictEqual(listed.body.items[0].hint, token.text.slice(0, 8))
      assert.notInclude(JSON.stringify(listed.body), token.text)

      const eve = yield* aPerson("eve")
      const remove = (headers: Record<string, string>) =>
        send(`/api/v1/user/tokens/${token.id}`, { method: "DELETE", headers })
      const bystander = yield* aPerson("bystander")
      assert.strictEqual((yield* remove(bystander.changing)).status, 404)
      assert.strictEqual((yield* remove(eve.headers)).status, 403)
      assert.strictEqual((yield* send("/probe/account", { headers: token.headers })).status, 200)
      assert.strictEqual((yield* remove(ada.changing)).status, 204)
      assert.strictEqual((yield* send("/probe/account", { headers: token.headers })).status, 401)
      assert.strictEqual((yield* remove(ada.changing)).status, 404)
      const audited = yield* sql<{
        action: string
      }>`SELECT action FROM audit_entries WHERE target = ${token.id} ORDER BY id`
      assert.deepStrictEqual(
        audited.map(({ action }) => action),
        ["user.token_create", "user.token_revoke"]
      )
    })
  )

  it.effect("a token and a session end at their time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* aPerson("ada-ends")
      const token = yield* aToken(ada, "run:read")
      yield* sql`UPDATE tokens SET expires_at = ${new Date(0)} WHERE id = ${token.id}`
      assert.strictEqual((yield* send("/probe/account", { headers: token.headers })).status, 401)
      yield* sql`UPDATE sessions SET expires_at = ${new Date(0)} WHERE id = ${ada.session.id}`
      assert.strictEqual((yield* send("/probe/account", { headers: ada.headers })).status, 401)
    })
  )

  it.effect("when a token was used last is written at most once a minute", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* aPerson("ada-last-used")
      const token = yield* aToken(ada, "run:read")
      const lastUsed = Effect.map(
        sql<{
          lastUsedAt: Date | null
          xmin: string
        }>`SELECT last_used_at, xmin::text FROM tokens WHERE id = ${token.id}`,
        ([row]) => row
      )
      assert.isNull((yield* lastUsed).lastUsedAt)
      yield* send("/probe/account", { headers: token.headers })
      // The stamp is written beside the request.
      let stamped = yield* lastUsed
      for (let tries = 0; stamped.lastUsedAt === null && tries < 500; tries++) stamped = yield* lastUsed
      assert.isNotNull(stamped.lastUsedAt)
      yield* Effect.forEach(Array.from({ length: 5 }), () => send("/probe/account", { headers: token.headers }))
      assert.strictEqual((yield* lastUsed).xmin, stamped.xmin)
    })
  )

  it.effect("lists sessions, ends another one, and signs out of this one", () =>
    Effect.gen(function* () {
      const here = yield* aPerson("ada-sessions")
      const there = yield* aPerson("ada-sessions")
      const listed = yield* send("/api/v1/user/sessions", { headers: here.headers })
      assert.deepStrictEqual(
        listed.body.items.map((item: { id: string; current: boolean }) => [item.id, item.current]),
        [
          [there.session.id, false],
          [here.session.id, true]
        ]
      )
      const end = (id: string, headers: Record<string, string>) =>
        Effect.map(send(`/api/v1/user/sessions/${id}`, { method: "DELETE", headers }), (answer) => answer.status)
      const stranger = yield* aPerson("stranger")
      assert.strictEqual(yield* end(there.session.id, stranger.changing), 404)
      assert.strictEqual(yield* end(there.session.id, here.changing), 204)
      assert.strictEqual((yield* send("/probe/account", { headers: there.headers })).status, 401)
      const out = yield* send("/api/v1/auth/sign-out", { method: "POST", headers: here.changing })
      assert.strictEqual(out.status, 204)
      assert.match(out.headers.getSetCookie().join(), /^session=;.*HttpOnly/i)
      assert.strictEqual((yield* send("/probe/account", { headers: here.headers })).status, 401)
    })
  )
})

layer(
  layerTestRegistry(() => ({
    "limits.authedBurstPerMin": 20,
    "limits.authedPerHour": 1_000,
    "limits.anonymousPerMin": 30,
    "limits.loginPerMin": 3
  }))
)("rate limits", (it) => {
  it.effect("count an account by itself over all its credentials, and an address for those without one", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const eve = yield* aPerson("eve")
      const token = yield* aToken(ada, "run:read")
      const first = yield* send("/probe/account", { headers: ada.headers })
      assert.strictEqual(first.headers.get("ratelimit-limit"), "20")
      assert.strictEqual(first.headers.get("ratelimit-remaining"), "18")
      for (let left = 17; left >= 0; left--) {
        const answer = yield* send("/probe/account", { headers: token.headers })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers.get("ratelimit-remaining"), String(left))
      }
      const refused = yield* send("/probe/account", { headers: ada.headers })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(slug(refused), "/problems/rate-limited")
      assert.strictEqual(refused.headers.get("retry-after"), refused.headers.get("ratelimit-reset"))
      assert.isAtMost(Number(refused.headers.get("ratelimit-reset")), 60)
      assert.strictEqual((yield* send("/probe/account", { headers: eve.headers })).status, 200)

      // Without a credential, with a bad one and to an unknown path it is one bucket, the address's.
      assert.strictEqual((yield* send("/probe/anyone")).headers.get("ratelimit-remaining"), "29")
      assert.strictEqual(
        (yield* send("/probe/account", { headers: { authorization: "Bearer x" } })).headers.get("ratelimit-remaining"),
        "28"
      )
      assert.strictEqual((yield* send("/nowhere")).headers.get("ratelimit-remaining"), "27")
      for (let left = 26; left >= 0; left--) assert.strictEqual((yield* send("/probe/account")).status, 401)
      for (const path of ["/probe/anyone", "/probe/account", "/nowhere"])
        assert.strictEqual((yield* send(path)).status, 429, path)
      assert.strictEqual((yield* send("/probe/account", { headers: eve.headers })).status, 200)
    })
  )
})

const standard = Settings.read({ environment: { DATABASE_URL: "postgres://test" } })

layer(
  layerTestRegistry(() => ({
    "limits.authedBurstPerMin": standard["limits.authedBurstPerMin"],
    "limits.authedPerHour": standard["limits.authedPerHour"],
    "limits.anonymousPerMin": standard["limits.anonymousPerMin"],
    "limits.loginPerMin": standard["limits.loginPerMin"]
  }))
)("rate limits of a deployment that sets none", (it) => {
  it.effect(
    "[RATE-001] are 5000 requests of an account in an hour and 100 in a minute, 60 of an address without a credential in a minute, 10 of them sign-ins",
    () =>
      Effect.gen(function* () {
        const ada = yield* aPerson("ada")
        const limits = yield* RateLimits
        const letIn = Effect.fnUntraced(function* (count: number, path: string, headers: Record<string, string> = {}) {
          const answers = yield* Effect.all(
            Array.from({ length: count }, () => send(path, { headers })),
            { concurrency: 8 }
          )
          return answers.filter(({ status }) => status !== 429).length
        })
        assert.strictEqual(yield* letIn(101, "/probe/account", ada.headers), 100)
        // The rest of the hour but one, without asking for each of them.
        const hour = { name: "authed-hour", limit: 5_000, windowMs: 3_600_000 }
        for (let spent = 101; spent < 4_999; spent++) yield* limits.take(ada.account.id, [hour])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* letIn(1, "/probe/account", ada.headers), 1)
        const late = yield* send("/probe/account", { headers: ada.headers })
        assert.strictEqual(late.status, 429)
        assert.strictEqual(late.headers.get("ratelimit-limit"), "5000")
        assert.strictEqual(late.headers.get("retry-after"), String(59 * 60))
        yield* TestClock.adjust("59 minutes")
        assert.strictEqual(yield* letIn(1, "/probe/account", ada.headers), 1)

        assert.strictEqual(yield* letIn(61, "/probe/anyone"), 60)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* letIn(11, "/api/v1/auth/oidc/oidc/start"), 10)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* letIn(1, "/api/v1/auth/oidc/oidc/start"), 1)
      })
  )
})

layer(layerTestRegistry(() => ({ "auth.staffSignIn": 12 * 3_600_000 })))("platform staff", (it) => {
  it.effect("acts as staff by a session of a recent sign-in only, and is told to sign in again", () =>
    Effect.gen(function* () {
      const staff = yield* aPerson("staff-person")
      const token = yield* aToken(staff, "audit:read")
      const reads = (headers: Record<string, string>) => send("/probe/staff", { headers })
      const changes = (headers: Record<string, string>) => send("/probe/staff", { method: "POST", headers })
      yield* TestClock.adjust("12 hours")
      assert.strictEqual((yield* reads(staff.headers)).status, 200)
      assert.strictEqual((yield* changes(staff.changing)).status, 200)
      yield* TestClock.adjust("1 second")
      for (const answer of [yield* reads(staff.headers), yield* changes(staff.changing)]) {
        assert.strictEqual(answer.status, 403)
        assert.strictEqual(answer.body.type, "/problems/sign-in-too-old")
      }
      // It is an account's session all the same, but not staff's anywhere else either.
      const profile = yield* send("/api/v1/user", { headers: staff.headers })
      assert.deepInclude(profile.body, { handle: "staff-person", staff: false })
      // A token is no session: what staff reads, its scope opens.
      assert.strictEqual((yield* reads(token.headers)).status, 200)
      const again = yield* aPerson("staff-person")
      assert.strictEqual((yield* changes(again.changing)).status, 200)
      // To all others the route is what it was.
      const eve = yield* aPerson("eve")
      yield* TestClock.adjust("13 hours")
      assert.strictEqual((yield* reads(eve.headers)).body.type, "/problems/forbidden")
    })
  )
})

const statements: Array<Tracer.Span> = []
const countingTracer = Layer.succeed(
  Tracer.Tracer,
  Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      if (options.kind === "client") statements.push(span)
      return span
    }
  })
)

layer(layerTestRegistry(() => ({})).pipe(Layer.provideMerge(countingTracer)))("finding out who calls", (it) => {
  it.effect(
    "takes one statement, for a session and for a token, and none for nobody or for what cannot be a token",
    () =>
      Effect.gen(function* () {
        const staff = yield* aPerson("staff-person")
        const token = yield* aToken(staff, "audit:read")
        // The first use is stamped and leases rate-limit tokens.
        yield* send("/probe/staff", { headers: token.headers })
        yield* send("/probe/anyone")
        const texts = Effect.fnUntraced(function* (path: string, headers: Record<string, string>) {
          statements.length = 0
          yield* send(path, { headers })
          return statements.map(({ attributes }) => String(attributes.get("db.query.text")))
        })
        const bySession = yield* texts("/probe/staff", staff.headers)
        assert.lengthOf(bySession, 1)
        assert.include(bySession[0], "JOIN sessions")
        const byToken = yield* texts("/probe/staff", token.headers)
        assert.lengthOf(byToken, 1)
        assert.include(byToken[0], "JOIN tokens")
        assert.deepStrictEqual(yield* texts("/probe/anyone", {}), [])
        assert.deepStrictEqual(yield* texts("/probe/anyone", { authorization: "Bearer qat_made-up" }), [])
      })
  )
})

layer(layerTestRegistry(() => ({ "service.baseUrl": "https://registry.example" })))("behind https", (it) => {
  it.effect("the session is the __Host- cookie, Secure, and no other name is looked at", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const cookie = `__Host-session=${ada.session.token}`
      assert.strictEqual((yield* send("/probe/account", { headers: { cookie } })).status, 200)
      assert.strictEqual((yield* send("/probe/account", { headers: ada.headers })).status, 401)
      const out = yield* send("/api/v1/auth/sign-out", {
        method: "POST",
        headers: { cookie, "x-csrf-token": ada.session.csrfToken }
      })
      assert.match(out.headers.getSetCookie().join(), /^__Host-session=;.*Secure/i)
    })
  )
})
