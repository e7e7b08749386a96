/**
 * The tree of RFC 6962, section 2.1, as arithmetic on positions and hashes.
 *
 * A complete subtree never changes once its last leaf is there, so the hashes
 * of complete subtrees are all that a log has to keep: every root and every
 * proof is folded from a few of them.
 */
import { createHash } from "node:crypto"

/** SHA-256, 32 bytes. */
export type Hash = Buffer

/** The complete subtree over the leaves `index * 2^level` up to `(index + 1) * 2^level`; a leaf has level 0. */
export interface Position {
  readonly level: number
  readonly index: number
}

export interface TreeNode extends Position {
  readonly hash: Hash
}

/** Leaves from `from` up to and without `to`. */
export interface Range {
  readonly from: number
  readonly to: number
}

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Hash => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

// The prefixes keep a node from being passed off as a leaf.
const leafPrefix = Uint8Array.of(0)
const nodePrefix = Uint8Array.of(1)

export const leafHash = (entry: Uint8Array): Hash => sha256(leafPrefix, entry)
const nodeHash = (left: Hash, right: Hash): Hash => sha256(nodePrefix, left, right)
export const emptyRoot: Hash = sha256()

/** Where the left half of a range of `length` leaves ends: the largest power of two below it. */
const split = (length: number) => 2 ** (31 - Math.clz32(length - 1))

/** The complete subtrees that make up `range`, from left to right, each as large as possible. */
export const subtreesOf = ({ from, to }: Range): ReadonlyArray<Position> => {
  const found: Array<Position> = []
  for (let at = from; at < to;) {
    let level = 0
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level++
    found.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return found
}

/** Hash of `range`, which starts where the tree splits; `hashAt` knows the hashes of its complete subtrees. */
export const rangeHash = (range: Range, hashAt: (position: Position) => Hash): Hash => {
  const hashes = subtreesOf(range).map(hashAt)
  return hashes.length === 0 ? emptyRoot : hashes.reduceRight((right, left) => nodeHash(left, right))
}

/** The ranges whose hashes prove the leaf `index` in the tree of `size` leaves, from the leaf up. RFC 6962, 2.1.1. */
export const inclusionRanges = (index: number, size: number): ReadonlyArray<Range> => {
  const found: Array<Range> = []
  for (let from = 0, to = size; to - from > 1;) {
    const middle = from + split(to - from)
    if (index < middle) {
      found.push({ from: middle, to })
      to = middle
    } else {
      found.push({ from, to: middle })
      from = middle
    }
  }
  return found.toReversed()
}

/** The ranges whose hashes prove that the tree of `second` leaves begins with that of `first`. RFC 6962, 2.1.2. */
export const consistencyRanges = (first: number, second: number): ReadonlyArray<Range> => {
  if (first === 0 || first === second) return []
  const found: Array<Range> = []
  let [from, to] = [0, second]
  while (to > first) {
    const middle = from + split(to - from)
    if (first <= middle) {
      found.push({ from: middle, to })
      to = middle
    } else {
      found.push({ from, to: middle })
      from = middle
    }
  }
  // Where nothing was split off on the left, what is left is the first tree itself, whose root is known.
  return (from === 0 ? found : [...found, { from, to }]).toReversed()
}

/** The complete subtrees that `leaves` add to a tree of `size` leaves, whose own are known to `hashAt`. */
export const grown = (
  size: number,
  leaves: ReadonlyArray<Hash>,
  hashAt: (position: Position) => Hash
): ReadonlyArray<TreeNode> => {
  const added = new Map<string, TreeNode>()
  const key = ({ index, level }: Position) => `${level}/${index}`
  const add = (node: TreeNode) => added.set(key(node), node)
  const known = (position: Position) => added.get(key(position))?.hash ?? hashAt(position)
  leaves.forEach((leaf, offset) => {
    let node: TreeNode = { level: 0, index: size + offset, hash: leaf }
    add(node)
    while (node.index % 2 === 1) {
      const left = known({ level: node.level, index: node.index - 1 })
      node = { level: node.level + 1, index: (node.index - 1) / 2, hash: nodeHash(left, node.hash) }
      add(node)
    }
  })
  return [...added.values()]
}
