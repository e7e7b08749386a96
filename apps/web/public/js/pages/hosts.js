import { get, path, post } from "../api.js"
import { badge, h, table, time } from "../dom.js"
import { action, form, part } from "../form.js"

const refreshMs = 5_000
const address = "/api/v1/x/runs/staff/hosts"

const hostRow = (again) => (host) => {
  const { capacity, certificateExpiresAt, features, id, name, retiredAt, seenAt, state, usedSlots, version } = host
  return h(
    "tr",
    null,
    h(
      "th",
      { scope: "row" },
      name,
      h("div", { class: "soft break" }, host.address),
      h("div", { class: "soft break" }, id)
    ),
    h(
      "td",
      null,
      h(
        "span",
        { class: "row" },
        badge(state),
        retiredAt === null ? undefined : h("span", null, "since ", time(retiredAt)),
        features.browser ? badge("browser") : undefined,
        features.fullIsolation ? undefined : badge("weak isolation")
      )
    ),
    h("td", { class: "number" }, `${usedSlots} of ${capacity}`),
    h("td", null, version ?? ""),
    h("td", null, seenAt === null ? "never" : time(seenAt)),
    h("td", null, retiredAt === null ? time(certificateExpiresAt) : ""),
    h(
      "td",
      null,
      retiredAt === null
        ? action("Retire", () => post(path(address, id, "retire")).then(() => again(`${name} is retired`)), {
            danger: true,
            spoken: `Retire ${name}`,
            question: `Retire ${name} (${id}) for good? It takes no run any more, and the runs that it holds end as error.`
          })
        : ""
    )
  )
}

const heads = ["Host", "State", { text: "Slots in use", number: true }, "Version", "Last seen", "Certificate until", ""]

const hosts = async (again) => {
  const { items } = await get(address)
  const { inUse = [], retired = [] } = Object.groupBy(items, ({ state }) => (state === "retired" ? "retired" : "inUse"))
  return [
    inUse.length === 0
      ? h("p", { class: "soft" }, "No host: hosted runs wait in the queue.")
      : table("Sandbox hosts", heads, inUse.map(hostRow(again))),
    retired.length === 0
      ? undefined
      : h(
          "details",
          null,
          h("summary", null, `Retired hosts: ${retired.length}`),
          table("Retired hosts", heads, retired.map(hostRow(again)))
        )
  ]
}

const enrolmentRow =
  (again) =>
  ({ createdAt, expiresAt, id, name }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, name),
      h("td", null, time(createdAt)),
      h("td", null, time(expiresAt)),
      h(
        "td",
        null,
        action(
          "Revoke",
          () =>
            post(path(address, "enrolments", id, "revoke")).then(() => again(`The enrolment of ${name} is revoked`)),
          {
            danger: true,
            spoken: `Revoke the enrolment of ${name}`,
            question: `Revoke the enrolment of ${name}? Its token lets no host in any more.`
          }
        )
      )
    )

const enrolments = async (again) => {
  const { items } = await get(`${address}/enrolments`)
  const open = items.filter(({ state }) => state === "open")
  return open.length === 0
    ? h("p", { class: "soft" }, "No token waits for its host.")
    : table("Open enrolments", ["For", "Made", "Expires", ""], open.map(enrolmentRow(again)))
}

/** Sandbox hosts, kept up to date, and the one-use tokens by which new ones come in. A host is drained on its machine. */
export const hostsPage = async ({ onLeave }) => {
  let made
  let renew
  const [list, waiting] = await Promise.all([
    part((again) => {
      renew = again
      return hosts(again)
    }),
    part((again) => {
      made = again
      return enrolments(again)
    })
  ])
  const timer = setInterval(() => {
    // Nobody's focus goes, and no refusal, while it is read.
    if (document.hidden || list.querySelector("details[open], .problem, :focus") !== null) return
    // What fails now is asked again by the next turn.
    renew().catch(() => {})
  }, refreshMs)
  onLeave(() => clearInterval(timer))
  return [
    h("h1", null, "Sandbox hosts"),
    h(
      "p",
      { class: "lead" },
      "Where hosted runs take place. A host that is stopped on its machine drains first; retire one that does not come back."
    ),
    list,
    h("h2", null, "Enrol a host"),
    waiting,
    form({
      fields: [
        {
          name: "name",
          label: "Name of the host",
          control: h("input", { required: true, maxlength: 63, autocomplete: "off", spellcheck: "false" }),
          hint: "Small letters, digits, hyphens and dots"
        }
      ],
      submit: "Make a one-use token",
      send: async (values) => {
        const { expiresAt, token } = await post(`${address}/enrolments`, values)
        // The token is shown once, whether or not the list can be made anew.
        await made().catch(() => {})
        return [
          h("strong", null, "Copy the token now: it is not shown again."),
          h("br"),
          h("code", { class: "break" }, token),
          h("br"),
          "The host is started with it as HOST_ENROLMENT_TOKEN, before ",
          time(expiresAt),
          "."
        ]
      }
    })
  ]
}
