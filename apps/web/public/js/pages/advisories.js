import { get, patch, path, post } from "../api.js"
import { badge, choice, facts, h, time } from "../dom.js"
import { action, form, given, part } from "../form.js"
import { filters, listing, queryOf } from "../listing.js"

const severities = { critical: "critical", high: "high", medium: "medium", low: "low", info: "info" }

/** What an advisory says; of one that is changed, what it says now. */
const advisoryFields = (advisory = {}) => [
  { name: "severity", label: "Severity", control: choice(severities, advisory.severity ?? "high") },
  {
    name: "affected",
    label: "Affected versions",
    control: h("input", { required: true, maxlength: 400, spellcheck: "false", value: advisory.affected }),
    hint: "A range such as >=1.0.0 <1.4.2, or * for all"
  },
  {
    name: "patched",
    label: "First version without the fault (optional)",
    control: h("input", { maxlength: 100, spellcheck: "false", value: advisory.patched })
  },
  {
    name: "summary",
    label: "Summary",
    control: h("input", { required: true, maxlength: 200, value: advisory.summary })
  },
  {
    name: "details",
    label: "Details (optional)",
    control: h("textarea", { maxlength: 20_000 }, advisory.details ?? "")
  }
]

/** Of the agent at `address`; `onDrafted` gets the advisory's id. */
export const draftForm = (address, onDrafted) =>
  h(
    "details",
    null,
    h("summary", null, "Draft an advisory"),
    form({
      fields: advisoryFields(),
      submit: "Save the draft",
      send: async (values) => {
        const { id } = await post(`${address}/advisories`, given(values))
        await onDrafted(id)
      }
    })
  )

export const advisoryRow = ({ affected, id, name, namespace, severity, state, summary }) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, h("a", { href: `#/advisories/${id}` }, id)),
    h("td", null, summary),
    h("td", null, `${namespace}/${name} `, h("code", null, affected)),
    h("td", null, badge(severity)),
    h("td", null, badge(state))
  )
export const advisoryHeads = ["Advisory", "What is wrong", "Affects", "Severity", "State"]

/** Advisories that one may read, newest first; staff and those who manage an agent find its drafts too. */
export const advisoriesPage = async () => {
  const query = queryOf()
  const asked = given({ severity: query.get("severity") ?? "", state: query.get("state") ?? "" })
  return [
    h("h1", null, "Advisories"),
    h("p", { class: "lead" }, "What is known to be wrong with versions of agents, and which version mends it."),
    filters([
      { name: "severity", label: "Severity", control: choice({ "": "any", ...severities }, asked.severity) },
      {
        name: "state",
        label: "State",
        control: choice({ "": "any", draft: "draft", published: "published", withdrawn: "withdrawn" }, asked.state)
      }
    ]),
    await listing({
      address: "/api/v1/advisories",
      caption: "Advisories",
      empty: "No advisory.",
      heads: advisoryHeads,
      query: asked,
      rowOf: advisoryRow
    })
  ]
}

/** One advisory. A draft is changed by who manages the agent, a published one by staff, who publishes. */
export const advisoryPage = async ({ names: [id], profile }) => {
  const address = path("/api/v1/advisories", id)
  return [
    await part(async (again) => {
      const advisory = await get(address)
      const { affected, details, name, namespace, patched, publishedAt, severity, state, summary } = advisory
      const isStaff = profile?.staff === true
      const changes = state === "draft" ? profile !== null : state === "published" && isStaff
      return [
        h("h1", null, `${id} `, badge(severity)),
        h("p", { class: "lead" }, summary),
        facts([
          ["State", badge(state)],
          ["Agent", h("a", { href: `#${path("/agents", namespace, name)}` }, `${namespace}/${name}`)],
          ["Affected", h("code", null, affected)],
          ["Fixed in", patched ?? "no version yet"],
          ["Published", publishedAt === null ? undefined : time(publishedAt)],
          [
            "Withdrawn",
            advisory.withdrawnAt === null ? undefined : [time(advisory.withdrawnAt), `: ${advisory.withdrawnReason}`]
          ]
        ]),
        details === "" ? undefined : h("pre", { class: "wrap" }, details),
        isStaff && state === "draft"
          ? action(
              "Publish",
              async () => {
                await post(`${address}/publish`)
                await again(`${id} is published`)
              },
              { question: `Publish ${id}? It stands beside every version that it affects.` }
            )
          : undefined,
        state === "draft" && !isStaff ? h("p", { class: "soft" }, "The platform's staff publishes it.") : undefined,
        !changes
          ? undefined
          : [
              h("h2", null, "Change it"),
              form({
                fields: advisoryFields(advisory),
                keep: true,
                submit: "Save",
                send: async ({ patched: first, ...values }) => {
                  await patch(address, { ...values, patched: first === "" ? null : first })
                  await again(`${id} is changed`)
                }
              }),
              h("h2", null, state === "draft" ? "Drop it" : "Withdraw it"),
              form({
                danger: true,
                fields: [
                  { name: "reason", label: "Reason", control: h("textarea", { required: true, maxlength: 2000 }) }
                ],
                question: `${state === "draft" ? "Drop" : "Withdraw"} ${id}?`,
                submit: state === "draft" ? "Drop the draft" : "Withdraw",
                send: async (values) => {
                  await post(`${address}/withdraw`, values)
                  await again(`${id} is withdrawn`)
                }
              })
            ]
      ]
    })
  ]
}
