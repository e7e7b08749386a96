import { path, remove } from "../api.js"
import { capabilityLines } from "../capabilities.js"
import { badge, facts, h, time } from "../dom.js"
import { action, part } from "../form.js"
import { listing } from "../listing.js"

const uninstall = (again, ref, danger) =>
  action(
    "Uninstall",
    async () => {
      await remove(path("/api/v1/user/installs", ...ref.split("/")))
      await again(`${ref} is uninstalled`)
    },
    {
      danger: true,
      spoken: `Uninstall ${ref}`,
      question: `Uninstall ${ref}? Your account forgets what you accepted. ${danger}`
    }
  )

/** Nothing but its name is told of an agent that one may no longer read. */
const unreadableRow = (again, { ref }) =>
  h(
    "tr",
    null,
    h("th", { scope: "row" }, ref, h("br"), badge("not readable")),
    h("td", null),
    h("td", null, "You may no longer read it: it is private to others now, or gone."),
    h("td", null),
    h("td", null, uninstall(again, ref, "You cannot install it again while you may not read it."))
  )

const accepted = ({ acceptedUnscanned, acceptedUnsigned, capabilities }) => {
  const lines = facts(capabilityLines(capabilities))
  return [
    lines.childElementCount === 0 ? h("p", { class: "soft" }, "It asks for nothing.") : lines,
    acceptedUnscanned ? h("p", null, "That it was not scanned") : undefined,
    acceptedUnsigned ? h("p", null, "That it is not signed") : undefined
  ]
}

const standing = ({
  advisories = [],
  findingCounts = {},
  installedVersion,
  latestVersion,
  quarantineState,
  signed,
  verdict,
  warnings
}) => {
  const found = Object.entries(findingCounts).filter(([, count]) => count > 0)
  return [
    h(
      "p",
      { class: "row" },
      quarantineState === "none" ? undefined : badge(quarantineState),
      verdict === undefined ? undefined : badge(verdict),
      badge(signed ? "signed" : "unsigned")
    ),
    found.length === 0
      ? undefined
      : h("p", null, `Findings: ${found.map(([severity, count]) => `${count} ${severity}`).join(", ")}`),
    warnings.map((warning) => h("p", null, warning)),
    advisories.map(({ id, severity, summary }) =>
      h("p", null, badge(severity), " ", h("a", { href: `#${path("/advisories", id)}` }, id), ` ${summary}`)
    ),
    latestVersion === null
      ? h("p", { class: "soft" }, "No version of it is published now.")
      : latestVersion === installedVersion
        ? undefined
        : h("p", null, `Latest published: ${latestVersion}`)
  ]
}

const installRow = (again) => (install) => {
  if (!install.readable) return unreadableRow(again, install)
  const { installedAt, installedVersion, ref, updatedAt } = install
  const agent = path("/agents", ...ref.split("/"))
  return h(
    "tr",
    null,
    h(
      "th",
      { scope: "row" },
      h("a", { href: `#${agent}` }, ref),
      " ",
      h("a", { href: `#${path(agent, "versions", installedVersion)}` }, installedVersion)
    ),
    h("td", null, accepted(install)),
    h("td", null, standing(install)),
    h("td", null, time(installedAt), updatedAt === installedAt ? "" : [", changed ", time(updatedAt)]),
    h("td", null, uninstall(again, ref, "What is on a machine stays there until it is uninstalled there."))
  )
}

/** What the account has installed, and what it agreed to. */
export const installsPage = async () => [
  h("h1", null, "Installed"),
  h(
    "p",
    { class: "lead" },
    "What your account has installed, the last change first. ",
    h("code", null, "quickagent install"),
    " installs and changes versions, and asks for what they may do."
  ),
  await part((again) =>
    listing({
      address: "/api/v1/user/installs",
      caption: "Installed agents",
      empty: ["Nothing is installed. ", h("a", { href: "#/agents" }, "Find an agent")],
      heads: ["Agent", "You accepted", "State", "Installed", ""],
      rowOf: installRow(again)
    })
  )
]
