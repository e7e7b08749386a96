import type { Manifest } from "@quickagents/schema"
import { describe, expect, it } from "@effect/vitest"
import { maxUngranted, ungrantedTools } from "./Ungranted.ts"

const manifest = (more: Partial<Manifest> = {}): Manifest => ({
  schemaVersion: 2,
  name: "acme/notes",
  version: "1.0.0",
  description: "d",
  modes: ["autonomous"],
  ...more
})
const found = (text: string, more: Partial<Manifest> = {}) =>
  ungrantedTools(manifest(more), [{ path: "AGENT.md", text }]).map(({ tool, grant }) => `${tool} ${grant}`)

describe("ungranted tools", () => {
  it("[MI-026] cover browser, command, fetch, host tools and files, each until its capability grants it", () => {
    const table: ReadonlyArray<readonly [string, string, NonNullable<Manifest["capabilities"]>]> = [
      ["browser_click", "capabilities.browser", { browser: { scope: "public" } }],
      ["run_command", "capabilities.exec.commands", { exec: { commands: ["git"] } }],
      ["fetch", "capabilities.network.egress", { network: { egress: ["example.com:443"] } }],
      ["host_restart", "capabilities.targetHosts", { targetHosts: ["web"] }],
      ["fs_read", "capabilities.filesystem.read", { filesystem: { read: ["**"] } }],
      ["fs_list", "capabilities.filesystem.read", { filesystem: { read: ["**"] } }],
      ["fs_write", "capabilities.filesystem.write", { filesystem: { write: ["out/**"] } }]
    ]
    for (const [tool, grant, capabilities] of table) {
      expect(found(`Use \`${tool}\` now.`)).toEqual([`${tool} ${grant}`])
      expect(found(`Use \`${tool}\` now.`, { capabilities })).toEqual([])
    }
    expect(found("Use `run_command`.", { capabilities: { exec: { commands: [] } } })).toEqual([
      "run_command capabilities.exec.commands"
    ])
    expect(found("Use `fs_write`.", { capabilities: { filesystem: { read: ["**"] } } })).toEqual([
      "fs_write capabilities.filesystem.write"
    ])
  })

  it("[MI-027] cover tools of undeclared servers, and scripts in pages where the browser types secrets", () => {
    const mcpServers = [{ name: "mail", url: "https://mail.example.com", tools: ["send"] }]
    expect(found("Call mail__send.")).toEqual(["mail__send mcpServers"])
    expect(found("Call mail__send.", { mcpServers })).toEqual([])
    expect(found("Call mail__delete.", { mcpServers })).toEqual(["mail__delete mcpServers.tools"])
    expect(
      found("Call browser_evaluate.", { capabilities: { browser: { scope: "sites", typeSecrets: true } } })
    ).toEqual(["browser_evaluate capabilities.browser"])
    expect(found("Call browser_evaluate.", { capabilities: { browser: { scope: "sites" } } })).toEqual([])
  })

  it("[MI-028] leave out a tool that is only refused, or named in a paragraph about another package", () => {
    for (const text of [
      "Never use `fetch`.",
      "Do not call run_command or browser_click.",
      "Work without run_command.",
      "Answer from the notes instead of using `fetch`.",
      "`fetch` is not available here.",
      "The run_command tool must never be used.",
      "You cannot use\nbrowser_click on pages.",
      "The package acme/crawler@1.0.0 uses `fetch` and run_command.",
      "Another agent reads pages with browser_click.",
      "Fetch the report from the folder and never guess.",
      "`finish` with `web_search` or knowledge_search."
    ])
      expect([text, found(text)]).toEqual([text, []])
  })

  it("list a tool that is refused in one place and used in another", () => {
    expect(found("Never use `fetch` for pages.\n\nUse `fetch` for the API.")).toEqual([
      "fetch capabilities.network.egress"
    ])
    expect(found("Do not guess, but call run_command.")).toEqual(["run_command capabilities.exec.commands"])
    expect(found("Do not wait. Call run_command.")).toEqual(["run_command capabilities.exec.commands"])
    expect(found("This agent, unlike another agent, uses `fetch`.")).toEqual(["fetch capabilities.network.egress"])
  })

  it("[MI-007] say tool, grant, path, first instruction line and a reason", () => {
    const files = [
      { path: "AGENT.md", text: "# A\n\n  - Then use `fetch` on it.\n" },
      { path: "b.md", text: "Use `fetch`." }
    ]
    expect(ungrantedTools(manifest(), files)).toEqual([
      {
        tool: "fetch",
        grant: "capabilities.network.egress",
        path: "AGENT.md",
        line: 3,
        instruction: "- Then use `fetch` on it.",
        reason: "The instructions use fetch, and the manifest lists no egress host."
      }
    ])
  })

  it("are at most 50", () => {
    const text = Array.from({ length: 80 }, (_, index) => `Call srv__tool${index}.`).join("\n")
    expect(found(text)).toHaveLength(maxUngranted)
    expect(maxUngranted).toBe(50)
  })
})
