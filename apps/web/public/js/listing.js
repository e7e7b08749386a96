/** What the registry lists in pages. The page and the filters stand in the address, so that it can be shared. */
import { get } from "./api.js"
import { field, h, labelled, table } from "./dom.js"
import { action } from "./form.js"

export const queryOf = () => new URLSearchParams(location.hash.split("?")[1] ?? "")

/** The address of this page with a change of its query. */
export const here = (change) => {
  const [place, text] = location.hash.slice(1).split("?")
  const query = new URLSearchParams(text)
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") query.delete(name)
    else query.set(name, value)
  }
  const search = query.toString()
  return search === "" ? place : `${place}?${search}`
}

/** Links to the pages before and after; `key` holds the offset in the address. */
export const turns = ({ limit, offset, total }, key = "offset") => {
  if (total <= limit && offset === 0) return undefined
  const turn = (text, at) =>
    h("a", { class: "button plain", href: `#${here({ [key]: at === 0 ? null : String(at) })}` }, text)
  return h(
    "p",
    { class: "row" },
    offset > 0 ? turn("Back", Math.max(0, offset - limit)) : undefined,
    offset + limit < total ? turn("Next", offset + limit) : undefined,
    offset < total
      ? h("span", { class: "soft" }, `${offset + 1} to ${Math.min(total, offset + limit)} of ${total}`)
      : undefined
  )
}

/** The page whose offset the address holds as `key`. */
export const pageOf = ({ address, key = "offset", limit = 50, query = {} }) =>
  get(`${address}?${new URLSearchParams({ ...query, limit: String(limit), offset: queryOf().get(key) ?? "0" })}`)

/** A table of one page. */
export const listing = async ({ caption, empty, heads, rowOf, ...which }) => {
  const page = await pageOf(which)
  return [
    page.items.length === 0
      ? h("p", { class: "soft" }, page.total === 0 ? empty : "No more: the list ends before this page.")
      : table(caption, heads, page.items.map(rowOf)),
    turns(page, which.key)
  ]
}

/** Filters: each control's value goes into the address under its name. */
export const filters = (fields) =>
  h(
    "form",
    {
      class: "filters",
      onsubmit: (event) => {
        event.preventDefault()
        const values = fields.map(({ control, name }) => [name, control.value.trim()])
        location.hash = here({ offset: null, ...Object.fromEntries(values) })
      }
    },
    fields.map(({ control, hint, label }) => field(label, control, hint)),
    h("button", { type: "submit", class: "plain" }, "Show")
  )

/** Rows that go on by a cursor: `load` gets the cursor, and none for the first. */
export const endless = async ({ caption, empty, heads, items = "items", load, more, rowOf }) => {
  let page = await load()
  const view = table(caption, heads, page[items].map(rowOf))
  const body = view.querySelector("tbody")
  const [button, outcome] = action(
    more,
    async () => {
      page = await load(page.nextCursor)
      body.append(...page[items].map((item) => labelled(rowOf(item), heads)))
      button.hidden = page.nextCursor === null
    },
    { plain: true }
  )
  button.hidden = page.nextCursor === null
  return [page[items].length === 0 ? h("p", { class: "soft" }, empty) : view, button, outcome]
}
