/** The step `policy`: from what a manifest asks to the explicit list of what this run may do. */
import type { HandOff, Manifest, Mode } from "@quickagents/schema"
import { Effect } from "effect"
import { policyFailed, type RunFailure } from "./RunFailure.ts"

export interface Caps {
  readonly seconds: number
  readonly turns: number
}

/** Nothing that is not listed here is allowed. */
export interface Policy extends Caps {
  /** What may be written may also be read. */
  readonly read: ReadonlyArray<string>
  readonly write: ReadonlyArray<string>
  readonly commands: ReadonlyArray<string>
  /** `host:port`, exact or with one leading `*.`. */
  readonly egress: ReadonlyArray<string>
  /** Delivered as environment of commands. */
  readonly secrets: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly absentSecrets: ReadonlyArray<string>
}

/** What the manifest needs and this runner does not provide. */
export const unprovided = (manifest: Manifest, mode: Mode): ReadonlyArray<string> => [
  ...(manifest.capabilities?.browser === undefined ? [] : ["a browser"]),
  ...((manifest.capabilities?.targetHosts ?? []).length === 0 ? [] : ["host tools"]),
  ...((manifest.mcpServers ?? []).length === 0 ? [] : ["MCP servers"]),
  ...((manifest.knowledge ?? []).length === 0 ? [] : ["knowledge packs"]),
  ...(mode === "interactive" || !manifest.modes.includes("autonomous") ? ["interactive runs"] : [])
]

export const decidePolicy = (options: {
  readonly manifest: Manifest
  readonly mode: Mode
  readonly caps: Caps
  readonly secrets: HandOff["secrets"]
}): Effect.Effect<Policy, RunFailure> =>
  Effect.gen(function* () {
    const { caps, manifest } = options
    const missing = unprovided(manifest, options.mode)
    if (missing.length > 0)
      return yield* policyFailed("capability-refused", `This runner does not provide ${missing.join(", ")}`)
    const declared = manifest.secrets ?? []
    const given = options.secrets.filter(({ name }) => declared.some((secret) => secret.name === name))
    const absent = declared.filter(({ name }) => !given.some((secret) => secret.name === name))
    // Only browsers and remote servers take the other kinds, and releases with those are refused above.
    const delivered = given.filter(({ deliver }) => deliver === "env")
    const required = absent.find(({ required }) => required !== false)
    if (required !== undefined) return yield* policyFailed("secret-absent", `The secret ${required.name} is not set`)
    const { exec, filesystem, network } = manifest.capabilities ?? {}
    const write = filesystem?.write ?? []
    return {
      read: [...(filesystem?.read ?? []), ...write],
      write,
      commands: exec?.commands ?? [],
      egress: network?.egress ?? [],
      seconds: Math.min(caps.seconds, manifest.budgets?.seconds ?? caps.seconds),
      turns: Math.min(caps.turns, manifest.budgets?.turns ?? caps.turns),
      secrets: delivered.map(({ name, value }) => ({ name, value })),
      absentSecrets: absent.map(({ name }) => name)
    }
  })
