/** The form that asks for a hosted run: the task, the release's own questions, and files. */
import { post, upload } from "./api.js"
import { field, h, problemBox } from "./dom.js"

const maxFiles = 20

/** A control for one intake question, and how its answer is read; `undefined` is no answer. */
const controlOf = ({ default: standard, options, type }) => {
  const value = standard === undefined ? undefined : String(standard)
  const text = (element) => ({ element, read: () => (element.value === "" ? undefined : element.value) })
  switch (type) {
    case "text":
      return text(h("textarea", null, value ?? ""))
    case "choice":
      return text(
        h(
          "select",
          null,
          h("option", { value: "" }, "Choose"),
          (options ?? []).map((option) => h("option", { value: option, selected: option === value }, option))
        )
      )
    case "boolean": {
      const element = h("input", { type: "checkbox", checked: standard === true })
      return { element, read: () => element.checked }
    }
    case "integer":
    case "number": {
      const element = h("input", { type: "number", step: type === "integer" ? 1 : "any", value })
      return { element, read: () => (element.value === "" ? undefined : Number(element.value)) }
    }
    default:
      return text(h("input", { type: type === "url" ? "url" : "text", value }))
  }
}

export const runForm = (version) => {
  const task = h("textarea", { name: "task" })
  const files = h("input", { type: "file", multiple: true })
  const questions = (version.manifest?.intake ?? []).map((question) => ({ question, ...controlOf(question) }))
  const submit = h("button", { type: "submit" }, "Run")
  const outcome = h("div", null)
  // One key for one filled-in form: pressing twice asks once.
  const key = crypto.randomUUID()

  const send = async (event) => {
    event.preventDefault()
    submit.disabled = true
    outcome.replaceChildren(h("p", { role: "status" }, "Sending ..."))
    try {
      const inputs = []
      for (const file of [...files.files].slice(0, maxFiles)) {
        inputs.push((await upload(`/api/v1/x/runs/inputs?name=${encodeURIComponent(file.name)}`, file)).id)
      }
      const intake = Object.fromEntries(
        questions.flatMap(({ question, read }) => {
          const answer = read()
          return answer === undefined ? [] : [[question.id, answer]]
        })
      )
      const run = await post(
        "/api/v1/x/runs/",
        {
          ref: `${version.namespace}/${version.name}@${version.version}`,
          ...(task.value === "" ? {} : { task: task.value }),
          ...(questions.length === 0 ? {} : { intake }),
          ...(inputs.length === 0 ? {} : { inputs })
        },
        { "idempotency-key": `${key}-${inputs.join("-").slice(0, 200)}` }
      )
      location.hash = `/runs/${run.id}`
    } catch (problem) {
      outcome.replaceChildren(problemBox(problem))
      submit.disabled = false
    }
  }

  return h(
    "form",
    { class: "card", onsubmit: send },
    field("Task", task, "What the agent is asked to do"),
    questions.map(({ element, question }) => {
      if (question.required === true && question.type !== "boolean") element.required = true
      return field(question.required === true ? question.label : `${question.label} (optional)`, element)
    }),
    field("Files", files, `At most ${maxFiles}, each at most 10 MB`),
    submit,
    outcome
  )
}
