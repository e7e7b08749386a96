/**
 * Requests to a model's API: retries within bounds, then the events of the
 * answer. In a sandbox they go over the host's unix socket, which adds the key.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Option, Redacted, Schema, type Scope, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClient, HttpClientRequest } from "effect/http"
import { modelFailed, type RunFailure } from "./RunFailure.ts"

const rateLimitRetries = 3
const failureRetries = 2
const maxWaitMs = 60_000
/** To the first byte of an answer, and between two parts of one: a model may think this long without a word. */
const silenceMs = 600_000
const firstWaitMs = 500

export interface ModelEndpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly apiKey?: { readonly header: string; readonly value: Redacted.Redacted }
  /** Unix socket instead of the url's own host. */
  readonly socket?: string
}

export interface Transport {
  /** The `data` of each event. `read` may be run again from the start when the connection broke before its end. */
  readonly stream: <A>(
    body: unknown,
    read: (events: Stream.Stream<string, RunFailure>) => Effect.Effect<A, RunFailure>
  ) => Effect.Effect<A, RunFailure>
}

/** Worth another request: `afterMs` when the answer said when. */
class TryAgain extends Schema.TaggedError<TryAgain>()("TryAgain", {
  kind: Schema.Literals(["rate-limit", "failure"]),
  afterMs: Schema.UndefinedOr(Schema.Finite)
}) {}

const unavailable = () => modelFailed("model-unavailable", "The model does not answer")

/** Seconds, or an HTTP date. */
export const retryAfterMs = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  const seconds = Number(value)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - now
  return Number.isNaN(ms) ? undefined : Math.min(maxWaitMs, Math.max(0, ms))
}

export const makeTransport = (endpoint: ModelEndpoint): Effect.Effect<Transport, never, Scope.Scope> =>
  Effect.gen(function* () {
    const dispatcher = NodeHttpClient.layerDispatcherOptions({
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
      ...(endpoint.socket === undefined ? {} : { connect: { socketPath: endpoint.socket } })
    })
    const services = yield* Layer.build(Layer.provide(NodeHttpClient.layerUndiciNoDispatcher, dispatcher))
    const client = yield* HttpClient.HttpClient.pipe(Effect.provide(services))

    const attempt = <A>(
      body: unknown,
      read: (events: Stream.Stream<string, RunFailure>) => Effect.Effect<A, RunFailure>
    ): Effect.Effect<A, RunFailure | TryAgain> =>
      Effect.gen(function* () {
        const request = HttpClientRequest.post(endpoint.url).pipe(
          HttpClientRequest.setHeaders(endpoint.headers),
          endpoint.apiKey === undefined
            ? (self) => self
            : HttpClientRequest.setHeader(endpoint.apiKey.header, Redacted.value(endpoint.apiKey.value)),
          HttpClientRequest.bodyJsonUnsafe(body)
        )
        const broken = () => new TryAgain({ kind: "failure", afterMs: undefined })
        const response = yield* client
          .execute(request)
          .pipe(
            Effect.mapError(broken),
            Effect.timeoutOrElse({ duration: silenceMs, orElse: () => Effect.fail(broken()) })
          )
        const { status } = response
        if (status === 429)
          return yield* new TryAgain({
            kind: "rate-limit",
            afterMs: retryAfterMs(response.headers["retry-after"], Date.now())
          })
        if (status >= 500) return yield* broken()
        if (status < 200 || status > 299)
          return yield* modelFailed("model-refused", `The model's API answers ${status}`)
        const events = response.stream.pipe(
          Stream.timeoutOrElse({ duration: silenceMs, orElse: () => Stream.fail(broken()) }),
          Stream.decodeText,
          Stream.pipeThroughChannel(Sse.decode()),
          Stream.map(({ data }) => data),
          Stream.mapError(unavailable)
        )
        return yield* read(events).pipe(
          Effect.catchIf(
            (failure) => failure.reason === "model-unavailable",
            () => Effect.fail(broken())
          )
        )
      })

    const stream: Transport["stream"] = <A>(
      body: unknown,
      read: (events: Stream.Stream<string, RunFailure>) => Effect.Effect<A, RunFailure>
    ) => {
      const from = (limited: number, failed: number): Effect.Effect<A, RunFailure> =>
        attempt(body, read).pipe(
          Effect.catchTag("TryAgain", ({ afterMs, kind }) => {
            const retries = kind === "rate-limit" ? limited : failed
            if (retries === (kind === "rate-limit" ? rateLimitRetries : failureRetries)) {
              return Effect.fail(
                kind === "rate-limit"
                  ? modelFailed("model-rate-limited", "The model's API limits the rate of requests")
                  : unavailable()
              )
            }
            const again = Effect.suspend(() =>
              kind === "rate-limit" ? from(limited + 1, failed) : from(limited, failed + 1)
            )
            return Effect.andThen(Effect.sleep(afterMs ?? firstWaitMs * 2 ** retries), again)
          })
        )
      return from(0, 0)
    }
    return { stream }
  })

/** One event's JSON, or the failure that it makes of a broken API. */
export const eventJson = <A>(schema: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(schema))
  return (data: string): Effect.Effect<A, RunFailure> =>
    Option.match(decode(data), {
      onNone: () => Effect.fail(modelFailed("model-unavailable", "The model's API answers in another form")),
      onSome: Effect.succeed
    })
}
