import { get, path, post, remove } from "../api.js"
import { field, h, problemBox, table, time } from "../dom.js"
import { action, part } from "../form.js"

const scopes = {
  "agent:read": "read agents, versions and reports",
  "agent:publish": "create agents, submit versions",
  "agent:manage": "change, yank and delete agents",
  "repo:read": "clone and fetch with git",
  "repo:write": "push with git",
  "run:read": "read hosted runs and their output",
  "run:write": "start and cancel hosted runs",
  "user:profile": "own profile, tokens, sessions, credits",
  "org:admin": "organizations and members",
  "review:act": "decide reviews",
  "audit:read": "read audit logs"
}

const mintForm = (onMinted) => {
  const name = h("input", { required: true, maxlength: 100, autocomplete: "off" })
  const days = h("input", { type: "number", min: 1, max: 366, value: 90, required: true })
  const boxes = Object.entries(scopes).map(([scope, meaning]) => ({
    scope,
    box: h("input", { type: "checkbox", name: "scope", value: scope }),
    meaning
  }))
  const outcome = h("div", null)
  // Pressing twice makes one token.
  let busy = false
  return h(
    "form",
    {
      class: "card",
      onsubmit: async (event) => {
        event.preventDefault()
        if (busy) return
        busy = true
        try {
          const made = await post("/api/v1/user/tokens", {
            name: name.value,
            scopes: boxes.filter(({ box }) => box.checked).map(({ scope }) => scope),
            expiresInDays: Number(days.value)
          })
          outcome.replaceChildren(
            h(
              "div",
              { class: "note", role: "status" },
              h("strong", null, "Copy the token now: it is not shown again."),
              h("pre", null, made.token)
            )
          )
          event.target.reset()
          // The token is shown once, whether or not the list can be made anew.
          await onMinted().catch(() => {})
        } catch (problem) {
          outcome.replaceChildren(problemBox(problem))
        } finally {
          busy = false
        }
      }
    },
    field("Name", name, "What it is for, such as the machine it is kept on"),
    field("Days until it expires", days),
    h(
      "fieldset",
      null,
      h("legend", null, "It may"),
      h(
        "div",
        { class: "choices" },
        boxes.map(({ box, meaning, scope }) =>
          h("label", null, box, " ", h("code", null, scope), h("br"), h("span", { class: "soft" }, meaning))
        )
      )
    ),
    h("button", { type: "submit" }, "Make a token"),
    outcome
  )
}

const tokenRow =
  (again) =>
  ({ expiresAt, hint, id, lastUsedAt, name, scopes }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, name, h("br"), h("code", { class: "soft" }, `${hint}…`)),
      h("td", null, scopes.join(", ")),
      h("td", null, lastUsedAt === null ? "never" : time(lastUsedAt)),
      h("td", null, expiresAt === null ? "never" : time(expiresAt)),
      h(
        "td",
        null,
        action("Revoke", () => remove(path("/api/v1/user/tokens", id)).then(() => again(`${name} is revoked`)), {
          danger: true,
          spoken: `Revoke ${name}`,
          question: `Revoke the token “${name}”? What uses it stops working at once.`
        })
      )
    )

/** The account's personal access tokens: listed, minted and revoked. */
export const tokensPage = async () => {
  let minted
  const list = await part(async (again) => {
    minted = again
    const { items } = await get("/api/v1/user/tokens")
    return items.length === 0
      ? h("p", { class: "soft" }, "No token yet.")
      : table("Tokens", ["Name", "May", "Last used", "Expires", ""], items.map(tokenRow(again)))
  })
  return [
    h("h1", null, "Personal access tokens"),
    h(
      "p",
      { class: "lead" },
      "For the command line and for programs. A token can do only what you tick. ",
      h("a", { href: "#/keys" }, "SSH keys"),
      " are for git alone, and ",
      h("a", { href: "#/sessions" }, "sessions"),
      " are the browsers you are signed in with."
    ),
    list,
    h("h2", null, "New token"),
    mintForm(() => minted())
  ]
}
