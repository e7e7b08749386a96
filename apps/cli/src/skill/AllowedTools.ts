/**
 * From a skill's `allowed-tools` to the capabilities of a QuickAgent. Nothing is
 * granted that is wider than what was asked for: what a manifest cannot say as
 * narrowly is left to the author, with the reason.
 */
import type { Capabilities } from "@quickagents/schema"

export interface NotGranted {
  readonly tool: string
  readonly reason: string
}

export interface DerivedCapabilities {
  readonly capabilities: Capabilities
  readonly granted: ReadonlyArray<string>
  readonly notGranted: ReadonlyArray<NotGranted>
}

/** The field is a list, or one text with spaces or commas between; those in parentheses belong to a tool. */
export const readAllowedTools = (field: unknown): ReadonlyArray<string> => {
  const texts = Array.isArray(field) ? field.map(String) : [typeof field === "string" ? field : ""]
  return texts.flatMap((text) => text.match(/[^\s,()]+(?:\([^()]*\))?/gu) ?? [])
}

const readers = new Set(["Read", "Glob", "Grep", "LS", "NotebookRead"])
const writers = new Set(["Write", "Edit", "MultiEdit", "NotebookEdit"])
/** Each starts any other program. */
const shells = new Set([
  "sh",
  "bash",
  "zsh",
  "dash",
  "fish",
  "ksh",
  "pwsh",
  "powershell",
  "cmd",
  "env",
  "xargs",
  "sudo",
  "su",
  "ssh"
])

const commandName = /^[A-Za-z0-9._+-]{1,64}$/u
const hostName = /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/u

/** A glob of the run's workspace; `undefined` for a path outside of it. */
const workspaceGlob = (path: string | undefined): string | undefined => {
  if (path === undefined) return "**"
  const clean = path.replace(/^\.\//u, "")
  return clean === "" || clean.length > 255 || /^[/~]|[\\\u0000-\u001f]|(?:^|\/)\.\.?(?:\/|$)/u.test(clean)
    ? undefined
    : clean
}

const outside = "it names files outside of a run's workspace"

export const capabilitiesOf = (
  tools: ReadonlyArray<string>,
  /** Folders of the skill's own files, which a run finds in its workspace. */
  folders: ReadonlyArray<string>
): DerivedCapabilities => {
  const read = new Set(folders.map((folder) => `${folder}/**`))
  const write = new Set<string>()
  const commands = new Set<string>()
  const egress = new Set<string>()
  const granted = folders.map((folder) => `its own ${folder}/: filesystem.read ${folder}/**`)
  const notGranted: Array<NotGranted> = []

  const globsOf = (globs: ReadonlySet<string>) => (globs.has("**") ? ["**"] : [...globs])
  const files = (tool: string, path: string | undefined, kind: "read" | "write", globs: Set<string>) => {
    const glob = workspaceGlob(path)
    if (glob === undefined) return void notGranted.push({ tool, reason: outside })
    globs.add(glob)
    granted.push(`${tool}: filesystem.${kind} ${glob}`)
  }
  const program = (tool: string, rule: string | undefined) => {
    const [, name] = /^([^\s:]+)(?::|\s)\s*\*$/u.exec(rule ?? "") ?? []
    if (rule === undefined || rule === "*")
      notGranted.push({ tool, reason: "it would be every program; name each under capabilities.exec.commands" })
    else if (name === undefined)
      notGranted.push({
        tool,
        reason: `only a whole program can be granted, not some of its commands; if all of ${/^[^\s:]+/u.exec(rule)?.[0] ?? "it"} may be used, add it to capabilities.exec.commands`
      })
    else if (!commandName.test(name)) notGranted.push({ tool, reason: "programs are granted by their bare name" })
    else if (shells.has(name)) notGranted.push({ tool, reason: `${name} starts any other program` })
    else {
      commands.add(name)
      granted.push(`${tool}: exec.commands ${name}`)
    }
  }
  const web = (tool: string, rule: string | undefined) => {
    const host = /^domain:(.+)$/u.exec(rule ?? "")?.[1]?.toLowerCase()
    if (host === undefined || !hostName.test(host))
      return void notGranted.push({
        tool,
        reason: "it would be every host; list each under capabilities.network.egress"
      })
    egress.add(`${host}:443`)
    granted.push(`${tool}: network.egress ${host}:443`)
  }

  for (const tool of tools) {
    const [, name = tool, rule] = /^([^()]+)\(([^()]*)\)$/u.exec(tool) ?? []
    const given = rule?.trim()
    if (readers.has(name)) files(tool, given, "read", read)
    else if (writers.has(name)) files(tool, given, "write", write)
    else if (name === "Bash") program(tool, given)
    else if (name === "WebFetch") web(tool, given)
    else if (name.startsWith("mcp__"))
      notGranted.push({
        tool,
        reason: `declare the server ${name.split("__")[1] ?? ""} under mcpServers, with this tool`
      })
    else notGranted.push({ tool, reason: "a QuickAgent has no such tool" })
  }
  return {
    capabilities: {
      ...(read.size + write.size === 0
        ? {}
        : {
            filesystem: {
              ...(read.size === 0 ? {} : { read: globsOf(read) }),
              ...(write.size === 0 ? {} : { write: globsOf(write) })
            }
          }),
      ...(commands.size === 0 ? {} : { exec: { commands: [...commands] } }),
      ...(egress.size === 0 ? {} : { network: { egress: [...egress] } })
    },
    granted,
    notGranted
  }
}
