/** Which rows of the specification's checklist a test proves. A test names the rows in its title: `[RUN-012] ...`. */

export interface Row {
  readonly id: string
  readonly area: string
  readonly kind: string
  readonly statement: string
  readonly source: string
}

/** - `proven`: a passing test names the row, and none that names it fails; - `failing`: one fails; - `open`: no test names it or all are skipped. */
export type Standing = "proven" | "failing" | "open"

/** The part of vitest's JSON report that counts here. */
export interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly assertionResults: ReadonlyArray<{ readonly fullName: string; readonly status: string }>
  }>
}

export interface Coverage {
  readonly standing: ReadonlyMap<string, Standing>
  /** Ids in titles that the checklist does not have, with the title. */
  readonly unknown: ReadonlyArray<string>
}

/** Reads tab-separated rows under a header line. */
export const parseChecklist = (tsv: string): ReadonlyArray<Row> =>
  tsv
    .split("\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => {
      const [id = "", area = "", kind = "", statement = "", source = ""] = line.split("\t")
      return { id, area, kind, statement, source }
    })

/** Ids in square brackets: `[RUN-012]`, `[RUN-012, RUN-013]`. */
export const idsOf = (title: string): ReadonlyArray<string> =>
  [...title.matchAll(/\[([A-Z][A-Z0-9]*-\d{3}(?:[ ,]+[A-Z][A-Z0-9]*-\d{3})*)\]/gu)].flatMap(([, ids = ""]) =>
    ids.split(/[ ,]+/u)
  )

export const coverage = (rows: ReadonlyArray<Row>, report: Report): Coverage => {
  const known = new Set(rows.map((row) => row.id))
  const statuses = new Map<string, Set<string>>()
  const unknown = new Set<string>()
  for (const file of report.testResults) {
    for (const { fullName, status } of file.assertionResults) {
      for (const id of idsOf(fullName)) {
        if (!known.has(id)) unknown.add(`${id} in "${fullName}"`)
        statuses.set(id, (statuses.get(id) ?? new Set()).add(status))
      }
    }
  }
  const standing = (id: string): Standing => {
    const seen = statuses.get(id) ?? new Set()
    return seen.has("failed") ? "failing" : seen.has("passed") ? "proven" : "open"
  }
  return { standing: new Map(rows.map(({ id }) => [id, standing(id)])), unknown: [...unknown] }
}
