import { path, post } from "../api.js"
import { badge, choice, facts, h, time } from "../dom.js"
import { form, given, part } from "../form.js"
import { filters, pageOf, queryOf, turns } from "../listing.js"
import { categories } from "./report.js"

const reason = () => ({
  name: "reason",
  label: "Reason",
  control: h("textarea", { required: true, maxlength: 2000 })
})

const decisions = (id, again) => {
  const address = path("/api/v1/platform/abuse-reports", id)
  return [
    h(
      "details",
      null,
      h("summary", null, "Look into it"),
      form({
        fields: [reason()],
        submit: "It is looked at",
        send: async (values) => {
          await post(`${address}/triage`, values)
          await again("The report is triaged")
        }
      })
    ),
    h(
      "details",
      null,
      h("summary", null, "Close it"),
      form({
        fields: [
          {
            name: "resolution",
            label: "What came of it",
            control: choice({ actioned: "Something was done", dismissed: "Nothing was wrong" })
          },
          reason()
        ],
        submit: "Close the report",
        send: async (values) => {
          await post(`${address}/resolve`, values)
          await again("The report is closed")
        }
      })
    )
  ]
}

const reportCard = (again) => (report) => {
  const { category, createdAt, handledBy, id, name, namespace, reporter, resolution, state, text, version } = report
  const agent = path("/agents", namespace, name)
  return h(
    "div",
    { class: "card" },
    h(
      "h3",
      null,
      version === null
        ? h("a", { href: `#${agent}` }, `${namespace}/${name}`)
        : h("a", { href: `#${agent}/versions/${encodeURIComponent(version)}` }, `${namespace}/${name}@${version}`),
      " ",
      badge(state)
    ),
    h("pre", { class: "wrap" }, text),
    facts([
      ["Of what kind", categories[category]],
      ["Reported", [time(createdAt), ` by ${reporter}`]],
      ["Handled", handledBy === null ? undefined : `by ${handledBy}: ${report.reason}`],
      ["What came of it", resolution]
    ]),
    state === "resolved" ? undefined : decisions(id, again)
  )
}

/** What people reported, oldest first. */
export const reportsPage = async () => {
  const query = queryOf()
  const asked = (name) => query.get(name) ?? ""
  const filter = given({ state: asked("state"), category: asked("category"), namespace: asked("namespace") })
  return [
    h("h1", null, "Reports of abuse"),
    filters([
      {
        name: "state",
        label: "State",
        control: choice({ "": "any", open: "open", triaged: "triaged", resolved: "resolved" }, asked("state"))
      },
      { name: "category", label: "Kind", control: choice({ "": "any", ...categories }, asked("category")) },
      {
        name: "namespace",
        label: "Namespace",
        control: h("input", { maxlength: 39, autocomplete: "off", spellcheck: "false", value: asked("namespace") })
      }
    ]),
    await part(async (again) => {
      const page = await pageOf({ address: "/api/v1/platform/abuse-reports", query: filter })
      return [
        page.items.length === 0 ? h("p", { class: "soft" }, "No report.") : page.items.map(reportCard(again)),
        turns(page)
      ]
    })
  ]
}
