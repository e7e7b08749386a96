import { get, path, post } from "../api.js"
import { disputeForm } from "../dispute.js"
import { badge, choice, facts, h, refresh, table, time, tone } from "../dom.js"
import { findingList } from "../findings.js"
import { form } from "../form.js"
import { releaseFacts } from "../release.js"
import { roleIn } from "../standing.js"
import { draftForm } from "./advisories.js"

/** What the registry keeps of it, or the problem that says why there is nothing. */
const kept = (address) =>
  get(address).catch((problem) => {
    if (problem.status !== 409) throw problem
    return problem
  })
const none = (problem) => h("p", { class: "soft" }, problem.message, ".")

const seconds = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)

const stageItem = ({ detail, durationMs, findings, name, stage, status }) =>
  h(
    "li",
    { class: tone(status) },
    h("strong", null, `${stage} ${name}`),
    " ",
    badge(status),
    h("span", { class: "soft" }, ` ${seconds(durationMs)}`),
    detail === undefined ? undefined : h("div", { class: "soft break" }, detail),
    findings.length === 0 ? undefined : findingList(findings)
  )

const reportOf = ({ message, report }) =>
  report === undefined
    ? none({ message })
    : [
        facts([
          [
            "Findings",
            Object.entries(report.findingCounts)
              .filter(([, count]) => count > 0)
              .map(([severity, count]) => `${count} ${severity}`)
              .join(", ") || "none"
          ],
          ["Scanned", [time(report.startedAt), " to ", time(report.finishedAt)]]
        ]),
        h("ol", { class: "steps" }, report.stages.map(stageItem))
      ]

const rescansOf = (rescans) =>
  rescans.length === 0
    ? undefined
    : [
        h("h3", null, "Judged again by later rules"),
        table(
          "Rescans",
          ["Rules", "When", "Outcome", "New findings"],
          rescans.map(({ finishedAt, newFindings, outcome, rulesetVersion }) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, rulesetVersion),
              h("td", null, time(finishedAt)),
              h("td", null, badge(outcome)),
              h("td", null, newFindings.length === 0 ? "none" : findingList(newFindings))
            )
          )
        )
      ]

const attestationOf = (envelope, address, keys) =>
  envelope.signatures === undefined
    ? none(envelope)
    : [
        facts([
          ["Statement", h("a", { href: address }, envelope.payloadType)],
          ...envelope.signatures.map(({ keyid }) => [
            "Signed by",
            [
              h("code", { class: "break" }, keyid),
              ` ${keys.find(({ keyId }) => keyId === keyid)?.status ?? "unknown here"}`
            ]
          ])
        ])
      ]

const proofOf = (proof, ref) =>
  proof.treeSize === undefined
    ? none(proof)
    : [
        facts([
          ["Entry", `number ${proof.leafIndex} in a log of ${proof.treeSize}`],
          ["Leaf", h("code", { class: "break" }, proof.leafHash)],
          [
            "Says",
            proof.opening === null
              ? h("code", { class: "break" }, proof.entry)
              : "a commitment: the log names no private agent"
          ]
        ]),
        h(
          "p",
          null,
          "A registry cannot vouch for itself. Check it with ",
          h("code", null, `quickagent verify ${ref}`),
          "."
        )
      ]

const takenAway = { quarantine: "Quarantine it", block: "Block it for good" }
const staffDecisions = {
  published: takenAway,
  yanked: takenAway,
  quarantined: { release: "Publish it again", block: "Block it for good" }
}

const staffForm = ({ name, namespace, status, version }) =>
  form({
    fields: [
      { name: "decision", label: "Decision", control: choice(staffDecisions[status]) },
      {
        name: "reason",
        label: "Reason",
        control: h("textarea", { required: true, maxlength: 2000 }),
        hint: "Kept in the audit log, which the owner of the agent reads too"
      }
    ],
    danger: true,
    question: `Decide on ${namespace}/${name}@${version}? It takes effect at once.`,
    submit: "Decide",
    send: async ({ decision, reason }) => {
      await post(path("/api/v1/platform/agents", namespace, name, decision), { version, reason })
      refresh()
    }
  })

/** One version: how it was scanned, what the registry signed, and what one may say against either. */
export const versionPage = async ({ names: [ns, name, wanted], profile, service }) => {
  const address = path("/api/v1/agents", ns, name, "versions", wanted)
  const [version, report, envelope, { items: rescans }, { keys }] = await Promise.all([
    get(address),
    kept(`${address}/report`),
    kept(`${address}/attestation`),
    get(`${address}/rescans`),
    get(path("/.well-known", service, "signing-keys.json"))
  ])
  const proof =
    envelope.signatures === undefined
      ? envelope
      : await kept(`/api/v1/log/proof/inclusion?${new URLSearchParams({ ref: version.ref })}`)
  const agent = path("/agents", version.namespace, version.name)
  const held = version.status === "needs_review" || version.status === "quarantined"
  document.title = `${ns}/${name}@${wanted} · QuickAgents`
  return [
    h("h1", null, `${version.namespace}/${version.name}@${version.version} `, badge(version.status)),
    version.warnings.map((warning) => h("p", { class: "note", role: "status" }, warning)),
    (version.advisories ?? []).map(({ id, severity, summary }) =>
      h("p", { class: "problem" }, badge(severity), " ", h("a", { href: `#/advisories/${id}` }, id), ` ${summary}`)
    ),
    h(
      "p",
      { class: "row" },
      h("a", { href: `#${agent}?${new URLSearchParams({ version: wanted })}` }, "The agent's page"),
      profile !== null && roleIn(profile, version.namespace) === undefined
        ? h("a", { href: `#${agent}/report?${new URLSearchParams({ version: wanted })}` }, "Report abuse")
        : undefined
    ),
    facts(releaseFacts(version)),
    version.holding === undefined || version.holding.length === 0
      ? undefined
      : [
          h(
            "h2",
            null,
            version.status === "published" || version.status === "yanked" ? "What held it" : "What holds it"
          ),
          findingList(version.holding)
        ],
    held && version.holding !== undefined && profile?.staff !== true ? disputeForm(version) : undefined,
    h("h2", null, "Scan report"),
    reportOf(report),
    rescansOf(rescans),
    h("h2", null, "Attestation"),
    attestationOf(envelope, `${address}/attestation`, keys),
    h("h2", null, "Transparency log"),
    proofOf(proof, version.ref),
    profile?.staff === true && held
      ? h(
          "p",
          null,
          h("a", { href: `#${path("/review", version.namespace, version.name, wanted)}` }, "Decide on the review")
        )
      : undefined,
    profile?.staff === true && version.status in staffDecisions
      ? [h("h2", null, "Decide as staff"), staffForm(version)]
      : undefined,
    profile?.staff === true
      ? draftForm(`/api/v1${agent}`, (id) => {
          location.hash = `/advisories/${id}`
        })
      : undefined
  ]
}
