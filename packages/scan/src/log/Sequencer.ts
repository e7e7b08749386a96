/**
 * Takes what was published into the tree. One transaction a batch: leaves,
 * nodes, checkpoint and the end of the waiting are there together or not at
 * all. Several sequencers at once wait for each other; a crash loses nothing
 * and doubles nothing.
 */
import { Database } from "@quickagents/platform"
import type { LogOpening } from "@quickagents/schema"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { attestationDigest, clearEntry, hiddenEntry } from "./LogEntry.ts"
import type { EntryRow, PendingRow } from "./LogSql.ts"
import { LogSql } from "./LogSql.ts"
import { grown, leafHash, rangeHash } from "./MerkleTree.ts"

/** Versions that one transaction takes. */
const batch = 500

/** What is to be logged of a version as it is now; nothing when that is logged already. */
const entryOf = (row: PendingRow): Omit<EntryRow, "leaf"> | undefined => {
  const attested = {
    ref: row.ref,
    archive: row.archiveDigest,
    attestation: attestationDigest(row.attestation)
  }
  if (row.visibility === "public") {
    return row.inClear
      ? undefined
      : { versionId: row.versionId, hidden: false, entry: clearEntry(attested), opening: null }
  }
  if (row.inClear || row.hidden) return undefined
  const opening: LogOpening = { ...attested, salt: randomBytes(32).toString("hex") }
  return { versionId: row.versionId, hidden: true, entry: hiddenEntry(opening), opening }
}

/** Answers the number of versions that were taken. */
const appendBatch = Effect.gen(function* () {
  const rows = yield* LogSql
  yield* rows.lock
  const pending = yield* rows.pending(batch)
  if (pending.length === 0) return 0
  yield* rows.settled(pending.map(({ versionId }) => versionId))
  const { root, size } = yield* rows.checkpoint
  const entries = pending
    .flatMap((row) => entryOf(row) ?? [])
    .map((entry, offset): EntryRow => ({ leaf: size + offset, ...entry }))
  if (entries.length === 0) return pending.length
  const whole = { from: 0, to: size }
  const old = yield* rows.hashesUnder([whole])
  // Nothing is built on a tree that is not the one that was signed before.
  if (!rangeHash(whole, old).equals(root)) {
    return yield* Effect.die(new Error(`the log is not what its checkpoint of ${size} leaves says`))
  }
  const nodes = grown(
    size,
    entries.map(({ entry }) => leafHash(Buffer.from(entry))),
    old
  )
  const added = new Map(nodes.map(({ hash, index, level }) => [`${level}/${index}`, hash]))
  yield* rows.grow(entries, nodes, {
    size: size + entries.length,
    root: rangeHash(
      { from: 0, to: size + entries.length },
      (position) => added.get(`${position.level}/${position.index}`) ?? old(position)
    ),
    madeAt: new Date(yield* Clock.currentTimeMillis)
  })
  return pending.length
})

/** Until nothing waits that can be taken now. Called when something was noted, and each two seconds. */
export const appendToLog = Effect.gen(function* () {
  const transaction = Database.transaction(yield* SqlClient.SqlClient)
  yield* Effect.repeat(transaction(appendBatch), { while: (taken) => taken === batch })
})
