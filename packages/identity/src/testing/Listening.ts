/** A plain server on loopback for as long as the scope is open. */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { RequestListener } from "node:http"

export const listening = (port: number, listener: RequestListener) => {
  const server = createServer(listener)
  return Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))),
    () =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve())
            server.closeAllConnections()
          })
      )
  )
}
