import { get, path, remove } from "../api.js"
import { badge, h, table, time } from "../dom.js"
import { action, part } from "../form.js"

/** Marks of a browser's name for itself, the telling before those that others carry too. */
const browsers = {
  "Edg/": "Edge",
  "EdgA/": "Edge",
  "EdgiOS/": "Edge",
  "OPR/": "Opera",
  "Firefox/": "Firefox",
  "FxiOS/": "Firefox",
  "Chrome/": "Chrome",
  "CriOS/": "Chrome",
  "Safari/": "Safari"
}
const systems = {
  Android: "Android",
  iPhone: "iPhone",
  iPad: "iPad",
  Windows: "Windows",
  "Mac OS X": "macOS",
  CrOS: "ChromeOS",
  Linux: "Linux"
}

const browserOf = (userAgent) => {
  if (userAgent === null) return "Unknown browser"
  const known = (marks) => Object.entries(marks).find(([mark]) => userAgent.includes(mark))?.[1]
  const [browser, system] = [known(browsers), known(systems)]
  return browser === undefined ? userAgent : system === undefined ? browser : `${browser} on ${system}`
}

/** One that has ended in the meantime is what was asked for. */
const end = (id) =>
  remove(path("/api/v1/user/sessions", id)).catch((problem) => {
    if (problem.status !== 404) throw problem
  })

const sessionRow =
  (again) =>
  ({ createdAt, current, expiresAt, id, userAgent }) => {
    const browser = browserOf(userAgent)
    const which = `the session of ${browser} from ${new Date(createdAt).toLocaleString()}`
    return h(
      "tr",
      null,
      h(
        "th",
        { scope: "row" },
        browser,
        userAgent === null || browser === userAgent ? "" : h("div", { class: "soft break" }, userAgent)
      ),
      h("td", null, time(createdAt)),
      h("td", null, time(expiresAt)),
      h(
        "td",
        null,
        current
          ? badge("this browser")
          : action("End", () => end(id).then(() => again("The session is ended")), {
              danger: true,
              spoken: `End ${which}`,
              question: `End ${which}? That browser is signed out at once.`
            })
      )
    )
  }

/** The browsers that the account is signed in with. How one ends its own stands in the bar. */
export const sessionsPage = async () => {
  let again
  const [endOthers, outcome] = action(
    "End all others",
    async () => {
      try {
        // What was begun since the list was shown ends too.
        const { items } = await get("/api/v1/user/sessions")
        for (const { current, id } of items) if (!current) await end(id)
      } catch (problem) {
        // Some may have ended; why the others did not is said below the list.
        await again()
        throw problem
      }
      await again("All other sessions are ended")
    },
    { danger: true, question: "End all sessions but this one? Those browsers are signed out at once." }
  )
  const list = await part(async (renew) => {
    again = renew
    const { items } = await get("/api/v1/user/sessions")
    endOthers.hidden = items.every(({ current }) => current)
    // The button and what came of it outlive what is made anew around them.
    return [table("Sessions", ["Browser", "Signed in", "Ends", ""], items.map(sessionRow(again))), endOthers, outcome]
  })
  return [
    h("h1", null, "Sessions"),
    h(
      "p",
      { class: "lead" },
      "The browsers you are signed in with. End one that you do not know; ",
      h("a", { href: "#/tokens" }, "tokens"),
      " and ",
      h("a", { href: "#/keys" }, "SSH keys"),
      " are ended on their own pages."
    ),
    list
  ]
}
