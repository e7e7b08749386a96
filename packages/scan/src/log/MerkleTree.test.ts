import { assert, describe, it } from "@effect/vitest"
import { isConsistent, rootOfInclusion } from "@quickagents/runner"
import * as fc from "fast-check"
import type { Hash, Position, Range } from "./MerkleTree.ts"
import { consistencyRanges, emptyRoot, grown, inclusionRanges, leafHash, rangeHash } from "./MerkleTree.ts"

/** Leaves, roots and proofs of the reference tests of Certificate Transparency. */
const entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
const roots = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
]

/** A log in memory that grows by the given numbers of leaves. */
const logOf = (leaves: ReadonlyArray<Hash>, batches: ReadonlyArray<number> = [leaves.length]) => {
  const nodes = new Map<string, Hash>()
  const at = ({ index, level }: Position) => {
    const hash = nodes.get(`${level}/${index}`)
    assert.isDefined(hash, `${level}/${index} is known`)
    return hash
  }
  let size = 0
  for (const count of batches) {
    for (const { hash, index, level } of grown(size, leaves.slice(size, size + count), at)) {
      assert.isFalse(nodes.has(`${level}/${index}`), "a node is made once")
      nodes.set(`${level}/${index}`, hash)
    }
    size += count
  }
  const hashes = (ranges: ReadonlyArray<Range>) => ranges.map((range) => rangeHash(range, at))
  return {
    root: (size: number) => rangeHash({ from: 0, to: size }, at),
    inclusion: (index: number, size: number) => hashes(inclusionRanges(index, size)),
    consistency: (first: number, second: number) => hashes(consistencyRanges(first, second))
  }
}
const hex = (hashes: ReadonlyArray<Hash>) => hashes.map((hash) => hash.toString("hex"))
const published = logOf(entries.map((entry) => leafHash(Buffer.from(entry, "hex"))))

describe("the tree of RFC 6962", () => {
  it("has the published roots", () => {
    assert.strictEqual(emptyRoot.toString("hex"), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    assert.deepStrictEqual(
      roots.map((_, index) => published.root(index + 1).toString("hex")),
      roots
    )
  })

  it("has the published proofs", () => {
    assert.deepStrictEqual(published.inclusion(0, 1), [])
    assert.deepStrictEqual(hex(published.inclusion(0, 8)), [
      "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
    ])
    assert.deepStrictEqual(hex(published.inclusion(5, 8)), [
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
    ])
    assert.deepStrictEqual(hex(published.inclusion(2, 3)), [roots[1]])
    assert.deepStrictEqual(published.consistency(1, 1), [])
    assert.deepStrictEqual(hex(published.consistency(1, 8)), hex(published.inclusion(0, 8)))
    assert.deepStrictEqual(hex(published.consistency(6, 8)), [
      "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
    ])
    assert.deepStrictEqual(hex(published.consistency(2, 5)), [
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
    ])
  })

  const leaves = Array.from({ length: 600 }, (_, index) => leafHash(Buffer.from(`entry ${index}`)))
  const whole = logOf(leaves)

  it("is the same in whatever batches it grew", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 90 }), { maxLength: 6 }), (batches) => {
        const size = batches.reduce((sum, count) => sum + count, 0)
        assert.deepStrictEqual(logOf(leaves, batches).root(size), whole.root(size))
      })
    )
  })

  it("proves each leaf of each size to a verifier that shares no code with it, and no other leaf", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(599), fc.nat(599), (size, at, another) => {
        const index = at % size
        const proof = whole.inclusion(index, size)
        assert.deepStrictEqual(rootOfInclusion(index, size, leaves[index], proof), whole.root(size))
        const wrong = another % size
        if (wrong !== index) {
          assert.notDeepEqual(rootOfInclusion(wrong, size, leaves[index], proof), whole.root(size))
          assert.notDeepEqual(rootOfInclusion(index, size, leaves[wrong], proof), whole.root(size))
        }
        assert.notDeepEqual(rootOfInclusion(index, size, leaves[index], [...proof, leaves[0]]), whole.root(size))
        assert.notDeepEqual(
          rootOfInclusion(index, size, leaves[index], proof.slice(1)),
          size > 1 ? whole.root(size) : undefined
        )
      }),
      { numRuns: 500 }
    )
  })

  it("proves that it only grew, and not that another tree did", () => {
    const forked = logOf(leaves.with(3, leafHash(Buffer.from("another"))))
    fc.assert(
      fc.property(fc.nat(600), fc.nat(600), (one, two) => {
        const [first, second] = [Math.min(one, two), Math.max(one, two)]
        const proof = whole.consistency(first, second)
        const from = { size: first, root: whole.root(first) }
        const to = { size: second, root: whole.root(second) }
        assert.isTrue(isConsistent(from, to, proof))
        const fork = { size: second, root: forked.root(second) }
        if (first > 0 && second > 3) assert.isFalse(isConsistent(from, fork, proof))
        if (first > 3) assert.isFalse(isConsistent(from, fork, forked.consistency(first, second)))
        if (first < second && first > 0) assert.isFalse(isConsistent(from, to, proof.slice(1)))
        if (first < second) assert.isFalse(isConsistent(to, from, proof))
      }),
      { numRuns: 500 }
    )
  })
})
