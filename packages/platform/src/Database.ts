/**
 * The PostgreSQL client and its migrations.
 *
 * Columns are `snake_case` in SQL and `camelCase` in rows; JSON values are left
 * as they are. Migrations are forward-only and additive or compatible, and are
 * numbered `YYYYMMDDNN` over all packages, so that a later migration of one
 * package always has a higher number than an earlier one of another.
 * Spec: Versioning 7.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, Schedule, String } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"

export type Migrations = Readonly<Record<`${number}_${string}`, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

export interface DatabaseOptions {
  readonly url: Redacted.Redacted
  readonly maxConnections: number
  readonly applicationName: string
}

/** Columns are few and rows are many: each name is rewritten once. */
const camelNames = new Map<string, string>()
const toCamel = (name: string) => {
  let camel = camelNames.get(name)
  if (camel === undefined) camelNames.set(name, (camel = String.snakeToCamel(name)))
  return camel
}

/** Client without migrations: for processes that must not change the schema. */
export const layerClient = (options: DatabaseOptions) =>
  PgClient.layer({
    url: options.url,
    maxConnections: options.maxConnections,
    applicationName: options.applicationName,
    connectTimeout: "5 seconds",
    transformResultNames: toCamel,
    transformQueryNames: String.camelToSnake,
    transformJson: false,
    // Single statements share connections and leave in one write, and none waits for a connection of its own.
    multiplex: true
  })

/** Runs what is missing; several nodes that start at once wait for each other on the migrations table's lock. */
export const migrate = (migrations: Migrations) =>
  Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "schema_migrations" }).pipe(
    // A database that is just starting, or too busy for a moment, is no reason for a node not to start.
    Effect.retry({
      schedule: Schedule.spaced("1 second"),
      times: 10,
      while: (error) => SqlError.isSqlError(error) && error.reason._tag === "ConnectionError"
    })
  )

export const layer = (options: DatabaseOptions & { readonly migrations: Migrations }) =>
  Layer.effectDiscard(migrate(options.migrations)).pipe(Layer.provideMerge(layerClient(options)))

/** The constraint that a failed statement broke, if it broke a unique one. */
export const uniqueConstraint = (error: SqlError.SqlError): string | undefined =>
  error.reason._tag === "UniqueViolation" ? error.reason.constraint : undefined

/** All of `effect` or nothing of it; a database that fails is a defect, the effect's own failures roll back and stay. */
export const transaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catchIf(sql.withTransaction(effect), SqlError.isSqlError, Effect.die)
