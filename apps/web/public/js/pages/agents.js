import { get } from "../api.js"
import { badge, h, time } from "../dom.js"

const perPage = 24

export const agentCards = (agents) =>
  h(
    "ul",
    { class: "cards" },
    agents.map((agent) =>
      h(
        "li",
        { class: "card" },
        h(
          "h3",
          null,
          h("a", { href: `#/agents/${agent.namespace}/${agent.name}` }, `${agent.namespace}/${agent.name}`)
        ),
        h("p", null, agent.description || h("span", { class: "soft" }, "No description")),
        h(
          "p",
          { class: "soft row" },
          agent.latestVersion === null ? "nothing published" : `version ${agent.latestVersion}`,
          agent.visibility === "private" ? badge("private") : undefined,
          h("span", null, "changed ", time(agent.updatedAt))
        )
      )
    )
  )

/** The agents that one may read, with search; the search stands in the address, so that it can be shared. */
export const agentsPage = async () => {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "")
  const search = query.get("q") ?? ""
  const offset = Number(query.get("offset") ?? 0)
  const asked = new URLSearchParams({
    sort: "name",
    limit: String(perPage),
    offset: String(offset),
    ...(search === "" ? {} : { q: search })
  })
  const { items, total } = await get(`/api/v1/agents/?${asked}`)
  const input = h("input", { type: "search", name: "q", id: "search", value: search, maxlength: 200 })
  const go = (q, at) => {
    location.hash = `/agents?${new URLSearchParams({ ...(q === "" ? {} : { q }), ...(at === 0 ? {} : { offset: String(at) }) })}`
  }
  const turn = (text, at) => h("button", { type: "button", class: "plain", onclick: () => go(search, at) }, text)
  return [
    h("h1", null, "Agents"),
    h(
      "form",
      {
        role: "search",
        onsubmit: (event) => {
          event.preventDefault()
          go(input.value.trim(), 0)
        }
      },
      h("label", { for: "search" }, "Search by name or description"),
      h("div", { class: "row" }, input, h("button", { type: "submit" }, "Search"))
    ),
    h("p", { class: "soft" }, total === 1 ? "1 agent" : `${total} agents`, search === "" ? "" : ` for “${search}”`),
    items.length === 0 ? undefined : agentCards(items),
    h(
      "div",
      { class: "row" },
      offset > 0 ? turn("Back", Math.max(0, offset - perPage)) : undefined,
      offset + perPage < total ? turn("Next", offset + perPage) : undefined
    )
  ]
}
