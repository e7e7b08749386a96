import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SMTPServer } from "smtp-server"
import { Accounts } from "./Accounts.ts"
import { aPerson, freePort, layerTestRegistry, send } from "./testing/TestRegistry.ts"

interface Received {
  readonly to: string
  readonly raw: string
}

class Inbox extends Context.Service<Inbox, { readonly mails: Array<Received> }>()("identity/test/Inbox") {}

const user = "registry"
const password = "a password: of the & mail server"

/** A mail server with TLS and a password, as one is configured. */
const MailServer = (port: number) =>
  Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const mails: Array<Received> = []
      const server = new SMTPServer({
        onAuth: (auth, session, done) =>
          auth.username === user && auth.password === password && session.secure
            ? done(null, { user })
            : done(new Error("refused")),
        onRcptTo: ({ address }, _session, done) =>
          done(address.startsWith("bounced") ? new Error("no such box") : null),
        onData: (stream, session, done) => {
          let raw = ""
          stream.on("data", (chunk: Buffer) => (raw += chunk.toString()))
          stream.on("end", () => {
            mails.push({ to: session.envelope.rcptTo.map(({ address }) => address).join(), raw })
            done()
          })
        }
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve))),
        () => Effect.promise(() => new Promise<void>((resolve) => server.close(resolve)))
      )
      return { mails }
    })
  )

/** The token of the link in a mail, undone of quoted-printable. */
const tokenIn = ({ raw }: Received) =>
  /verify-email\?token=([A-Za-z0-9_-]+)/.exec(
    raw.replace(/=\r\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  )![1]

const request = (person: { readonly changing: Record<string, string> }) =>
  send("/api/v1/user/email-verification", { method: "POST", headers: person.changing })
const verify = (body: unknown) =>
  send("/api/v1/auth/verify-email", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
const isVerified = (person: { readonly headers: Record<string, string> }) =>
  Effect.map(send("/api/v1/user", { headers: person.headers }), ({ body }) => body.emailVerified as boolean)

const Live = Layer.unwrap(
  Effect.map(freePort, (port) =>
    Layer.mergeAll(
      MailServer(port),
      layerTestRegistry(() => ({
        "mail.smtp": `smtp://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}?tls.rejectUnauthorized=false`,
        "mail.from": "Registry <registry@registry.example>"
      }))
    )
  )
)

layer(Live)("verification of an address by mail", (it) => {
  it.effect("[AUTH-004] the link in the mail verifies it, once; the account may write then", () =>
    Effect.gen(function* () {
      const { mails } = yield* Inbox
      const una = yield* aPerson("una", { verified: false })
      assert.strictEqual((yield* request(una)).status, 202)
      assert.strictEqual(mails.at(-1)!.to, "una@example.com")
      assert.include(mails.at(-1)!.raw, "From: Registry <registry@registry.example>")
      assert.isFalse(yield* isVerified(una))
      const token = tokenIn(mails.at(-1)!)
      const sql = yield* SqlClient.SqlClient
      assert.notInclude(JSON.stringify(yield* sql`SELECT * FROM email_verifications`), token)

      const both = yield* Effect.all([verify({ token }), verify({ token })], { concurrency: 2 })
      assert.sameMembers(
        both.map(({ status }) => status),
        [204, 400]
      )
      assert.isTrue(yield* isVerified(una))
      const grant = yield* send("/api/v1/user/tokens/desktop-grant", { method: "POST", headers: una.changing })
      assert.strictEqual(grant.status, 201)
      const again = yield* verify({ token })
      assert.strictEqual(again.body.type, "/problems/code-invalid")
      // Nothing is sent for an address that is verified.
      const sent = mails.length
      assert.strictEqual((yield* request(una)).status, 202)
      assert.lengthOf(mails, sent)
      assert.lengthOf(yield* sql`SELECT 1 FROM audit_entries WHERE action = 'user.email_verify' AND target = 'una'`, 1)
    })
  )

  it.effect("it stays verified when the provider still does not vouch for it, and not for another address", () =>
    Effect.gen(function* () {
      const { mails } = yield* Inbox
      const vera = yield* aPerson("vera", { verified: false })
      yield* request(vera)
      yield* verify({ token: tokenIn(mails.at(-1)!) })
      const again = yield* aPerson("vera", { verified: false })
      assert.isTrue(again.account.emailVerified)
      const moved = yield* (yield* Accounts).ensure({
        subject: "oidc:vera",
        email: "vera@other.example",
        emailVerified: false,
        handle: "vera",
        displayName: "vera"
      })
      assert.isFalse(moved.emailVerified)
    })
  )

  it.effect("only the last mail's link works, for a day, and for the address that it went to", () =>
    Effect.gen(function* () {
      const { mails } = yield* Inbox
      const olga = yield* aPerson("olga", { verified: false })
      yield* request(olga)
      yield* request(olga)
      const [first, second] = mails.slice(-2).map(tokenIn)
      assert.strictEqual((yield* verify({ token: first })).status, 400)
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* verify({ token: second })).status, 400)
      yield* request(olga)
      yield* (yield* Accounts).ensure({
        subject: "oidc:olga",
        email: "olga@other.example",
        emailVerified: false,
        handle: "olga",
        displayName: "olga"
      })
      assert.strictEqual((yield* verify({ token: tokenIn(mails.at(-1)!) })).status, 400)
      assert.isFalse(yield* isVerified(olga))
      for (const body of [{}, { token: "" }, { token: 1 }]) assert.strictEqual((yield* verify(body)).status, 422)
    })
  )

  it.effect("at most five mails in an hour; a mail that is not taken is 503", () =>
    Effect.gen(function* () {
      const rita = yield* aPerson("rita", { verified: false })
      const statuses = []
      for (let time = 0; time < 6; time++) statuses.push((yield* request(rita)).status)
      assert.deepStrictEqual(statuses, [202, 202, 202, 202, 202, 429])
      const bounced = yield* aPerson("bounced", { verified: false })
      const refused = yield* request(bounced)
      assert.strictEqual(refused.status, 503)
      assert.notInclude(JSON.stringify(refused.body), "no such box")
    })
  )
})

layer(layerTestRegistry(() => ({})))("without a mail server", (it) => {
  it.effect("verification by mail is 503, and nothing is kept", () =>
    Effect.gen(function* () {
      const una = yield* aPerson("una", { verified: false })
      const refused = yield* request(una)
      assert.strictEqual(refused.status, 503)
      assert.strictEqual(refused.body.type, "/problems/unavailable")
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql`SELECT 1 FROM email_verifications`, 0)
    })
  )
})
