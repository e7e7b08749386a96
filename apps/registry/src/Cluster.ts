/**
 * Effect's cluster runner over mutual TLS. One node or many, it is the same
 * code: a single node is a cluster of one. Shards live in PostgreSQL.
 */
import { Authority, Settings } from "@quickagents/platform"
import { registryUri } from "@quickagents/schema"
import { NodeCrypto, NodeSocket, NodeSocketServer } from "@effect/platform-node"
import { Effect, Layer, Option } from "effect"
import {
  RunnerAddress,
  RunnerHealth,
  Runners,
  ShardingConfig,
  SocketRunner,
  SqlMessageStorage,
  SqlRunnerStorage
} from "effect/cluster"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import type { PeerCertificate } from "node:tls"

const parse = (address: string) => {
  const at = address.lastIndexOf(":")
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) }
}

const isNode = (_name: string, peer: PeerCertificate) =>
  (peer.subjectaltname ?? "").split(", ").includes(`URI:${registryUri}`)
    ? undefined
    : new Error("the peer is not a registry node")

export const ClusterLive = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const authority = yield* Authority
    const { certificate: cert, privateKey: key } = yield* authority.node
    const tls = { ca: authority.caCertificate, cert, key, minVersion: "TLSv1.3" as const }
    const own = parse(settings["cluster.address"])

    const clientProtocol = Layer.effect(
      Runners.RpcClientProtocol,
      Effect.gen(function* () {
        const serialization = yield* RpcSerialization.RpcSerialization
        return {
          codecFor: serialization.codecFor,
          make: Effect.fnUntraced(function* (address) {
            const socket = yield* NodeSocket.makeTls({
              openTimeout: 1000,
              host: address.host,
              port: address.port,
              checkServerIdentity: isNode,
              ...tls
            })
            return yield* RpcClient.makeProtocolSocket().pipe(
              Effect.provideService(Socket.Socket, socket),
              Effect.provideService(RpcSerialization.RpcSerialization, serialization)
            )
          }, Effect.orDie)
        }
      })
    )
    return SocketRunner.layer.pipe(
      Layer.provide([
        NodeSocketServer.layerTls({
          host: settings["cluster.listen"],
          port: own.port,
          requestCert: true,
          rejectUnauthorized: true,
          ...tls
        }),
        clientProtocol
      ]),
      Layer.provide(RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc), Layer.provide(clientProtocol))),
      Layer.provide(SqlMessageStorage.layer.pipe(Layer.provide(NodeCrypto.layerDigest))),
      Layer.provide(Layer.orDie(SqlRunnerStorage.layer)),
      Layer.provide(
        ShardingConfig.layer({
          runnerAddress: Option.some(RunnerAddress.make(own.host, own.port)),
          runnerListenAddress: Option.some(RunnerAddress.make(settings["cluster.listen"], own.port)),
          // A dead node's work is taken over in seconds: the defaults are for longer-lived work than a run.
          runnerHealthCheckInterval: "1 second",
          refreshAssignmentsInterval: "500 millis",
          shardLockRefreshInterval: "2 seconds",
          shardLockExpiration: "6 seconds",
          entityMessagePollInterval: "1 second",
          entityTerminationTimeout: "5 seconds",
          maxResidentEntities: 20_000,
          simulateRemoteSerialization: false
        })
      ),
      Layer.provide(RpcSerialization.layerSchemaBinary())
    )
  })
)
