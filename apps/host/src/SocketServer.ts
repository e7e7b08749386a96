/** An HTTP server on a unix socket, for the lifetime of a scope. The sandbox reaches the host through two of these and nothing else. */
import { Effect, type Scope } from "effect"
import type { Server } from "node:http"
import type { Socket } from "node:net"

/** Connections that one run may hold open at one of its sockets. */
const maxConnections = 64

/**
 * Listens at `path` until the scope closes; then open connections are cut, also
 * those that a CONNECT took away from the HTTP server.
 */
export const listenAt = (path: string, server: Server): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Set<Socket>>((resume) => {
      const sockets = new Set<Socket>()
      server.maxConnections = maxConnections
      server.on("connection", (socket) => {
        sockets.add(socket)
        socket.once("close", () => sockets.delete(socket))
      })
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(path, () => resume(Effect.succeed(sockets)))
    }),
    (sockets) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  ).pipe(Effect.asVoid)
