/**
 * Tiles, https://c2sp.org/tlog-tiles: 256 hashes in a row of one tree level, or
 * 256 entries, under an address that can be kept for ever.
 */
import { Option } from "effect"

export const tileWidth = 256
/** Levels of the tree that one tile spans. */
export const tileHeight = 8

export interface Tile {
  /** Level of tiles, each `tileHeight` levels of the tree above the one before; `entries` holds what was logged. */
  readonly level: number | "entries"
  readonly index: number
  /** Hashes or entries; less than `tileWidth` at the right edge of the tree. */
  readonly width: number
}

const numberOf = (segments: ReadonlyArray<string>): number | undefined => {
  const [last = "", ...above] = segments.toReversed()
  if (!/^\d{3}$/.test(last) || !above.every((segment) => /^x\d{3}$/.test(segment))) return undefined
  const number = Number([...above.toReversed().map((segment) => segment.slice(1)), last].join(""))
  // A number has one address: x000/005 is none.
  return segments.length > 1 && number < 1000 ** (segments.length - 1) ? undefined : number
}

/** Reads `<L>` and the segments after it: `x001`, `234`, and for a partial tile `234.p`, `17`. */
export const readTile = (level: string, segments: ReadonlyArray<string>): Option.Option<Tile> => {
  if (level !== "entries" && !/^(0|[1-9]|[1-5]\d|6[0-3])$/.test(level)) return Option.none()
  const last = segments.at(-2)
  const partial = last?.endsWith(".p") === true
  const index = numberOf(partial ? [...segments.slice(0, -2), last.slice(0, -2)] : segments)
  const width = partial ? segments.at(-1)! : String(tileWidth)
  if (index === undefined || !/^[1-9]\d{0,2}$/.test(width) || Number(width) > tileWidth - (partial ? 1 : 0)) {
    return Option.none()
  }
  return Option.some({ level: level === "entries" ? level : Number(level), index, width: Number(width) })
}

/** Entries as one bundle: each behind its length in two bytes. */
export const bundle = (entries: ReadonlyArray<Uint8Array>): Uint8Array =>
  Buffer.concat(
    entries.flatMap((entry) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(entry.length)
      return [length, entry]
    })
  )
