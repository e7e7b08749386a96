/** Which repository and commit a skill's folder was checked out from. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import type { Origin } from "./SkillPackage.ts"

/** Only commands that read: a stranger's repository may configure programs for others. */
const git = (folder: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(
    () =>
      new Promise<string | undefined>((resolve) => {
        execFile("git", ["-C", folder, ...args], { timeout: 10_000, maxBuffer: 65_536 }, (error, stdout) =>
          resolve(error === null ? stdout.trim() : undefined)
        )
      })
  )

/** An address may hold a password. */
const withoutCredentials = (address: string) => {
  if (!URL.canParse(address)) return address
  const url = new URL(address)
  url.username = ""
  url.password = ""
  return url.href
}

/** `source` are the bytes of `file` in `folder`. */
export const skillOrigin = Effect.fnUntraced(function* (folder: string, file: string, source: Uint8Array) {
  const nowhere: Origin = { address: null, commit: null, path: null }
  const prefix = yield* git(folder, "rev-parse", "--show-prefix")
  const commit = yield* git(folder, "rev-parse", "HEAD")
  if (prefix === undefined || commit === undefined) return nowhere
  const address = yield* git(folder, "config", "--get", "remote.origin.url")
  const committed = yield* git(folder, "rev-parse", `HEAD:${prefix}${file}`)
  const blob = createHash("sha1").update(`blob ${source.length}\0`).update(source).digest("hex")
  return {
    address: address === undefined ? null : withoutCredentials(address),
    commit: committed === blob ? commit : null,
    path: prefix === "" ? null : prefix.replace(/\/$/u, "")
  } satisfies Origin
})
