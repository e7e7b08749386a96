/**
 * The one place where answers leave: every failure of every route as
 * problem+json, the rate-limit headers, the request id and one log line.
 * Routes of git and SCIM speak their own error formats and are left alone.
 * Spec: Errors; Registry-wide limits, rule 2.
 */
import {
  Internal,
  invalidField,
  MethodNotAllowed,
  NotFound,
  RateLimited,
  TooLarge,
  Unavailable,
  UnsupportedMediaType,
  Validation
} from "@quickagents/schema"
import { Cause, Clock, Effect, Option, References, SchemaIssue } from "effect"
import {
  FindMyWay,
  HttpRouter,
  HttpServerError,
  HttpServerRequest,
  HttpServerRespondable,
  HttpServerResponse
} from "effect/http"
import { HttpApi, HttpApiError } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { SqlError } from "effect/sql"
import { isIP } from "node:net"
import { AccessLog } from "./AccessLog.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import type { RequestState } from "./CurrentRequest.ts"
import { edgeLimits } from "./EdgeLimits.ts"
import type { EdgeRefusal } from "./EdgeLimits.ts"
import { newId } from "./Ids.ts"
import type { Standing } from "./RateLimits.ts"
import { RateLimits } from "./RateLimits.ts"
import { Settings } from "./Settings.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()
const places = { Params: "path", Query: "query", Headers: "header", Payload: "body" } as const
const isPlace = (kind: string): kind is keyof typeof places => kind in places

/** A part of the request that does not decode, as 422 with a pointer for each field, at most 50 of them. */
const validation = (error: HttpApiError.HttpApiSchemaError, place: keyof typeof places) =>
  new Validation({
    detail: "One or more fields are not valid",
    errors: format(error.cause.issue)
      .issues.slice(0, 50)
      .map((issue) => ({
        // RFC 6901: the whole part is the empty pointer.
        pointer: (issue.path ?? [])
          .map((segment) => {
            const key = String(typeof segment === "object" ? segment.key : segment)
            return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`
          })
          .join(""),
        in: places[place],
        message: issue.message
      }))
  })

const problemOfStatus = (status: number) => {
  switch (status) {
    case 404:
      return new NotFound({})
    case 413:
      return new TooLarge({})
    case 415:
      return new UnsupportedMediaType({})
    case 503:
      return new Unavailable({})
    default:
      return undefined
  }
}

/** A status that no problem class names, such as a body that is not JSON. */
const plainProblem = (status: number) =>
  HttpServerResponse.jsonUnsafe(
    { type: "/problems/bad-request", title: "The request cannot be read", status },
    { status, contentType: "application/problem+json" }
  )

const respond = (problem: HttpServerRespondable.Respondable) => HttpServerRespondable.toResponse(problem)
const respondStatus = (status: number) => {
  const problem = problemOfStatus(status)
  return problem === undefined ? Effect.succeed(plainProblem(status)) : respond(problem)
}

/** The methods of each path, for 405 with Allow: the router itself only knows that nothing matched. */
const methodsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) => {
  const paths = new Map<string, Set<string>>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const methods = paths.get(endpoint.path) ?? new Set<string>()
      methods.add(endpoint.method)
      if (endpoint.method === "GET") methods.add("HEAD")
      paths.set(endpoint.path, methods)
    }
  })
  const table = FindMyWay.make<ReadonlySet<string>>()
  for (const [path, methods] of paths) table.all(path as `/${string}`, methods)
  return (url: string) => table.find("GET", url)?.handler
}

/** Nothing takes this request: 405 when its address is one of the API's, with the methods that it takes. */
const noRoute = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  methods: (url: string) => ReadonlySet<string> | undefined
) {
  const allowed = methods(request.url)
  return allowed === undefined || allowed.has(request.method)
    ? yield* respond(new NotFound({}))
    : HttpServerResponse.setHeader(yield* respond(new MethodNotAllowed({})), "allow", [...allowed].join(", "))
})

/**
 * PostgreSQL keeps neither NUL nor, in JSON, half of a surrogate pair. Only it knows which values
 * of a request reach it as text: what is sealed first, such as a task, may hold them.
 */
const isUnkeptText = ({ reason }: SqlError.SqlError) => {
  const { code, detail } = reason.cause as { readonly code?: unknown; readonly detail?: unknown }
  return code === "22021" || code === "22P05" || (code === "22P02" && /surrogate/.test(String(detail)))
}

const answer = Effect.fnUntraced(function* (
  cause: Cause.Cause<unknown>,
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState,
  methods: (url: string) => ReadonlySet<string> | undefined
) {
  for (const reason of cause.reasons) {
    const error = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (error === undefined) continue
    if (HttpServerResponse.isHttpServerResponse(error)) return error
    if (HttpApiError.HttpApiSchemaError.is(error)) {
      if (isPlace(error.kind)) return yield* respond(validation(error, error.kind))
      continue
    }
    if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound") {
      return yield* noRoute(request, methods)
    }
    if (SqlError.isSqlError(error) && isUnkeptText(error)) {
      const message = "holds a character that cannot be kept: NUL, or half of a surrogate pair"
      return yield* respond(invalidField("", message, request.method === "GET" ? "query" : "body"))
    }
    if (HttpServerRespondable.isRespondable(error)) {
      const response = yield* respond(error)
      if (response.status < 500 || response.headers["content-type"] === "application/problem+json") return response
    }
  }
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause)
  yield* Effect.logError("request failed", cause)
  // The text of a defect stays in our log; the request id leads to it.
  return yield* respond(new Internal({ instance: `urn:request:${state.id}` }))
})

const ownErrorFormat = (url: string) => url.startsWith("/git/") || url.startsWith("/scim/")
/** What extensions' services call: answered with a status and nothing else. Spec: META-002. */
const isCallback = (url: string) => url.startsWith("/internal/")
/** Pages load what is ours, run no inline script and stand in nobody's frame. */
const pagePolicy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
/** Far above any path of the contract. */
const maxPathLength = 2_048
/** Operations, and callbacks: whoever knows their secret sends what it has to, and a wrong one costs us a hash. */
const neverLimited = (path: string) =>
  path === "/healthz" || path === "/readyz" || path === "/metrics" || isCallback(path)

const standingHeaders = (standing: Standing) => ({
  "ratelimit-limit": String(standing.limit),
  "ratelimit-remaining": String(standing.remaining),
  "ratelimit-reset": String(standing.resetSeconds)
})

/** The answer to what is not let in: for git in words, since it shows no problem to the person. */
const notLetIn = Effect.fnUntraced(function* (
  url: string,
  { limit, retryAfterSeconds }: EdgeRefusal,
  state: RequestState
) {
  state.standing = { allowed: false, limit, remaining: 0, resetSeconds: retryAfterSeconds }
  const response = ownErrorFormat(url)
    ? HttpServerResponse.text("Too many requests; wait a little.\n", { status: 429 })
    : yield* respond(new RateLimited({}))
  return HttpServerResponse.setHeader(response, "retry-after", String(retryAfterSeconds))
})

const addressOf = (request: HttpServerRequest.HttpServerRequest, trustProxy: boolean) => {
  const forwarded = trustProxy ? request.headers["x-forwarded-for"]?.split(",").at(-1)?.trim() : undefined
  return forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : Option.getOrNull(request.remoteAddress)
}

/** Everything that is asked before the handler of `api` runs and done after it. */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const settings = yield* Settings
      const limits = yield* RateLimits
      const letIn = edgeLimits(settings)
      const methods = methodsOf(api)
      const log = yield* AccessLog
      const anonymous = [{ name: "anonymous", limit: settings["limits.anonymousPerMin"], windowMs: 60_000 }]

      return (httpEffect) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const started = yield* Clock.currentTimeMillis
          const state: RequestState = {
            id: yield* newId("req"),
            ip: addressOf(request, settings["service.trustProxy"]),
            standing: undefined
          }
          const path = request.url.split("?", 1)[0]
          const refused = yield* letIn(request.url, state.ip ?? "unknown")
          const serve =
            refused !== null
              ? notLetIn(request.url, refused, state)
              : path.length > maxPathLength
                ? Effect.succeed(plainProblem(414))
                : httpEffect
          const handled = yield* serve.pipe(
            Effect.catchCause((cause) => answer(cause, request, state, methods)),
            Effect.provideService(CurrentRequest, state),
            Effect.provideService(References.CurrentLogAnnotations, { request: state.id })
          )
          // What no credential was asked of, such as an unknown path, counts against the address.
          if (state.standing === undefined && !neverLimited(path)) {
            state.standing = yield* limits.take(state.ip ?? "unknown", anonymous)
          }
          let response = handled
          if (state.standing?.allowed === false && response.status !== 429)
            response = yield* respond(new RateLimited({}))
          if (
            response.status >= 400 &&
            response.headers["content-type"] !== "application/problem+json" &&
            !ownErrorFormat(request.url)
          ) {
            const { "content-length": _length, "content-type": _type, ...headers } = response.headers
            response = HttpServerResponse.setHeaders(
              // Pages answer every GET: one that they do not have may still be an address of the API.
              response.status === 404 ? yield* noRoute(request, methods) : yield* respondStatus(response.status),
              headers
            )
          }
          if (isCallback(request.url)) response = HttpServerResponse.empty({ status: response.status })
          const standing = state.standing ?? {
            allowed: true,
            limit: anonymous[0].limit,
            remaining: anonymous[0].limit,
            resetSeconds: 60
          }
          yield* log({
            method: request.method,
            path,
            status: response.status,
            ms: (yield* Clock.currentTimeMillis) - started,
            request: state.id
          })
          return HttpServerResponse.setHeaders(response, {
            ...standingHeaders(standing),
            ...(response.status === 429 && response.headers["retry-after"] === undefined
              ? { "retry-after": String(standing.resetSeconds) }
              : {}),
            ...(response.status === 401 && response.headers["www-authenticate"] === undefined
              ? { "www-authenticate": "Bearer" }
              : {}),
            "x-request-id": state.id,
            "x-content-type-options": "nosniff",
            ...(response.headers["content-type"]?.startsWith("text/html")
              ? { "content-security-policy": pagePolicy }
              : {}),
            ...(response.headers["cache-control"] === undefined ? { "cache-control": "no-store" } : {})
          })
        })
    }),
    { global: true }
  )
