/** A database of its own for a test file, with the given migrations applied. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import * as Database from "../Database.ts"

/** Connection string of a fresh, empty database that is dropped when the scope closes. */
export const freshDatabaseUrl = Effect.gen(function* () {
  const server = inject("postgresUrl")
  const name = `test_${randomBytes(6).toString("hex")}`
  const admin = PgClient.layer({ url: Redacted.make(`${server}/postgres`), maxConnections: 1 })
  const statement = (text: string) =>
    Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      yield* sql.unsafe(text)
    }).pipe(Effect.provide(admin), Effect.orDie)
  yield* Effect.acquireRelease(statement(`CREATE DATABASE ${name}`), () =>
    statement(`DROP DATABASE ${name} WITH (FORCE)`)
  )
  return `${server}/${name}`
})

export const layerDatabase = (migrations: Database.Migrations) =>
  Layer.unwrap(
    Effect.map(freshDatabaseUrl, (url) =>
      Database.layer({ url: Redacted.make(url), maxConnections: 10, applicationName: "test", migrations })
    )
  )
