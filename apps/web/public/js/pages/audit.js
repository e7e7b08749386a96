import { get, path } from "../api.js"
import { h, time } from "../dom.js"
import { given } from "../form.js"
import { endless, filters, queryOf } from "../listing.js"

const textOf = (value) =>
  Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : JSON.stringify(value)

const rowOf =
  (platform) =>
  ({ action, actor, at, detail, ip, org, target }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, action),
      h("td", null, time(at)),
      h(
        "td",
        null,
        actor.handle ?? `${actor.type} ${actor.id}`,
        ip === null ? "" : h("span", { class: "soft" }, ` ${ip}`)
      ),
      h("td", null, target),
      platform ? h("td", null, org ?? "") : undefined,
      h(
        "td",
        { class: "break" },
        Object.entries(detail).map(([name, value]) => h("div", null, `${name}: `, h("code", null, textOf(value))))
      )
    )

const dayStart = (date) => (date === "" ? "" : `${date}T00:00:00Z`)

const auditPage = async (title, address, platform) => {
  const query = queryOf()
  const asked = (name) => query.get(name) ?? ""
  const filter = given({
    action: asked("action"),
    actor: asked("actor"),
    from: dayStart(asked("from")),
    to: dayStart(asked("to")),
    ...(platform ? { org: asked("org") } : {})
  })
  const text = (name, label, hint) => ({
    name,
    label,
    hint,
    control: h("input", { maxlength: 100, autocomplete: "off", spellcheck: "false", value: asked(name) })
  })
  const date = (name, label) => ({ name, label, control: h("input", { type: "date", value: asked(name) }) })
  return [
    h("h1", null, title),
    filters([
      text("action", "Action, such as agent.create"),
      text("actor", "Who, by handle"),
      ...(platform ? [text("org", "Organization")] : []),
      date("from", "From (UTC)"),
      date("to", "Before (UTC)")
    ]),
    await endless({
      caption: "Audit entries, newest first",
      empty: "No entry.",
      heads: ["Action", "When", "Who", "What", ...(platform ? ["Organization"] : []), "Detail"],
      load: (cursor) =>
        get(`${address}?${new URLSearchParams({ ...filter, ...(cursor === undefined ? {} : { cursor }) })}`),
      more: "Older entries",
      rowOf: rowOf(platform)
    })
  ]
}

/** What was done in an organization, for its admins. */
export const orgAuditPage = ({ names: [org] }) =>
  auditPage(`Audit log of ${org}`, path("/api/v1/orgs", org, "audit"), false)

/** What was done at all, for staff. */
export const platformAuditPage = () => auditPage("Audit log", "/api/v1/platform/audit", true)
