import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = join(import.meta.dirname, "..")

/** What a file imports, and whether the lint configuration of this project lets it. */
const imports: ReadonlyArray<readonly [file: string, imported: string, verdict: "allowed" | "refused"]> = [
  ["schema/src/A.ts", "effect/http-api", "allowed"],
  ["schema/src/A.ts", "./B.ts", "allowed"],
  ["schema/src/A.ts", "node:fs", "refused"],
  ["schema/src/A.ts", "@quickagents/platform", "refused"],
  ["packages/identity/src/A.ts", "@quickagents/platform/sealing", "allowed"],
  ["packages/identity/src/A.ts", "@quickagents/schema", "allowed"],
  ["packages/identity/src/A.ts", "@quickagents/orgs", "refused"],
  ["packages/identity/src/A.ts", "@quickagents/platform/testing", "refused"],
  ["packages/identity/src/A.ts", "../../platform/src/Sealing.ts", "refused"],
  ["packages/identity/src/A.test.ts", "@quickagents/platform/testing", "allowed"],
  ["packages/identity/src/A.test.ts", "../../platform/src/Sealing.ts", "refused"],
  ["packages/identity/src/testing/A.ts", "@quickagents/platform/testing", "allowed"],
  ["packages/platform/src/A.ts", "@quickagents/identity", "refused"],
  ["packages/orgs/src/A.ts", "@quickagents/catalog", "refused"],
  ["packages/catalog/src/A.ts", "@quickagents/scan", "refused"],
  ["packages/scan/src/A.ts", "@quickagents/runs", "refused"],
  ["packages/runs/src/A.ts", "@quickagents/scan", "allowed"],
  ["packages/runs/src/A.ts", "@quickagents/host", "refused"],
  ["packages/runs/src/A.ts", "@quickagents/host/config", "refused"],
  ["packages/runner/src/A.ts", "@quickagents/schema", "allowed"],
  ["packages/runner/src/A.ts", "@quickagents/platform/sealing", "refused"],
  ["packages/client/src/A.ts", "@quickagents/runner", "refused"],
  ["apps/registry/src/A.ts", "@quickagents/runs", "allowed"],
  ["apps/registry/src/A.ts", "@quickagents/host", "refused"],
  ["apps/host/src/A.ts", "@quickagents/platform/certificates", "allowed"],
  ["apps/host/src/A.ts", "@quickagents/runner", "allowed"],
  ["apps/host/src/A.ts", "@quickagents/platform", "refused"],
  ["apps/host/src/A.ts", "@quickagents/platform/testing", "refused"],
  ["apps/host/src/A.ts", "@quickagents/identity", "refused"],
  ["apps/cli/src/A.ts", "@quickagents/client", "allowed"],
  ["apps/cli/src/A.ts", "@quickagents/runs", "refused"],
  ["tests/A.ts", "@quickagents/registry", "allowed"]
]

/** Ways to import that a reader of `import ... from` alone would miss. */
const forms: ReadonlyArray<readonly [form: string, source: string]> = [
  ["a type", 'import type { Run } from "@quickagents/runs"\nexport type Kept = Run\n'],
  ["a re-export", 'export * from "@quickagents/runs"\n'],
  ["a dynamic import", 'export const later = import("@quickagents/runs")\n']
]

const refusedFiles = new Set<string>()
const placed = (folder: string, file: string) => `${dirname(file)}/${folder}${file.slice(dirname(file).length + 1)}`
let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "import-rule-"))
  const write = (file: string, source: string) => {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), source)
  }
  copyFileSync(join(root, ".oxlintrc.json"), join(directory, ".oxlintrc.json"))
  imports.forEach(([file, imported], index) =>
    write(placed(`Case${index}`, file), `import * as imported from "${imported}"\nexport const kept = imported\n`)
  )
  forms.forEach(([, source], index) => write(`packages/identity/src/Form${index}.ts`, source))
  write("packages/scan/src/Left.ts", 'import { right } from "./Right.ts"\nexport const left = () => right\n')
  write("packages/scan/src/Right.ts", 'import { left } from "./Left.ts"\nexport const right = () => left\n')

  const { error, stdout } = spawnSync("oxlint", ["--format", "json"], { cwd: directory, encoding: "utf8" })
  if (error !== undefined) throw error
  const { diagnostics }: { diagnostics: ReadonlyArray<{ code: string; filename: string }> } = JSON.parse(stdout)
  for (const { code, filename } of diagnostics) {
    if (/no-restricted-imports|no-cycle/u.test(code)) refusedFiles.add(filename)
  }
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe("the import rule", () => {
  it.each(imports.map(([file, imported, verdict], index) => [file, imported, verdict, index] as const))(
    "%s that imports %s is %s",
    (file, _imported, verdict, index) => {
      expect(refusedFiles.has(placed(`Case${index}`, file))).toBe(verdict === "refused")
    }
  )

  it.each(forms.map(([form], index) => [form, index] as const))("sees %s", (_form, index) => {
    expect(refusedFiles.has(`packages/identity/src/Form${index}.ts`)).toBe(true)
  })

  it("refuses a cycle", () => {
    expect([...refusedFiles].filter((file) => /Left|Right/u.test(file))).toHaveLength(2)
  })
})
