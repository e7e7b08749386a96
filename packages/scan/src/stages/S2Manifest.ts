import type { Finding, IntakeQuestion, Manifest, Severity } from "@quickagents/schema"
import { defaultInstructions, manifestFile } from "@quickagents/schema"
import { Effect } from "effect"
import type { ReleasePackage } from "@quickagents/archive"
import { isInside } from "@quickagents/archive"
import type { ScanContext } from "../Stage.ts"
import { defineStage } from "../Stage.ts"

type Report = (rule: string, severity: Severity, message: string, path?: ReadonlyArray<PropertyKey>) => void

const repeated = <A>(values: ReadonlyArray<A>): ReadonlyArray<number> =>
  values.flatMap((value, index) => (values.indexOf(value) < index ? [index] : []))

const defaultFits = ({ type, options, default: value }: IntakeQuestion): boolean => {
  switch (type) {
    case "choice":
      return typeof value === "string" && (options ?? []).includes(value)
    case "integer":
      return Number.isInteger(value)
    case "number":
      return typeof value === "number"
    case "boolean":
      return typeof value === "boolean"
    case "url":
      return typeof value === "string" && URL.canParse(value)
    case "file":
      return false
    case "string":
    case "text":
      return typeof value === "string"
  }
}

const judgeIntake = (intake: ReadonlyArray<IntakeQuestion>, report: Report) => {
  for (const index of repeated(intake.map((question) => question.id))) {
    report("intake-id-repeated", "high", "Two intake questions have one id", ["intake", index, "id"])
  }
  intake.forEach((question, index) => {
    const at = ["intake", index]
    if (question.type === "choice" && question.options === undefined)
      report("choice-without-options", "high", "A choice question needs options", at)
    if (question.type !== "choice" && question.options !== undefined)
      report("options-without-choice", "high", "Only a choice question has options", [...at, "options"])
    if (question.options && repeated(question.options).length > 0)
      report("options-repeated", "high", "An option is listed twice", [...at, "options"])
    if (question.browserSite && question.type !== "url")
      report("browser-site-not-url", "high", "Only a url question can be a browserSite", [...at, "browserSite"])
    if (question.default !== undefined && !defaultFits(question))
      report("default-does-not-fit", "high", `The default does not fit the type ${question.type}`, [...at, "default"])
  })
}

const judgeFiles = (manifest: Manifest, pkg: ReleasePackage, report: Report) => {
  const textOf = (path: string) => pkg.files.find((file) => file.path === path)?.text
  const instructions = manifest.instructions ?? defaultInstructions
  const source = textOf(instructions)
  if (source === undefined)
    report("instructions-missing", "high", `The instruction file ${instructions} is missing or is not UTF-8 text`, [
      "instructions"
    ])
  else if (source.trim() === "")
    report("instructions-empty", "high", `The instruction file ${instructions} is empty`, ["instructions"])

  const schemaPath = manifest.output?.schema
  if (schemaPath !== undefined) {
    const schema = textOf(schemaPath)
    if (schema === undefined)
      report("output-schema-missing", "high", `The output schema ${schemaPath} is missing`, ["output", "schema"])
    else if (!isJsonSchema(schema))
      report("output-schema-invalid", "high", `The output schema ${schemaPath} is not a JSON Schema`, [
        "output",
        "schema"
      ])
  }
  manifest.knowledge?.forEach((pack, index) => {
    if (!pkg.files.some((file) => isInside(pack, file.path)))
      report("knowledge-missing", "high", `The knowledge pack ${pack} is not in the package`, ["knowledge", index])
  })
}

const isJsonSchema = (source: string): boolean => {
  try {
    const parsed: unknown = JSON.parse(source)
    return typeof parsed === "boolean" || (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed))
  } catch {
    return false
  }
}

const judge = (manifest: Manifest, pkg: ReleasePackage, context: ScanContext, report: Report) => {
  const target = `${context.namespace}/${context.name}`
  if (manifest.name !== target)
    report("name-mismatch", "high", `The manifest's name is not ${target}, where it is published`, ["name"])
  if (manifest.version !== context.version)
    report("version-mismatch", "high", `The manifest's version is not ${context.version}, as submitted`, ["version"])
  if (repeated(manifest.modes).length > 0) report("mode-repeated", "high", "A mode is listed twice", ["modes"])
  for (const key of ["seconds", "turns"] as const) {
    const asked = manifest.budgets?.[key]
    if (asked !== undefined && asked > context.budgetCaps[key]) {
      report(
        "budget-over-cap",
        "high",
        `budgets.${key} is ${asked}; no run is given more than ${context.budgetCaps[key]}`,
        ["budgets", key]
      )
    }
  }
  judgeIntake(manifest.intake ?? [], report)
  judgeFiles(manifest, pkg, report)
  for (const index of repeated((manifest.secrets ?? []).map((secret) => secret.name))) {
    report("secret-repeated", "high", "A secret is declared twice", ["secrets", index])
  }
  for (const index of repeated((manifest.mcpServers ?? []).map((server) => server.name))) {
    report("mcp-server-repeated", "high", "Two MCP servers have one name", ["mcpServers", index])
  }
  manifest.mcpServers?.forEach((server, index) => {
    if ((server.package === undefined) === (server.url === undefined)) {
      report("mcp-server-source", "high", "An MCP server has either a package or a url", ["mcpServers", index])
    }
  })
  manifest.capabilities?.network?.egress.forEach((entry, index) => {
    const port = Number(entry.slice(entry.lastIndexOf(":") + 1))
    if (port < 1 || port > 65_535)
      report("egress-port", "high", "An egress port is outside 1 to 65535", [
        "capabilities",
        "network",
        "egress",
        index
      ])
  })
}

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
    const findings: Array<Finding> = source.problems.map(({ rule, path, line, message }) => ({
      stage: "S2",
      rule,
      // A field this registry does not know grants nothing; a wrong one may mean anything.
      severity: rule === "unknown-field" ? "medium" : "high",
      file: manifestFile,
      line,
      message: path === "" ? message : `${path}: ${message}`
    }))
    if (source.manifest) {
      judge(source.manifest, pkg, context, (rule, severity, message, path = []) => {
        findings.push({ stage: "S2", rule, severity, file: manifestFile, line: source.lineOf(path), message })
      })
    }
    return { findings, inputs: { manifestSchemaVersion: String(source.major) } }
  })
)
