/** Loopback ports of a development stack. They are kept between starts, since hosts and cookies remember them. */
import { Effect } from "effect"
import { createServer } from "node:net"

export interface Ports {
  readonly database: number
  readonly provider: number
  readonly cluster: number
  readonly host: number
}

/** Listens for a moment; 0 takes any free port. Undefined when the port is taken. */
export const tryPort = (port: number) =>
  Effect.callback<number | undefined>((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(undefined)))
    server.listen(port, "127.0.0.1", () => {
      const { port: found } = server.address() as { readonly port: number }
      server.close(() => resume(Effect.succeed(found)))
    })
  })

/** The ports of the last start where they are still free, others where not. */
export const choosePorts = (last: Ports | undefined): Effect.Effect<Ports> => {
  const choose = (port: number | undefined) =>
    Effect.flatMap(tryPort(port ?? 0), (found) => (found === undefined ? Effect.map(tryPort(0), (other) => other!) : Effect.succeed(found)))
  // All at once, so that no free port is handed out twice.
  return Effect.all(
    { database: choose(last?.database), provider: choose(last?.provider), cluster: choose(last?.cluster), host: choose(last?.host) },
    { concurrency: "unbounded" }
  )
}
