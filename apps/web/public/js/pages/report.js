import { get, path, post } from "../api.js"
import { choice, h } from "../dom.js"
import { form, given } from "../form.js"
import { queryOf } from "../listing.js"

export const categories = {
  malware: "Malware",
  "data-theft": "It takes data away",
  deception: "It deceives who uses it",
  impersonation: "It pretends to be somebody else's",
  copyright: "Copyright",
  "illegal-content": "Illegal content",
  spam: "Spam",
  other: "Something else"
}

/** Tells the platform's staff what is wrong with an agent. */
export const reportPage = async ({ names: [namespace, name] }) => {
  const agent = path("/agents", namespace, name)
  await get(`/api/v1${agent}`)
  return [
    h("h1", null, `Report ${namespace}/${name}`),
    h("p", { class: "lead" }, "The platform's staff reads it. The owner does not learn who reported."),
    form({
      fields: [
        { name: "category", label: "What is wrong", control: choice(categories) },
        {
          name: "version",
          label: "Version (optional)",
          control: h("input", { maxlength: 100, spellcheck: "false", value: queryOf().get("version") }),
          hint: "Leave it empty if it is about the agent as a whole"
        },
        { name: "text", label: "What you saw", control: h("textarea", { required: true, maxlength: 4000 }) }
      ],
      submit: "Send the report",
      send: async (values) => {
        await post(`/api/v1${agent}/abuse-reports`, given(values))
        return ["It was sent. What becomes of it stands on ", h("a", { href: "#/mine" }, "your page"), "."]
      }
    }),
    h("p", null, h("a", { href: `#${agent}` }, "Back to the agent"))
  ]
}
