/**
 * `/internal/x/<name>/`: where the service of an extension calls the registry.
 * Its signature is the only way in; no session or token is looked at. Answers
 * are bare status codes (the edge sees to that): 403 without a valid signature,
 * 404 for an extension that is not configured. Spec: META-002.
 */
import { ByteSize, Clock, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { mayBeSigned, verify } from "./ExtensionSignature.ts"

const maxBody = ByteSize.kibibytes(16)

export interface ExtensionCallback {
  readonly method: string
  /** What comes after `/internal/x/<name>/`. */
  readonly path: string
  readonly body: string
  readonly signedAt: Date
}

/** Routes of one extension. `answer` gives the status. */
export const extensionCallbacks = <R>(
  name: string,
  secret: string,
  answer: (callback: ExtensionCallback) => Effect.Effect<number, never, R>
) => {
  const prefix = `/internal/x/${name}/`
  const serve = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { headers, method, url } = request
    const now = new Date(yield* Clock.currentTimeMillis)
    if (!mayBeSigned(headers, now)) return HttpServerResponse.empty({ status: 403 })
    const body = yield* request.text.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBody),
      Effect.orElseSucceed(() => null)
    )
    if (body === null) return HttpServerResponse.empty({ status: 413 })
    const signedAt = verify(secret, headers, now, { method, path: url, body })
    if (signedAt === null) return HttpServerResponse.empty({ status: 403 })
    const status = yield* answer({ method, path: url.slice(prefix.length), body, signedAt })
    return HttpServerResponse.empty({ status })
  })
  return HttpRouter.use((router) =>
    Effect.flatMap(Effect.context<R>(), (services) =>
      router.add("*", `/internal/x/${name}/*`, Effect.provideContext(serve, services))
    )
  )
}
