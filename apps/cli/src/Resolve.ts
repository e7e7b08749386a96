/** From `ns/name@range` to one version. */
import type { RegistryClient } from "@quickagents/client"
import { AgentName, Handle } from "@quickagents/schema"
import type { TransferAgent } from "@quickagents/schema"
import { Effect, Option, Result, Schema, SemVer, SemVerRange } from "effect"
import { failed, wrongUsage } from "./CommandFailed.ts"

export interface AgentPath {
  readonly ns: string
  readonly name: string
  /** `ns/name`. */
  readonly path: string
  /** As typed after the `@`. */
  readonly range: string | undefined
}

const isHandle = Schema.is(Handle)
const isName = Schema.is(AgentName)

/** `undefined` when the text is no `ns/name` or `ns/name@range`. */
export const readAgentPath = (text: string): AgentPath | undefined => {
  const at = text.indexOf("@")
  const path = at === -1 ? text : text.slice(0, at)
  const range = at === -1 ? undefined : text.slice(at + 1).trim()
  const [ns = "", name = "", ...rest] = path.split("/")
  return rest.length > 0 || !isHandle(ns) || !isName(name) || range === "" ? undefined : { ns, name, path, range }
}

export const agentPath = (text: string) => {
  const read = readAgentPath(text)
  return read === undefined
    ? Effect.fail(wrongUsage(`${JSON.stringify(text)} is not the name of an agent, as acme/notes or acme/notes@^1.2`))
    : Effect.succeed(read)
}

/** The name of an agent alone. */
export const plainAgentPath = (text: string) =>
  Effect.filterOrFail(
    agentPath(text),
    ({ range }) => range === undefined,
    () => wrongUsage("Name the agent without a version")
  )

/** What is named is not there, or hidden from who asks: a registry answers the same. */
export const noSuch = (what: string, registry: string) =>
  Effect.fail(failed(`There is no ${what} at ${registry}, or you may not read it`))

export const isExact = (range: string) => Result.isSuccess(SemVer.parse(range))

/** One exact version of an agent. */
export const exactRelease = Effect.fnUntraced(function* (text: string) {
  const { name, ns, path, range } = yield* agentPath(text)
  if (range === undefined || !isExact(range)) return yield* wrongUsage("Name one exact version, as acme/notes@1.2.0")
  return { name, ns, path, version: range }
})

/** Where an agent goes: a namespace alone, or with the name that it gets there. */
export const agentPlace = (text: string) => {
  const read = readAgentPath(text)
  if (isHandle(text)) return Effect.succeed<TransferAgent>({ namespace: text })
  return read === undefined || read.range !== undefined
    ? Effect.fail(wrongUsage(`${JSON.stringify(text)} is no place for an agent, as acme or acme/notes`))
    : Effect.succeed<TransferAgent>({ namespace: read.ns, name: read.name })
}

const pageSize = 100
/** What the registry lists of one agent at most. */
const maxVersions = 10_000

/** Versions that a range may resolve to: published, and neither yanked, held nor blocked. */
const publishedVersions = Effect.fnUntraced(function* (client: RegistryClient, { name, ns }: AgentPath) {
  const versions: Array<string> = []
  for (let offset = 0; offset < maxVersions; offset += pageSize) {
    const { items, total } = yield* client.api.agentReads.listVersions({
      params: { ns, name },
      query: { offset, limit: pageSize }
    })
    versions.push(...items.flatMap(({ status, version }) => (status === "published" ? [version] : [])))
    if (items.length === 0 || offset + items.length >= total) break
  }
  return versions
})

export interface Resolved {
  readonly version: string
  /** What the lock file remembers, so that `update` keeps to it. */
  readonly range: string
  /** The highest version there is, when the range leaves it out. */
  readonly beyond: string | undefined
}

const highest = (range: SemVerRange.SemVerRange, versions: ReadonlyArray<string>) =>
  SemVerRange.maxSatisfying(range, versions.map(SemVer.parseUnsafe)).pipe(
    Option.map(SemVer.format),
    Option.getOrUndefined
  )

/** The highest published version in the range; without one, the highest of all, and from then on what is compatible with it. */
export const resolveVersion = Effect.fnUntraced(function* (client: RegistryClient, agent: AgentPath) {
  const asked = agent.range
  // An exact version is taken as it is, also when it was yanked.
  if (asked !== undefined && isExact(asked)) return { version: asked, range: asked, beyond: undefined }
  const range = SemVerRange.parse(asked ?? "*")
  if (Result.isFailure(range)) return yield* wrongUsage(`${JSON.stringify(asked)} is not a range of versions`)
  const versions = yield* publishedVersions(client, agent)
  const version = highest(range.success, versions)
  if (version === undefined) {
    const others = versions.slice(0, 5).join(", ")
    return yield* failed(
      others === ""
        ? `${agent.path} has no published version`
        : `${agent.path} has no published version in ${asked ?? "*"}; it has ${others}`
    )
  }
  const latest = highest(SemVerRange.any, versions)
  return {
    version,
    range: asked ?? `^${version}`,
    beyond:
      latest !== undefined && SemVer.isGreaterThan(SemVer.parseUnsafe(latest), SemVer.parseUnsafe(version))
        ? latest
        : undefined
  }
})

export const isNewer = (version: string, than: string) =>
  SemVer.isGreaterThan(SemVer.parseUnsafe(version), SemVer.parseUnsafe(than))
