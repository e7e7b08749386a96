import { get } from "../api.js"
import { badge, h, table, time } from "../dom.js"

const refreshMs = 5_000

const rowOf = (run) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, h("a", { href: `#/runs/${run.id}` }, run.ref)),
    h("td", null, badge(run.outcome ?? run.status)),
    h("td", null, time(run.createdAt)),
    h("td", { class: "number" }, run.settledCredits === null ? `${run.holdCredits} held` : String(run.settledCredits))
  )

/** The newest fifty runs of the account; kept up to date while one of them goes on. */
export const runsPage = async ({ onLeave }) => {
  let { items } = await get("/api/v1/x/runs/")
  const body = h("div", null)
  const fill = () =>
    body.replaceChildren(
      items.length === 0
        ? h("p", { class: "soft" }, "No run yet. Choose an agent and run it.")
        : table("Runs", ["Release", "State", "Asked for", { text: "Credits", number: true }], items.map(rowOf))
    )
  fill()
  const again = async () => {
    if (document.hidden || !items.some(({ status }) => status !== "finished" && status !== "cancelled")) return
    try {
      items = (await get("/api/v1/x/runs/")).items
      fill()
    } catch {
      // The next turn asks again.
    }
  }
  const timer = setInterval(() => void again(), refreshMs)
  onLeave(() => clearInterval(timer))
  return [h("h1", null, "My runs"), body]
}
