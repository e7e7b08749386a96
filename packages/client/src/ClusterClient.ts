/**
 * Typed RPC to the entities of a running cluster: `LedgerEntity.client`,
 * `RunEntity.client` and the others of `@quickagents/schema` work in any process
 * that has this layer, the deployment's database and an identity of its authority.
 */
import { NodeCrypto, NodeSocket } from "@effect/platform-node"
import { registryUri } from "@quickagents/schema"
import { Effect, Layer, Option } from "effect"
import { Runners, ShardingConfig, SocketRunner, SqlMessageStorage, SqlRunnerStorage } from "effect/cluster"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import type { PeerCertificate } from "node:tls"
import type { NodeIdentity } from "./NodeIdentity.ts"

export const tlsOf = ({ caCertificate, certificate, privateKey }: NodeIdentity) => ({
  ca: caCertificate,
  cert: certificate,
  key: privateKey,
  minVersion: "TLSv1.3" as const
})

const isNode = (_name: string, peer: PeerCertificate) =>
  (peer.subjectaltname ?? "").split(", ").includes(`URI:${registryUri}`)
    ? undefined
    : new Error("the peer is not a registry node")

/** How one node reaches another: each end shows a certificate of the authority that names a registry node. */
export const clusterProtocol = (identity: NodeIdentity) =>
  Layer.effect(
    Runners.RpcClientProtocol,
    Effect.gen(function* () {
      const serialization = yield* RpcSerialization.RpcSerialization
      return {
        codecFor: serialization.codecFor,
        make: Effect.fnUntraced(function* ({ host, port }) {
          const socket = yield* NodeSocket.makeTls({
            openTimeout: 1000,
            host,
            port,
            checkServerIdentity: isNode,
            ...tlsOf(identity)
          })
          return yield* RpcClient.makeProtocolSocket().pipe(
            Effect.provideService(Socket.Socket, socket),
            Effect.provideService(RpcSerialization.RpcSerialization, serialization)
          )
        }, Effect.orDie)
      }
    })
  )

/** Messages and shards of the cluster in PostgreSQL. */
export const clusterStorage = Layer.mergeAll(
  SqlMessageStorage.layer.pipe(Layer.provide(NodeCrypto.layerDigest)),
  Layer.orDie(SqlRunnerStorage.layer)
)

/** A process that sends messages and takes no shards. Needs the database of the cluster. */
export const layerClusterClient = (identity: NodeIdentity) =>
  SocketRunner.layerClientOnly.pipe(
    Layer.provide([clusterProtocol(identity), clusterStorage]),
    Layer.provide(
      ShardingConfig.layer({
        runnerAddress: Option.none(),
        refreshAssignmentsInterval: "500 millis",
        entityReplyPollInterval: "50 millis"
      })
    ),
    Layer.provide(RpcSerialization.layerSchemaBinary())
  )
