/**
 * The transparency log: each attestation of a published release is a leaf of a
 * Merkle tree that only grows, so that a registry that attests two different
 * things for one release, or takes one back, is found out by whoever looks.
 */
import { Versions } from "@quickagents/catalog"
import { Database, Settings } from "@quickagents/platform"
import { invalidField, NotFound, NotLogged } from "@quickagents/schema"
import type { Account, ConsistencyProof, InclusionProof, LogOpening, Validation } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { SigningKeys } from "../SigningKeys.ts"
import { originOf, signedCheckpoint } from "./Checkpoint.ts"
import { attestationDigest, clearEntry, hiddenEntry } from "./LogEntry.ts"
import type { EntryRow, PendingRow } from "./LogSql.ts"
import { LogSql } from "./LogSql.ts"
import type { Hash, Position, Range } from "./MerkleTree.ts"
import { consistencyRanges, grown, inclusionRanges, leafHash, rangeHash, subtreesOf } from "./MerkleTree.ts"
import type { Tile } from "./Tile.ts"
import { bundle, tileHeight, tileWidth } from "./Tile.ts"

/** Leaves that one transaction appends. */
const batch = 500

const key = ({ index, level }: Position) => `${level}/${index}`

/** What is to be logged of a version now; nothing when it is already. */
const entryOf = (row: PendingRow): Pick<EntryRow, "versionId" | "hidden" | "entry" | "opening"> | undefined => {
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

export class TransparencyLog extends Context.Service<
  TransparencyLog,
  {
    /** Takes what waits into the tree and makes its checkpoint, in one transaction. Answers the number of new leaves. */
    readonly append: Effect.Effect<number>
    /** The latest checkpoint as a note, signed by the active key. */
    readonly checkpoint: Effect.Effect<string>
    /** `NotFound` for what the tree does not hold, or does not hold in full. */
    readonly tile: (tile: Tile) => Effect.Effect<Uint8Array, NotFound>
    /** `NotFound` when the viewer may not read the release. */
    readonly inclusionOfRelease: (
      viewer: Account | null,
      ref: string,
      size: number | undefined
    ) => Effect.Effect<InclusionProof, NotFound | NotLogged | Validation>
    readonly inclusionOfLeaf: (
      leafHash: string,
      size: number | undefined
    ) => Effect.Effect<InclusionProof, NotFound | Validation>
    readonly consistency: (first: number, second: number) => Effect.Effect<ConsistencyProof, Validation>
  }
>()("scan/TransparencyLog") {
  static readonly layer = Layer.effect(
    TransparencyLog,
    Effect.gen(function* () {
      const rows = yield* LogSql
      const versions = yield* Versions
      const keys = yield* SigningKeys
      const origin = originOf((yield* Settings.Settings)["service.baseUrl"])
      const transaction = Database.transaction(yield* SqlClient.SqlClient)

      const hashesOf = Effect.fnUntraced(function* (ranges: ReadonlyArray<Range>) {
        const nodes = yield* rows.nodes(ranges.flatMap(subtreesOf))
        const found = new Map(nodes.map((node) => [key(node), node.hash]))
        return (position: Position): Hash => {
          const hash = found.get(key(position))
          if (hash === undefined) throw new Error(`the log has lost its node ${key(position)}`)
          return hash
        }
      })

      const append = transaction(
        Effect.gen(function* () {
          yield* rows.lock
          const pending = yield* rows.pending(batch)
          if (pending.length === 0) return 0
          yield* rows.settled(pending.map(({ versionId }) => versionId))
          const { root, size } = yield* rows.checkpoint
          const old = yield* hashesOf([{ from: 0, to: size }])
          // Nothing is ever signed on top of a tree that is not the one that was signed before.
          if (!rangeHash({ from: 0, to: size }, old).equals(root)) {
            return yield* Effect.die(new Error(`the log is not what its checkpoint of ${size} leaves says`))
          }
          const entries = pending
            .flatMap((row) => entryOf(row) ?? [])
            .map((entry, offset): EntryRow => ({ leaf: size + offset, ...entry }))
          if (entries.length === 0) return 0
          const nodes = grown(
            size,
            entries.map(({ entry }) => leafHash(Buffer.from(entry))),
            old
          )
          const added = new Map(nodes.map((node) => [key(node), node.hash]))
          const grownSize = size + entries.length
          const grownRoot = rangeHash(
            { from: 0, to: grownSize },
            (position) => added.get(key(position)) ?? old(position)
          )
          const madeAt = new Date(yield* Clock.currentTimeMillis)
          yield* rows.grow(entries, nodes, { size: grownSize, root: grownRoot, madeAt })
          return entries.length
        })
      )

      const checkedSize = Effect.fnUntraced(function* (pointer: string, size: number | undefined) {
        const { size: current } = yield* Effect.orDie(rows.checkpoint)
        if (size !== undefined && size > current) {
          return yield* invalidField(pointer, `the log has ${current} leaves`, "query")
        }
        return size ?? current
      })

      const hexOf = Effect.fnUntraced(function* (ranges: ReadonlyArray<Range>) {
        const at = yield* Effect.orDie(hashesOf(ranges))
        return ranges.map((range) => rangeHash(range, at).toString("hex"))
      })

      const inclusion = Effect.fnUntraced(function* ({ entry, leaf, opening }: EntryRow, size: number | undefined) {
        const treeSize = yield* checkedSize("/size", size)
        if (leaf >= treeSize) {
          return yield* invalidField("/size", `the leaf is number ${leaf}, counted from 0`, "query")
        }
        const proof: InclusionProof = {
          leafIndex: leaf,
          treeSize,
          leafHash: leafHash(Buffer.from(entry)).toString("hex"),
          hashes: yield* hexOf(inclusionRanges(leaf, treeSize)),
          entry,
          opening
        }
        return proof
      })

      return TransparencyLog.of({
        append,
        checkpoint: Effect.map(Effect.orDie(rows.checkpoint), ({ root, size }) =>
          signedCheckpoint({ origin, size, root }, keys.active)
        ),
        tile: Effect.fnUntraced(function* ({ index, level, width }) {
          const from = index * tileWidth
          const found = yield* Effect.orDie(
            level === "entries" ? rows.entries(from, width) : rows.hashes(level * tileHeight, from, width)
          )
          if (found.length < width) return yield* new NotFound({})
          return level === "entries" ? bundle(found) : Buffer.concat(found)
        }),
        inclusionOfRelease: Effect.fnUntraced(function* (viewer, ref, size) {
          const [, ns, name, version] = /^([^/]*)\/([^@]*)@(.*)$/u.exec(ref) as unknown as [
            string,
            string,
            string,
            string
          ]
          yield* Effect.catchTag(
            versions.attestation(viewer, ns, name, version),
            "ReportNotReady",
            () => new NotLogged({ detail: "The version has no attestation, or was never published" })
          )
          const entry = yield* Effect.orDie(rows.entryOf(ns, name, version))
          if (entry === null) {
            return yield* new NotLogged({ detail: "The version was published a moment ago: ask again in some seconds" })
          }
          return yield* inclusion(entry, size)
        }),
        inclusionOfLeaf: Effect.fnUntraced(function* (leafHash, size) {
          const entry = yield* Effect.orDie(rows.entryWith(Buffer.from(leafHash, "hex")))
          return entry === null ? yield* new NotFound({}) : yield* inclusion(entry, size)
        }),
        consistency: Effect.fnUntraced(function* (first, second) {
          yield* checkedSize("/second", second)
          if (first > second) return yield* invalidField("/first", "must not be larger than second", "query")
          return { first, second, hashes: yield* hexOf(consistencyRanges(first, second)) }
        })
      })
    })
  ).pipe(Layer.provide(LogSql.layer))
}

/** Until nothing waits that can be taken now. Called each two seconds. */
export const appendToLog = Effect.gen(function* () {
  const log = yield* TransparencyLog
  yield* Effect.repeat(log.append, { while: (appended) => appended === batch })
})
