/** Elements from names, attributes and children. Text is always text, so nothing that the registry sends can become markup. */
import { Problem, words } from "./api.js"

export const h = (tag, attributes, ...children) => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? "" : String(value))
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false))
  return element
}

/** Says something to people who do not see the screen. */
export const announce = (text) => {
  document.getElementById("announce").textContent = text
}

/** Shows the page anew, after a change of what all of it is about. */
export const refresh = () => {
  dispatchEvent(new HashChangeEvent("hashchange"))
}

export const time = (iso) =>
  iso === null || iso === undefined ? "" : h("time", { datetime: iso, title: iso }, new Date(iso).toLocaleString())

export const size = (bytes) =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 * 1024
      ? `${(bytes / 1024).toFixed(1)} KiB`
      : `${(bytes / 1024 / 1024).toFixed(1)} MiB`

const tones = {
  published: "good",
  passed: "good",
  clean: "good",
  succeeded: "good",
  scanning: "",
  running: "",
  queued: "",
  claimed: "",
  pending: "",
  copying: "",
  findings: "warn",
  needs_review: "warn",
  yanked: "warn",
  quarantined: "warn",
  skipped: "warn",
  retired: "warn",
  rescanning: "",
  resolved: "good",
  verified: "good",
  scanned: "good",
  signed: "good",
  unsigned: "warn",
  online: "good",
  silent: "bad",
  draining: "warn",
  "weak isolation": "warn",
  done: "good",
  suspended: "bad",
  decommissioning: "bad",
  unscanned: "warn",
  medium: "warn",
  high: "bad",
  critical: "bad",
  overdue: "bad",
  withdrawn: "warn",
  draft: "",
  timeout: "warn",
  budget: "warn",
  interrupted: "warn",
  cancelled: "warn",
  blocked: "bad",
  failed: "bad",
  error: "bad",
  refused: "bad"
}

/** The colour of a state; its word always stands beside it. */
export const tone = (state) => tones[state] ?? ""

export const badge = (state) => h("span", { class: `badge ${tone(state)}` }, state.replaceAll("_", " "))

/** Its cells know the heads of their columns: on a phone they stand below each other. */
export const labelled = (row, heads) => {
  row.setAttribute("role", "row")
  for (const [index, cell] of [...row.children].entries()) {
    cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell")
    if (index > 0) cell.dataset.label = heads[index].text ?? heads[index]
  }
  return row
}

/** The roles are those that its elements have, and lose where they are laid out otherwise. */
export const table = (caption, heads, rows) =>
  h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { role: "table" },
      h("caption", { class: "visually-hidden" }, caption),
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          heads.map((head) =>
            h(
              "th",
              { scope: "col", role: "columnheader", class: head.number ? "number" : undefined },
              head.text ?? head
            )
          )
        )
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map((row) => labelled(row, heads))
      )
    )
  )

export const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => [h("dt", null, name), h("dd", null, value)])
  )

let fields = 0

/** A labelled control. `control` gets the id that the label names. */
export const field = (label, control, hint) => {
  const id = `field-${++fields}`
  control.id = id
  if (hint !== undefined) control.setAttribute("aria-describedby", `${id}-hint`)
  if (control.type === "checkbox")
    return h(
      "div",
      { class: "field" },
      h("div", null, control, " ", h("label", { for: id }, label)),
      hint === undefined ? undefined : h("span", { class: "hint", id: `${id}-hint` }, hint)
    )
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    hint === undefined ? undefined : h("span", { class: "hint", id: `${id}-hint` }, hint),
    control
  )
}

/** A choice of one: values and their texts. */
export const choice = (options, selected, attributes) =>
  h(
    "select",
    attributes ?? null,
    Object.entries(options).map(([value, text]) => h("option", { value, selected: value === selected }, text))
  )

/** A problem in words, with the fields at fault: all, or those that it shall tell of. */
export const problemBox = (problem, errors = problem.errors ?? []) =>
  h(
    "div",
    { class: "problem", role: "alert" },
    h("strong", null, problem instanceof Problem ? problem.title : "That did not work"),
    words(problem) === problem.title ? undefined : h("p", null, words(problem)),
    errors.length > 0
      ? h(
          "ul",
          null,
          errors.map(({ message, pointer }) =>
            h("li", null, pointer === "/" ? message : `${pointer.slice(1)}: ${message}`)
          )
        )
      : undefined
  )

/** The way in; `next` is where one comes back to. */
export const signInLinks = (providers, next) =>
  providers.map(({ name, start }) =>
    h("a", { class: "button", href: `${start}?next=${encodeURIComponent(next)}` }, `Sign in with ${name}`)
  )
