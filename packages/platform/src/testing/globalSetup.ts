/** One embedded PostgreSQL for a whole test run; every test file makes its own database in it. */
import type { TestProject } from "vitest/node"
import { startEmbeddedServer } from "./EmbeddedServer.ts"

declare module "vitest" {
  export interface ProvidedContext {
    postgresUrl: string
    postgresDirectory: string
  }
}

export default async function setup(project: TestProject) {
  // What the tests of crashes kill is our own processes, never PostgreSQL.
  const server = await startEmbeddedServer({ durable: false })
  project.provide("postgresUrl", server.url)
  project.provide("postgresDirectory", server.directory)
  return server.stop
}
