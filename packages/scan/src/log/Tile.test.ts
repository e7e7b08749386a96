import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { bundle, readTile } from "./Tile.ts"

const read = (address: string) => {
  const [level = "", ...segments] = address.split("/")
  return Option.getOrNull(readTile(level, segments))
}

describe("a tile", () => {
  it("has the address that tlog-tiles gives it", () => {
    assert.deepStrictEqual(read("0/000"), { level: 0, index: 0, width: 256 })
    assert.deepStrictEqual(read("3/067"), { level: 3, index: 67, width: 256 })
    assert.deepStrictEqual(read("0/000.p/1"), { level: 0, index: 0, width: 1 })
    assert.deepStrictEqual(read("63/x001/234"), { level: 63, index: 1234, width: 256 })
    assert.deepStrictEqual(read("entries/x001/234.p/255"), { level: "entries", index: 1234, width: 255 })
  })

  it("has no other", () => {
    for (const address of [
      "0/0",
      "0/0000",
      "0/x00",
      "0/x001",
      "0/x000/005",
      "0/001/234",
      "0/000.p",
      "0/000.p/0",
      "0/000.p/01",
      "0/000.p/256",
      "0/000/5",
      "0/x001.p/234",
      "00/000",
      "-1/000",
      "64/000",
      "data/000",
      "0/..",
      "0/١٢٣"
    ]) {
      assert.isNull(read(address), address)
    }
  })

  it("bundles entries behind their lengths", () => {
    const long = Buffer.alloc(300, "x")
    assert.deepStrictEqual(
      Buffer.from(bundle([Buffer.from("ab"), Buffer.alloc(0), long])).toString("latin1"),
      `\0\x02ab\0\0\x01\x2c${long.toString("latin1")}`
    )
  })
})
