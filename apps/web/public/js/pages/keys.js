import { get, path, post, remove } from "../api.js"
import { announce, h, problemBox, table, time } from "../dom.js"
import { form } from "../form.js"

const addForm = (onAdded) =>
  form({
    at: { "ssh-key-taken": "key" },
    fields: [
      {
        name: "title",
        label: "Name",
        control: h("input", { required: true, maxlength: 100, autocomplete: "off" }),
        hint: "Such as the machine that the key is kept on"
      },
      {
        name: "key",
        label: "Public key",
        control: h("textarea", { required: true, maxlength: 16_384, spellcheck: "false", rows: 4 }),
        hint: "The line in a file such as ~/.ssh/id_ed25519.pub; never the private key"
      }
    ],
    submit: "Add the key",
    send: async (values) => {
      await post("/api/v1/user/keys", values)
      await onAdded()
      return "The key is added."
    }
  })

/** The account's SSH keys, with which git fetches and pushes and nothing else is done. */
export const keysPage = async () => {
  const list = h("div", null)
  const fill = async () => {
    const { items } = await get("/api/v1/user/keys")
    list.replaceChildren(
      items.length === 0
        ? h("p", { class: "soft" }, "No key yet.")
        : table(
            "SSH keys",
            ["Name", "Fingerprint", "Last used", ""],
            items.map((key) =>
              h(
                "tr",
                null,
                h("th", { scope: "row" }, key.title),
                h("td", null, h("code", null, key.fingerprint)),
                h("td", null, key.lastUsedAt === null ? "never" : time(key.lastUsedAt)),
                h(
                  "td",
                  null,
                  h(
                    "button",
                    {
                      type: "button",
                      class: "danger",
                      "aria-label": `Delete ${key.title}`,
                      onclick: async () => {
                        if (!confirm(`Delete the key “${key.title}”? Git does not know you by it any more.`)) return
                        try {
                          await remove(path("/api/v1/user/keys", key.id))
                          announce("Key deleted")
                          await fill()
                        } catch (problem) {
                          list.prepend(problemBox(problem))
                        }
                      }
                    },
                    "Delete"
                  )
                )
              )
            )
          )
    )
  }
  await fill()
  return [
    h("h1", null, "SSH keys"),
    h("p", { class: "lead" }, "For git over SSH. A key opens nothing else: programs use tokens."),
    list,
    h("h2", null, "New key"),
    addForm(fill)
  ]
}
