/** What a release asks for, line by line, as a person agrees to it. */
import { canonicalJson, digestOf } from "@quickagents/archive"
import { capabilityList } from "@quickagents/schema"
import type { Digest, Manifest } from "@quickagents/schema"

/** Everything that reaches beyond the conversation: capabilities, MCP servers with their tools and scopes, secrets. */
export const grantsOf = ({ capabilities = {}, mcpServers = [], secrets = [] }: Manifest): ReadonlyArray<string> => [
  ...capabilityList(capabilities),
  ...mcpServers.flatMap(({ name, package: from, scopes = [], tools, url }) => [
    `mcp:${name} ${from === undefined ? (url ?? "") : `${from.ecosystem}:${from.name}@${from.version}`}`,
    ...scopes.map((scope) => `mcp.scope:${name} ${scope}`),
    ...(tools ?? ["all its tools"]).map((tool) => `mcp.tool:${name} ${tool}`)
  ]),
  ...secrets.map(({ name, required }) => `secret:${name}${required === false ? " optional" : ""}`)
]

export const grantsDigest = (grants: ReadonlyArray<string>): Digest => digestOf(canonicalJson(grants.toSorted()))

export interface GrantChange {
  readonly added: ReadonlyArray<string>
  readonly kept: ReadonlyArray<string>
  readonly dropped: ReadonlyArray<string>
}

/** `before` is what was agreed to earlier; nothing, when that is not known. */
export const grantChange = (before: ReadonlyArray<string>, now: ReadonlyArray<string>): GrantChange => ({
  added: now.filter((grant) => !before.includes(grant)),
  kept: now.filter((grant) => before.includes(grant)),
  dropped: before.filter((grant) => !now.includes(grant))
})

export const grantLines = ({ added, dropped, kept }: GrantChange): ReadonlyArray<string> => [
  ...added.map((grant) => `  + ${grant}`),
  ...kept.map((grant) => `    ${grant}`),
  ...dropped.map((grant) => `  - ${grant}`)
]
