import { get, post } from "../api.js"
import { badge, h, table } from "../dom.js"
import { action, form, given } from "../form.js"

/** The organization that holds the domain of one's address, and the way in. */
const domainOrg = ({ domain, member, org }) =>
  org === null || member
    ? undefined
    : [
        h("p", null, `${org.displayName} (${org.handle}) holds ${domain}, the domain of your address.`),
        action("Ask to become a member", () => post("/api/v1/user/domain-org/request-access"), {
          done: "Its admins were asked."
        })
      ]

/** The organizations that one is a member of, and a new one. */
export const orgsPage = async ({ profile, reload }) => {
  const { emailVerified, memberships } = profile
  return [
    h("h1", null, "Organizations"),
    h("p", { class: "lead" }, "People who publish under one name. An account is a member of one at a time."),
    memberships.length === 0
      ? h("p", { class: "soft" }, "You are in no organization.")
      : table(
          "Organizations",
          ["Organization", "You are"],
          memberships.map(({ org, role }) =>
            h("tr", null, h("th", { scope: "row" }, h("a", { href: `#/orgs/${org}` }, org)), h("td", null, badge(role)))
          )
        ),
    emailVerified && memberships.length === 0 ? domainOrg(await get("/api/v1/user/domain-org/")) : undefined,
    memberships.length > 0
      ? undefined
      : [
          h("h2", null, "New organization"),
          form({
            at: { "name-taken": "handle" },
            fields: [
              {
                name: "handle",
                label: "Handle",
                control: h("input", { required: true, maxlength: 39, autocomplete: "off", spellcheck: "false" }),
                hint: "The namespace of its agents: small letters, digits and hyphens"
              },
              { name: "displayName", label: "Name (optional)", control: h("input", { maxlength: 100 }) }
            ],
            submit: "Make the organization",
            send: async (values) => {
              const { handle } = await post("/api/v1/orgs/", given(values))
              await reload()
              location.hash = `/orgs/${handle}`
            }
          })
        ]
  ]
}
