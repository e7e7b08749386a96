/**
 * The routes of this package on a loopback port with the edge in front, and a
 * browser for it. Staff is whoever has the handle `staff-person`.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { Audit, HttpEdge, migrations as platformMigrations, RateLimits, Settings } from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import {
  access,
  Actor,
  AuthGroup,
  Authenticated,
  EnrolmentAuthenticated,
  EnrolmentToken,
  Identified,
  UserGroup,
  Viewer
} from "@quickagents/schema"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import {
  Accounts,
  authentication,
  AuthHttp,
  emailVerification,
  layer,
  Memberships,
  migrations,
  Sessions,
  UserHttp
} from "../index.ts"

/** One endpoint for each kind of access rule. */
class ProbeGroup extends HttpApiGroup.make("probe").add(
  HttpApiEndpoint.get("anyone", "/probe/anyone", { success: Schema.String })
    .middleware(Identified)
    .annotateMerge(access.anyone("agent:read")),
  HttpApiEndpoint.get("read", "/probe/account", { success: Schema.String })
    .middleware(Authenticated)
    .annotateMerge(access.account("run:read")),
  HttpApiEndpoint.post("change", "/probe/account", { success: Schema.String })
    .middleware(Authenticated)
    .annotateMerge(access.account("run:read", "run:write")),
  HttpApiEndpoint.get("session", "/probe/session", { success: Schema.String })
    .middleware(Authenticated)
    .annotateMerge(access.session),
  HttpApiEndpoint.post("unverified", "/probe/session", { success: Schema.String })
    .middleware(Authenticated)
    .annotateMerge(access.sessionUnverified),
  HttpApiEndpoint.get("staffRead", "/probe/staff", { success: Schema.String })
    .middleware(Authenticated)
    .annotateMerge(access.staffRead),
  HttpApiEndpoint.post("staffChange", "/probe/staff", { success: Schema.String })
    .middleware(Authenticated)
    .annotateMerge(access.staffChange),
  HttpApiEndpoint.get("undeclared", "/probe/undeclared", { success: Schema.String }).middleware(Authenticated),
  HttpApiEndpoint.post("enrol", "/probe/enrol", { success: Schema.String }).middleware(EnrolmentAuthenticated)
) {}

class TestApi extends HttpApi.make("registry").add(AuthGroup).add(UserGroup).add(ProbeGroup) {}

const ProbeHttp = HttpApiBuilder.group(TestApi, "probe", (handlers) => {
  const handle = () => Effect.map(Actor, (actor) => actor.handle)
  return handlers.handleAll({
    anyone: () => Effect.map(Viewer, (viewer) => viewer?.handle ?? "nobody"),
    read: handle,
    change: handle,
    session: handle,
    unverified: handle,
    staffRead: handle,
    staffChange: handle,
    undeclared: handle,
    enrol: () => Effect.map(EnrolmentToken, ({ token }) => token)
  })
})

const TestMemberships = Layer.effect(
  Memberships,
  Effect.map(SqlClient.SqlClient, (sql) =>
    Memberships.of({
      isStaff: (accountId) => sql`${accountId} IN (SELECT id FROM accounts WHERE handle = 'staff-person')`,
      of: () => Effect.succeed([]),
      sshRefusal: () => Effect.succeed(null)
    })
  )
)

export class TestRegistry extends Context.Service<TestRegistry, { readonly url: string }>()(
  "identity/testing/TestRegistry"
) {}

export const freePort = Effect.promise(
  () =>
    new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        server.close(() => resolve(port))
      })
    })
)

/** `settings` may depend on the address that the registry is going to have. */
export const layerTestRegistry = (settings: (url: string) => Partial<Settings.Values>) =>
  Layer.unwrap(
    Effect.map(freePort, (port) => {
      const url = `http://127.0.0.1:${port}`
      const values: Settings.Values = {
        ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
        "service.baseUrl": url,
        "limits.anonymousPerMin": 100_000,
        "limits.loginPerMin": 100_000,
        "limits.edgeAuthBurst": 100_000,
        "limits.authedBurstPerMin": 100_000,
        "limits.authedPerHour": 100_000,
        ...settings(url)
      }
      const services = Layer.mergeAll(layer, emailVerification).pipe(
        Layer.provideMerge(TestMemberships),
        Layer.provideMerge(Layer.mergeAll(Audit.Audit.layer, RateLimits.layer)),
        Layer.provideMerge(layerDatabase({ ...platformMigrations, ...migrations })),
        Layer.provideMerge(Layer.succeed(Settings.Settings, values))
      )
      const routes = HttpApiBuilder.layer(TestApi).pipe(
        Layer.provide([AuthHttp, UserHttp, ProbeHttp]),
        Layer.provide(authentication),
        Layer.provideMerge(HttpEdge.layer(TestApi))
      )
      return HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(NodeHttpServer.layer(() => createServer(), { port, host: "127.0.0.1" })),
        Layer.provideMerge(services),
        Layer.provideMerge(Layer.succeed(TestRegistry, { url }))
      )
    })
  )

/** A browser as far as sign-in needs one: keeps cookies by origin, follows redirects when told to. */
export class Browser {
  private readonly jar = new Map<string, Map<string, string>>()

  cookies(url: string) {
    const { origin } = new URL(url)
    let cookies = this.jar.get(origin)
    if (cookies === undefined) this.jar.set(origin, (cookies = new Map()))
    return cookies
  }

  async send(url: string, init: RequestInit = {}) {
    const cookies = this.cookies(url)
    const headers = new Headers(init.headers)
    if (cookies.size > 0) headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "))
    const response = await fetch(url, { ...init, headers, redirect: "manual" })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === "" || /;\s*max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed when JSON, else text. */
  readonly body: any
}

export const send = (path: string, init: RequestInit = {}) =>
  Effect.gen(function* () {
    const { url } = yield* TestRegistry
    return yield* Effect.promise(async (): Promise<Answer> => {
      const response = await fetch(url + path, { ...init, redirect: "manual" })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body: response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text
      }
    })
  })

/** A person with an account and a session. */
export const aPerson = (handle: string, person: { readonly verified?: boolean } = {}) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const account = yield* accounts.ensure({
      subject: `oidc:${handle}`,
      email: `${handle}@example.com`,
      emailVerified: person.verified ?? true,
      handle,
      displayName: handle
    })
    const session = yield* (yield* Sessions).open(account.id, "test")
    const headers = { cookie: `session=${session.token}` }
    return { account, session, headers, changing: { ...headers, "x-csrf-token": session.csrfToken } }
  })
