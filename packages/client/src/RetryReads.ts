/** What a client does about 429: reads wait as long as the registry says and ask again; changes are left to the caller. */
import { Duration, Effect } from "effect"
import type { HttpClientResponse } from "effect/http"
import { HttpClient } from "effect/http"

/** Attempts after the first. */
export const maxRetries = 3
/** A longer wait is the caller's decision: the 429 is handed out. */
export const maxWait = Duration.seconds(60)

/** Seconds of `Retry-After`; 1 when it is missing or a date. */
const waitOf = (response: HttpClientResponse.HttpClientResponse) => {
  const seconds = Number(response.headers["retry-after"] ?? "1")
  return Duration.seconds(Number.isFinite(seconds) && seconds >= 0 ? seconds : 1)
}

const answered = <E, R>(
  ask: Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>,
  retries: number
): Effect.Effect<HttpClientResponse.HttpClientResponse, E, R> =>
  Effect.flatMap(ask, (response) => {
    const wait = waitOf(response)
    return response.status !== 429 || retries === 0 || Duration.isGreaterThan(wait, maxWait)
      ? Effect.succeed(response)
      : Effect.andThen(Effect.sleep(wait), answered(ask, retries - 1))
  })

/** Repeats GET and HEAD that were answered 429, at most `maxRetries` times, after `Retry-After`. */
export const retryReads = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  HttpClient.transform(client, (ask, request) =>
    request.method === "GET" || request.method === "HEAD" ? answered(ask, maxRetries) : ask
  )
