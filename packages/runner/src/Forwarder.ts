/**
 * Gives the tools and programs of a sandbox an ordinary proxy address: listens
 * on the loopback and pipes each connection to the host's egress socket.
 */
import { Effect, type Scope } from "effect"
import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { pipeline } from "node:stream"

const maxConnections = 64

/** Answers `http://127.0.0.1:port`; closes with the scope. */
export const forwardTo = (socketPath: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly address: string; readonly close: () => void }>((resume) => {
      const open = new Set<Socket>()
      const server = createServer((inner) => {
        const outer = connect(socketPath)
        for (const socket of [inner, outer]) {
          open.add(socket)
          socket.once("close", () => open.delete(socket))
        }
        const end = () => {
          inner.destroy()
          outer.destroy()
        }
        pipeline(inner, outer, (error) => error && end())
        pipeline(outer, inner, (error) => error && end())
      })
      server.maxConnections = maxConnections
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(
          Effect.succeed({
            address: `http://127.0.0.1:${port}`,
            close: () => {
              server.close()
              for (const socket of open) socket.destroy()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ address }) => address))
