import { get } from "../api.js"
import { badge, h, time } from "../dom.js"
import { here, queryOf, turns } from "../listing.js"

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

const facetNames = {
  mode: "Mode",
  capability: "Asks for",
  verdict: "Verdict",
  license: "Licence",
  namespace: "By"
}
/** Values of a facet that are offered. */
const offered = 8

/** The published agents that one may read; the search stands in the address, so that it can be shared. */
export const agentsPage = async () => {
  const query = queryOf()
  const search = query.get("q") ?? ""
  const chosen = Object.keys(facetNames).filter((facet) => query.has(facet))
  const asked = new URLSearchParams({ limit: String(perPage), offset: query.get("offset") ?? "0" })
  if (search !== "") asked.set("q", search)
  for (const facet of chosen) asked.set(facet, query.get(facet))
  const { facets, items, limit, offset, total } = await get(`/api/v1/search?${asked}`)
  /** Another search begins at its first page. */
  const address = (change) => here({ offset: null, ...change })
  const input = h("input", { type: "search", name: "q", id: "search", value: search, maxlength: 200 })
  const facet = (name) => {
    const values = Object.entries(facets[name]).slice(0, offered)
    return values.length === 0
      ? undefined
      : [
          h("dt", null, facetNames[name]),
          h(
            "dd",
            { class: "row" },
            query.has(name)
              ? h("a", { href: `#${address({ [name]: null })}`, "aria-current": "true" }, `${query.get(name)} ×`)
              : values.map(([value, count]) =>
                  h(
                    "span",
                    null,
                    h("a", { href: `#${address({ [name]: value })}` }, value),
                    h("span", { class: "soft" }, ` ${count}`)
                  )
                )
          )
        ]
  }
  return [
    h("h1", null, "Agents"),
    h(
      "form",
      {
        role: "search",
        onsubmit: (event) => {
          event.preventDefault()
          location.hash = address({ q: input.value.trim() })
        }
      },
      h("label", { for: "search" }, "Search by name, keyword or description"),
      h("div", { class: "row" }, input, h("button", { type: "submit" }, "Search"))
    ),
    h("dl", { class: "facts" }, Object.keys(facetNames).map(facet)),
    h("p", { class: "soft" }, total === 1 ? "1 agent" : `${total} agents`, search === "" ? "" : ` for “${search}”`),
    items.length === 0
      ? h("p", null, "Nothing that is published matches. ", h("a", { href: "#/agents" }, "All agents"))
      : agentCards(items),
    turns({ limit, offset, total })
  ]
}
