import { path, post } from "../api.js"
import { badge, choice, h, time } from "../dom.js"
import { form, given } from "../form.js"
import { findingList } from "../findings.js"
import { filters, listing, queryOf } from "../listing.js"
import { administers, namespacesOf } from "../standing.js"

const agentAddress = (namespace, name) => `#${path("/agents", namespace, name)}`
const versionLink = ({ name, namespace, version }) =>
  h("a", { href: `#${path("/agents", namespace, name, "versions", version)}` }, `${namespace}/${name}@${version}`)

const agentRow = (profile) => (agent) => {
  const { forkState, latestVersion, name, namespace, retiredAt, visibility } = agent
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, h("a", { href: agentAddress(namespace, name) }, `${namespace}/${name}`)),
    h(
      "td",
      null,
      h(
        "span",
        { class: "row" },
        badge(retiredAt === null ? visibility : "retired"),
        forkState === null || forkState === "ready" ? undefined : badge(forkState)
      )
    ),
    h("td", null, latestVersion ?? h("span", { class: "soft" }, "nothing published")),
    h(
      "td",
      null,
      administers(profile, namespace)
        ? h("a", { href: `${agentAddress(namespace, name)}/settings`, "aria-label": `Settings of ${name}` }, "Settings")
        : ""
    )
  )
}

const createForm = (namespaces, namespace) =>
  form({
    at: { "name-taken": "name", "name-held": "name" },
    fields: [
      { name: "namespace", label: "In", control: choice(namespaces, namespace) },
      {
        name: "name",
        label: "Name",
        control: h("input", { required: true, maxlength: 64, autocomplete: "off", spellcheck: "false" }),
        hint: "Small letters, digits and hyphens"
      },
      { name: "description", label: "Description (optional)", control: h("input", { maxlength: 500 }) },
      { name: "visibility", label: "Visibility", control: choice({ public: "public", private: "private" }) }
    ],
    submit: "Make the agent",
    send: async (values) => {
      const made = await post("/api/v1/agents/", given(values))
      location.hash = agentAddress(made.namespace, made.name)
    }
  })

const heldRow = (held) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, versionLink(held), h("br"), badge(held.status)),
    h("td", null, held.findings.length === 0 ? "Staff holds it" : findingList(held.findings)),
    h(
      "td",
      null,
      held.dispute === null ? "" : "disputed ",
      held.dueAt === null ? "" : ["decided by ", time(held.dueAt)]
    )
  )

const alertRow = (alert) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, versionLink(alert)),
    h("td", null, `${alert.package.ecosystem} ${alert.package.name} ${alert.package.version}`),
    h("td", null, badge(alert.vulnerability.severity), ` ${alert.vulnerability.id}`),
    h("td", null, time(alert.openedAt))
  )

const reportRow = ({ category, createdAt, name, namespace, resolution, state, version }) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, `${namespace}/${name}${version === null ? "" : `@${version}`}`),
    h("td", null, category),
    h("td", null, badge(resolution ?? state)),
    h("td", null, time(createdAt))
  )

/** What an author comes for each day: agents, what holds their versions, and what is wrong below them. */
export const minePage = async ({ profile }) => {
  const namespaces = namespacesOf(profile)
  const namespace = queryOf().get("namespace") ?? profile.handle
  const [agents, held, alerts, reports] = await Promise.all([
    listing({
      address: "/api/v1/agents",
      caption: "Agents",
      empty: "No agent yet.",
      heads: ["Agent", "State", "Latest version", ""],
      query: { namespace, sort: "name" },
      rowOf: agentRow(profile)
    }),
    listing({
      address: "/api/v1/user/held-versions",
      caption: "Held versions",
      empty: "Nothing of yours is held.",
      heads: ["Version", "What holds it", "Decision"],
      key: "held",
      rowOf: heldRow
    }),
    listing({
      address: "/api/v1/user/dependency-alerts",
      caption: "Dependency alerts",
      empty: "No vulnerability is known in what your published versions declare.",
      heads: ["Version", "Package", "Vulnerability", "Since"],
      key: "alerts",
      rowOf: alertRow
    }),
    listing({
      address: "/api/v1/user/abuse-reports",
      caption: "Reports of abuse",
      empty: "You reported nothing.",
      heads: ["About", "Of what kind", "State", "Reported"],
      key: "reports",
      rowOf: reportRow
    })
  ])
  return [
    h("h1", null, "My agents"),
    Object.keys(namespaces).length === 1
      ? undefined
      : filters([{ name: "namespace", label: "Namespace", control: choice(namespaces, namespace) }]),
    agents,
    h("details", null, h("summary", null, "New agent"), createForm(namespaces, namespace)),
    h("h2", null, "Held versions"),
    held,
    h("h2", null, "Dependency alerts"),
    alerts,
    h("h2", null, "What I reported"),
    reports
  ]
}
