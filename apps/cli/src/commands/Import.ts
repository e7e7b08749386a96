/** `quickagent import`: an Agent Skills folder as a QuickAgent package. */
import { archiveDirectory, packDirectory } from "@quickagents/archive"
import { AgentName, defaultInstructions, manifestFile } from "@quickagents/schema"
import { Console, Effect, Option, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { randomBytes } from "node:crypto"
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import { ended, failed, wrongUsage } from "../CommandFailed.ts"
import { ownNameFor } from "../OwnName.ts"
import { isThere, replaceFile } from "../Places.ts"
import { line, plain } from "../Progress.ts"
import { readSkill } from "../skill/Skill.ts"
import { skillOrigin } from "../skill/SkillOrigin.ts"
import { originFile, skillFolders, skillPackage } from "../skill/SkillPackage.ts"

const skillFiles = ["SKILL.md", "skill.md"]
const isName = Schema.is(AgentName)

const filesAt = (folder: string) =>
  Effect.tryPromise({
    try: () => readdir(folder),
    catch: () => failed(`${folder} is no folder that can be read`)
  })

const notWritten = (folder: string) => (error: unknown) =>
  failed(`${folder} cannot be written (${(error as NodeJS.ErrnoException).code ?? "unknown"})`)

/** Puts a whole folder into place, or nothing. */
const place = (from: string, to: string) =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(dirname(to), { recursive: true })
      const beside = `${to}.${randomBytes(6).toString("hex")}.tmp`
      try {
        await cp(from, beside, { recursive: true })
        // Only an empty folder goes out of the way.
        await rmdir(to).catch(() => undefined)
        await rename(beside, to)
      } finally {
        await rm(beside, { recursive: true, force: true })
      }
    },
    catch: notWritten(to)
  })

interface Input {
  readonly folder: string
  readonly name: Option.Option<string>
  readonly output: Option.Option<string>
  readonly origin: Option.Option<string>
  readonly force: boolean
  readonly json: boolean
}

const readSkillFolder = Effect.fnUntraced(function* (folder: string) {
  const entries = yield* filesAt(folder)
  const file = skillFiles.find((name) => entries.includes(name))
  if (file === undefined) return yield* failed(`${folder} holds no SKILL.md`)
  const source = yield* Effect.tryPromise({
    try: async () => {
      // A link would read something else, and a pipe would never end.
      if (!(await lstat(join(folder, file))).isFile()) throw new Error("no file")
      return readFile(join(folder, file))
    },
    catch: () => failed(`${join(folder, file)} is no file that can be read`)
  })
  const skill = readSkill(source.toString("utf8"))
  if (Result.isFailure(skill)) return yield* failed(`${file} is no skill: ${skill.failure}`)
  // What an earlier import made is made anew.
  const own = entries.includes(originFile)
  return { entries, file, source, skill: skill.success, own }
})

const importSkill = Effect.fnUntraced(function* (input: Input) {
  const folder = resolve(input.folder)
  const { entries, file, own, skill, source } = yield* readSkillFolder(folder)
  if (entries.includes(manifestFile) && !input.force)
    return yield* failed(`${join(folder, manifestFile)} is there: it is a package already. To make it anew: --force`)
  const instructions = [defaultInstructions, "INSTRUCTIONS.md"].find((name) => own || !entries.includes(name))
  if (instructions === undefined) return yield* failed(`${folder} has both AGENT.md and INSTRUCTIONS.md; rename one`)
  const given = Option.getOrUndefined(input.name)
  if (given === undefined && !isName(skill.name))
    return yield* wrongUsage(
      `The skill's name ${JSON.stringify(skill.name)} is not the name of an agent; add --name acme/notes`
    )
  const name = yield* ownNameFor(given, skill.name)
  const target = resolve(Option.getOrElse(input.output, () => name.slice(name.indexOf("/") + 1)))
  const inPlace = target === folder
  if (!inPlace && target.startsWith(folder + sep))
    return yield* wrongUsage(
      "The package would lie inside of the skill; add --output with another folder, or --output . to make it there"
    )
  const found = yield* skillOrigin(folder, file, source)
  const address = Option.getOrUndefined(input.origin)
  const made = skillPackage({
    skill,
    source,
    sourceFile: file,
    name,
    instructions,
    folders: skillFolders.filter((one) => entries.includes(one)),
    origin: address === undefined ? found : { ...found, address }
  })

  // Before anything is copied: what is far too large or holds links becomes no package.
  yield* archiveDirectory(folder)
  const draft = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "quickagent-import-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  yield* Effect.tryPromise({
    try: async () => {
      await cp(folder, draft, {
        recursive: true,
        // As packing does: what is hidden is no part of a package.
        filter: (path) => path === folder || !(basename(path).startsWith(".") || basename(path) === "node_modules")
      })
      for (const [path, content] of Object.entries(made.files)) await writeFile(join(draft, path), content)
    },
    catch: notWritten(draft)
  })
  const { digest } = yield* packDirectory(draft)

  if (inPlace) {
    const paths = Object.keys(made.files).map((path) => join(folder, path))
    const inTheWay = input.force ? undefined : (yield* Effect.filter(paths, isThere))[0]
    if (inTheWay !== undefined) return yield* failed(`${inTheWay} is there; to overwrite it: --force`)
    for (const [path, content] of Object.entries(made.files)) yield* replaceFile(join(folder, path), content, 0o644)
  } else if (input.force && (yield* isThere(target))) {
    yield* Effect.tryPromise({ try: () => cp(draft, target, { recursive: true }), catch: notWritten(target) })
  } else {
    const inTheWay = (yield* isThere(target)) && (yield* filesAt(target)).length > 0
    if (inTheWay) return yield* failed(`${target} is there and not empty; to write over it: --force`)
    yield* place(draft, target)
  }

  const shown = relative(process.cwd(), target) || "."
  for (const text of made.granted) line(plain(`Granted      ${text}`))
  for (const { reason, tool } of made.notGranted) line(plain(`Not granted  ${tool}: ${reason}`))
  for (const remark of made.remarks) line(plain(`Remark       ${remark}`))
  yield* Console.log(
    input.json
      ? JSON.stringify({
          folder: target,
          name,
          version: made.manifest.version,
          digest,
          granted: made.granted,
          notGranted: made.notGranted,
          remarks: made.remarks
        })
      : `${name}@${made.manifest.version} is in ${shown === "." ? "this folder" : shown}. Next: read ${join(shown, manifestFile)}; quickagent publish ${shown}`
  )
}, Effect.scoped)

export const importCommand = Command.make(
  "import",
  {
    folder: Argument.String("folder").pipe(
      Argument.withDescription("An Agent Skills folder: SKILL.md, scripts/, references/, assets/")
    ),
    name: Flag.String("name").pipe(
      Flag.withDescription("ns/name; else the skill's name under your handle"),
      Flag.optional
    ),
    output: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withDescription("Folder of the package; else one with the agent's name, in this folder"),
      Flag.optional
    ),
    origin: Flag.String("origin").pipe(
      Flag.withDescription("Address that the skill is from; else the git repository that it lies in"),
      Flag.optional
    ),
    force: Flag.Boolean("force").pipe(Flag.withDescription("Write over files that are there"), Flag.withDefault(false)),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print what was made as JSON"), Flag.withDefault(false))
  },
  (input) => ended(importSkill(input))
).pipe(
  Command.withDescription(
    "Make a package of an Agent Skill. SKILL.md and every file stay as they are; agent.yaml, the instruction file and skill.origin.json are made. Capabilities are derived from allowed-tools, never wider than those; what is not granted is said. The package passes quickagent check."
  ),
  Command.withShortDescription("Make a package of an Agent Skill")
)
