/** The files that make a QuickAgent package of an Agent Skill. */
import { digestOf } from "@quickagents/archive"
import type { Manifest } from "@quickagents/schema"
import { manifestFile } from "@quickagents/schema"
import { Result, SemVer } from "effect"
import { capabilitiesOf, readAllowedTools } from "./AllowedTools.ts"
import type { NotGranted } from "./AllowedTools.ts"
import type { Skill } from "./Skill.ts"

/** Where a skill is from, as far as its folder tells. */
export interface Origin {
  /** Of the repository, or as the person who imports says it. */
  readonly address: string | null
  /** That holds exactly this SKILL.md. */
  readonly commit: string | null
  /** Inside the repository. */
  readonly path: string | null
}

export const originFile = "skill.origin.json"
const maxDescription = 500

/** The folders of a skill that a run finds in its workspace. */
export const skillFolders = ["scripts", "references", "assets"]

export interface SkillPackage {
  readonly manifest: Manifest
  /** By path. */
  readonly files: Readonly<Record<string, string>>
  readonly granted: ReadonlyArray<string>
  readonly notGranted: ReadonlyArray<NotGranted>
  /** What the skill says and the package does not; each a sentence. */
  readonly remarks: ReadonlyArray<string>
}

/** `1`, `1.0` and `1.0.0` are all written; `undefined` for what is no version. */
const versionOf = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const [, major, minor = "0", patch = "0"] = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/u.exec(text) ?? []
  const full = major === undefined ? text : `${Number(major)}.${Number(minor)}.${Number(patch)}`
  return Result.isSuccess(SemVer.parse(full)) ? full : undefined
}

const shortened = (text: string) => {
  if (text.length <= maxDescription) return text
  const cut = text.slice(0, maxDescription - 3)
  return `${cut.slice(0, cut.lastIndexOf(" ") === -1 ? cut.length : cut.lastIndexOf(" "))}...`
}

/** JSON is YAML: no value of a stranger can become a field. */
const yamlOf = (manifest: Manifest) =>
  `# Made from SKILL.md, which stays beside it. What is not listed under capabilities is refused.
${Object.entries(manifest)
  .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
  .join("")}`

export const skillPackage = (options: {
  readonly skill: Skill
  /** Bytes of the file as it is kept. */
  readonly source: Uint8Array
  readonly sourceFile: string
  /** `ns/name`. */
  readonly name: string
  readonly instructions: string
  /** Those of `skillFolders` that the skill has. */
  readonly folders: ReadonlyArray<string>
  readonly origin: Origin
}): SkillPackage => {
  const { folders, instructions, name, origin, skill, source, sourceFile } = options
  const tools = readAllowedTools(skill.allowedTools)
  const { capabilities, granted, notGranted } = capabilitiesOf(tools, folders)
  const written = capabilities.filesystem?.write
  const ownVersion = skill.metadata["version"]
  const license = skill.license !== undefined && skill.license.length <= 128 ? skill.license : undefined
  const manifest: Manifest = {
    schemaVersion: 2,
    name,
    version: versionOf(ownVersion) ?? "1.0.0",
    description: shortened(skill.description),
    ...(license === undefined ? {} : { license }),
    ...(instructions === "AGENT.md" ? {} : { instructions }),
    // What the v1 kind `skill` is mapped to.
    modes: ["autonomous"],
    // Of a workspace that may be written anywhere, the folders of the skill's own files are no output.
    ...(written === undefined ? {} : { output: { files: written.includes("**") ? ["*"] : written } }),
    ...(Object.keys(capabilities).length === 0 ? {} : { capabilities })
  }
  const remarks = [
    ...(skill.allowedTools === undefined
      ? ["The skill names no allowed-tools, so no tool beyond its own files is granted."]
      : []),
    ...(skill.compatibility === undefined ? [] : [`The skill says of its compatibility: ${skill.compatibility}`]),
    ...(skill.description.length > maxDescription ? [`The description is cut to ${maxDescription} characters.`] : []),
    ...(skill.license !== undefined && license === undefined
      ? ["The licence is too long for the manifest; set it by hand."]
      : []),
    ...(ownVersion !== undefined && versionOf(ownVersion) === undefined
      ? [`The version ${JSON.stringify(ownVersion)} is no semantic version; the package starts at 1.0.0.`]
      : []),
    ...(skill.otherFields.length === 0 ? [] : [`Not carried over: ${skill.otherFields.join(", ")}.`])
  ]
  return {
    manifest,
    files: {
      [manifestFile]: yamlOf(manifest),
      [instructions]: `${skill.body}\n`,
      [originFile]: `${JSON.stringify(
        {
          format: "agent-skill",
          skill: skill.name,
          file: sourceFile,
          digest: digestOf(source),
          ...origin,
          ...(skill.license === undefined ? {} : { license: skill.license }),
          ...(skill.compatibility === undefined ? {} : { compatibility: skill.compatibility }),
          allowedTools: tools,
          metadata: skill.metadata
        },
        null,
        2
      )}\n`
    },
    granted,
    notGranted,
    remarks
  }
}
