/** What a git request is, who may make it and which refs a push may touch. Pure. Spec: Scopes; Authentication. */
import type { Account, Scope } from "@quickagents/schema"
import { Version } from "@quickagents/schema"
import { Schema } from "effect"

export type GitService = "git-upload-pack" | "git-receive-pack"

const isService = (name: string | null): name is GitService => name === "git-upload-pack" || name === "git-receive-pack"

/** The service that a request is for. Null: it is no request of the smart protocol, and the dumb one is not served. */
export const serviceOf = (method: string, path: string, query: URLSearchParams): GitService | null => {
  const reads = method === "GET" || method === "HEAD"
  const name = reads && path === "info/refs" ? query.get("service") : method === "POST" ? path : null
  return isService(name) ? name : null
}

const sshCommand = /^(git-upload-pack|git-receive-pack) '\/?([a-z0-9-]{1,39})\/([a-z0-9-]{1,64}?)(?:\.git)?\/?'$/

/** What a command over SSH asks for. Null: it is none of the two that git sends. */
export const commandOf = (command: string) => {
  const [, service, ns, name] = sshCommand.exec(command) ?? []
  return service === undefined || !isService(service) || ns === undefined || name === undefined
    ? null
    : { service, ns, name }
}

/**
 * The version of git's protocol that a client asks for, the highest of those in its list of parameters;
 * undefined, which is the first, when it asks for none that there is.
 */
export const protocolOf = (asked: string | undefined) =>
  asked
    ?.split(":")
    .filter((parameter) => /^version=[012]$/.test(parameter))
    .toSorted()
    .at(-1)

/** The secret of `Authorization`: a token after Bearer, or the password of Basic with any user name. */
export const secretOf = (authorization: string): string | null => {
  const [, scheme = "", value = ""] = /^(\w+) +(\S+)$/.exec(authorization) ?? []
  switch (scheme.toLowerCase()) {
    case "bearer":
      return value
    case "basic": {
      const pair = Buffer.from(value, "base64").toString("utf8")
      const colon = pair.indexOf(":")
      return colon === -1 ? null : pair.slice(colon + 1)
    }
    default:
      return null
  }
}

/** Scopes are flat, and a session is no credential of git. */
export const holds = (account: Account, scope: Scope): boolean => account.scopes !== "all" && account.scopes.has(scope)

/** Refs of a push that are named one by one. */
const maxOthersNamed = 3

export interface RefUpdate {
  readonly ref: string
  /** Object ids in hex; all zeros where there is no ref before or after. */
  readonly before: string
  readonly after: string
}

/** Whether there is no ref before, or after, an update. */
export const isNone = (id: string) => /^0+$/.test(id)
const isVersion = Schema.is(Version)

/** The lines of a pre-receive hook. */
export const updatesOf = (lines: ReadonlyArray<string>): ReadonlyArray<RefUpdate> =>
  lines.map((line) => {
    const [before = "", after = "", ref = ""] = line.split(" ")
    return { ref, before, after }
  })

/** `1.2.0` of `refs/tags/v1.2.0`; null for every other ref. */
export const versionOf = (ref: string): string | null => {
  const version = /^refs\/tags\/v(.+)$/.exec(ref)?.[1]
  return version !== undefined && isVersion(version) ? version : null
}

/** Why other refs than branches and tags are not taken, and how a mirror brings the rest. A mirror may have thousands. */
const othersRefused = (refs: ReadonlyArray<string>) =>
  refs.length === 0
    ? []
    : [
        ...refs.slice(0, maxOthersNamed).map((ref) => `${ref} is neither a branch nor a tag.`),
        ...(refs.length > maxOthersNamed ? [`Nor are ${refs.length - maxOthersNamed} more.`] : []),
        "Push branches and tags alone: git push <repository> 'refs/heads/*' 'refs/tags/*'"
      ]

/** The new branches and the new version tags of a push, or why it is refused as a whole. */
export const judgeUpdates = (
  updates: ReadonlyArray<RefUpdate>
): {
  readonly problems: ReadonlyArray<string>
  readonly branches: ReadonlyArray<string>
  readonly versions: ReadonlyArray<{ readonly version: string; readonly object: string }>
} => {
  const fixed = updates.flatMap(({ after, before, ref }) => {
    const version = versionOf(ref)
    return version === null || isNone(before)
      ? []
      : [`Version ${version} was submitted: its tag is never ${isNone(after) ? "deleted" : "moved"}.`]
  })
  const others = updates.map(({ ref }) => ref).filter((ref) => !/^refs\/(?:heads|tags)\//.test(ref))
  return {
    problems: [...fixed, ...othersRefused(others)],
    branches: updates.flatMap(({ after, ref }) => (ref.startsWith("refs/heads/") && !isNone(after) ? [ref] : [])),
    versions: updates.flatMap(({ after, ref }) => {
      const version = versionOf(ref)
      return version === null || isNone(after) ? [] : [{ version, object: after }]
    })
  }
}
