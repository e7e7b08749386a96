/** Reads `agent.yaml`: YAML, then the manifest schema, and where in the file each problem stands. */
import { fromV1, Manifest } from "@quickagents/schema"
import { Result, Schema, SchemaIssue } from "effect"
import { isNode, LineCounter, parseDocument } from "yaml"

export interface ManifestProblem {
  readonly rule: "manifest-yaml" | "manifest-schema" | "unknown-field"
  /** Path inside the manifest, as in `intake.0.type`; empty for the whole file. */
  readonly path: string
  readonly line: number
  readonly message: string
}

export interface ReadManifest {
  /** `undefined` when `problems` holds more than unknown fields. */
  readonly manifest: Manifest | undefined
  /** The manifest major that the file itself follows. Spec: Versioning 2. */
  readonly major: 1 | 2
  readonly problems: ReadonlyArray<ManifestProblem>
  /** Line, from 1, of a field, or of its closest ancestor that the file names. */
  readonly lineOf: (path: ReadonlyArray<PropertyKey>) => number
}

/** A manifest is written by hand; past this it is something else. */
export const manifestMaxBytes = 64 * 1024

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const keyOf = (segment: unknown): PropertyKey =>
  typeof segment === "object" && segment !== null && "key" in segment
    ? (segment.key as PropertyKey)
    : (segment as PropertyKey)

const schemaProblems = (input: unknown, onExcessProperty: "ignore" | "error") => {
  const decoded = Schema.decodeUnknownResult(Manifest, { errors: "all", onExcessProperty })(input)
  return Result.isSuccess(decoded)
    ? { manifest: decoded.success, issues: [] }
    : {
        manifest: undefined,
        issues: formatIssue(decoded.failure.issue).issues.map((issue) => ({
          path: (issue.path ?? []).map(keyOf),
          message: issue.message.length > 200 ? `${issue.message.slice(0, 200)}...` : issue.message
        }))
      }
}

/** Neither RFC 8785 nor a database has a place for half of a surrogate pair, nor a database for NUL. */
const isStorable = (value: unknown): boolean => {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0")
  if (typeof value !== "object" || value === null) return true
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner))
}

export const readManifest = (source: string): ReadManifest => {
  const lines = new LineCounter()
  const document = parseDocument(source, { version: "1.2", uniqueKeys: true, merge: false, lineCounter: lines })
  const lineOf = (path: ReadonlyArray<PropertyKey>): number => {
    for (let depth = path.length; depth > 0; depth--) {
      const node = document.getIn(path.slice(0, depth), true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
    }
    return 1
  }
  const unreadable = (message: string, line: number): ReadManifest => ({
    manifest: undefined,
    major: 2,
    problems: [{ rule: "manifest-yaml", path: "", line, message }],
    lineOf
  })

  if (Buffer.byteLength(source) > manifestMaxBytes)
    return unreadable(`The manifest has more than ${manifestMaxBytes} bytes`, 1)
  const broken = document.errors[0] ?? document.warnings[0]
  if (broken) return unreadable(`The manifest is not plain YAML (${broken.code})`, broken.linePos?.[0].line ?? 1)
  // Aliases are never needed in a manifest, and each parser expands them to another bound.
  const parsed = Result.try(() => document.toJS({ maxAliasCount: 0 }) as unknown)
  if (Result.isFailure(parsed)) return unreadable("The manifest uses YAML aliases", 1)

  if (!isStorable(parsed.success)) return unreadable("The manifest holds a NUL or half of a surrogate pair", 1)

  const { major, input } = fromV1(parsed.success)
  const strict = schemaProblems(input, "error")
  const { manifest, issues } = strict.manifest ? strict : schemaProblems(input, "ignore")
  const problem =
    (rule: ManifestProblem["rule"]) =>
    (issue: { readonly path: ReadonlyArray<PropertyKey>; readonly message: string }) => ({
      rule,
      path: issue.path.map(String).join("."),
      line: lineOf(issue.path),
      message: issue.message
    })
  return {
    manifest,
    major,
    problems: manifest ? strict.issues.map(problem("unknown-field")) : issues.map(problem("manifest-schema")),
    lineOf
  }
}
