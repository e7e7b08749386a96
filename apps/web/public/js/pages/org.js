import { get, patch, path, post, put, remove } from "../api.js"
import { badge, choice, facts, h, refresh, table, time } from "../dom.js"
import { action, confirmation, form, given, part } from "../form.js"
import { listing } from "../listing.js"
import { administers, roleIn } from "../standing.js"

/** Roles that one may give: an owner may end the organization, so only owners make owners. */
const rolesOf = (role) => ({ member: "member", admin: "admin", ...(role === "owner" ? { owner: "owner" } : {}) })

const memberRow =
  ({ address, again, me, mine, reload, roles }) =>
  ({ displayName, handle, role, since }) => {
    const at = path(`${address}/members`, handle)
    const level = choice(roles, role, { "aria-label": `Role of ${handle}` })
    const leaves = handle === me
    return h(
      "tr",
      null,
      h("th", { scope: "row" }, handle, displayName === handle ? "" : h("span", { class: "soft" }, ` ${displayName}`)),
      h("td", null, badge(role)),
      h("td", null, time(since)),
      h(
        "td",
        null,
        h(
          "div",
          { class: "inline" },
          !mine || !(role in roles)
            ? undefined
            : [
                level,
                action(
                  "Change",
                  async () => {
                    await put(at, { role: level.value })
                    if (leaves) await reload()
                    await again(`${handle} is ${level.value}`)
                  },
                  { plain: true, spoken: `Change the role of ${handle}` }
                )
              ],
          leaves || mine
            ? action(
                leaves ? "Leave" : "Remove",
                async () => {
                  await remove(at)
                  if (!leaves) return again(`${handle} is removed`)
                  await reload()
                  location.hash = "/orgs"
                },
                {
                  danger: true,
                  spoken: leaves ? "Leave the organization" : `Remove ${handle}`,
                  question: leaves
                    ? "Leave the organization? Its private agents are not there for you any more."
                    : `Remove ${handle}? Tokens and teams give them nothing of this organization any more.`
                }
              )
            : undefined
        )
      )
    )
  }

const members = (address, { handle: me }, mine, role, reload) =>
  part(async (again) => {
    const roles = rolesOf(role)
    const [list, { items: requests }] = await Promise.all([
      listing({
        address: `${address}/members`,
        caption: "Members",
        empty: "Nobody.",
        heads: ["Who", "Role", "Since", ""],
        key: "members",
        rowOf: memberRow({ address, again, me, mine, reload, roles })
      }),
      mine ? get(`${address}/access-requests`) : { items: [] }
    ])
    const add = (handle, given) => put(path(`${address}/members`, handle), { role: given })
    return [
      list,
      requests.length === 0
        ? undefined
        : [
            h("h3", null, "Who asks to become a member"),
            table(
              "Access requests",
              ["Who", "Address", "Asked", ""],
              requests.map(({ displayName, email, handle, requestedAt }) =>
                h(
                  "tr",
                  null,
                  h("th", { scope: "row" }, handle, h("span", { class: "soft" }, ` ${displayName}`)),
                  h("td", null, email),
                  h("td", null, time(requestedAt)),
                  h(
                    "td",
                    null,
                    action("Add", () => add(handle, "member").then(() => again(`${handle} is a member`)), {
                      spoken: `Add ${handle}`
                    })
                  )
                )
              )
            )
          ],
      mine
        ? form({
            at: { "not-found": "handle", "already-a-member": "handle", "staff-org-domain": "handle" },
            fields: [
              {
                name: "handle",
                label: "Add somebody, by handle",
                control: h("input", { required: true, maxlength: 39, autocomplete: "off", spellcheck: "false" })
              },
              { name: "role", label: "Role", control: choice(roles) }
            ],
            submit: "Add",
            send: async (member) => {
              await add(member.handle, member.role)
              await again(`${member.handle} is ${member.role}`)
            }
          })
        : undefined
    ]
  })

const teams = (address, org, mine) =>
  part(async (again) => {
    const list = await listing({
      address: `${address}/teams`,
      caption: "Teams",
      empty: "No team.",
      heads: ["Team", "What for", { text: "Members", number: true }],
      key: "teams",
      rowOf: ({ description, members, name }) =>
        h(
          "tr",
          null,
          h("th", { scope: "row" }, h("a", { href: `#${path("/orgs", org, "teams", name)}` }, name)),
          h("td", null, description),
          h("td", { class: "number" }, String(members))
        )
    })
    return [
      list,
      mine
        ? h(
            "details",
            null,
            h("summary", null, "New team"),
            form({
              at: { "name-taken": "name" },
              fields: [
                {
                  name: "name",
                  label: "Name",
                  control: h("input", { required: true, maxlength: 64, autocomplete: "off", spellcheck: "false" })
                },
                { name: "description", label: "What for (optional)", control: h("input", { maxlength: 500 }) }
              ],
              submit: "Make the team",
              send: async (values) => {
                const { name } = await post(`${address}/teams`, given(values))
                await again(`The team ${name} is made`)
              }
            })
          )
        : undefined
    ]
  })

const domains = (address, mine) =>
  part(async (again) => {
    const { items } = await get(`${address}/domain-claims`)
    return [
      items.length === 0
        ? h("p", { class: "soft" }, "No domain.")
        : table(
            "Domains",
            ["Domain", "State", "DNS record that proves it", ""],
            items.map(({ domain, record, state }) => {
              const at = path(`${address}/domain-claims`, domain)
              return h(
                "tr",
                null,
                h("th", { scope: "row" }, domain),
                h("td", null, badge(state)),
                h(
                  "td",
                  { class: "break" },
                  `${record.type} `,
                  h("code", null, record.name),
                  " ",
                  h("code", null, record.value)
                ),
                h(
                  "td",
                  null,
                  !mine
                    ? ""
                    : h(
                        "div",
                        { class: "inline" },
                        state === "pending"
                          ? action("Verify", () => post(`${at}/verify`).then(() => again(`${domain} is verified`)), {
                              spoken: `Verify ${domain}`
                            })
                          : undefined,
                        action("Give up", () => remove(at).then(() => again(`${domain} is given up`)), {
                          danger: true,
                          spoken: `Give ${domain} up`,
                          question: `Give ${domain} up? Another organization may claim it then.`
                        })
                      )
                )
              )
            })
          ),
      mine
        ? form({
            at: { "domain-claimed": "domain" },
            fields: [
              {
                name: "domain",
                label: "Claim a domain",
                control: h("input", { required: true, maxlength: 253, autocomplete: "off", spellcheck: "false" }),
                hint: "People with an address of it may ask to become members, once its DNS record is there"
              }
            ],
            submit: "Claim",
            send: async (values) => {
              await post(`${address}/domain-claims`, values)
              await again(`${values.domain} is claimed; set its DNS record`)
            }
          })
        : undefined
    ]
  })

const endOf = (address, { decommissionAt, handle, state }) =>
  state === "decommissioning"
    ? action("Take it back", () => remove(`${address}/decommission`).then(refresh), {
        question: `Keep ${handle}, which is to be erased ${new Date(decommissionAt).toLocaleString()}?`
      })
    : [
        h(
          "p",
          null,
          "Nothing of it can be changed from then on; when its hold ends it is erased with all of its agents."
        ),
        form({
          danger: true,
          fields: [confirmation(handle)],
          submit: "Decommission the organization",
          send: () => post(`${address}/decommission`).then(refresh)
        })
      ]

/** One organization: for members to read, for admins to change, for an owner to end. */
export const orgPage = async ({ names: [handle], profile, reload }) => {
  const address = path("/api/v1/orgs", handle)
  const org = await get(address)
  const role = roleIn(profile, handle)
  const mine = administers(profile, handle)
  const sees = mine || profile.staff
  const [people, groups, claims] = await Promise.all([
    members(address, profile, mine, role, reload),
    teams(address, handle, mine),
    sees ? domains(address, mine) : undefined
  ])
  return [
    h("h1", null, `${org.displayName} `, org.state === "active" ? "" : badge(org.state)),
    org.decommissionAt === null
      ? undefined
      : h("p", { class: "note", role: "status" }, "It is read-only, and erased ", time(org.decommissionAt), "."),
    facts([
      ["Handle", handle],
      ["You are", role],
      ["Domains", org.verifiedDomains.join(", ")],
      ["Since", time(org.createdAt)]
    ]),
    h(
      "p",
      { class: "row" },
      h(
        "a",
        { href: `#${role === undefined ? "/agents" : "/mine"}?${new URLSearchParams({ namespace: handle })}` },
        "Agents"
      ),
      sees ? h("a", { href: `#${path("/orgs", handle, "audit")}` }, "Audit log") : undefined,
      mine ? h("a", { href: `#${path("/orgs", handle, "credits")}` }, "Credits") : undefined
    ),
    mine
      ? form({
          fields: [
            {
              name: "displayName",
              label: "Name",
              control: h("input", { required: true, maxlength: 100, value: org.displayName })
            }
          ],
          keep: true,
          submit: "Rename",
          send: (values) => patch(address, values).then(refresh)
        })
      : undefined,
    h("h2", null, "Members"),
    people,
    h("h2", null, "Teams"),
    groups,
    claims === undefined ? undefined : [h("h2", null, "Domains"), claims],
    role === "owner" ? [h("h2", null, "End the organization"), endOf(address, org)] : undefined
  ]
}
