import { post } from "../api.js"
import { badge, facts, h, time } from "../dom.js"
import { form, part } from "../form.js"
import { pageOf, turns } from "../listing.js"

const refreshMs = 5_000

const isUnderWay = ({ state }) => state === "listing" || state === "rescanning"

const changeLine = (name, rules) => [
  name,
  rules.length === 0
    ? undefined
    : h("details", null, h("summary", null, rules.length === 1 ? "1 rule" : `${rules.length} rules`), rules.join(", "))
]

const releaseCard = (release) => {
  const {
    changes,
    createdAt,
    done,
    failed,
    finishedAt,
    flagged,
    notes,
    quarantined,
    releasedBy,
    ruleset,
    state,
    total
  } = release
  return h(
    "div",
    { class: "card" },
    h("h3", null, `${ruleset.version} `, badge(state)),
    h("p", null, notes),
    isUnderWay(release)
      ? h("progress", { max: Math.max(total, 1), value: done, "aria-label": "Versions that are rescanned" })
      : undefined,
    facts([
      ["Rescanned", `${done} of ${total}${state === "listing" ? ", and more are being found" : ""}`],
      ["Quarantined", quarantined === 0 ? undefined : String(quarantined)],
      ["On the review queue", flagged === 0 ? undefined : String(flagged)],
      ["Failed", failed === 0 ? undefined : String(failed)],
      ["Released", [time(createdAt), ` by ${releasedBy}`]],
      ["Finished", finishedAt === null ? undefined : time(finishedAt)],
      changeLine("Added", changes.added),
      changeLine("Changed", changes.changed),
      changeLine("Removed", changes.removed)
    ])
  )
}

/** Releases of the ruleset, kept up to date while one is under way. */
export const rulesetsPage = async ({ onLeave }) => {
  let underWay = false
  let again
  const list = await part(async (renew) => {
    again = renew
    const page = await pageOf({ address: "/api/v1/platform/ruleset-releases/", limit: 20 })
    underWay = page.items.some(isUnderWay)
    return [
      page.items.length === 0 ? h("p", { class: "soft" }, "No release yet.") : page.items.map(releaseCard),
      turns(page)
    ]
  })
  const timer = setInterval(() => {
    // Nobody's rules close, and nobody's focus goes, while they are read.
    if (!underWay || document.hidden || list.querySelector("details[open], :focus") !== null) return
    // What fails now is asked again by the next turn.
    again().catch(() => {})
  }, refreshMs)
  onLeave(() => clearInterval(timer))
  return [
    h("h1", null, "Ruleset releases"),
    h(
      "p",
      { class: "lead" },
      "Rules come with the registry's program. A release puts them in force, and rescans what other rules judged."
    ),
    form({
      fields: [
        {
          name: "notes",
          label: "What is new in the rules",
          control: h("textarea", { required: true, maxlength: 4000 })
        }
      ],
      question: "Put the rules of the running program in force? What other rules judged is rescanned.",
      submit: "Release",
      send: async (values) => {
        const made = await post("/api/v1/platform/ruleset-releases/", values, {
          "idempotency-key": crypto.randomUUID()
        })
        await again()
        return `${made.ruleset.version} is in force.`
      }
    }),
    list
  ]
}
