/**
 * The host's one TLS server: the registry's RPC and the two raw routes for
 * bytes. Whoever is not the registry of this host's enrolment gets nothing.
 */
import { NodeHttpServer, NodeHttpServerRequest, NodeStream } from "@effect/platform-node"
import { Digest, HostProtocol, RunId } from "@quickagents/schema"
import { Effect, Layer, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { createReadStream } from "node:fs"
import { createServer, type Server, type ServerOptions } from "node:https"
import { TLSSocket } from "node:tls"
import type { HeldRuns } from "./HeldRuns.ts"
import type { HostConfig } from "./HostConfig.ts"
import { certificateExpiry, certifies, type HostIdentity, newHostKey, storeIdentity } from "./HostIdentity.ts"
import type { Isolation } from "./Isolation.ts"
import { maxObjectBytes, type ObjectCache } from "./ObjectCache.ts"

export const hostVersion = "0.1.0"

/** Between the end of a host and its last open stream. */
const shutdownGrace = "1 second"

export interface Host {
  readonly config: HostConfig
  readonly isolation: Isolation
  readonly objects: ObjectCache
  readonly runs: HeldRuns
  readonly identity: HostIdentity
}

/** One exact entry of the names: a value with a comma in it is quoted by Node and so never equals an entry. */
const hasUri = (subjectAltName: string | undefined, uri: string) =>
  (subjectAltName ?? "").split(", ").includes(`URI:${uri}`)

const secureContext = (identity: HostIdentity): ServerOptions => ({
  key: identity.privateKey,
  cert: identity.certificate,
  ca: identity.caChain,
  minVersion: "TLSv1.3"
})

/** Answers 403 unless the connection's verified certificate names the registry. */
const registryOnly = (registryName: string) =>
  HttpRouter.middleware(
    (app) =>
      Effect.gen(function* () {
        const { socket } = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
        const peer = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined
        return hasUri(peer?.subjectAltName, registryName) ? yield* app : HttpServerResponse.empty({ status: 403 })
      }),
    { global: true }
  )

const objectParameter = HttpRouter.schemaPathParams(Schema.Struct({ digest: Digest }))
const runParameter = HttpRouter.schemaPathParams(Schema.Struct({ runId: RunId }))
const badRequest = Effect.succeed(HttpServerResponse.empty({ status: 400 }))

const byteRoutes = ({ objects, runs }: Host) =>
  Layer.mergeAll(
    // The router answers HEAD from GET; archives are never read back, so GET has no body either.
    HttpRouter.add(
      "GET",
      "/objects/:digest",
      Effect.map(objectParameter, ({ digest }) =>
        HttpServerResponse.empty({ status: objects.has(digest) ? 200 : 404 })
      ).pipe(Effect.catchTag("SchemaError", () => badRequest))
    ),
    HttpRouter.add(
      "PUT",
      "/objects/:digest",
      Effect.gen(function* () {
        const { digest } = yield* objectParameter
        const request = yield* HttpServerRequest.HttpServerRequest
        if (Number(request.headers["content-length"] ?? 0) > maxObjectBytes)
          return HttpServerResponse.empty({ status: 413 })
        yield* objects.put(digest, request.stream)
        return HttpServerResponse.empty({ status: 201 })
      }).pipe(
        Effect.catchTags({
          SchemaError: () => badRequest,
          // The registry went away in the middle of its upload.
          HttpServerError: () => badRequest,
          ObjectDigestWrong: () => Effect.succeed(HttpServerResponse.empty({ status: 422 })),
          ObjectTooLarge: () => Effect.succeed(HttpServerResponse.empty({ status: 413 }))
        })
      )
    ),
    HttpRouter.add(
      "GET",
      "/runs/:runId/output",
      Effect.map(runParameter, ({ runId }) =>
        Option.match(runs.output(runId), {
          onNone: () => HttpServerResponse.empty({ status: 404 }),
          onSome: ({ bytes, path }) =>
            HttpServerResponse.stream(NodeStream.fromReadable({ evaluate: () => createReadStream(path) }), {
              contentType: "application/octet-stream",
              contentLength: bytes
            })
        })
      ).pipe(Effect.catchTag("SchemaError", () => badRequest))
    )
  )

/** Serves until the scope closes. A port that is taken is a failure. */
export const serveHost = (host: Host) => {
  let identity = host.identity
  /** Between the two halves of a renewal. */
  let renewedKey: string | undefined
  const server: Server = createServer({ ...secureContext(identity), requestCert: true, rejectUnauthorized: true })
  const become = (next: HostIdentity) =>
    Effect.gen(function* () {
      yield* storeIdentity(host.config.dataDir, next)
      identity = next
    })

  const handlers = HostProtocol.toLayer({
    Health: () =>
      Effect.sync(() => ({
        hostId: identity.hostId,
        version: hostVersion,
        slots: host.runs.slots(),
        draining: host.runs.draining(),
        ...features(host.isolation),
        runs: host.runs.held(),
        certificateExpiresAt: certificateExpiry(identity.certificate)
      })),
    Take: (handOff) => host.runs.take(handOff, identity.signingKeys),
    Watch: ({ afterSeq, runId }) => host.runs.watch(runId, afterSeq),
    Cancel: ({ reason, runId }) => host.runs.cancel(runId, reason),
    Forget: ({ runId }) => host.runs.forget(runId),
    RenewalRequest: () =>
      Effect.map(newHostKey, ({ csr, privateKey }) => {
        renewedKey = privateKey
        return { csr }
      }),
    Renew: ({ caChain, certificate }) =>
      Effect.gen(function* () {
        const privateKey = [renewedKey, identity.privateKey].find(
          (key) => key !== undefined && certifies(certificate, identity.hostId, key)
        )
        if (privateKey === undefined)
          return yield* Effect.die(new Error("the renewed certificate is for another key or host"))
        yield* become({ ...identity, privateKey, certificate, caChain })
        renewedKey = undefined
        // Open connections go on under the old leaf; the next handshake shows the new one.
        server.setSecureContext(secureContext(identity))
        yield* Effect.logInfo("certificate renewed").pipe(
          Effect.annotateLogs({ expiresAt: certificateExpiry(certificate) })
        )
      }),
    PinKeys: ({ keys }) => become({ ...identity, signingKeys: keys }),
    Drain: () => host.runs.drain
  })

  const rpc = RpcServer.layerHttp({
    group: HostProtocol,
    path: "/rpc",
    protocol: "http",
    disableTracing: true,
    // One call that fails must not end the calls beside it.
    disableFatalDefects: true
  }).pipe(Layer.provide([handlers, RpcSerialization.layerNdjson]))

  return HttpRouter.serve(Layer.mergeAll(rpc, byteRoutes(host), registryOnly(identity.registryName)), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(
    Layer.provide(
      NodeHttpServer.layer(() => server, {
        host: host.config.listenAddress,
        port: host.config.listenPort,
        gracefulShutdownTimeout: shutdownGrace
      })
    )
  )
}

/** What this host can do, in the words of `HostHealth`. */
export const features = ({ full }: Isolation) => ({
  acceptsSealedObjects: true,
  acceptsBrowser: false,
  acceptsInputReview: false,
  acceptsSessions: false,
  fullIsolation: full
})
