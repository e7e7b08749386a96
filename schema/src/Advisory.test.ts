import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { compareVersions, inRange, VersionRange } from "./Advisory.ts"

const isRange = Schema.is(VersionRange)

describe("a range of versions", () => {
  it("is refused in words, not with the expression that reads it", () => {
    expect(() => Schema.decodeUnknownSync(VersionRange)(">=0.2 <0.3")).toThrow(
      "Expected a range of whole versions as >=1.0.0 <1.4.2, or *"
    )
  })

  it("orders versions as Semantic Versioning does", () => {
    const ordered = [
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
      "1.0.1",
      "1.2.0",
      "1.10.0",
      "90071992547409931.0.0",
      "90071992547409932.0.0"
    ]
    expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered)
    expect(compareVersions("1.0.0+a", "1.0.0+b")).toBe(0)
  })

  it("holds what all comparators of one alternative hold", () => {
    const range = ">=1.0.0 <1.4.2 || =2.0.0-rc.1"
    expect(isRange(range)).toBe(true)
    const held = ["0.9.9", "1.0.0-rc.1", "1.0.0", "1.4.2-rc.1", "1.4.2", "2.0.0-rc.1", "2.0.0"].filter((version) =>
      inRange(range, version)
    )
    expect(held).toEqual(["1.0.0", "1.4.2-rc.1", "2.0.0-rc.1"])
    expect(inRange("*", "0.0.1")).toBe(true)
    expect(inRange("1.2.3", "1.2.3")).toBe(true)
    expect([inRange("<=1.2.3", "1.2.3"), inRange(">1.2.3", "1.2.3")]).toEqual([true, false])
  })

  it("is refused when it is none", () => {
    const none = ["", "1", "^1.0.0", ">=1.0", "01.0.0", ">= 1.0.0", "1.0.0 ||", "1.0.0||2.0.0", "1.0.0  2.0.0", "x.0.0"]
    expect(none.filter((text) => isRange(text))).toEqual([])
  })
})
