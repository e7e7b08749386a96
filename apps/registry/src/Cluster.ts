/**
 * Effect's cluster runner over mutual TLS. One node or many, it is the same
 * code: a single node is a cluster of one. Shards live in PostgreSQL.
 */
import { NodeSocketServer } from "@effect/platform-node"
import { clusterProtocol, clusterStorage, tlsOf } from "@quickagents/client/rpc"
import { Authority, Settings } from "@quickagents/platform"
import { Effect, Layer, Option } from "effect"
import { RunnerAddress, RunnerHealth, Runners, ShardingConfig, SocketRunner } from "effect/cluster"
import { RpcSerialization } from "effect/rpc"

const parse = (address: string) => {
  const at = address.lastIndexOf(":")
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) }
}

export const ClusterLive = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const authority = yield* Authority
    const identity = { caCertificate: authority.caCertificate, ...(yield* authority.node) }
    const protocol = clusterProtocol(identity)
    const own = parse(settings["cluster.address"])
    return SocketRunner.layer.pipe(
      Layer.provide([
        NodeSocketServer.layerTls({
          host: settings["cluster.listen"],
          port: own.port,
          requestCert: true,
          rejectUnauthorized: true,
          ...tlsOf(identity)
        }),
        protocol
      ]),
      Layer.provide(RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc), Layer.provide(protocol))),
      Layer.provide(clusterStorage),
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
