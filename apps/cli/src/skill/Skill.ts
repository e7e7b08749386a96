/** An Agent Skill as its author wrote it: the front matter of `SKILL.md`, and its body. https://agentskills.io/specification */
import { Result } from "effect"
import { Yaml } from "effect/encoding"

export interface Skill {
  readonly name: string
  readonly description: string
  readonly license: string | undefined
  readonly compatibility: string | undefined
  /** As written; read by `readAllowedTools`. */
  readonly allowedTools: unknown
  readonly metadata: Readonly<Record<string, string>>
  /** Markdown after the front matter. */
  readonly body: string
  /** Fields that say nothing to a QuickAgent. */
  readonly otherFields: ReadonlyArray<string>
}

const known = new Set(["name", "description", "license", "compatibility", "allowed-tools", "metadata"])

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parsed = (source: string) => Result.try(() => Yaml.parse(source))

/** `description: Use when: ...` is no YAML, and is written all the same: plain values are then taken to the end of their line. */
const quoted = (source: string) =>
  source.replace(
    /^([A-Za-z-]+):[ \t]+([^\s"'[{|>&*!#].*)$/gmu,
    (_, key: string, value: string) => `${key}: ${JSON.stringify(value.trim())}`
  )

const frontMatterOf = (source: string): Result.Result<unknown, string> =>
  parsed(source).pipe(
    Result.orElse((error) => Result.mapError(parsed(quoted(source)), () => error)),
    Result.mapError((error) => (error instanceof Error ? error.message : "unreadable"))
  )

const textField = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== ""
    ? value.trim()
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : undefined

/** Fails with a sentence for the person who imports. */
export const readSkill = (source: string): Result.Result<Skill, string> => {
  const text = source.replace(/^\ufeff/u, "").replace(/\r\n/gu, "\n")
  const [, head, body] = /^---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n([\s\S]*))?$/u.exec(text) ?? []
  if (head === undefined) return Result.fail("it does not start with front matter between two lines of ---")
  const fields = frontMatterOf(head)
  if (Result.isFailure(fields)) return Result.fail(`its front matter is not plain YAML: ${fields.failure}`)
  if (!isRecord(fields.success)) return Result.fail("its front matter holds no fields")
  const { description, license, metadata, name } = fields.success
  const skillName = textField(name)
  const skillDescription = textField(description)
  if (skillName === undefined) return Result.fail("its front matter has no name")
  if (skillDescription === undefined) return Result.fail("its front matter has no description")
  if ((body ?? "").trim() === "") return Result.fail("it has no instructions below its front matter")
  return Result.succeed({
    name: skillName,
    description: skillDescription.replace(/\s+/gu, " "),
    license: textField(license),
    compatibility: textField(fields.success["compatibility"]),
    allowedTools: fields.success["allowed-tools"],
    metadata: Object.fromEntries(
      Object.entries(isRecord(metadata) ? metadata : {}).flatMap(([key, value]) => {
        const given = textField(value)
        return given === undefined ? [] : [[key, given]]
      })
    ),
    body: (body ?? "").trim(),
    otherFields: Object.keys(fields.success).filter((key) => !known.has(key))
  })
}
