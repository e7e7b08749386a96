import { get, path } from "../api.js"
import { facts, h, time } from "../dom.js"
import { endless } from "../listing.js"

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

/** Balance, holds and the lines behind them: of the account, or of an organization for its admins. */
export const creditsPage = async ({ names: [org] }) => {
  const address = org === undefined ? "/api/v1/credits" : path("/api/v1/orgs", org, "credits")
  const account = await get(address)
  return [
    h("h1", null, org === undefined ? "Credits" : `Credits of ${org}`),
    h("p", { class: "big" }, account.unmetered ? "Unmetered" : `${account.balance} credits`),
    facts([
      ["Held for runs", String(account.held)],
      ["Tier", account.tier],
      ["Account", account.account],
      ["Next allowance", account.resetsAt === null ? undefined : time(account.resetsAt)]
    ]),
    h("h2", null, "Ledger"),
    await endless({
      caption: "Ledger lines, newest first",
      empty: "No line yet.",
      heads: ["When", "What", "For", { text: "Balance", number: true }, { text: "Held", number: true }],
      items: "lines",
      load: (cursor) => (cursor === undefined ? account : get(`${address}?${new URLSearchParams({ cursor })}`)),
      more: "Older lines",
      rowOf: lineOf
    })
  ]
}
