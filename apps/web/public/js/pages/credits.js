import { get } from "../api.js"
import { facts, h, table, time } from "../dom.js"

const reasons = {
  run_hold: "held for a run",
  run_release: "rest of a hold, given back",
  run: "a run",
  run_refund: "hold given back in full",
  grant: "granted",
  cycle_grant: "allowance of the cycle"
}

const signed = (credits) => (credits > 0 ? `+${credits}` : String(credits))

const subjectOf = (subject) =>
  subject.startsWith("run:") ? h("a", { href: `#/runs/${subject.slice(4)}` }, subject.slice(4)) : subject

const lineOf = (line) =>
  h(
    "tr",
    null,
    h("td", null, time(line.at)),
    h("td", null, reasons[line.reason] ?? line.reason),
    h("td", { class: "break" }, subjectOf(line.subject)),
    h("td", { class: "number" }, signed(line.balanceDelta)),
    h("td", { class: "number" }, signed(line.heldDelta))
  )

/** Balance, holds and the lines behind them. */
export const creditsPage = async () => {
  const account = await get("/api/v1/credits")
  const heads = ["When", "What", "For", { text: "Balance", number: true }, { text: "Held", number: true }]
  const rows = account.lines.map(lineOf)
  const view = table("Ledger lines, newest first", heads, rows)
  const body = view.querySelector("tbody")
  let cursor = account.nextCursor
  const more = h(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: async () => {
        const next = await get(`/api/v1/credits?cursor=${encodeURIComponent(cursor)}`)
        body.append(...next.lines.map(lineOf))
        cursor = next.nextCursor
        more.hidden = cursor === null
      }
    },
    "Older lines"
  )
  more.hidden = cursor === null
  return [
    h("h1", null, "Credits"),
    h("p", { class: "big" }, account.unmetered ? "Unmetered" : `${account.balance} credits`),
    facts([
      ["Held for runs", String(account.held)],
      ["Tier", account.tier],
      ["Account", account.account],
      ["Next allowance", account.resetsAt === null ? undefined : time(account.resetsAt)]
    ]),
    h("h2", null, "Ledger"),
    rows.length === 0 ? h("p", { class: "soft" }, "No line yet.") : view,
    more
  ]
}
