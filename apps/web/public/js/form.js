/** Forms and buttons that change something, and the parts of a page that show the change. */
import { Problem, words } from "./api.js"
import { announce, field, h, problemBox } from "./dom.js"

/** Says beside a control what is wrong with it; without a message, that nothing is. */
const blame = (control, ...messages) => {
  const error = `${control.id}-error`
  const described = (control.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .filter((id) => id !== "" && id !== error)
  control.parentElement.querySelector(".error")?.remove()
  control.removeAttribute("aria-invalid")
  if (messages.length > 0) {
    control.setAttribute("aria-invalid", "true")
    control.after(h("span", { class: "error", id: error }, messages.join(". ")))
    described.push(error)
  }
  if (described.length === 0) control.removeAttribute("aria-describedby")
  else control.setAttribute("aria-describedby", described.join(" "))
}

/** A refusal: at the fields that it names, and the rest of it in `outcome`. */
const refuse = (problem, fields, at, outcome) => {
  const errors = problem.errors ?? []
  const named = (pointer) => fields.find(({ name }) => name === pointer.split("/")[1])
  const whole = problem instanceof Problem ? fields.find(({ name }) => name === at[problem.slug]) : undefined
  const told = [
    ...errors.map(({ message, pointer }) => [named(pointer), message]),
    ...(whole === undefined ? [] : [[whole, words(problem)]])
  ].filter(([which]) => which !== undefined)
  for (const [{ control }, its] of Map.groupBy(told, ([which]) => which)) {
    blame(control, ...new Set(its.map(([, message]) => message)))
  }
  const rest = errors.filter(({ pointer }) => named(pointer) === undefined)
  outcome.replaceChildren(
    told.length === 0 || rest.length > 0
      ? problemBox(problem, rest)
      : h(
          "p",
          { class: "error", role: "alert" },
          `Nothing was changed. See: ${[...new Set(told.map(([{ label }]) => label))].join(", ")}`
        )
  )
  told[0]?.[0].control.focus()
}

/**
 * A form that changes something.
 *
 * @param fields `{ name, label, control, hint }`, where `name` is the member of the request; what the registry says
 *   against one stands beside it
 * @param send gets the values by name and may answer what to say when it is done
 * @param at field by the problem that is about it, where the registry names none
 * @param question asked before it is sent
 * @param keep what is filled in stays when it was sent
 */
export const form = ({ at = {}, danger, fields, keep, question, send, submit }) => {
  const outcome = h("div", null)
  let busy = false
  const press = async (event) => {
    event.preventDefault()
    if (busy || (question !== undefined && !confirm(question))) return
    busy = true
    for (const { control } of fields) blame(control)
    try {
      const values = fields.map(({ control, name }) => [
        name,
        control.type === "checkbox" ? control.checked : control.value.trim()
      ])
      const said = await send(Object.fromEntries(values))
      outcome.replaceChildren(...(said === undefined ? [] : [h("p", { class: "note", role: "status" }, said)]))
      if (!keep) element.reset()
    } catch (problem) {
      refuse(problem, fields, at, outcome)
    } finally {
      busy = false
    }
  }
  const element = h(
    "form",
    { class: "card", onsubmit: press },
    fields.map(({ control, hint, label }) => field(label, control, hint)),
    h("button", { type: "submit", class: danger ? "danger" : undefined }, submit),
    outcome
  )
  return element
}

/** The members that were filled in. */
export const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""))

/** The field that a dangerous form begins with: the browser sends it only with the very name in it. */
export const confirmation = (name) => ({
  name: "confirm",
  label: `Type “${name}” to confirm`,
  control: h("input", {
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    pattern: name,
    title: `Type ${name}`
  })
})

/**
 * A button that changes something, and what came of it. With `done`, what to say then, it is pressed once;
 * `spoken` is for people who hear it without what stands around it.
 */
export const action = (label, act, { danger, done, plain, question, spoken } = {}) => {
  const outcome = h("div", null)
  let busy = false
  const press = async () => {
    if (busy || (question !== undefined && !confirm(question))) return
    busy = true
    try {
      await act()
      outcome.replaceChildren(...(done === undefined ? [] : [h("p", { class: "note", role: "status" }, done)]))
      button.disabled = done !== undefined
    } catch (problem) {
      outcome.replaceChildren(problemBox(problem))
    } finally {
      busy = false
    }
  }
  const look = danger ? "danger" : plain ? "plain" : undefined
  const button = h("button", { type: "button", class: look, "aria-label": spoken, onclick: press }, label)
  return [button, outcome]
}

/** A part of a page. What `render` makes is made anew whenever it calls `again`; the focus stays in the part. */
export const part = async (render) => {
  const box = h("div", { tabindex: "-1" })
  let last = 0
  const again = async (said) => {
    const mine = ++last
    const content = [await render(again)].flat(Infinity).filter(Boolean)
    // What was asked for earlier and came later is old.
    if (mine === last) {
      const inside = box.contains(document.activeElement)
      box.replaceChildren(...content)
      if (inside) box.focus()
    }
    if (said !== undefined) announce(said)
  }
  await again()
  return box
}
