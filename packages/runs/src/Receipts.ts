/**
 * The receipt of a hosted run: the runner's, limited to names that the release
 * declares, so that no text of a run can travel in a name. Spec: Resources, Run.
 */
import type { Manifest, RunExit, RunReceipt } from "@quickagents/schema"

const hostTools = [
  "fs_read",
  "fs_list",
  "fs_write",
  "run_command",
  "fetch",
  "web_search",
  "knowledge_search",
  "knowledge_read",
  "ask_user",
  "finish",
  "block"
]

export const receiptOf = (exit: RunExit, manifest: Manifest | null): RunReceipt | null => {
  if (exit.receipt === null) return null
  const secrets = new Set((manifest?.secrets ?? []).map(({ name }) => name))
  const servers = (manifest?.mcpServers ?? []).map(({ name }) => `${name}__`)
  const isTool = (name: string) =>
    hostTools.includes(name) ||
    /^browser_[a-z_]{1,40}$/.test(name) ||
    servers.some((prefix) => name.startsWith(prefix) && /^[A-Za-z0-9_-]{1,128}$/.test(name))
  const { receipt } = exit
  return {
    ...receipt,
    secrets: {
      used: receipt.secrets.used.filter((name) => secrets.has(name)),
      absent: receipt.secrets.absent.filter((name) => secrets.has(name))
    },
    toolCalls: Object.fromEntries(Object.entries(receipt.toolCalls).filter(([name]) => isTool(name))),
    ...(exit.exitClass === "ok" || exit.stage === undefined ? {} : { stage: exit.stage }),
    ...(exit.exitClass === "ok" || exit.reason === undefined ? {} : { reason: exit.reason })
  }
}
