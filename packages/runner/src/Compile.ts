/** The steps around the package's own files: its manifest, and the prompt that they make with the answers. */
import {
  checkIntake,
  defaultInstructions,
  type IntakeQuestion,
  Manifest,
  manifestFile,
  withDefaults
} from "@quickagents/schema"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { Effect } from "effect"
import { parseArguments } from "./Model.ts"
import type { OpenedPackage } from "./ReleasePackage.ts"
import { compileFailed, type RunFailure } from "./RunFailure.ts"

const fileText = (release: OpenedPackage, path: string): string | undefined => {
  const bytes = release.files.get(path)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8")
}

/** `agent.yaml`, major 1 or 2. */
export const readManifest = (release: OpenedPackage): Effect.Effect<Manifest, RunFailure> => {
  if (release.manifest === undefined)
    return Effect.fail(compileFailed("manifest-invalid", `The package has no ${manifestFile}`))
  const { manifest, problems } = release.manifest
  return manifest === undefined
    ? Effect.fail(
        compileFailed("manifest-invalid", `The manifest is not valid: ${problems[0]?.message ?? "unreadable"}`)
      )
    : Effect.succeed(manifest)
}

export interface Compiled {
  readonly system: string
  readonly intake: Readonly<Record<string, unknown>>
  /** None when the release declares no output schema. */
  readonly checkResult: ValidateFunction | undefined
  /** `script.yaml` of the package, for the scripted model. */
  readonly script: string | undefined
}

/** Answers given as text, read as their questions ask; what does not read stays text and is judged by the intake's rules. */
export const readAnswers = (
  questions: ReadonlyArray<IntakeQuestion>,
  answers: Readonly<Record<string, string>>
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(answers).map(([id, text]) => {
      const type = questions.find((question) => question.id === id)?.type
      if ((type === "integer" || type === "number") && text.trim() !== "" && Number.isFinite(Number(text)))
        return [id, Number(text)]
      if (type === "boolean" && (text === "true" || text === "false")) return [id, text === "true"]
      return [id, text]
    })
  )

/** A model that answers in plain text may have written the JSON that the schema asks for. */
export const readResult = (result: unknown, check: ValidateFunction): unknown =>
  typeof result === "string" && !check(result) ? (parseArguments(result) ?? result) : result

const readOutputSchema = (release: OpenedPackage, path: string) =>
  Effect.try({
    // Formats are annotations in 2020-12 unless a vocabulary asks for more.
    try: () =>
      new Ajv2020({ strict: false, validateFormats: false, allErrors: false }).compile(
        JSON.parse(fileText(release, path) ?? "") as object
      ),
    catch: () => compileFailed("manifest-invalid", `The output schema ${path} is missing or not a JSON Schema`)
  })

export const compile = (
  release: OpenedPackage,
  manifest: Manifest,
  answers: Readonly<Record<string, unknown>>,
  inputs: ReadonlyArray<string>
): Effect.Effect<Compiled, RunFailure> =>
  Effect.gen(function* () {
    const instructions = fileText(release, manifest.instructions ?? defaultInstructions)
    if (instructions === undefined)
      return yield* compileFailed("instructions-missing", "The instruction file is missing")
    const questions = manifest.intake ?? []
    const issue = checkIntake(questions, answers)[0]
    if (issue !== undefined)
      return yield* compileFailed("intake-invalid", `The intake answer ${issue.id} ${issue.message}`)
    const intake = withDefaults(questions, answers)
    const checkResult =
      manifest.output?.schema === undefined ? undefined : yield* readOutputSchema(release, manifest.output.schema)
    const sections = [
      instructions.trim(),
      ...(questions.length === 0
        ? []
        : [
            "## Intake answers",
            ...questions.map(({ id, label }) => `- ${label} (${id}): ${JSON.stringify(intake[id] ?? null)}`)
          ]),
      ...(inputs.length === 0 ? [] : ["## Input files", ...inputs.map((name) => `- ${name}`)]),
      "## How to end",
      checkResult === undefined
        ? "Call `finish` with your result when the work is done. Call `block` with a reason when it cannot be done."
        : `Call \`finish\` with a result that satisfies this JSON Schema when the work is done:\n${JSON.stringify(checkResult.schema)}\nCall \`block\` with a reason when it cannot be done.`
    ]
    return { system: sections.join("\n\n"), intake, checkResult, script: fileText(release, "script.yaml") }
  })
