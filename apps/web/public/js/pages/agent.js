import { get, path } from "../api.js"
import { announce, badge, facts, h, size, table, time, tone } from "../dom.js"
import { listen } from "../live.js"
import { runForm } from "../run-form.js"

const capabilityLines = (capabilities) => {
  if (capabilities === null) return []
  const { browser, exec, filesystem, network, targetHosts } = capabilities
  return [
    ["Reads files", filesystem?.read?.join(", ")],
    ["Writes files", filesystem?.write?.join(", ")],
    ["Starts programs", exec?.commands.join(", ")],
    ["Reaches", network?.egress.join(", ")],
    [
      "Browses",
      browser === undefined
        ? undefined
        : browser.scope === "public"
          ? "the public web"
          : (browser.sites ?? []).join(", ") || "sites from its questions"
    ],
    ["Host tools", targetHosts?.join(", ")]
  ]
}

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
        dispatchEvent(new HashChangeEvent("hashchange"))
      }
    )
    onLeave(stop)
  }
  return list
}

const holdingOf = ({ holding }) =>
  holding === undefined || holding.length === 0
    ? undefined
    : [
        h("h3", null, "What holds it"),
        h(
          "ul",
          null,
          holding.map(({ file, line, message, rule, severity, stage }) =>
            h(
              "li",
              null,
              badge(severity),
              ` ${stage} ${rule}`,
              file === undefined ? "" : ` in ${file}${line === undefined ? "" : `:${line}`}`,
              `: ${message}`
            )
          )
        )
      ]

/** One agent: its versions, the scan of the chosen one, and the form that runs it. */
export const agentPage = async ({ names: [ns, name], onLeave, profile, runs }) => {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "")
  const [agent, { items, total }] = await Promise.all([
    get(path("/api/v1/agents", ns, name)),
    get(`${path("/api/v1/agents", ns, name, "versions")}?limit=50`)
  ])
  document.title = `${ns}/${name} · QuickAgents`
  const wanted = query.get("version") ?? agent.latestVersion ?? items[0]?.version
  const version = items.find((one) => one.version === wanted)
  return [
    h("h1", null, `${ns}/${name}`),
    h("p", { class: "lead" }, agent.description),
    agent.visibility === "private" ? h("p", null, badge("private")) : undefined,
    version === undefined
      ? h("p", { class: "soft" }, "No version yet.")
      : [
          h("h2", null, `Version ${version.version} `, badge(version.status)),
          facts([
            ["Submitted", [time(version.createdAt), ` by ${version.submittedBy}`]],
            [
              "Verdict",
              version.verdict === undefined
                ? undefined
                : [badge(version.verdict), version.signed ? " signed" : " not signed"]
            ],
            ["Modes", version.modes.join(", ")],
            ...capabilityLines(version.capabilities),
            ["Secrets", version.manifest?.secrets?.map((secret) => secret.name).join(", ")],
            [
              "Source",
              version.source.commit === null
                ? "uploaded"
                : [
                    "commit ",
                    h("code", { class: "break" }, version.source.commit),
                    " of ",
                    h("code", { class: "break" }, new URL(version.source.url, location.origin).href)
                  ]
            ],
            [
              "Archive",
              [
                h(
                  "a",
                  { href: version.archive.href, download: `${name}-${version.version}.tar.gz` },
                  size(version.archive.bytes)
                ),
                " ",
                h("code", { class: "break" }, version.archive.digest)
              ]
            ]
          ]),
          holdingOf(version),
          h("h3", null, "Scan"),
          scanOf(version, onLeave),
          version.status !== "published" || !runs
            ? undefined
            : [
                h("h2", null, "Run it"),
                profile === null ? h("p", { class: "soft" }, "Sign in to run this agent.") : runForm(version)
              ]
        ],
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
    total > items.length ? h("p", { class: "soft" }, `The newest ${items.length} of ${total}.`) : undefined
  ]
}
