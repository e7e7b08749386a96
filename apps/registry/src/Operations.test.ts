import { NodeHttpServer } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Database } from "@quickagents/platform"
import { freshDatabaseUrl } from "@quickagents/platform/testing"
import { CoreApi } from "@quickagents/schema"
import { Effect, Layer, Metric, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { inject } from "vitest"
import { operations } from "./Operations.ts"

/** Somebody else's connection, to another database of the same server. */
const asAdmin = (...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    for (const statement of statements) yield* sql.unsafe(statement)
  }).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(`${inject("postgresUrl")}/postgres`), maxConnections: 1 })),
    Effect.orDie
  )

const get = (path: string) =>
  HttpServer.addressFormattedWith((url) =>
    Effect.promise(async () => {
      const answer = await fetch(`${url}${path}`)
      return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() }
    })
  )

describe("the operations routes", () => {
  it.live(
    "[META-005] healthz says that the process lives, readyz that its database answers, metrics are Prometheus text, all of it without a credential",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabaseUrl
        const name = new URL(url).pathname.slice(1)
        const served = HttpRouter.serve(operations(CoreApi), { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
          Layer.provide(Database.layerClient({ url: Redacted.make(url), maxConnections: 2, applicationName: "test" }))
        )
        yield* Effect.gen(function* () {
          assert.deepInclude(yield* get("/healthz"), { status: 200, text: "ok\n" })
          assert.deepInclude(yield* get("/readyz"), { status: 200, text: "ready\n" })
          yield* Metric.update(Metric.counter("OperationsTest"), 3)
          const metrics = yield* get("/metrics")
          assert.strictEqual(metrics.status, 200)
          assert.match(metrics.type ?? "", /^text\/plain/)
          assert.match(metrics.text, /^# TYPE OperationsTest counter$/m)
          assert.match(metrics.text, /^OperationsTest 3$/m)

          yield* asAdmin(
            `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`,
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`
          )
          assert.strictEqual((yield* get("/readyz")).status, 503)
          assert.deepInclude(yield* get("/healthz"), { status: 200 })
          assert.deepInclude(yield* get("/metrics"), { status: 200 })

          yield* asAdmin(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`)
          let ready = yield* get("/readyz")
          for (let tries = 0; ready.status !== 200 && tries < 50; tries++) ready = yield* get("/readyz")
          assert.strictEqual(ready.status, 200)
        }).pipe(Effect.provide(served))
      }).pipe(Effect.scoped)
  )
})
