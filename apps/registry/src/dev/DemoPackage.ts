/** The sample agent as the demo publishes it: the example, in the demo account's namespace, at a version that is still free. */
import { manifestFile } from "@quickagents/schema"
import { Effect } from "effect"
import type { Scope } from "effect"
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The patch version after the highest of `taken` in the same line as `wanted`; `wanted` itself when nothing stands in its way. */
export const freeVersion = (wanted: string, taken: ReadonlyArray<string>): string => {
  const [major, minor] = wanted.split(".")
  const patches = taken.flatMap((version) => {
    const match = /^(\d+)\.(\d+)\.(\d+)$/u.exec(version)
    return match !== null && match[1] === major && match[2] === minor ? [Number(match[3])] : []
  })
  return patches.length === 0 && !taken.includes(wanted) ? wanted : `${major}.${minor}.${Math.max(-1, ...patches) + 1}`
}

const field = (manifest: string, name: string) =>
  new RegExp(`^${name}:[ \t]*["']?([^"'\\s#]+)["']?.*$`, "mu").exec(manifest)?.[1]

/** The manifest text with another name and version; everything else stays byte for byte. */
export const renamed = (manifest: string, name: string, version: string) =>
  manifest.replace(/^name:.*$/mu, `name: ${name}`).replace(/^version:.*$/mu, `version: ${version}`)

/** `version` of the example's manifest. */
export const exampleVersion = (example: string) =>
  Effect.promise(async () => field(await readFile(join(example, manifestFile), "utf8"), "version") ?? "1.0.0")

/** A copy of `example` that lasts as long as the scope. */
export const demoPackage = (
  example: string,
  name: string,
  version: string
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "quickagents-demo-"))),
      (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
    )
    yield* Effect.promise(async () => {
      await cp(example, directory, { recursive: true })
      const path = join(directory, manifestFile)
      await writeFile(path, renamed(await readFile(path, "utf8"), name, version))
    })
    return directory
  })
