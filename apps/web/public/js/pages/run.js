import { get, path, post } from "../api.js"
import { announce, badge, facts, h, problemBox, size, time, tone } from "../dom.js"
import { listen } from "../live.js"

const isEnded = ({ status }) => status === "finished" || status === "cancelled"

const statusWords = {
  queued: "Waits for a sandbox host",
  claimed: "Taken by a sandbox host",
  running: "Runs",
  cancelled: "Cancelled",
  finished: "Finished"
}

const stepItem = (row, last) =>
  h(
    "li",
    { class: row.status === "finished" ? tone(row.outcome) : last ? "running" : "good" },
    h("strong", null, statusWords[row.status] ?? row.status),
    " ",
    row.outcome === undefined ? undefined : badge(row.outcome),
    " ",
    h("span", { class: "soft" }, time(row.at), row.turns === undefined ? "" : `, turn ${row.turns}`)
  )

/** Rows of the same state are one line: the newest. */
const stepsOf = (rows) => {
  const lines = [...new Map(rows.map((row) => [row.status, row])).values()]
  return lines.map((row, index) => stepItem(row, index === lines.length - 1 && !isEnded(row)))
}

const receiptOf = (receipt) =>
  receipt === null
    ? undefined
    : [
        h("h2", null, "Receipt"),
        facts([
          ["Release", receipt.release.ref],
          ["Archive", h("code", null, receipt.release.digest)],
          ["Attested by key", h("code", null, receipt.release.attestationKeyId ?? "none")],
          ["Model", receipt.model],
          ["Step", receipt.stage],
          ["Reason", receipt.reason],
          ["Withheld inputs", receipt.withheldInputs.join(", ")],
          [
            "Tools called",
            Object.entries(receipt.toolCalls)
              .map(([tool, calls]) => `${tool} ${calls}×`)
              .join(", ")
          ]
        ]),
        h("h3", null, "What was enforced"),
        h(
          "dl",
          { class: "facts" },
          Object.entries(receipt.capabilities_enforced)
            .filter(([, sentences]) => sentences.length > 0)
            .map(([part, sentences]) => [
              h("dt", null, part),
              h(
                "dd",
                null,
                h(
                  "ul",
                  null,
                  sentences.map((sentence) => h("li", null, sentence))
                )
              )
            ])
        )
      ]

const resultOf = (run) => [
  run.error === null
    ? undefined
    : h("div", { class: "problem" }, h("strong", null, run.error.class), h("p", null, run.error.message)),
  run.outputs.length === 0
    ? undefined
    : [
        h("h2", null, "Output"),
        h(
          "p",
          null,
          run.outputs.map(({ bytes, name }) =>
            h(
              "a",
              { class: "button", href: path("/api/v1/x/runs", run.id, "outputs", name), download: `${run.id}-${name}` },
              `Download ${name} (${size(bytes)})`
            )
          )
        )
      ],
  facts([
    [
      "Credits",
      run.settledCredits === null
        ? `${run.holdCredits} held`
        : `${run.settledCredits} charged of ${run.holdCredits} held`
    ],
    ["Used", run.usage === null ? undefined : `${run.usage.turns} turns, ${(run.usage.wallMs / 1000).toFixed(1)} s`],
    ["Paid by", run.payer],
    ["At most", `${run.caps.seconds} s, ${run.caps.turns} turns`],
    ["Inputs", run.inputs.map(({ bytes, name }) => `${name} (${size(bytes)})`).join(", ")],
    ["Task", run.task]
  ]),
  receiptOf(run.receipt)
]

/** One run: its states as they come, what it cost, its receipt and its output. */
export const runPage = async ({ names: [id], onLeave }) => {
  const address = path("/api/v1/x/runs", id)
  let run = await get(address)
  const rows = []
  const steps = h("ol", { class: "steps" })
  const result = h("div", null, resultOf(run))
  const cancelled = h("div", null)
  const cancel = h(
    "button",
    {
      type: "button",
      class: "danger",
      onclick: async () => {
        cancel.disabled = true
        try {
          run = await post(`${address}/cancel`)
          cancelled.replaceChildren(
            h("p", { role: "status" }, isEnded(run) ? "Cancelled." : "Asked the host to stop the run.")
          )
        } catch (problem) {
          cancelled.replaceChildren(problemBox(problem))
          cancel.disabled = false
        }
      }
    },
    "Cancel"
  )
  const controls = h("p", null, cancel)
  const refresh = async () => {
    run = await get(address)
    result.replaceChildren(...resultOf(run).flat(Infinity).filter(Boolean))
    controls.hidden = isEnded(run)
  }
  controls.hidden = isEnded(run)
  const place = h("p", { hidden: run.status !== "queued" }, `Position ${run.queuePosition} in the queue.`)
  onLeave(
    listen(
      `${address}/events`,
      ["status"],
      (_name, row) => {
        rows.push(row)
        place.hidden = row.status !== "queued" || run.queuePosition === null
        steps.replaceChildren(...stepsOf(rows))
        announce(statusWords[row.status] ?? row.status)
      },
      () => void refresh().catch(() => {})
    )
  )
  return [h("h1", null, run.ref), h("p", { class: "soft mono" }, run.id), place, steps, controls, cancelled, result]
}
