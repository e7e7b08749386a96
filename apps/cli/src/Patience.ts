/** How long a registry may leave a request without an answer. Without a limit a build would stand still with it. */
import { Duration, Effect, Layer } from "effect"
import { HttpClient, HttpClientError } from "effect/http"

/** A read is answered from the database. */
const reading = Duration.seconds(60)
/** A change may carry an archive over a slow line. */
const changing = Duration.minutes(10)

/** Put into the error that `CommandFailed` tells. */
export const noAnswer = "no answer in time"

/** The same client, with an end of its patience. What is streamed may take as long as it takes. */
export const patientHttp = Layer.effect(HttpClient.HttpClient)(
  Effect.map(
    HttpClient.HttpClient,
    HttpClient.transform((ask, request) =>
      Effect.timeoutOrElse(ask, {
        duration: request.method === "GET" ? reading : changing,
        orElse: () =>
          Effect.fail(
            new HttpClientError.HttpClientError({
              reason: new HttpClientError.TransportError({ request, description: noAnswer })
            })
          )
      })
    )
  )
)
