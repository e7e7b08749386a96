/** The receipt: what the run could do and by which mechanism, and what it used. No text of the run. */
import type { RunnerReceipt } from "@quickagents/schema"
import type { Progress } from "./Harness.ts"
import type { Policy } from "./Policy.ts"

const filesystem = ({ commands, read, write }: Policy, proxied: boolean) => [
  read.length === 0
    ? "fs_read and fs_list are not given to the agent"
    : `fs_read and fs_list refuse every path outside ${read.join(", ")} and every symbolic link`,
  write.length === 0
    ? "fs_write is not given to the agent"
    : `fs_write refuses every path outside ${write.join(", ")} and every symbolic link`,
  ...(commands.length === 0
    ? []
    : [
        proxied
          ? "programs see the file system that the host gives the run"
          : "programs have the file access of the user who started the run"
      ])
]

const exec = ({ commands }: Policy) => [
  commands.length === 0
    ? "run_command is not given to the agent"
    : `run_command starts ${commands.join(", ")} by name, without a shell, and ends each after its time`
]

const network = ({ commands, egress }: Policy, proxied: boolean) => {
  const tool =
    egress.length === 0
      ? "fetch is not given to the agent"
      : `fetch refuses every host and port but ${egress.join(", ")} and follows no redirect`
  if (proxied) return [tool, "the host's egress proxy lets out nothing but the listed hosts and ports"]
  return [tool, ...(commands.length === 0 ? [] : ["programs have the network access of the user who started the run"])]
}

const secrets = (used: ReadonlyArray<string>) =>
  used.length === 0
    ? ["no secret is given to the run"]
    : used.map((name) => `${name} is in the environment of started programs, and taken out of what they print`)

export const makeReceipt = (run: {
  readonly ref: string
  readonly digest: string
  readonly attestationKeyId: string | null
  readonly model: string | null
  /** None when the run ended before it was decided. */
  readonly policy: Policy | undefined
  readonly runtime: ReadonlyArray<string>
  /** Whether a host holds the run and lets it out through its proxy alone. */
  readonly proxied: boolean
  readonly progress: Progress
}): RunnerReceipt => {
  const { policy, proxied } = run
  const used = policy === undefined || policy.commands.length === 0 ? [] : policy.secrets.map(({ name }) => name)
  return {
    release: { ref: run.ref, digest: run.digest, attestationKeyId: run.attestationKeyId },
    model: run.model,
    capabilities_enforced: {
      filesystem: policy === undefined ? [] : filesystem(policy, proxied),
      exec: policy === undefined ? [] : exec(policy),
      network: policy === undefined ? [] : network(policy, proxied),
      browser: policy === undefined ? [] : ["this runner has no browser"],
      mcp: policy === undefined ? [] : ["this runner starts no MCP server"],
      runtime: run.runtime,
      secrets: policy === undefined ? [] : secrets(used)
    },
    secrets: { used, absent: policy?.absentSecrets ?? [] },
    knowledge: [],
    withheldInputs: [],
    toolCalls: Object.fromEntries([...run.progress.toolCalls].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }
}
