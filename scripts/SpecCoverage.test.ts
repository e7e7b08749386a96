import { describe, expect, it } from "vitest"
import { coverage, idsOf, parseChecklist } from "./SpecCoverage.ts"

const rows = parseChecklist(
  "id\tarea\tkind\tstatement\tsource\nAA-001\tAA\trule\tFirst.\tHere\nAA-002\tAA\trule\tSecond.\tHere\nAA-003\tAA\trule\tThird.\tHere\n"
)
const report = (...tests: ReadonlyArray<readonly [fullName: string, status: string]>) => ({
  testResults: [{ name: "a.test.ts", assertionResults: tests.map(([fullName, status]) => ({ fullName, status })) }]
})

describe("the coverage of the checklist", () => {
  it("reads the rows under the header", () => {
    expect(rows).toHaveLength(3)
    expect(rows[1]).toEqual({ id: "AA-002", area: "AA", kind: "rule", statement: "Second.", source: "Here" })
  })

  it("finds ids in brackets only", () => {
    expect(idsOf("[AA-001] one, [AA-002, AA-003] two, AA-004 and [note] three")).toEqual(["AA-001", "AA-002", "AA-003"])
  })

  it("counts a row as proven when a test that names it passed", () => {
    const { standing } = coverage(rows, report(["[AA-001] works", "passed"], ["[AA-002] waits", "skipped"]))
    expect([...standing]).toEqual([
      ["AA-001", "proven"],
      ["AA-002", "open"],
      ["AA-003", "open"]
    ])
  })

  it("does not count a row that one test proves and another breaks", () => {
    const { standing } = coverage(rows, report(["[AA-001] works", "passed"], ["[AA-001] always", "failed"]))
    expect(standing.get("AA-001")).toBe("failing")
  })

  it("names ids that the checklist does not have", () => {
    expect(coverage(rows, report(["[AA-009] works", "passed"])).unknown).toEqual(['AA-009 in "[AA-009] works"'])
  })
})
