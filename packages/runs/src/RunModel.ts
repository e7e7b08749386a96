/** The model that hosted runs use: the configuration's, or what staff has put in its place. */
import { KeyService, Sealing, Settings } from "@quickagents/platform"
import { invalidField, RunsUnavailable } from "@quickagents/schema"
import type { ModelAccess, PutRunModel, RunModel as Model, Validation } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

interface Row {
  readonly provider: Model["provider"]
  readonly baseUrl: string | null
  readonly model: string
  readonly apiKey: string | null
  readonly maxConcurrent: number | null
}

const context = "run-model"

export class RunModel extends Context.Service<
  RunModel,
  {
    /** With the key: for a hand-off and for nothing else. */
    readonly access: Effect.Effect<ModelAccess, RunsUnavailable>
    readonly show: Effect.Effect<Model>
    /** The key is sealed before it is stored; a model sent without a key has none. */
    readonly put: (model: PutRunModel) => Effect.Effect<Model, RunsUnavailable | Validation>
    readonly reset: Effect.Effect<void>
  }
>()("runs/RunModel") {
  static readonly layer = Layer.effect(
    RunModel,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const keys = yield* KeyService
      const configured: Row = {
        provider: settings["runs.model.provider"],
        baseUrl: settings["runs.model.baseUrl"],
        model: settings["runs.model.name"],
        apiKey: settings["runs.model.apiKey"],
        maxConcurrent: null
      }
      const find = sql<Row>`SELECT provider, base_url, model, api_key, max_concurrent FROM run_model`.pipe(
        Effect.map(([row]) => row),
        Effect.orDie
      )
      const shown = (row: Row): Model => ({
        provider: row.provider,
        baseUrl: row.baseUrl,
        model: row.model,
        hasApiKey: row.apiKey !== null,
        maxConcurrent: row.maxConcurrent
      })
      const unavailable = () => new RunsUnavailable({ detail: "The key service does not answer" })
      const open = (stored: string) =>
        Effect.gen(function* () {
          const [wrapped, sealed] = stored.split(".") as [string, string]
          const dataKey = yield* keys.unwrap(context, wrapped)
          return new TextDecoder().decode(yield* Sealing.openBytes(dataKey, context, Buffer.from(sealed, "base64")))
        }).pipe(Effect.mapError(unavailable))
      return RunModel.of({
        access: Effect.gen(function* () {
          const stored = yield* find
          const row = stored ?? configured
          const apiKey = stored?.apiKey != null ? yield* open(stored.apiKey) : row.apiKey
          return {
            provider: row.provider,
            model: row.model,
            ...(row.baseUrl === null ? {} : { baseUrl: row.baseUrl }),
            ...(apiKey === null ? {} : { apiKey })
          }
        }),
        show: Effect.map(find, (row) => shown(row ?? configured)),
        put: Effect.fnUntraced(function* (model) {
          if (Settings.isModelAlias(model.model)) {
            return yield* invalidField("/model", "must be an exact model id, not an alias")
          }
          if (model.provider === "openai-compatible" && model.baseUrl === undefined) {
            return yield* invalidField("/baseUrl", "is required for openai-compatible")
          }
          const dataKey = Sealing.newDataKey()
          const apiKey =
            model.apiKey === undefined
              ? null
              : `${yield* Effect.mapError(keys.wrap(context, dataKey), unavailable)}.${Buffer.from(
                  Sealing.sealBytes(dataKey, context, new TextEncoder().encode(model.apiKey))
                ).toString("base64")}`
          const row: Row = {
            provider: model.provider,
            baseUrl: model.baseUrl ?? null,
            model: model.model,
            apiKey,
            maxConcurrent: model.maxConcurrent ?? null
          }
          yield* sql`INSERT INTO run_model ${sql.insert({ onlyOne: true, ...row })}
            ON CONFLICT (only_one) DO UPDATE SET ${sql.update({ ...row, setAt: new Date() })}`.pipe(Effect.orDie)
          return shown(row)
        }),
        reset: Effect.orDie(Effect.asVoid(sql`DELETE FROM run_model`))
      })
    })
  )
}
