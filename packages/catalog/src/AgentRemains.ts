/** What an agent keeps outside the database, and what becomes of it when the agent goes. */
import { Database, ObjectStore, Settings } from "@quickagents/platform"
import type { Digest } from "@quickagents/schema"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { AgentsSql } from "./AgentsSql.ts"

/** Takes away an agent's repository, and those of its archives that are no other agent's. What is gone already stays so. */
const takeAway = Effect.fnUntraced(function* (id: string, archives: ReadonlyArray<Digest>) {
  const directory = (yield* Settings.Settings)["git.directory"]
  if (directory !== null)
    yield* Effect.tryPromise(() => rm(join(directory, `${id}.git`), { recursive: true, force: true }))
  const rows = yield* AgentsSql
  const objects = yield* ObjectStore
  const transaction = Database.transaction(yield* SqlClient.SqlClient)
  yield* Effect.forEach(
    archives,
    (digest) =>
      transaction(
        Effect.gen(function* () {
          // The lock of whoever stores them: another agent under the same name has the same bytes.
          yield* rows.lock(`archive:${digest}`)
          if (!(yield* rows.holdsArchive(digest, id))) yield* objects.remove(digest)
        })
      ),
    { discard: true }
  )
})

/** Of an agent whose row is gone. A process that dies before it leaves files that nobody reaches. */
export const removeRemains = ({ forkArchive, id }: { readonly id: string; readonly forkArchive: Digest | null }) =>
  takeAway(id, forkArchive === null ? [] : [forkArchive]).pipe(
    Effect.catchCause((cause) => Effect.logWarning("files of a deleted agent stay", cause))
  )

/** Of agents that were erased with their organization: their rows say so until it is done. One that fails keeps no other from it. */
export const removeErased = Effect.gen(function* () {
  const rows = yield* AgentsSql
  yield* Effect.forEach(
    yield* rows.erased,
    ({ archives, id }) =>
      takeAway(id, archives).pipe(
        Effect.andThen(rows.erasedWhole(id)),
        Effect.catchCause((cause) =>
          Effect.logError("files of an erased agent stay; it is tried again", cause).pipe(
            Effect.annotateLogs({ agent: id })
          )
        )
      ),
    { discard: true }
  )
})
