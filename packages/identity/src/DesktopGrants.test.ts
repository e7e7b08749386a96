import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { aPerson, layerTestRegistry, send } from "./testing/TestRegistry.ts"

const thirteen = [
  "agent:read",
  "agent:publish",
  "agent:manage",
  "repo:read",
  "repo:write",
  "user:profile",
  "run:read",
  "run:write",
  "knowledge:read",
  "knowledge:write",
  "secret:write",
  "voice:read",
  "voice:write"
]

const grant = (headers: Record<string, string>) =>
  send("/api/v1/user/tokens/desktop-grant", { method: "POST", headers })
const exchange = (body: unknown) =>
  send("/api/v1/auth/desktop/exchange", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
const asToken = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })

layer(layerTestRegistry(() => ({})))("the sign-in of a desktop program", (it) => {
  it.effect("[AUTH-003] its code is changed for a token once, within 60 seconds, and is kept as a hash only", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const sql = yield* SqlClient.SqlClient
      const made = yield* grant(ada.changing)
      assert.strictEqual(made.status, 201)
      const kept = JSON.stringify(yield* sql`SELECT * FROM desktop_grants`)
      assert.include(kept, ada.account.id)
      assert.notInclude(kept, made.body.code)

      yield* TestClock.adjust("59 seconds")
      const both = yield* Effect.all(
        [exchange({ code: made.body.code, name: "laptop" }), exchange({ code: made.body.code })],
        {
          concurrency: 2
        }
      )
      assert.sameMembers(
        both.map(({ status }) => status),
        [201, 400]
      )
      const token = both.find(({ status }) => status === 201)!.body
      assert.strictEqual((yield* send("/api/v1/user", asToken(token.token))).body.handle, "ada")
      const again = yield* exchange({ code: made.body.code })
      assert.strictEqual(again.status, 400)
      assert.strictEqual(again.body.type, "/problems/code-invalid")

      const late = yield* grant(ada.changing)
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* exchange({ code: late.body.code })).status, 400)
      assert.strictEqual((yield* exchange({ code: "made-up" })).status, 400)
      assert.strictEqual((yield* exchange({})).status, 422)
      assert.lengthOf(yield* sql`SELECT 1 FROM tokens WHERE account_id = ${ada.account.id}`, 1)
    })
  )

  it.effect("a code is made in a browser session only, by a person whose address is verified", () =>
    Effect.gen(function* () {
      const eve = yield* aPerson("eve")
      const code = (yield* grant(eve.changing)).body.code
      const { token } = (yield* exchange({ code })).body
      assert.strictEqual((yield* grant({ authorization: `Bearer ${token}` })).status, 403)
      assert.strictEqual((yield* grant(eve.headers)).status, 403)
      assert.strictEqual((yield* grant({})).status, 401)
      const unverified = yield* aPerson("una", { verified: false })
      assert.strictEqual((yield* grant(unverified.changing)).body.type, "/problems/email-unverified")
    })
  )

  it.effect(
    "[AUTH-022] asks for the fixed set of thirteen scopes; a token of before one of them does not gain it",
    () =>
      Effect.gen(function* () {
        const olli = yield* aPerson("olli")
        const sql = yield* SqlClient.SqlClient
        const signIn = Effect.gen(function* () {
          const made = (yield* grant(olli.changing)).body
          assert.deepStrictEqual(made.scopes, thirteen)
          return (yield* exchange({ code: made.code })).body
        })
        const old = yield* signIn
        assert.deepStrictEqual(old.scopes, thirteen)
        // As a release wrote it that had no run:read yet.
        yield* sql`UPDATE tokens SET scopes = scopes - 'run:read' WHERE id = ${old.id}`
        assert.strictEqual((yield* send("/probe/account", asToken(old.token))).status, 403)
        const current = yield* signIn
        assert.strictEqual((yield* send("/probe/account", asToken(current.token))).status, 200)
        assert.strictEqual((yield* send("/probe/account", asToken(old.token))).status, 403)
        const { items } = (yield* send("/api/v1/user/tokens", asToken(current.token))).body
        assert.deepStrictEqual(
          items.map(({ id, scopes }: { id: string; scopes: ReadonlyArray<string> }) => [id, scopes.length]),
          [
            [current.id, 13],
            [old.id, 12]
          ]
        )
      })
  )
})
