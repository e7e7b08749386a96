/**
 * The transparency log: each attestation of a published release is a leaf of a
 * Merkle tree that only grows, so that a registry that attests two different
 * things for one release, or takes one back, is found out by whoever looks.
 */
import { Versions } from "@quickagents/catalog"
import { Settings } from "@quickagents/platform"
import { invalidField, NotFound, NotLogged } from "@quickagents/schema"
import type { Account, ConsistencyProof, InclusionProof, Validation } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SigningKeys } from "../SigningKeys.ts"
import { originOf, signedCheckpoint } from "./Checkpoint.ts"
import type { EntryRow } from "./LogSql.ts"
import { LogSql } from "./LogSql.ts"
import type { Range } from "./MerkleTree.ts"
import { consistencyRanges, inclusionRanges, leafHash, rangeHash } from "./MerkleTree.ts"
import type { Tile } from "./Tile.ts"
import { bundle, tileHeight, tileWidth } from "./Tile.ts"

export class TransparencyLog extends Context.Service<
  TransparencyLog,
  {
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

      const checkedSize = Effect.fnUntraced(function* (pointer: string, size: number | undefined) {
        const { size: current } = yield* Effect.orDie(rows.checkpoint)
        if (size !== undefined && size > current) {
          return yield* invalidField(pointer, `the log has ${current} leaves`, "query")
        }
        return size ?? current
      })

      const hexOf = Effect.fnUntraced(function* (ranges: ReadonlyArray<Range>) {
        const at = yield* Effect.orDie(rows.hashesUnder(ranges))
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
          const [path, version] = ref.split("@") as [string, string]
          const [ns, name] = path.split("/") as [string, string]
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
  )
}
