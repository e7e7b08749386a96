/** The files that a package brings for its runs: an Agent Skill names them relative to itself, and finds them in the workspace. */
import { Effect } from "effect"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { OpenedPackage } from "./ReleasePackage.ts"

const folders = ["scripts", "references", "assets"]

/** Puts them into the workspace. An input of the same name stays: it is what the person gave. */
export const layOutFolders = (release: OpenedPackage, workspace: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (const [path, bytes] of release.files) {
      if (!folders.some((folder) => path.startsWith(`${folder}/`))) continue
      const place = join(workspace, path)
      try {
        await mkdir(dirname(place), { recursive: true })
        await writeFile(place, bytes, { flag: "wx" })
      } catch (error) {
        // ENOTDIR: the input has the name of a folder.
        if (!["EEXIST", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error
      }
    }
  })
