import { get, path, post, remove } from "../api.js"
import { h, table, time } from "../dom.js"
import { action, form, part } from "../form.js"

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
        control: h("textarea", { required: true, maxlength: 8192, spellcheck: "false", rows: 4 }),
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

const keyRow =
  (again) =>
  ({ fingerprint, id, lastUsedAt, title }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, title),
      h("td", null, h("code", null, fingerprint)),
      h("td", null, lastUsedAt === null ? "never" : time(lastUsedAt)),
      h(
        "td",
        null,
        action("Delete", () => remove(path("/api/v1/user/keys", id)).then(() => again(`${title} is deleted`)), {
          danger: true,
          spoken: `Delete ${title}`,
          question: `Delete the key “${title}”? Git does not know you by it any more.`
        })
      )
    )

/** The account's SSH keys, with which git fetches and pushes and nothing else is done. */
export const keysPage = async () => {
  let added
  const list = await part(async (again) => {
    added = again
    const { items } = await get("/api/v1/user/keys")
    return items.length === 0
      ? h("p", { class: "soft" }, "No key yet.")
      : table("SSH keys", ["Name", "Fingerprint", "Last used", ""], items.map(keyRow(again)))
  })
  return [
    h("h1", null, "SSH keys"),
    h("p", { class: "lead" }, "For git over SSH. A key opens nothing else: programs use tokens."),
    list,
    h("h2", null, "New key"),
    addForm(() => added())
  ]
}
