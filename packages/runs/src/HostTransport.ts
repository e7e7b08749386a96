/**
 * How a node reaches its sandbox hosts: connections that all its entities share.
 * A service, so that a simulation can put a seeded network in its place.
 */
import { connectHost } from "@quickagents/client/rpc"
import type { HostAddress, HostConnection } from "@quickagents/client/rpc"
import { Authority } from "@quickagents/platform"
import { Context, Effect, Layer, RcMap } from "effect"
import type { Scope } from "effect"

export class HostTransport extends Context.Service<
  HostTransport,
  {
    /** The node's connection to the host, shared and kept a while after its last use. Nothing is dialled until it is used. */
    readonly connect: (host: HostAddress) => Effect.Effect<HostConnection, never, Scope.Scope>
  }
>()("runs/HostTransport") {
  static readonly layer = Layer.effect(
    HostTransport,
    Effect.gen(function* () {
      const authority = yield* Authority
      const dial = Effect.fnUntraced(function* (host: HostAddress) {
        const node = yield* authority.node
        return yield* connectHost(host, { caCertificate: authority.caCertificate, ...node })
      })
      const keyOf = ({ address, id }: HostAddress) => `${id} ${address}`
      const shared = yield* RcMap.make({
        lookup: (key: string) => {
          const [id, address] = key.split(" ") as [string, string]
          return dial({ id, address })
        },
        idleTimeToLive: "5 minutes"
      })
      // A connection is made with the node's certificate of that moment: make new ones well before it ends.
      yield* Effect.flatMap(RcMap.keys(shared), (keys) =>
        Effect.forEach(keys, (key) => RcMap.invalidate(shared, key))
      ).pipe(Effect.delay("6 hours"), Effect.forever, Effect.forkScoped)
      return HostTransport.of({ connect: (host) => RcMap.get(shared, keyOf(host)) })
    })
  )
}
