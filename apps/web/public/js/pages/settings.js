import { get, patch, path, post, put, remove } from "../api.js"
import { badge, choice, h, refresh, time } from "../dom.js"
import { action, confirmation, form, part } from "../form.js"
import { listing } from "../listing.js"
import { namespacesOf } from "../standing.js"
import { advisoryHeads, advisoryRow, draftForm } from "./advisories.js"

const visibilities = { public: "Public: everyone reads and runs it", private: "Private: only who is let in" }
const levels = { read: "read", write: "write: also submit versions", manage: "manage: also settings" }

const generalForm = (address, agent, skippable) => {
  const before = { description: agent.description, visibility: agent.visibility, pipelineSkip: agent.pipelineSkip }
  return form({
    keep: true,
    fields: [
      {
        name: "description",
        label: "Description",
        control: h("textarea", { maxlength: 500, rows: 3 }, agent.description)
      },
      ...(agent.retiredAt === null
        ? [{ name: "visibility", label: "Visibility", control: choice(visibilities, agent.visibility) }]
        : []),
      ...(skippable
        ? [
            {
              name: "pipelineSkip",
              label: "Admit versions without a scan",
              control: h("input", { type: "checkbox", checked: agent.pipelineSkip }),
              hint: "Private agents of an organization only. They get no attestation and do not run hosted."
            }
          ]
        : [])
    ],
    submit: "Save",
    send: async (values) => {
      const change = Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== before[name]))
      if (Object.keys(change).length === 0) return "Nothing was changed."
      Object.assign(before, await patch(address, change))
      return "Saved."
    }
  })
}

const versionRow = (address, again) => (version) => {
  const { status } = version
  const at = path(address, "versions", version.version)
  const change = (label, verb, said, options) =>
    action(
      label,
      async () => {
        await post(`${at}/${verb}`)
        await again(`${version.version} is ${said}`)
      },
      { plain: true, spoken: `${label} ${version.version}`, ...options }
    )
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, h("a", { href: `#${at.replace("/api/v1", "")}` }, version.version)),
    h("td", null, badge(status)),
    h("td", null, time(version.createdAt)),
    h(
      "td",
      null,
      status === "published"
        ? change("Yank", "yank", "yanked", {
            danger: true,
            question: `Yank ${version.version}? Ranges no longer resolve to it; who names it exactly still gets it, with a warning.`
          })
        : status === "yanked"
          ? change("Take the yank back", "unyank", "published again")
          : ""
    )
  )
}

const grantRow = (address, again) => (grant) => {
  const isTeam = grant.kind === "team"
  const name = isTeam ? grant.team : grant.handle
  const level = choice({ read: "read", write: "write", manage: "manage" }, grant.level, {
    "aria-label": `Level of ${name}`
  })
  const at = path(`${address}/grants`, isTeam ? "teams" : "people", name)
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, name),
    h("td", null, isTeam ? `team of ${grant.org}` : "person"),
    h(
      "td",
      null,
      h(
        "div",
        { class: "inline" },
        level,
        action(
          "Change",
          async () => {
            await put(at, { level: level.value })
            await again(`${name} may ${level.value}`)
          },
          { plain: true, spoken: `Change the level of ${name}` }
        ),
        action(
          "Take back",
          async () => {
            await remove(at)
            await again(`The grant of ${name} is taken back`)
          },
          { danger: true, spoken: `Take the grant of ${name} back`, question: `Take the grant of ${name} back?` }
        )
      )
    )
  )
}

const access = (address, teams) =>
  part(async (again) => {
    const list = await listing({
      address: `${address}/grants`,
      caption: "Grants",
      empty: "No grant: the namespace's members alone work on it.",
      heads: ["Name", "Who", "May"],
      key: "grants",
      rowOf: grantRow(address, again)
    })
    const grantForm = (kind, label, control) =>
      form({
        at: { "not-found": "name" },
        fields: [
          { name: "name", label, control },
          { name: "level", label: "May", control: choice(levels) }
        ],
        submit: `Grant to the ${kind}`,
        send: async ({ level, name }) => {
          await put(path(`${address}/grants`, kind === "team" ? "teams" : "people", name), { level })
          await again(`${name} may ${level}`)
        }
      })
    return [
      list,
      h(
        "div",
        { class: "cards" },
        grantForm("person", "Handle of the person", h("input", { required: true, autocomplete: "off" })),
        teams.length === 0
          ? undefined
          : grantForm("team", "Team", choice(Object.fromEntries(teams.map(({ name }) => [name, name]))))
      )
    ]
  })

const advisories = (address, { name, namespace }) =>
  part(async (again) => [
    await listing({
      address: "/api/v1/advisories",
      caption: "Advisories",
      empty: "No advisory.",
      heads: advisoryHeads,
      key: "advisories",
      query: { namespace, name },
      rowOf: advisoryRow
    }),
    draftForm(address, (id) => again(`${id} is drafted. The platform's staff publishes it.`))
  ])

const transferForm = (address, { name, namespace }, profile) =>
  form({
    at: { "name-taken": "name", "name-held": "name", "namespace-full": "namespace" },
    fields: [
      {
        name: "namespace",
        label: "To",
        control: choice(namespacesOf(profile, { administered: true }), namespace),
        hint: "A namespace that you manage: your own, or an organization's whose admin you are"
      },
      { name: "name", label: "Name there", control: h("input", { required: true, value: name, spellcheck: "false" }) }
    ],
    question: `Transfer ${namespace}/${name}? In another namespace its grants end. Changes are made under the new name only.`,
    submit: "Transfer",
    send: async (to) => {
      const moved = await post(`${address}/transfer`, to)
      location.hash = path("/agents", moved.namespace, moved.name, "settings")
    }
  })

const endForms = (address, agent) => [
  agent.retiredAt === null
    ? action("Retire it", () => post(`${address}/retire`).then(refresh), {
        danger: true,
        question: `Retire ${agent.namespace}/${agent.name}? It becomes private and takes no version until it is restored.`
      })
    : action("Restore it", () => post(`${address}/restore`).then(refresh)),
  h("h3", null, "Delete"),
  h("p", null, "For good, with all of its versions. If it has any, nobody gets its name again."),
  form({
    danger: true,
    at: { "confirm-name": "confirm" },
    fields: [confirmation(agent.name)],
    submit: "Delete the agent",
    send: async ({ confirm }) => {
      await remove(`${address}?${new URLSearchParams({ confirm })}`)
      location.hash = "/mine"
    }
  })
]

/** One agent as those see it who manage it. The registry answers everyone else that its grants are not there. */
export const settingsPage = async ({ names: [namespace, name], profile }) => {
  const address = path("/api/v1/agents", namespace, name)
  const agent = await get(address)
  if (agent.namespace !== namespace || agent.name !== name) {
    location.replace(`#${path("/agents", agent.namespace, agent.name, "settings")}`)
    return []
  }
  const ofOrg = profile.memberships.some(({ org }) => org === namespace)
  const [grants, versions, drafts, forks] = await Promise.all([
    access(address, ofOrg ? (await get(`${path("/api/v1/orgs", namespace, "teams")}?limit=100`)).items : []),
    part((again) =>
      listing({
        address: `${address}/versions`,
        caption: "Versions",
        empty: "No version yet.",
        heads: ["Version", "State", "Submitted", ""],
        key: "versions",
        rowOf: versionRow(address, again)
      })
    ),
    advisories(address, agent),
    listing({
      address: "/api/v1/agents",
      caption: "Forks",
      empty: "No fork that you may read.",
      heads: ["Fork", "Made"],
      key: "forks",
      query: { forkOf: `${namespace}/${name}` },
      rowOf: (fork) =>
        h(
          "tr",
          null,
          h(
            "th",
            { scope: "row" },
            h("a", { href: `#${path("/agents", fork.namespace, fork.name)}` }, `${fork.namespace}/${fork.name}`)
          ),
          h("td", null, time(fork.createdAt))
        )
    })
  ])
  document.title = `Settings of ${namespace}/${name} · QuickAgents`
  return [
    h("h1", null, `Settings of ${namespace}/${name} `, agent.retiredAt === null ? "" : badge("retired")),
    h("p", null, h("a", { href: `#${path("/agents", namespace, name)}` }, "The agent's page")),
    generalForm(address, agent, ofOrg),
    h("h2", null, "Versions"),
    versions,
    h("h2", null, "Who works on it"),
    grants,
    h("h2", null, "Advisories"),
    drafts,
    h("h2", null, "Forks"),
    forks,
    h("h2", null, "Transfer"),
    h("p", null, "The old name goes on leading readers here; what is released keeps the name it was released under."),
    transferForm(address, agent, profile),
    h("h2", null, "Retire or delete"),
    endForms(address, agent)
  ]
}
