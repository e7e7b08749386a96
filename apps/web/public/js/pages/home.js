import { get } from "../api.js"
import { h, signInLinks } from "../dom.js"
import { agentCards } from "./agents.js"

/** What this place is, the way in, and the newest agents. */
export const homePage = async ({ profile, providers, runs }) => {
  const [{ items }, status] = await Promise.all([
    get("/api/v1/agents/?sort=newest&limit=6"),
    runs ? get("/api/v1/x/runs/status") : null
  ])
  return [
    h(
      "h1",
      null,
      profile === null
        ? "Agents that were looked at before they run"
        : `Welcome, ${profile.displayName || profile.handle}`
    ),
    h(
      "p",
      { class: "lead" },
      "Every version of a QuickAgent passes a scan before it is published, and carries a signed attestation of what was found. ",
      "A hosted run takes place in a sandbox that enforces what the agent declares; its output is sealed to you."
    ),
    profile === null
      ? h("p", { class: "row" }, signInLinks(providers, "/"))
      : h(
          "p",
          { class: "row" },
          h("a", { class: "button", href: "#/agents" }, "Find an agent"),
          h("a", { class: "button plain", href: "#/runs" }, "My runs")
        ),
    status === null
      ? undefined
      : h(
          "p",
          { class: "soft" },
          status.hostsOnline === 0
            ? "No sandbox host is online now; runs wait in the queue."
            : `${status.hostsOnline} sandbox ${status.hostsOnline === 1 ? "host is" : "hosts are"} online, ${status.queued} runs wait.`
        ),
    h("h2", null, "Newest agents"),
    items.length === 0 ? h("p", { class: "soft" }, "Nothing is published yet.") : agentCards(items)
  ]
}
