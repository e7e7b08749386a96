import { get, path, post } from "../api.js"
import { capabilityLines } from "../capabilities.js"
import { disputeForm } from "../dispute.js"
import { announce, badge, choice, facts, h, refresh, size, table, time, tone } from "../dom.js"
import { form } from "../form.js"
import { findingList } from "../findings.js"
import { pageOf, queryOf, turns } from "../listing.js"
import { listen } from "../live.js"
import { releaseFacts } from "../release.js"
import { runForm } from "../run-form.js"
import { administers, namespacesOf, roleIn } from "../standing.js"

const stageItem = ({ name, stage, status }) =>
  h(
    "li",
    { class: status === "running" ? "running" : tone(status) },
    h("strong", null, `${stage} ${name}`),
    " ",
    badge(status)
  )

/** The scan of one version, live while it goes on. */
const scanOf = (version, onLeave) => {
  const list = h("ol", { class: "steps" }, version.pipeline.map(stageItem))
  if (version.status === "scanning") {
    const seen = new Map(version.pipeline.map((progress) => [progress.stage, progress]))
    const stop = listen(
      `${path("/api/v1/agents", version.namespace, version.name, "versions", version.version)}/events`,
      ["stage"],
      (_name, progress) => {
        seen.set(progress.stage, progress)
        list.replaceChildren(...[...seen.values()].map(stageItem))
      },
      () => {
        announce("The scan has ended")
        refresh()
      }
    )
    onLeave(stop)
  }
  return list
}

/** Told only to those who publish the agent, who may object. */
const holdingOf = (version, profile) => {
  const { holding, status } = version
  if (holding === undefined) return undefined
  const isHeld = status === "needs_review" || status === "quarantined"
  return [
    holding.length === 0
      ? undefined
      : [
          h("h3", null, status === "published" || status === "yanked" ? "What held it" : "What holds it"),
          findingList(holding)
        ],
    // Staff reads what holds it too, and decides elsewhere.
    isHeld && profile?.staff !== true ? disputeForm(version) : undefined
  ]
}

const advisoriesOf = (advisories) =>
  advisories.length === 0
    ? undefined
    : [
        h("h2", null, "Advisories"),
        h(
          "ul",
          { class: "cards" },
          advisories.map(({ affected, details, id, patched, severity, state, summary, withdrawnReason }) =>
            h(
              "li",
              { class: "card" },
              h("h3", null, badge(severity), ` ${summary}`),
              h(
                "p",
                { class: "soft" },
                h("a", { href: `#/advisories/${id}` }, id),
                state === "published" ? "" : [" ", badge(state)]
              ),
              h("p", null, `Affects ${affected}. `, patched === null ? "No fix yet." : `Fixed in ${patched}.`),
              withdrawnReason === null ? undefined : h("p", null, `Withdrawn: ${withdrawnReason}`),
              details === ""
                ? undefined
                : h("details", null, h("summary", null, "Details"), h("pre", { class: "wrap" }, details))
            )
          )
        )
      ]

/** Where a fork comes from, and how far its copy is. */
const forkOf = ({ forkArchive, forkDetail, forkedFrom, forkState, name: own }) => {
  if (forkedFrom === null) return undefined
  const { available, name, namespace, version } = forkedFrom
  const source = name === null ? "an agent that you may not read" : `${namespace}/${name}@${version}`
  return h(
    "p",
    null,
    "Fork of ",
    available ? h("a", { href: `#/agents/${namespace}/${name}` }, source) : source,
    available || name === null ? " " : ", which is gone ",
    forkState === "ready" ? undefined : [badge(forkState), " "],
    forkDetail === null ? undefined : h("span", { class: "soft" }, `(${forkDetail}) `),
    forkArchive === null
      ? undefined
      : h("a", { href: forkArchive.href, download: `${own}.tar.gz` }, `Its files, ${size(forkArchive.bytes)}`)
  )
}

const forkForm = ({ name, namespace }, profile) =>
  h(
    "details",
    null,
    h("summary", null, "Fork it"),
    form({
      at: { "name-taken": "name", "name-held": "name", "fork-source": "name" },
      fields: [
        { name: "namespace", label: "To", control: choice(namespacesOf(profile)) },
        { name: "name", label: "Name there", control: h("input", { required: true, value: name, spellcheck: "false" }) }
      ],
      submit: "Fork",
      send: async (values) => {
        const made = await post(`${path("/api/v1/agents", namespace, name)}/fork`, values)
        location.hash = path("/agents", made.namespace, made.name)
      }
    })
  )

/** One agent: its versions, the scan of the chosen one, and the form that runs it. */
export const agentPage = async ({ names: [ns, name], onLeave, profile, runs }) => {
  const query = queryOf()
  const address = path("/api/v1/agents", ns, name, "versions")
  const [agent, versions, { items: advisories }] = await Promise.all([
    get(path("/api/v1/agents", ns, name)),
    pageOf({ address }),
    get(`/api/v1/advisories?${new URLSearchParams({ namespace: ns, name, limit: "100" })}`)
  ])
  // It was transferred: the address says where it is now.
  if (agent.namespace !== ns || agent.name !== name) {
    location.replace(`#/agents/${agent.namespace}/${agent.name}`)
    return []
  }
  document.title = `${ns}/${name} · QuickAgents`
  const { items } = versions
  const wanted = query.get("version") ?? agent.latestVersion ?? items[0]?.version
  const version =
    items.find((one) => one.version === wanted) ??
    (wanted === undefined ? undefined : await get(`${address}/${encodeURIComponent(wanted)}`))
  // Who publishes it, and so sees what its gate found, may have been granted more: its grants are there for managers alone.
  const manages =
    administers(profile, ns) ||
    (version?.holding !== undefined &&
      profile?.staff !== true &&
      (await get(path("/api/v1/agents", ns, name, "grants")).then(
        () => true,
        () => false
      )))
  return [
    h("h1", null, `${ns}/${name}`),
    h("p", { class: "lead" }, agent.description),
    agent.visibility === "private" ? h("p", null, badge("private")) : undefined,
    forkOf(agent),
    profile === null
      ? undefined
      : h(
          "p",
          { class: "row" },
          manages ? h("a", { href: `#${path("/agents", ns, name, "settings")}` }, "Settings") : undefined,
          roleIn(profile, ns) === undefined
            ? h(
                "a",
                {
                  href: `#${path("/agents", ns, name, "report")}${version === undefined ? "" : `?${new URLSearchParams({ version: version.version })}`}`
                },
                "Report abuse"
              )
            : undefined
        ),
    profile === null || agent.latestVersion === null ? undefined : forkForm(agent, profile),
    version === undefined
      ? h("p", { class: "soft" }, "No version yet.")
      : [
          h("h2", null, `Version ${version.version} `, badge(version.status)),
          version.warnings.map((warning) => h("p", { class: "note", role: "status" }, warning)),
          facts([
            [
              "Install",
              version.status === "published"
                ? h("code", { class: "break" }, `quickagent install ${version.ref}`)
                : undefined
            ],
            ["Modes", version.modes.join(", ")],
            ...capabilityLines(version.capabilities),
            ["Secrets", version.manifest?.secrets?.map((secret) => secret.name).join(", ")],
            ...releaseFacts(version)
          ]),
          version.advisories === undefined
            ? undefined
            : h(
                "div",
                { class: "problem" },
                h("strong", null, "This version is affected by an advisory"),
                version.advisories.map(({ id, summary }) => h("p", null, `${id}: ${summary}`))
              ),
          holdingOf(version, profile),
          h("h3", null, "Scan"),
          scanOf(version, onLeave),
          h(
            "p",
            null,
            h(
              "a",
              { href: `#${path("/agents", ns, name, "versions", version.version)}` },
              "Scan report, attestation and log proof"
            )
          ),
          version.status !== "published" || !runs
            ? undefined
            : [
                h("h2", null, "Run it"),
                profile === null ? h("p", { class: "soft" }, "Sign in to run this agent.") : runForm(version)
              ]
        ],
    advisoriesOf(advisories),
    h("h2", null, "Versions"),
    items.length === 0
      ? undefined
      : table(
          "Versions",
          ["Version", "State", "Verdict", "Submitted"],
          items.map((one) =>
            h(
              "tr",
              null,
              h(
                "th",
                { scope: "row" },
                h(
                  "a",
                  {
                    href: `#/agents/${ns}/${name}?version=${encodeURIComponent(one.version)}`,
                    "aria-current": one === version ? "true" : undefined
                  },
                  one.version
                )
              ),
              h("td", null, badge(one.status)),
              h("td", null, one.verdict === undefined ? "" : badge(one.verdict)),
              h("td", null, time(one.createdAt))
            )
          )
        ),
    turns(versions)
  ]
}
