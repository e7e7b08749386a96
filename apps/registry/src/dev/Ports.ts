/** Loopback ports of a development stack. They are kept between starts, since hosts and cookies remember them. */
import { Effect } from "effect"
import { connect, createServer } from "node:net"
import type { Server } from "node:net"

export interface Ports {
  readonly database: number
  readonly provider: number
  readonly cluster: number
  readonly host: number
  /** Git over SSH. */
  readonly ssh: number
}

/** Takes a port on loopback until the scope closes; 0 is any free one. Undefined when it is taken already. */
const hold = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<Server | undefined>((resume) => {
      const server = createServer()
      server.once("error", () => resume(Effect.undefined))
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) =>
        server === undefined ? resume(Effect.void) : void server.close(() => resume(Effect.void))
      )
  ).pipe(Effect.map((server) => (server?.address() as { readonly port: number } | undefined)?.port))

export const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.scoped(Effect.map(hold(port), (found) => found !== undefined))

/** Whether somebody answers there. Asked by connecting: listening would take the port from whom one waits for. */
export const isListening = (port: number): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const answer = (listens: boolean) => {
      socket.destroy()
      resume(Effect.succeed(listens))
    }
    socket.once("connect", () => answer(true)).once("error", () => answer(false))
  })

/** The ports of the last start where they are still free, others where not. */
export const choosePorts = (last: Ports | undefined): Effect.Effect<Ports> => {
  const choose = Effect.fnUntraced(function* (port: number | undefined) {
    const found = port === undefined ? undefined : yield* hold(port)
    return found ?? (yield* hold(0))!
  })
  // All are held until the last is chosen, so that none is handed out twice.
  return Effect.all({
    database: choose(last?.database),
    provider: choose(last?.provider),
    cluster: choose(last?.cluster),
    host: choose(last?.host),
    // Missing in what an earlier release kept.
    ssh: choose((last as Partial<Ports> | undefined)?.ssh)
  }).pipe(Effect.scoped)
}
