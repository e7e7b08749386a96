/** A sandbox host as the registry calls it: RPC and bytes over mutual TLS, with the host's identity pinned in both. */
import { NodeHttpClient } from "@effect/platform-node"
import { HostProtocol, hostUri } from "@quickagents/schema"
import type { Digest } from "@quickagents/schema"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import type { Scope } from "effect"
import { HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import { RpcClient, RpcSerialization } from "effect/rpc"
import type { RpcClientError, RpcGroup } from "effect/rpc"
import type { PeerCertificate } from "node:tls"
import { Agent } from "undici"
import type { NodeIdentity } from "./NodeIdentity.ts"

/** The host does not answer, or not as its protocol says. What was asked may or may not have happened there. */
export class HostUnreachable extends Schema.TaggedError<HostUnreachable>()("HostUnreachable", {
  cause: Schema.Defect()
}) {}

export interface HostAddress {
  readonly id: string
  readonly address: string
}

export interface HostConnection {
  readonly rpc: RpcClient.RpcClient<RpcGroup.Rpcs<typeof HostProtocol>, RpcClientError.RpcClientError>
  readonly hasObject: (digest: Digest) => Effect.Effect<boolean, HostUnreachable>
  readonly putObject: <E>(
    digest: Digest,
    bytes: number,
    content: Stream.Stream<Uint8Array, E>
  ) => Effect.Effect<void, HostUnreachable>
  /** The sealed output of an ended run. */
  readonly output: (runId: string) => Stream.Stream<Uint8Array, HostUnreachable>
}

/** A connection of its own for the scope's life. Nothing is dialled until it is used. */
export const connectHost = Effect.fnUntraced(function* (
  host: HostAddress,
  identity: NodeIdentity
): Effect.fn.Return<HostConnection, never, Scope.Scope> {
  const dispatcher = Layer.effect(
    NodeHttpClient.Dispatcher,
    Effect.acquireRelease(
      Effect.sync(
        () =>
          new Agent({
            connect: {
              ca: identity.caCertificate,
              cert: identity.certificate,
              key: identity.privateKey,
              minVersion: "TLSv1.3",
              timeout: 5_000,
              // The identity is the host's id, wherever it moves; a name or address proves nothing.
              checkServerIdentity: (_name: string, peer: PeerCertificate) =>
                (peer.subjectaltname ?? "").split(", ").includes(`URI:${hostUri(host.id)}`)
                  ? undefined
                  : new Error("the peer is not the host that was enrolled")
            },
            headersTimeout: 30_000,
            bodyTimeout: 0
          })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    )
  )
  // Fresh: a client of its own, not the one that the layer has made for someone else already.
  const context = yield* Layer.build(
    Layer.fresh(NodeHttpClient.layerUndiciNoDispatcher).pipe(Layer.provide(dispatcher))
  )
  const http = Context.get(context, HttpClient.HttpClient)
  const base = `https://${host.address}`
  const rpc = yield* RpcClient.make(HostProtocol).pipe(
    Effect.provide(
      RpcClient.layerProtocolHttp({ url: `${base}/rpc` }).pipe(
        Layer.provide(RpcSerialization.layerNdjson),
        Layer.provide(Layer.succeed(HttpClient.HttpClient, http))
      )
    )
  )
  const unreachable = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.mapError(effect, (cause) => new HostUnreachable({ cause }))
  const expect = (status: number, expected: ReadonlyArray<number>) =>
    expected.includes(status) ? Effect.void : Effect.fail(new HostUnreachable({ cause: `status ${status}` }))
  return {
    rpc,
    hasObject: (digest) =>
      unreachable(http.execute(HttpClientRequest.head(`${base}/objects/${digest}`))).pipe(
        Effect.tap(({ status }) => expect(status, [200, 204, 404])),
        Effect.map(({ status }) => status !== 404)
      ),
    putObject: (digest, bytes, content) =>
      unreachable(
        http.execute(
          HttpClientRequest.put(`${base}/objects/${digest}`).pipe(
            HttpClientRequest.setBody(HttpBody.stream(content, "application/octet-stream", bytes))
          )
        )
      ).pipe(Effect.flatMap(({ status }) => expect(status, [200, 201, 204]))),
    output: (runId) =>
      Stream.unwrap(
        unreachable(http.execute(HttpClientRequest.get(`${base}/runs/${runId}/output`))).pipe(
          Effect.tap(({ status }) => expect(status, [200])),
          Effect.map((response) => Stream.mapError(response.stream, (cause) => new HostUnreachable({ cause })))
        )
      )
  }
})
