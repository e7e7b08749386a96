/** What an agent keeps outside the database, and what becomes of it when the agent goes. */
import { Database, ObjectStore, Settings } from "@quickagents/platform"
import type { Digest } from "@quickagents/schema"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { AgentsSql } from "./AgentsSql.ts"

/**
 * Takes away the repository and the fork archive of an agent whose row is gone.
 * A process that dies before it leaves files that nobody reaches.
 */
export const removeRemains = Effect.fnUntraced(
  function* (agent: { readonly id: string; readonly forkArchive: Digest | null }) {
    const { forkArchive } = agent
    const directory = (yield* Settings.Settings)["git.directory"]
    if (directory !== null)
      yield* Effect.tryPromise(() => rm(join(directory, `${agent.id}.git`), { recursive: true, force: true }))
    if (forkArchive === null) return
    const rows = yield* AgentsSql
    const objects = yield* ObjectStore
    yield* Database.transaction(yield* SqlClient.SqlClient)(
      Effect.gen(function* () {
        // The lock of copies: another fork under the same name has the same bytes.
        yield* rows.lock(`archive:${forkArchive}`)
        if (!(yield* rows.holdsArchive(forkArchive))) yield* objects.remove(forkArchive)
      })
    )
  },
  Effect.catchCause((cause) => Effect.logWarning("files of a deleted agent stay", cause))
)
