import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import {
  Actor,
  Authenticated,
  CreditsExhausted,
  Idempotent,
  IdempotencyKey,
  NotFound,
  TooLarge,
  Unavailable
} from "@quickagents/schema"
import { ByteSize, Context, Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import {
  HttpIncomingMessage,
  HttpRouter,
  HttpServer,
  HttpServerRequest,
  HttpServerResponse,
  Multipart
} from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import * as HttpEdge from "./HttpEdge.ts"
import * as Idempotency from "./Idempotency.ts"
import { migrations } from "./migrations/index.ts"
import { RateLimits } from "./RateLimits.ts"
import * as Settings from "./Settings.ts"
import { layerDatabase } from "./testing/index.ts"

const secret = "secret inner text"
const Thing = Schema.Struct({
  ref: Schema.String.check(Schema.isPattern(/^[a-z]+$/u)),
  inputs: Schema.Array(Schema.String),
  mode: Schema.Literals(["autonomous", "interactive"])
})

class Things extends HttpApiGroup.make("things").add(
  HttpApiEndpoint.get("list", "/things", {
    query: { limit: Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt())) },
    success: Schema.Array(Schema.String)
  }),
  HttpApiEndpoint.post("create", "/things", {
    payload: Thing,
    success: Schema.String,
    error: [CreditsExhausted, NotFound]
  }),
  HttpApiEndpoint.get("get", "/things/:id", {
    params: { id: Schema.String.check(Schema.isPattern(/^[0-9]+$/u)) },
    success: Schema.String
  }),
  HttpApiEndpoint.post("upload", "/uploads", {
    payload: HttpApiSchema.StreamUint8Array({ maxBytes: "1 KiB" }),
    success: Schema.Int,
    error: TooLarge
  }),
  HttpApiEndpoint.get("fails", "/fails/:how", {
    params: { how: Schema.String },
    success: Schema.String,
    error: [CreditsExhausted, Unavailable]
  })
) {}

const idempotent = { "idempotency-key": IdempotencyKey }
class Once extends HttpApiGroup.make("once")
  .add(
    HttpApiEndpoint.post("work", "/once", {
      headers: idempotent,
      payload: Schema.Struct({ text: Schema.String }),
      success: HttpApiSchema.WithHeaders(Schema.Struct({ work: Schema.Int }).pipe(HttpApiSchema.status(201)), {
        location: Schema.String
      }),
      error: NotFound
    }).middleware(Idempotent),
    HttpApiEndpoint.post("form", "/once/form", {
      headers: idempotent,
      payload: Schema.Struct({ file: Multipart.SingleFileSchema }).pipe(
        HttpApiSchema.asMultipart({ maxFileSize: "1 KiB" })
      ),
      success: Schema.Int
    }).middleware(Idempotent)
  )
  .middleware(Authenticated) {}

class TestApi extends HttpApi.make("test").add(Things).add(Once).annotate(HttpApi.ParseOptions, { errors: "all" }) {}

/** What the handler of `/once` does, told by the test. */
class Work extends Context.Service<
  Work,
  { done: number; waiting: number; gate: Deferred.Deferred<void>; started: Deferred.Deferred<void> }
>()("test/Work") {
  static readonly layer = Layer.effect(
    Work,
    Effect.gen(function* () {
      return { done: 0, waiting: 0, gate: yield* Deferred.make<void>(), started: yield* Deferred.make<void>() }
    })
  )
}

const ThingsHttp = HttpApiBuilder.group(TestApi, "things", (handlers) =>
  handlers.handleAll({
    list: () => Effect.succeed([]),
    create: () =>
      Effect.fail(new CreditsExhausted({ account: "acc_1", balance: 3, hold: 20, resetsAt: null, tier: "standard" })),
    get: ({ params }) => Effect.succeed(params.id),
    upload: ({ payload }) =>
      Stream.runFold(
        payload,
        () => 0,
        (size, chunk) => size + chunk.length
      ).pipe(Effect.orDie),
    fails: ({ params }) => {
      switch (params.how) {
        case "defect":
          return Effect.die(new Error(secret))
        case "thrown":
          throw new TypeError(secret)
        case "unavailable":
          return Effect.fail(new Unavailable({}))
        case "plain":
          return Effect.succeed(HttpServerResponse.text(secret, { status: 418 }) as never)
        default:
          return Effect.die(HttpServerResponse.empty({ status: 404 }))
      }
    }
  })
)

const OnceHttp = HttpApiBuilder.group(
  TestApi,
  "once",
  Effect.fnUntraced(function* (handlers) {
    const work = yield* Work
    return handlers.handleAll({
      work: ({ payload }) =>
        Effect.gen(function* () {
          if (payload.text === "refuse") return yield* new NotFound({})
          if (payload.text === "wait") {
            yield* Deferred.succeed(work.started, undefined)
            yield* Deferred.await(work.gate)
          }
          work.done++
          return HttpApiSchema.withHeaders({ body: { work: work.done }, headers: { location: `/once/${work.done}` } })
        }),
      form: () => Effect.sync(() => ++work.done)
    })
  })
)

const TestAuthenticated = Layer.succeed(
  Authenticated,
  Authenticated.of((httpEffect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      Effect.provideService(httpEffect, Actor, {
        accountId: headers["x-account"] ?? "acc_1",
        handle: "ada",
        emailVerified: true,
        staff: false,
        credential: { kind: "session", id: "ses_1" },
        scopes: "all"
      })
    )
  )
)

const liveWith = (settings: Partial<Settings.Values>) => {
  const services = RateLimits.layer.pipe(
    Layer.provideMerge(layerDatabase(migrations)),
    Layer.provideMerge(
      Layer.mergeAll(
        Work.layer,
        Layer.succeed(Settings.Settings, {
          ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
          "limits.anonymousPerMin": 1_000,
          ...settings
        }),
        Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe("4 KiB"))
      )
    )
  )
  const routes = HttpApiBuilder.layer(TestApi).pipe(
    Layer.provide([ThingsHttp, OnceHttp]),
    Layer.provide([TestAuthenticated, Idempotency.layer]),
    Layer.provideMerge(HttpEdge.layer(TestApi)),
    Layer.merge(
      HttpRouter.add(
        "GET",
        "/git/wait",
        Effect.gen(function* () {
          const work = yield* Work
          work.waiting++
          yield* Deferred.await(work.gate)
          return HttpServerResponse.empty()
        })
      )
    )
  )
  return HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
    Layer.provideMerge(services)
  )
}

const send = (
  method: string,
  path: string,
  init: Omit<RequestInit, "headers"> & { readonly headers?: Record<string, string>; readonly json?: unknown } = {}
) =>
  HttpServer.addressFormattedWith((url) =>
    Effect.promise(async () => {
      const { json, ...rest } = init
      const response = await fetch(url + path, {
        method,
        ...rest,
        ...(json === undefined
          ? {}
          : { body: JSON.stringify(json), headers: { "content-type": "application/json", ...rest.headers } })
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: text !== "" && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined
      }
    })
  )

const assertProblem = (
  answer: { readonly status: number; readonly headers: Headers; readonly body: any; readonly text: string },
  status: number,
  slug: string
) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
  assert.strictEqual(answer.body.type, `/problems/${slug}`)
  assert.strictEqual(answer.body.status, status)
  assert.isString(answer.body.title)
  assert.notInclude(answer.text, secret)
}

const good = { ref: "ab", inputs: [], mode: "autonomous" }

layer(liveWith({}))("the edge", (it) => {
  it.effect("answers an unknown path with 404, and a known one by another method with 405 and Allow", () =>
    Effect.gen(function* () {
      assertProblem(yield* send("GET", "/nowhere"), 404, "not-found")
      const refused = yield* send("DELETE", "/things?limit=1")
      assertProblem(refused, 405, "method-not-allowed")
      assert.deepStrictEqual(refused.headers.get("allow")?.split(", ").toSorted(), ["GET", "HEAD", "POST"])
      assertProblem(yield* send("PUT", "/things/1"), 405, "method-not-allowed")
    })
  )

  it.effect("names every wrong field of a request with a pointer and where it stands: 422", () =>
    Effect.gen(function* () {
      const refused = yield* send("POST", "/things", { json: { ref: "AB", inputs: ["a", 1], mode: "other" } })
      assertProblem(refused, 422, "validation")
      assert.deepStrictEqual(refused.body.errors.map((error: any) => [error.in, error.pointer]).toSorted(), [
        ["body", "/inputs/1"],
        ["body", "/mode"],
        ["body", "/ref"]
      ])
      const missing = yield* send("POST", "/things", { json: {} })
      assert.deepStrictEqual(missing.body.errors.map((error: any) => error.pointer).toSorted(), [
        "/inputs",
        "/mode",
        "/ref"
      ])
      const query = yield* send("GET", "/things?limit=many")
      assertProblem(query, 422, "validation")
      assert.deepInclude(query.body.errors[0], { in: "query", pointer: "/limit" })
      const path = yield* send("GET", "/things/x")
      assertProblem(path, 422, "validation")
      assert.deepInclude(path.body.errors[0], { in: "path", pointer: "/id" })
      assertProblem(
        yield* send("POST", "/things", { body: "{", headers: { "content-type": "application/json" } }),
        422,
        "validation"
      )
    })
  )

  it.effect("refuses another media type with 415 and what is too large with 413", () =>
    Effect.gen(function* () {
      assertProblem(
        yield* send("POST", "/things", { body: "<a/>", headers: { "content-type": "application/xml" } }),
        415,
        "unsupported-media-type"
      )
      assertProblem(
        yield* send("POST", "/things", { json: { ...good, inputs: ["x".repeat(5_000)] } }),
        413,
        "too-large"
      )
      const octets = { "content-type": "application/octet-stream" }
      assert.strictEqual(
        (yield* send("POST", "/uploads", { body: new Uint8Array(1_024), headers: octets })).body,
        1_024
      )
      assertProblem(yield* send("POST", "/uploads", { body: new Uint8Array(1_025), headers: octets }), 413, "too-large")
    })
  )

  it.effect("gives a declared failure with its own fields", () =>
    Effect.gen(function* () {
      const refused = yield* send("POST", "/things", { json: good })
      assertProblem(refused, 402, "credits-exhausted")
      assert.deepInclude(refused.body, { account: "acc_1", balance: 3, hold: 20, tier: "standard" })
      assertProblem(yield* send("GET", "/fails/unavailable"), 503, "unavailable")
    })
  )

  it.effect("lets no inner text of a failure out: 500 with the request's id, and plain answers as problems", () =>
    Effect.gen(function* () {
      for (const how of ["defect", "thrown"]) {
        const failed = yield* send("GET", `/fails/${how}`)
        assertProblem(failed, 500, "internal")
        assert.strictEqual(failed.body.instance, `urn:request:${failed.headers.get("x-request-id")}`)
      }
      const plain = yield* send("GET", "/fails/plain")
      assert.strictEqual(plain.status, 418)
      assert.strictEqual(plain.headers.get("content-type"), "application/problem+json")
      assert.notInclude(plain.text, secret)
      assertProblem(yield* send("GET", "/fails/response"), 404, "not-found")
    })
  )

  it.effect("puts the three rate-limit headers, the request id and the cache rule on every answer", () =>
    Effect.gen(function* () {
      const ids = new Set<string>()
      for (const [method, path] of [
        ["GET", "/things"],
        ["HEAD", "/things"],
        ["GET", "/nowhere"],
        ["DELETE", "/things"],
        ["GET", "/things/x"],
        ["GET", "/fails/defect"],
        ["GET", "/healthz"]
      ] as const) {
        const { headers } = yield* send(method, path)
        for (const name of ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]) {
          assert.match(headers.get(name) ?? "", /^\d+$/, `${name} of ${path}`)
        }
        assert.isAtMost(Number(headers.get("ratelimit-reset")), 60)
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        ids.add(headers.get("x-request-id")!)
      }
      assert.lengthOf([...ids], 7)
    })
  )
})

layer(liveWith({ "limits.anonymousPerMin": 2 }))("the edge past a limit", (it) => {
  it.effect("answers 429 with Retry-After in seconds, and never limits the health routes", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send("GET", "/things")).headers.get("ratelimit-remaining"), "1")
      assert.strictEqual((yield* send("GET", "/nowhere")).headers.get("ratelimit-remaining"), "0")
      const refused = yield* send("GET", "/things")
      assertProblem(refused, 429, "rate-limited")
      assert.strictEqual(refused.headers.get("retry-after"), refused.headers.get("ratelimit-reset"))
      assert.strictEqual((yield* send("GET", "/healthz")).status, 404)
    })
  )

  it.effect("takes no address from X-Forwarded-For unless a proxy is trusted", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send("GET", "/things", { headers: { "x-forwarded-for": "203.0.113.7" } })).status, 429)
    })
  )
})

layer(liveWith({ "limits.anonymousPerMin": 1, "service.trustProxy": true }))("the edge behind a proxy", (it) => {
  it.effect("counts the address that the proxy saw, not one that the client made up", () =>
    Effect.gen(function* () {
      const from = (forwarded: string) =>
        Effect.map(send("GET", "/things", { headers: { "x-forwarded-for": forwarded } }), ({ status }) => status)
      assert.strictEqual(yield* from("203.0.113.7"), 200)
      assert.strictEqual(yield* from("198.51.100.1, 203.0.113.7"), 429)
      assert.strictEqual(yield* from("203.0.113.8"), 200)
    })
  )
})

layer(liveWith({ "service.trustProxy": true }))("the edge before sign-in and git", (it) => {
  const from = (address: string, path: string) => send("GET", path, { headers: { "x-forwarded-for": address } })

  it.effect(
    "[RATE-002] lets in 30 sign-in requests of an address and 30 a minute, 60 git requests and 120 a minute, eight of them at once; more get 429 with Retry-After 6 or 1",
    () =>
      Effect.gen(function* () {
        const work = yield* Work
        const statuses = (address: string, path: string, count: number) =>
          Effect.map(Effect.all(Array.from({ length: count }, () => from(address, path))), (answers) => [
            answers.filter(({ status }) => status === 404).length,
            answers.filter(({ status }) => status === 429).length
          ])
        // No route is there: what is let in is 404.
        const auth = "/api/v1/auth/oidc/oidc/start"
        assert.deepStrictEqual(yield* statuses("192.0.2.1", auth, 31), [30, 1])
        const refused = yield* from("192.0.2.1", auth)
        assertProblem(refused, 429, "rate-limited")
        assert.strictEqual(refused.headers.get("retry-after"), "6")
        assert.strictEqual(refused.headers.get("ratelimit-remaining"), "0")
        for (const spelling of ["//api/v1/auth/x", "/API/v1/Auth/x", "/api/v1/%61uth/x", "/api/v1/auth/x?y"])
          assert.strictEqual((yield* from("192.0.2.1", spelling)).status, 429, spelling)
        assert.strictEqual((yield* from("192.0.2.2", auth)).status, 404)
        // Other paths are not meant.
        assert.strictEqual((yield* from("192.0.2.1", "/things")).status, 200)

        const git = "/git/acme/a.git/info/refs"
        assert.deepStrictEqual(yield* statuses("192.0.2.1", git, 61), [60, 1])
        const late = yield* from("192.0.2.1", git)
        assert.strictEqual(late.headers.get("retry-after"), "6")
        assert.strictEqual(late.text, "Too many requests; wait a little.\n")

        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual(yield* statuses("192.0.2.1", auth, 4), [3, 1])
        assert.deepStrictEqual(yield* statuses("192.0.2.1", git, 13), [12, 1])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* statuses("192.0.2.1", auth, 31), [30, 1])
        assert.deepStrictEqual(yield* statuses("192.0.2.1", git, 61), [60, 1])

        const waiting = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 8 }, () => from("192.0.2.3", "/git/wait")),
            { concurrency: 8 }
          )
        )
        while (work.waiting < 8) yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
        const crowded = yield* from("192.0.2.3", git)
        assert.strictEqual(crowded.status, 429)
        assert.strictEqual(crowded.headers.get("retry-after"), "1")
        assert.strictEqual((yield* from("192.0.2.4", git)).status, 404)
        yield* Deferred.succeed(work.gate, undefined)
        assert.deepStrictEqual(
          (yield* Fiber.join(waiting)).map(({ status }) => status),
          Array.from({ length: 8 }, () => 204)
        )
        // An answer may arrive a moment before its place is free.
        let again = yield* from("192.0.2.3", git)
        for (let tries = 0; again.status === 429 && tries < 100; tries++) again = yield* from("192.0.2.3", git)
        assert.strictEqual(again.status, 404)
      })
  )
})

layer(liveWith({}))("Idempotency-Key", (it) => {
  const post = (key: string, text: string, account = "acc_1") =>
    send("POST", "/once", { json: { text }, headers: { "idempotency-key": key, "x-account": account } })

  it.effect("gives the first answer again and does the work once", () =>
    Effect.gen(function* () {
      const first = yield* post("k1", "a")
      assert.strictEqual(first.status, 201)
      assert.isNull(first.headers.get("idempotent-replayed"))
      const again = yield* post("k1", "a")
      assert.strictEqual(again.status, 201)
      assert.deepStrictEqual(again.body, first.body)
      assert.strictEqual(again.headers.get("location"), first.headers.get("location"))
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.notStrictEqual(again.headers.get("x-request-id"), first.headers.get("x-request-id"))
      assert.notDeepEqual((yield* post("k2", "a")).body, first.body)
      assert.notDeepEqual((yield* post("k1", "a", "acc_2")).body, first.body)
      assert.notDeepEqual((yield* send("POST", "/once", { json: { text: "a" } })).body, first.body)
    })
  )

  it.effect("is a conflict with a different body, and with a first attempt that still runs", () =>
    Effect.gen(function* () {
      yield* post("k3", "a")
      assertProblem(yield* post("k3", "b"), 409, "idempotency-conflict")
      const work = yield* Work
      const first = yield* Effect.forkChild(post("k4", "wait"))
      yield* Deferred.await(work.started)
      assertProblem(yield* post("k4", "wait"), 409, "idempotency-conflict")
      yield* Deferred.succeed(work.gate, undefined)
      assert.strictEqual((yield* Fiber.join(first)).status, 201)
      assert.strictEqual((yield* post("k4", "wait")).headers.get("idempotent-replayed"), "true")
    })
  )

  it.effect("is free again after a refused attempt, and after 24 hours", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assertProblem(yield* post("k5", "refuse"), 404, "not-found")
      assert.strictEqual((yield* post("k5", "a")).status, 201)
      yield* sql`UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'k5'`
      const later = yield* post("k5", "b")
      assert.strictEqual(later.status, 201)
      assert.isNull(later.headers.get("idempotent-replayed"))
      yield* sql`UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = 'k5'`
      yield* Idempotency.sweepIdempotencyKeys
      assert.lengthOf(yield* sql`SELECT 1 FROM idempotency_keys WHERE key = 'k5'`, 0)
    })
  )

  it.effect("of an attempt that a crash cut off lets the next one work", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* post("k6", "a")
      yield* sql`UPDATE idempotency_keys SET status = NULL, body = NULL, created_at = now() - interval '50 seconds' WHERE key = 'k6'`
      assertProblem(yield* post("k6", "a"), 409, "idempotency-conflict")
      yield* sql`UPDATE idempotency_keys SET created_at = now() - interval '70 seconds' WHERE key = 'k6'`
      assert.strictEqual((yield* post("k6", "a")).status, 201)
    })
  )

  it.effect("is at most 255 characters", () =>
    Effect.gen(function* () {
      assertProblem(yield* post("k".repeat(256), "a"), 422, "validation")
      assert.strictEqual((yield* post("k".repeat(255), "a")).status, 201)
    })
  )

  it.effect("tells the files of a form apart, and keeps the form's limits", () =>
    Effect.gen(function* () {
      const form = (key: string, content: string) => {
        const body = new FormData()
        body.set("file", new Blob([content]), "file.bin")
        return send("POST", "/once/form", { body, headers: { "idempotency-key": key } })
      }
      const first = yield* form("f1", "one")
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual((yield* form("f1", "one")).body, first.body)
      assertProblem(yield* form("f1", "two"), 409, "idempotency-conflict")
      assertProblem(yield* form("f2", "x".repeat(2_000)), 413, "too-large")
    })
  )
})
