import { path, post } from "./api.js"
import { h } from "./dom.js"
import { form } from "./form.js"

/** What an owner says against a hold, once; a reviewer reads it. */
export const disputeForm = ({ name, namespace, version }) =>
  form({
    fields: [
      {
        name: "reason",
        label: "Why it should not be held",
        control: h("textarea", { required: true, maxlength: 2000 })
      }
    ],
    submit: "Dispute the hold",
    send: async (values) => {
      const { dueAt } = await post(path("/api/v1/agents", namespace, name, "versions", version, "dispute"), values)
      return `A reviewer will read it. A decision is due ${new Date(dueAt).toLocaleString()}.`
    }
  })
