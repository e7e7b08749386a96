import { readManifest } from "@quickagents/archive"
import { fromV1 } from "@quickagents/schema"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { capabilitiesOf, readAllowedTools } from "./AllowedTools.ts"
import { readSkill } from "./Skill.ts"
import { skillPackage } from "./SkillPackage.ts"

const changelog = `---
name: changelog-writer
description: >-
  Turns the commits since the last tag into a changelog entry.
  Use it before a release.
license: MIT
allowed-tools:
  - Read
  - Write(CHANGELOG.md)
  - Bash(git:*)
  - Bash(git push:*)
metadata:
  author: acme
  version: "1.2"
compatibility: Needs git 2.30 or later
---

# Changelog

1. Ask \`git log\` for the commits since the last tag.
2. Follow [the style guide](references/STYLE.md).
3. Write the entry into \`CHANGELOG.md\`.
`
/** As many are written: a colon in a plain value, commas between tools. */
const forms = `---
name: pdf-forms
description: Fill in PDF forms: use when the user mentions a form, a PDF or fields.
allowed-tools: Read, Write, Edit(out/**), Bash(python3:*), Bash(python3 scripts/fill.py:*), WebFetch(domain:Docs.Example.org), WebFetch, mcp__drive__search, TodoWrite
model: opus
---
# Forms

Run \`python3 scripts/fill.py\`.
`
const bare = "---\nname: plain-words\ndescription: Says things plainly.\n---\nWrite short sentences.\n"

const packaged = (source: string, folders: ReadonlyArray<string> = [], name = "acme/made") =>
  skillPackage({
    skill: Result.getOrThrow(readSkill(source)),
    source: Buffer.from(source),
    sourceFile: "SKILL.md",
    name,
    instructions: "AGENT.md",
    folders,
    origin: { address: "https://git.example/skills.git", commit: "c".repeat(40), path: "skills/made" }
  })

describe("a skill as a package", () => {
  it("carries its text, licence, version and origin over, and grants what its tools say", () => {
    const { files, granted, manifest, notGranted, remarks } = packaged(changelog, ["references"])
    expect(manifest).toEqual({
      schemaVersion: 2,
      name: "acme/made",
      version: "1.2.0",
      description: "Turns the commits since the last tag into a changelog entry. Use it before a release.",
      license: "MIT",
      modes: ["autonomous"],
      output: { files: ["CHANGELOG.md"] },
      capabilities: {
        filesystem: { read: ["**"], write: ["CHANGELOG.md"] },
        exec: { commands: ["git"] }
      }
    })
    expect(granted).toEqual([
      "its own references/: filesystem.read references/**",
      "Read: filesystem.read **",
      "Write(CHANGELOG.md): filesystem.write CHANGELOG.md",
      "Bash(git:*): exec.commands git"
    ])
    expect(notGranted).toEqual([{ tool: "Bash(git push:*)", reason: expect.stringContaining("only a whole program") }])
    expect(remarks).toEqual(["The skill says of its compatibility: Needs git 2.30 or later"])
    expect(files["AGENT.md"]).toMatch(/^# Changelog\n[\s\S]*`CHANGELOG\.md`\.\n$/)
    expect(JSON.parse(files["skill.origin.json"])).toMatchObject({
      format: "agent-skill",
      skill: "changelog-writer",
      file: "SKILL.md",
      digest: expect.stringMatching(/^sha256:/),
      address: "https://git.example/skills.git",
      commit: "c".repeat(40),
      path: "skills/made",
      metadata: { author: "acme", version: "1.2" }
    })
    const read = readManifest(files["agent.yaml"])
    expect([read.problems, read.manifest]).toEqual([[], manifest])
  })

  it("has the modes that the v1 kind skill is mapped to", () => {
    const { kind: _, ...rest } = { kind: "skill", ...packaged(bare).manifest }
    const { input } = fromV1({ ...rest, kind: "skill", schemaVersion: 1 })
    expect(input).toEqual(packaged(bare).manifest)
  })

  it("is read also when its front matter is no YAML by the letter, and grants nothing wider than asked", () => {
    const { manifest, notGranted, remarks } = packaged(forms, ["scripts"])
    expect(manifest.description).toBe("Fill in PDF forms: use when the user mentions a form, a PDF or fields.")
    expect(manifest.capabilities).toEqual({
      filesystem: { read: ["**"], write: ["**"] },
      exec: { commands: ["python3"] },
      network: { egress: ["docs.example.org:443"] }
    })
    expect(notGranted.map(({ tool }) => tool)).toEqual([
      "Bash(python3 scripts/fill.py:*)",
      "WebFetch",
      "mcp__drive__search",
      "TodoWrite"
    ])
    expect(remarks).toEqual(["Not carried over: model."])
  })

  it("that names no tools gets none but its own files", () => {
    expect(packaged(bare).manifest).toEqual({
      schemaVersion: 2,
      name: "acme/made",
      version: "1.0.0",
      description: "Says things plainly.",
      modes: ["autonomous"]
    })
    expect(packaged(bare, ["assets"]).manifest.capabilities).toEqual({ filesystem: { read: ["assets/**"] } })
    expect(packaged(bare).remarks).toEqual([
      "The skill names no allowed-tools, so no tool beyond its own files is granted."
    ])
  })

  it("cuts a description that is too long at a word, and takes Windows line ends and a byte order mark", () => {
    const long = `\ufeff${bare.replace("Says things plainly.", "word ".repeat(150).trim()).replaceAll("\n", "\r\n")}`
    const { files, manifest } = packaged(long)
    expect(manifest.description).toMatch(/^(?:word )+word\.\.\.$/)
    expect(manifest.description.length).toBeLessThanOrEqual(500)
    expect(files["AGENT.md"]).toBe("Write short sentences.\n")
  })

  it.each([
    ["no front matter", "# Just text\n", "front matter between"],
    ["front matter without an end", "---\nname: x\n", "front matter between"],
    ["no name", "---\ndescription: x\n---\nDo it.\n", "no name"],
    ["no description", "---\nname: x\n---\nDo it.\n", "no description"],
    ["no instructions", "---\nname: x\ndescription: y\n---\n\n", "no instructions"],
    ["front matter that is a list", "---\n- x\n---\nDo it.\n", "no fields"],
    ["front matter that is broken", "---\nname: [x\ndescription: y\n---\nDo it.\n", "not plain YAML"]
  ])("is refused with %s", (_, source, words) => {
    const read = readSkill(source)
    expect(Result.isFailure(read) && read.failure).toContain(words)
  })

  it("cannot write fields of the manifest through its own", () => {
    const sly = bare.replace("Says things plainly.", '"x\\ncapabilities: {exec: {commands: [sh]}}"')
    const read = readManifest(packaged(sly).files["agent.yaml"])
    expect(read.manifest?.capabilities).toBeUndefined()
  })
})

describe("allowed tools", () => {
  const derived = (tools: string) => capabilitiesOf(readAllowedTools(tools), [])

  it("are read from a list and from text, parentheses kept whole", () => {
    expect(readAllowedTools("Bash(git add:*) Read,Write(a b.txt)")).toEqual([
      "Bash(git add:*)",
      "Read",
      "Write(a b.txt)"
    ])
    expect(readAllowedTools(["Read", "Bash(jq:*)"])).toEqual(["Read", "Bash(jq:*)"])
    expect(readAllowedTools(undefined)).toEqual([])
  })

  it.each([
    "Bash",
    "Bash(*)",
    "Bash(bash:*)",
    "Bash(sudo:*)",
    "Bash(git status)",
    "Bash(npm run test:*)",
    "Bash(./run.sh:*)",
    "Bash(/bin/ls:*)",
    "Read(/etc/**)",
    "Read(~/notes/**)",
    "Write(../up/**)",
    "WebFetch",
    "WebFetch(domain:localhost)",
    "WebFetch(domain:*)",
    "WebSearch",
    "Task",
    "mcp__github__create_issue"
  ])("%s is not granted", (tool) => {
    const { capabilities, granted, notGranted } = derived(tool)
    expect([capabilities, granted, notGranted.map((one) => one.tool)]).toEqual([{}, [], [tool]])
  })

  it("become capabilities that a manifest takes", () => {
    expect(derived("Grep(docs/**) Write(./out/*.md) Bash(jq *) WebFetch(domain:*.example.org)").capabilities).toEqual({
      filesystem: { read: ["docs/**"], write: ["out/*.md"] },
      exec: { commands: ["jq"] },
      network: { egress: ["*.example.org:443"] }
    })
  })
})
