/**
 * Idempotency-Key: the first answer to a key is kept for 24 hours and given
 * again. The row is written before the handler runs, so of two requests at once
 * one works and the other is a conflict; a refused first attempt frees its key.
 * Spec: Errors, registry core; Registry-wide limits.
 */
import { Actor, Idempotent, IdempotencyConflict, invalidField, Validation } from "@quickagents/schema"
import { Effect, FileSystem, Layer, Path } from "effect"
import { HttpServerRequest, HttpServerResponse, Multipart } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"

/** An attempt that a crash cut off is given up after this, and the next one runs the handler again. */
const abandonedMinutes = 1

interface Row {
  readonly fingerprint: string
  readonly status: number | null
  readonly headers: Record<string, string> | null
  readonly body: Uint8Array | null
  readonly abandoned: boolean
}

const hashFile = (path: string) =>
  Effect.tryPromise(async () => {
    const hash = createHash("sha256")
    for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
    return hash.digest("hex")
  })

/** The limits of the endpoint's form. The parts are read here first, and what was read is not measured again. */
const formLimits = (endpoint: HttpApiEndpoint.Top) => {
  const encoding = endpoint.payload.get("multipart/form-data")?.encoding
  return Multipart.limitsServices(encoding?._tag === "Multipart" ? (encoding.limits ?? {}) : {})
}

/** What makes two requests the same: method, address and body; for a form the contents of its parts. */
const isForm = (request: HttpServerRequest.HttpServerRequest) =>
  request.headers["content-type"]?.startsWith("multipart/form-data")

/**
 * The parts of a form, memoized on the request: the decoder reads the same ones
 * again. A part without a name is a defect of the parser beneath; here it is
 * what it is, a form that cannot be read.
 */
const readForm = (request: HttpServerRequest.HttpServerRequest, endpoint: HttpApiEndpoint.Top) =>
  Effect.provideContext(request.multipart, formLimits(endpoint)).pipe(
    Effect.catchDefect(() => invalidField("/", "is not a form that can be read"))
  )

const fingerprint = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const hash = createHash("sha256").update(`${request.method} ${request.url}\n`)
  if (isForm(request)) {
    const parts = yield* readForm(request, endpoint)
    for (const name of Object.keys(parts).toSorted()) {
      const part = parts[name]
      hash.update(`${name}\n`)
      if (typeof part === "string") hash.update(part)
      else {
        for (const file of part) {
          hash.update(typeof file === "string" ? file : yield* hashFile(file.path))
        }
      }
    }
  } else hash.update(yield* request.text)
  return hash.digest("hex")
})

export const layer = Layer.effect(
  Idempotent,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()

    const begin = (account: string, key: string, print: string) =>
      sql`
        INSERT INTO idempotency_keys (account_id, key, fingerprint) VALUES (${account}, ${key}, ${print})
        ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, created_at = now(), status = NULL, headers = NULL, body = NULL
        WHERE idempotency_keys.created_at < now() - interval '24 hours'
          OR (idempotency_keys.status IS NULL AND idempotency_keys.fingerprint = excluded.fingerprint
            AND idempotency_keys.created_at < now() - ${abandonedMinutes} * interval '1 minute')
        RETURNING 1`.pipe(Effect.map((rows) => rows.length === 1))

    const find = (account: string, key: string) =>
      sql<Row>`SELECT fingerprint, status, headers, body FROM idempotency_keys WHERE account_id = ${account} AND key = ${key}`

    return Idempotent.of((httpEffect, { endpoint }) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        // What else is wrong with a form, such as its size, the decoder finds again and says in its own words.
        if (isForm(request)) {
          yield* Effect.provideContext(readForm(request, endpoint), files).pipe(
            Effect.catchIf(
              (error) => !(error instanceof Validation),
              () => Effect.void
            )
          )
        }
        const key = request.headers["idempotency-key"]
        if (key === undefined || key === "" || key.length > 255) return yield* httpEffect
        const { accountId } = yield* Actor
        // A body that cannot be read is refused by the decoder, with its own problem.
        const print = yield* Effect.option(Effect.provideContext(fingerprint(endpoint), files))
        if (print._tag === "None") return yield* httpEffect
        const mine = yield* Effect.orDie(begin(accountId, key, print.value))
        if (!mine) {
          const [row] = yield* Effect.orDie(find(accountId, key))
          if (row === undefined || row.fingerprint !== print.value) {
            return yield* new IdempotencyConflict({ detail: "This Idempotency-Key was used with a different request" })
          }
          if (row.status === null) {
            return yield* new IdempotencyConflict({ detail: "The first request with this Idempotency-Key still runs" })
          }
          return HttpServerResponse.uint8Array(row.body ?? new Uint8Array(), {
            status: row.status,
            headers: { ...row.headers, "idempotent-replayed": "true" },
            contentType: row.headers?.["content-type"] ?? "application/json"
          })
        }
        const release = sql`DELETE FROM idempotency_keys WHERE account_id = ${accountId} AND key = ${key} AND status IS NULL`
        return yield* httpEffect.pipe(
          Effect.tap((response) => {
            const body = response.body._tag === "Uint8Array" ? response.body.body : null
            return sql`UPDATE idempotency_keys SET status = ${response.status}, headers = ${JSON.stringify({
              ...response.headers
            })}, body = ${body} WHERE account_id = ${accountId} AND key = ${key}`.pipe(Effect.orDie)
          }),
          Effect.onError(() => Effect.ignore(release)),
          // A caller that hangs up must not free the key of what is done already: it would be done twice.
          Effect.uninterruptible
        )
      })
    )
  })
)

/** Answers past their 24 hours; called by a cron. */
export const sweepIdempotencyKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`
})
