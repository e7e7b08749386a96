import { get, path, post, remove } from "../api.js"
import { announce, badge, choice, facts, h, size, time } from "../dom.js"
import { action, form, given } from "../form.js"
import { filters, listing, queryOf } from "../listing.js"
import { findingList } from "../findings.js"

const kinds = {
  held: "held by the gate",
  rescan: "published, flagged by a rescan",
  quarantine: "quarantined"
}

const due = ({ dueAt, overdue }) => [overdue ? badge("overdue") : undefined, " ", time(dueAt)]

const entryRow = ({ name, namespace, review, version }) =>
  h(
    "tr",
    null,
    h(
      "th",
      { scope: "row" },
      h("a", { href: `#${path("/review", namespace, name, version)}` }, `${namespace}/${name}@${version}`)
    ),
    h("td", null, badge(review.severity)),
    h(
      "td",
      null,
      kinds[review.kind],
      review.dispute === null ? "" : ", disputed",
      review.firstApproval === null ? "" : ", approved once"
    ),
    h("td", null, due(review)),
    h("td", null, review.claim === null ? "" : review.claim.by)
  )

/** What waits for a decision, what is due first before the rest. */
export const reviewsPage = async () => {
  const query = queryOf()
  const asked = (name) => query.get(name) ?? ""
  const filter = given({ kind: asked("kind"), disputed: asked("disputed"), claim: asked("claim") })
  return [
    h("h1", null, "Review"),
    h("p", { class: "lead" }, "Versions that wait for a person's decision."),
    filters([
      { name: "kind", label: "Why", control: choice({ "": "any", ...kinds }, asked("kind")) },
      {
        name: "disputed",
        label: "Dispute",
        control: choice({ "": "any", true: "disputed", false: "not disputed" }, asked("disputed"))
      },
      {
        name: "claim",
        label: "Claimed",
        control: choice({ "": "any", mine: "by me", free: "by nobody" }, asked("claim"))
      }
    ]),
    await listing({
      address: "/api/v1/review/",
      caption: "Versions that wait",
      empty: "Nothing waits.",
      heads: ["Version", "Severity", "Why", "Due", "Claimed"],
      query: filter,
      rowOf: entryRow
    })
  ]
}

const decisions = (kind) =>
  kind === "rescan"
    ? { publish: "Let it stand", quarantine: "Quarantine", block: "Block for good" }
    : { publish: "Publish", block: "Block for good" }

const decisionForm = (address, { kind }, onDecided) =>
  form({
    fields: [
      {
        name: "decision",
        label: "Decision",
        control: choice({ "": "Choose…", ...decisions(kind) }, "", { required: true })
      },
      {
        name: "reason",
        label: "Reason",
        control: h("textarea", { required: true, maxlength: 2000 }),
        hint: "Kept in the audit log, which the owner of the agent reads too"
      }
    ],
    submit: "Decide",
    send: async (values) => onDecided(await post(address, values))
  })

/** One version that waits: what was found in it, what its owner says, and the decision. */
export const reviewPage = async ({ names, profile }) => {
  const [namespace, name, version] = names
  const address = path("/api/v1/review", namespace, name, version)
  const body = h("div", null)
  const show = (entry) => {
    const { review } = entry
    const mine = review.claim?.by === profile.handle
    const claimed = (changed) => {
      show(changed)
      announce(changed.review.claim === null ? "The claim is given back" : "It is claimed")
    }
    body.replaceChildren(
      h("h1", null, `${namespace}/${name}@${version} `, badge(entry.status)),
      h("p", { class: "lead" }, kinds[review.kind]),
      facts([
        ["Severity", badge(review.severity)],
        ["Due", due(review)],
        ["Submitted", [time(entry.createdAt), ` by ${entry.submittedBy}`]],
        ["Claimed", review.claim === null ? undefined : [`by ${review.claim.by} until `, time(review.claim.until)]],
        [
          "First approval",
          review.firstApproval === null
            ? undefined
            : [time(review.firstApproval.at), ` by ${review.firstApproval.by}: ${review.firstApproval.reason}`]
        ],
        [
          "Disputed",
          review.dispute === null
            ? undefined
            : [time(review.dispute.at), ` by ${review.dispute.by}: ${review.dispute.reason}`]
        ],
        [
          "Archive",
          [
            h("a", { href: `${address}/archive`, download: `${name}-${version}.tar.gz` }, size(entry.archive.bytes)),
            " ",
            h("code", { class: "break" }, entry.archive.digest)
          ]
        ],
        ["Agent", h("a", { href: `#${path("/agents", namespace, name)}` }, `${namespace}/${name}`)]
      ]),
      h("h2", null, "Findings"),
      review.findings.length === 0 ? h("p", { class: "soft" }, "None: staff holds it.") : findingList(review.findings),
      ...(mine
        ? action("Give the claim back", () => remove(`${address}/claim`).then(claimed), { plain: true })
        : review.claim === null
          ? action("Claim it for an hour", () => post(`${address}/claim`).then(claimed))
          : []),
      h("h2", null, "Decide"),
      review.needsSecondApproval
        ? h("p", { class: "soft" }, "Publishing takes the approval of two different reviewers.")
        : h("p", { class: "soft" }, "One reviewer decides."),
      decisionForm(address, review, (decided) => {
        if (decided.review !== undefined) {
          announce("Your approval was taken. A second reviewer decides.")
          show(decided)
          return
        }
        announce(`The version is ${decided.status}`)
        location.hash = "/review"
      })
    )
  }
  show(await get(address))
  return [body]
}
