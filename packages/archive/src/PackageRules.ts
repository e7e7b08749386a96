/**
 * What a manifest must keep to beyond its schema, against the files of its own
 * package. The gate's stage S2 and the author's offline validation judge with
 * this one function: what passes on the author's machine passes there.
 */
import { defaultInstructions } from "@quickagents/schema"
import type { IntakeQuestion, Manifest } from "@quickagents/schema"
import type { PackageFile } from "./Package.ts"
import { isInside } from "./Package.ts"

export interface RuleProblem {
  /** Stable name of the rule, `kebab-case`. */
  readonly rule: string
  readonly message: string
  /** Field of the manifest. */
  readonly path: ReadonlyArray<PropertyKey>
}

type Report = (rule: string, message: string, path: ReadonlyArray<PropertyKey>) => void

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
    report("intake-id-repeated", "Two intake questions have one id", ["intake", index, "id"])
  }
  intake.forEach((question, index) => {
    const at = ["intake", index]
    if (question.type === "choice" && question.options === undefined)
      report("choice-without-options", "A choice question needs options", at)
    if (question.type !== "choice" && question.options !== undefined)
      report("options-without-choice", "Only a choice question has options", [...at, "options"])
    if (question.options && repeated(question.options).length > 0)
      report("options-repeated", "An option is listed twice", [...at, "options"])
    if (question.browserSite && question.type !== "url")
      report("browser-site-not-url", "Only a url question can be a browserSite", [...at, "browserSite"])
    if (question.default !== undefined && !defaultFits(question))
      report("default-does-not-fit", `The default does not fit the type ${question.type}`, [...at, "default"])
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

const judgeFiles = (manifest: Manifest, files: ReadonlyArray<PackageFile>, report: Report) => {
  const textOf = (path: string) => files.find((file) => file.path === path)?.text
  const instructions = manifest.instructions ?? defaultInstructions
  const source = textOf(instructions)
  if (source === undefined)
    report("instructions-missing", `The instruction file ${instructions} is missing or is not UTF-8 text`, [
      "instructions"
    ])
  else if (source.trim() === "")
    report("instructions-empty", `The instruction file ${instructions} is empty`, ["instructions"])

  const schemaPath = manifest.output?.schema
  if (schemaPath !== undefined) {
    const schema = textOf(schemaPath)
    if (schema === undefined)
      report("output-schema-missing", `The output schema ${schemaPath} is missing`, ["output", "schema"])
    else if (!isJsonSchema(schema))
      report("output-schema-invalid", `The output schema ${schemaPath} is not a JSON Schema`, ["output", "schema"])
  }
  manifest.knowledge?.forEach((pack, index) => {
    if (!files.some((file) => isInside(pack, file.path)))
      report("knowledge-missing", `The knowledge pack ${pack} is not in the package`, ["knowledge", index])
  })
}

/** Each of these keeps a version from being published. */
export const packageProblems = (manifest: Manifest, files: ReadonlyArray<PackageFile>): ReadonlyArray<RuleProblem> => {
  const problems: Array<RuleProblem> = []
  const report: Report = (rule, message, path) => void problems.push({ rule, message, path })
  if (repeated(manifest.modes).length > 0) report("mode-repeated", "A mode is listed twice", ["modes"])
  judgeIntake(manifest.intake ?? [], report)
  judgeFiles(manifest, files, report)
  for (const index of repeated((manifest.secrets ?? []).map((secret) => secret.name))) {
    report("secret-repeated", "A secret is declared twice", ["secrets", index])
  }
  for (const index of repeated((manifest.mcpServers ?? []).map((server) => server.name))) {
    report("mcp-server-repeated", "Two MCP servers have one name", ["mcpServers", index])
  }
  manifest.mcpServers?.forEach((server, index) => {
    if ((server.package === undefined) === (server.url === undefined)) {
      report("mcp-server-source", "An MCP server has either a package or a url", ["mcpServers", index])
    }
  })
  manifest.capabilities?.network?.egress.forEach((entry, index) => {
    const port = Number(entry.slice(entry.lastIndexOf(":") + 1))
    if (port < 1 || port > 65_535)
      report("egress-port", "An egress port is outside 1 to 65535", ["capabilities", "network", "egress", index])
  })
  return problems
}
