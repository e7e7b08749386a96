import { get, path, post } from "../api.js"
import { choice, h, table, time } from "../dom.js"
import { form, part } from "../form.js"

/** Address, name, what it is for, and the list whose length says what waits there. */
const tools = [
  ["/review", "Review", "Versions that the gate, a rescan or staff holds", "/api/v1/review/"],
  ["/review?disputed=true", "Disputes", "Held versions whose owners object", "/api/v1/review/?disputed=true"],
  [
    "/staff/reports?state=open",
    "Reports of abuse",
    "What people reported, and what came of it",
    "/api/v1/platform/abuse-reports?state=open"
  ],
  ["/advisories?state=draft", "Drafts of advisories", "What waits to be published", "/api/v1/advisories?state=draft"],
  ["/staff/rulesets", "Ruleset releases", "The rules in force, and how far a rescan is"],
  ["/staff/orgs", "Organizations", "Suspend one, or reinstate it"],
  ["/staff/audit", "Audit log", "Who did what, in the whole registry"]
]

const waiting = async (list) => (await get(`${list}${list.includes("?") ? "&" : "?"}limit=1`)).total

const hosts = ["/staff/hosts", "Sandbox hosts", "Where hosted runs take place; enrol one, or retire it"]

/** Where staff works. */
export const staffPage = async ({ runs }) => {
  const cards = [...tools, ...(runs ? [hosts] : [])].map(async ([address, name, what, list]) =>
    h(
      "li",
      { class: "card" },
      h("h3", null, h("a", { href: `#${address}` }, name)),
      h("p", null, what),
      list === undefined ? undefined : h("p", { class: "soft" }, `${await waiting(list)} waiting`)
    )
  )
  return [h("h1", null, "Staff"), h("ul", { class: "cards" }, await Promise.all(cards))]
}

const lastRow = ({ action, actor, at, detail, target }) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, target),
    h("td", null, action === "org.suspend" ? "suspended" : "reinstated"),
    h("td", null, time(at)),
    h("td", null, actor.handle),
    h("td", null, detail.reason)
  )

/** Ends what an organization does here, and takes that back. A suspended one is not there to be listed: the log tells of it. */
export const staffOrgsPage = async () => {
  let again
  const last = await part(async (renew) => {
    again = renew
    const pages = await Promise.all(
      ["org.suspend", "org.reinstate"].map((action) =>
        get(`/api/v1/platform/audit?${new URLSearchParams({ action, limit: "20" })}`)
      )
    )
    const entries = pages.flatMap(({ items }) => items).toSorted((one, other) => other.at.localeCompare(one.at))
    return entries.length === 0
      ? h("p", { class: "soft" }, "No organization was ever suspended.")
      : table("Last decisions", ["Organization", "What", "When", "By", "Reason"], entries.map(lastRow))
  })
  return [
    h("h1", null, "Organizations"),
    form({
      fields: [
        {
          name: "org",
          label: "Handle",
          control: h("input", { required: true, autocomplete: "off", spellcheck: "false" })
        }
      ],
      submit: "Look at it",
      send: ({ org }) => {
        location.hash = path("/orgs", org)
      }
    }),
    h("h2", null, "Suspend or reinstate"),
    h("p", null, "A suspended organization and everything under it answer as if they were not there."),
    form({
      at: { "not-found": "org" },
      danger: true,
      fields: [
        {
          name: "org",
          label: "Handle of the organization",
          control: h("input", { required: true, autocomplete: "off", spellcheck: "false" })
        },
        { name: "verb", label: "What to do", control: choice({ suspend: "Suspend it", reinstate: "Reinstate it" }) },
        { name: "reason", label: "Reason", control: h("textarea", { required: true, maxlength: 2000 }) }
      ],
      question: "Everybody in this organization feels it at once. Go on?",
      submit: "Decide",
      send: async ({ org, reason, verb }) => {
        const { state } = await post(path("/api/v1/orgs", org, verb), { reason })
        await again()
        return `${org} is ${state}.`
      }
    }),
    h("h2", null, "Last decisions"),
    last
  ]
}
