import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { skillOrigin } from "./SkillOrigin.ts"

const desk = mkdtempSync(join(tmpdir(), "quickagent-origin-"))
afterAll(() => rmSync(desk, { recursive: true, force: true }))

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-C", desk, "-c", "user.name=Olli", "-c", "user.email=olli@people.example", ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: desk, GIT_CONFIG_NOSYSTEM: "1" }
  }).trim()

it("a skill's origin is its repository without credentials, and a commit only as long as that holds this very file", async () => {
  const folder = join(desk, "skills/notes")
  mkdirSync(folder, { recursive: true })
  const source = Buffer.from("---\nname: notes\n---\nWrite.\n")
  writeFileSync(join(folder, "SKILL.md"), source)
  const origin = (bytes: Buffer) => Effect.runPromise(skillOrigin(folder, "SKILL.md", bytes))
  expect(await origin(source)).toEqual({ address: null, commit: null, path: null })

  git("init", "--quiet")
  git("remote", "add", "origin", "https://olli:hush@git.example/skills.git")
  git("add", "--all")
  git("commit", "--quiet", "--message", "A skill")
  const commit = git("rev-parse", "HEAD")
  const there = { address: "https://git.example/skills.git", path: "skills/notes" }
  expect(await origin(source)).toEqual({ ...there, commit })
  expect(await origin(Buffer.from("changed"))).toEqual({ ...there, commit: null })
})
