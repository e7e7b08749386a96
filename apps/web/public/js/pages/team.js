import { get, patch, path, put, remove } from "../api.js"
import { h, time } from "../dom.js"
import { action, form, part } from "../form.js"
import { listing } from "../listing.js"
import { administers } from "../standing.js"

/** One team: its members and, for admins, its name and its end. */
export const teamPage = async ({ names: [org, name], profile }) => {
  const address = path("/api/v1/orgs", org, "teams", name)
  const team = await get(address)
  const mine = administers(profile, org)
  const members = await part(async (again) => {
    const list = await listing({
      address: `${address}/members`,
      caption: "Members of the team",
      empty: "Nobody yet.",
      heads: ["Who", "Since", ""],
      rowOf: ({ displayName, handle, since }) =>
        h(
          "tr",
          null,
          h(
            "th",
            { scope: "row" },
            handle,
            displayName === handle ? "" : h("span", { class: "soft" }, ` ${displayName}`)
          ),
          h("td", null, time(since)),
          h(
            "td",
            null,
            mine
              ? action(
                  "Take out",
                  async () => {
                    await remove(path(`${address}/members`, handle))
                    await again(`${handle} is taken out`)
                  },
                  { danger: true, spoken: `Take ${handle} out`, question: `Take ${handle} out of the team?` }
                )
              : ""
          )
        )
    })
    return [
      list,
      mine
        ? form({
            at: { "not-found": "handle" },
            fields: [
              {
                name: "handle",
                label: "Add a member of the organization, by handle",
                control: h("input", { required: true, maxlength: 39, autocomplete: "off", spellcheck: "false" })
              }
            ],
            submit: "Add",
            send: async ({ handle }) => {
              await put(path(`${address}/members`, handle))
              await again(`${handle} is in the team`)
            }
          })
        : undefined
    ]
  })
  return [
    h("h1", null, `Team ${name}`),
    h("p", { class: "lead" }, team.description || "No description"),
    h("p", null, "Of ", h("a", { href: `#/orgs/${org}` }, org), ". An agent's settings say what a team may do to it."),
    h("h2", null, "Members"),
    members,
    mine
      ? [
          h("h2", null, "Name and end"),
          form({
            at: { "name-taken": "name" },
            fields: [
              { name: "name", label: "Name", control: h("input", { required: true, maxlength: 64, value: name }) },
              {
                name: "description",
                label: "What for",
                control: h("input", { maxlength: 500, value: team.description })
              }
            ],
            keep: true,
            submit: "Save",
            send: async (values) => {
              await patch(address, values)
              location.hash = path("/orgs", org, "teams", values.name)
              return "Saved."
            }
          }),
          action(
            "Delete the team",
            async () => {
              await remove(address)
              location.hash = `/orgs/${org}`
            },
            { danger: true, question: `Delete the team ${name}, and what was granted to it?` }
          )
        ]
      : undefined
  ]
}
