import { packageProblems } from "@quickagents/archive"
import type { ReleasePackage, RuleProblem } from "@quickagents/archive"
import type { Finding, Manifest } from "@quickagents/schema"
import { manifestFile } from "@quickagents/schema"
import { Effect } from "effect"
import type { ScanContext } from "../Stage.ts"
import { defineStage } from "../Stage.ts"

/** What only the registry knows: where the version is published, and what a run is given at most. */
const targetProblems = (manifest: Manifest, context: ScanContext): ReadonlyArray<RuleProblem> => {
  const target = `${context.namespace}/${context.name}`
  return [
    ...(manifest.name === target
      ? []
      : [
          {
            rule: "name-mismatch",
            message: `The manifest's name is not ${target}, where it is published`,
            path: ["name"]
          }
        ]),
    ...(manifest.version === context.version
      ? []
      : [
          {
            rule: "version-mismatch",
            message: `The manifest's version is not ${context.version}, as submitted`,
            path: ["version"]
          }
        ]),
    ...(["seconds", "turns"] as const).flatMap((key) => {
      const asked = manifest.budgets?.[key]
      const most = context.budgetCaps[key]
      return asked === undefined || asked <= most
        ? []
        : [
            {
              rule: "budget-over-cap",
              message: `budgets.${key} is ${asked}; no run is given more than ${most}`,
              path: ["budgets", key]
            }
          ]
    })
  ]
}

const problemsOf = (manifest: Manifest, pkg: ReleasePackage, context: ScanContext) => [
  ...targetProblems(manifest, context),
  ...packageProblems(manifest, pkg.files)
]

/** S2: the manifest against its schema, its target and the files it names. Any high finding blocks. */
export const manifestStage = defineStage("S2", "1", (pkg, context) =>
  Effect.sync(() => {
    const source = pkg.manifestSource
    if (source === undefined) {
      return {
        findings: [
          {
            stage: "S2" as const,
            rule: "manifest-missing",
            severity: "high" as const,
            file: manifestFile,
            message: "The package has no agent.yaml, or it is not UTF-8 text"
          }
        ]
      }
    }
    const findings = source.problems.map(({ rule, path, line, message }): Finding => ({
      stage: "S2",
      rule,
      // A field this registry does not know grants nothing; a wrong one may mean anything.
      severity: rule === "unknown-field" ? "medium" : "high",
      file: manifestFile,
      line,
      message: path === "" ? message : `${path}: ${message}`
    }))
    const broken =
      source.manifest === undefined
        ? []
        : problemsOf(source.manifest, pkg, context).map(({ message, path, rule }): Finding => ({
            stage: "S2",
            rule,
            severity: "high",
            file: manifestFile,
            line: source.lineOf(path),
            message
          }))
    return { findings: [...findings, ...broken], inputs: { manifestSchemaVersion: String(source.major) } }
  })
)
