/**
 * `npm run spec`: the rows of the specification's checklist with and without a
 * passing test. `--area RUN` shows one area, `--missing` only what is not
 * proven. Fails when a title names a row that does not exist.
 *
 * Reads the results of the last test run, and runs the tests when there are
 * none or when a file changed since.
 */
import { spawnSync } from "node:child_process"
import { globSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { coverage, parseChecklist, type Report } from "./SpecCoverage.ts"

const root = join(import.meta.dirname, "..")
const resultsFile = "node_modules/.cache/vitest.json"
const { values: options } = parseArgs({
  options: { area: { type: "string" }, missing: { type: "boolean", default: false } }
})

const changedAt = (file: string) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0

const sources = globSync("{schema,packages,apps,tests,scripts}/**/*.{ts,js,json,sql,yaml}", {
  cwd: root,
  exclude: ["**/node_modules/**"]
})
const lastRun = changedAt(resultsFile)
if (lastRun < Math.max(...sources.map(changedAt))) {
  const { error } = spawnSync("vitest", ["run", "--reporter=json", `--outputFile=${resultsFile}`], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"]
  })
  if (error !== undefined) throw error
  if (changedAt(resultsFile) === lastRun) throw new Error("vitest ended without results")
}

const rows = parseChecklist(readFileSync(join(root, "tests/spec/checklist.tsv"), "utf8"))
const report: Report = JSON.parse(readFileSync(join(root, resultsFile), "utf8"))
const { standing, unknown } = coverage(rows, report)

const areas = [...new Set(rows.map((row) => row.area))]
if (options.area !== undefined && !areas.includes(options.area)) {
  console.error(`no area ${options.area}; there are ${areas.join(", ")}`)
  process.exit(2)
}

const marks = { proven: "✓", failing: "✗", open: "·" }
const proven = (of: typeof rows) => of.filter((row) => standing.get(row.id) === "proven").length
const shown = options.area === undefined ? areas : [options.area]
for (const area of shown) {
  const own = rows.filter((row) => row.area === area)
  console.log(`${area}: ${proven(own)} of ${own.length}`)
  for (const { id, statement } of own) {
    const state = standing.get(id) ?? "open"
    if (!options.missing || state !== "proven") console.log(`  ${marks[state]} ${id} ${statement}`)
  }
}

const counted = rows.filter((row) => shown.includes(row.area))
const failing = counted.filter((row) => standing.get(row.id) === "failing").length
console.log(
  `${proven(counted)} of ${counted.length} rows have a passing test${failing > 0 ? `, ${failing} a failing one` : ""}`
)
for (const title of unknown) console.error(`not in the checklist: ${title}`)
process.exitCode = unknown.length > 0 ? 1 : 0
