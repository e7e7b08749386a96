/** The shell: who is signed in, where one is, and the page that belongs there. */
import { get, post, Problem, whoAmI } from "./api.js"
import { announce, h, problemBox, signInLinks } from "./dom.js"
import { advisoriesPage, advisoryPage } from "./pages/advisories.js"
import { agentPage } from "./pages/agent.js"
import { agentsPage } from "./pages/agents.js"
import { orgAuditPage, platformAuditPage } from "./pages/audit.js"
import { creditsPage } from "./pages/credits.js"
import { homePage } from "./pages/home.js"
import { hostsPage } from "./pages/hosts.js"
import { installsPage } from "./pages/installs.js"
import { keysPage } from "./pages/keys.js"
import { minePage } from "./pages/mine.js"
import { orgPage } from "./pages/org.js"
import { orgsPage } from "./pages/orgs.js"
import { reportPage } from "./pages/report.js"
import { reportsPage } from "./pages/reports.js"
import { reviewPage, reviewsPage } from "./pages/review.js"
import { rulesetsPage } from "./pages/rulesets.js"
import { runPage } from "./pages/run.js"
import { runsPage } from "./pages/runs.js"
import { sessionsPage } from "./pages/sessions.js"
import { settingsPage } from "./pages/settings.js"
import { staffOrgsPage, staffPage } from "./pages/staff.js"
import { teamPage } from "./pages/team.js"
import { tokensPage } from "./pages/tokens.js"
import { verifyEmailPage } from "./pages/verify-email.js"
import { versionPage } from "./pages/version.js"

const main = document.getElementById("main")

/** Pattern, page, title; `signedIn` pages ask for a sign-in first, and `staff` ones are in the bar of staff alone. */
const routes = [
  { pattern: /^\/$/, page: homePage, title: "Home" },
  { pattern: /^\/agents$/, page: agentsPage, title: "Agents", nav: "/agents" },
  { pattern: /^\/agents\/([^/]+)\/([^/]+)$/, page: agentPage, title: "Agent" },
  { pattern: /^\/agents\/([^/]+)\/([^/]+)\/settings$/, page: settingsPage, title: "Settings", signedIn: true },
  { pattern: /^\/agents\/([^/]+)\/([^/]+)\/report$/, page: reportPage, title: "Report abuse", signedIn: true },
  { pattern: /^\/agents\/([^/]+)\/([^/]+)\/versions\/([^/]+)$/, page: versionPage, title: "Version" },
  { pattern: /^\/installs$/, page: installsPage, title: "Installed", nav: "/installs", signedIn: true },
  { pattern: /^\/mine$/, page: minePage, title: "My agents", nav: "/mine", signedIn: true },
  { pattern: /^\/advisories$/, page: advisoriesPage, title: "Advisories" },
  { pattern: /^\/advisories\/([^/]+)$/, page: advisoryPage, title: "Advisory" },
  { pattern: /^\/runs$/, page: runsPage, title: "My runs", nav: "/runs", signedIn: true },
  { pattern: /^\/runs\/([^/]+)$/, page: runPage, title: "Run", signedIn: true },
  { pattern: /^\/orgs$/, page: orgsPage, title: "Organizations", nav: "/orgs", signedIn: true },
  { pattern: /^\/orgs\/([^/]+)$/, page: orgPage, title: "Organization", signedIn: true },
  { pattern: /^\/orgs\/([^/]+)\/audit$/, page: orgAuditPage, title: "Audit log", signedIn: true },
  { pattern: /^\/orgs\/([^/]+)\/credits$/, page: creditsPage, title: "Credits", signedIn: true },
  { pattern: /^\/orgs\/([^/]+)\/teams\/([^/]+)$/, page: teamPage, title: "Team", signedIn: true },
  { pattern: /^\/credits$/, page: creditsPage, title: "Credits", nav: "/credits", signedIn: true },
  { pattern: /^\/review$/, page: reviewsPage, title: "Review", nav: "/review", signedIn: true, staff: true },
  { pattern: /^\/review\/([^/]+)\/([^/]+)\/([^/]+)$/, page: reviewPage, title: "Review", signedIn: true },
  { pattern: /^\/staff$/, page: staffPage, title: "Staff", nav: "/staff", signedIn: true, staff: true },
  { pattern: /^\/staff\/reports$/, page: reportsPage, title: "Reports of abuse", signedIn: true },
  { pattern: /^\/staff\/rulesets$/, page: rulesetsPage, title: "Ruleset releases", signedIn: true },
  { pattern: /^\/staff\/orgs$/, page: staffOrgsPage, title: "Organizations", signedIn: true },
  { pattern: /^\/staff\/hosts$/, page: hostsPage, title: "Sandbox hosts", signedIn: true },
  { pattern: /^\/staff\/audit$/, page: platformAuditPage, title: "Audit log", signedIn: true },
  { pattern: /^\/tokens$/, page: tokensPage, title: "Tokens", nav: "/tokens", signedIn: true },
  { pattern: /^\/keys$/, page: keysPage, title: "SSH keys", signedIn: true },
  { pattern: /^\/sessions$/, page: sessionsPage, title: "Sessions", signedIn: true },
  { pattern: /^\/verify-email$/, page: verifyEmailPage, title: "Verify your address" }
]

const state = { profile: null, providers: [], runs: false, service: "" }

const signOut = async () => {
  try {
    await post("/api/v1/auth/sign-out")
  } finally {
    location.assign("/")
  }
}

/** After a change of what the account is. */
const reload = async () => {
  state.profile = await whoAmI()
}

/** Where one comes back to after a sign-in. The token of a mail stays in the browser. */
const wayBack = (path) => `/#${path.replace(/\?token=.*/, "")}`

const showShell = (path) => {
  const items = routes.filter(
    (route) =>
      route.nav !== undefined &&
      (!route.signedIn || state.profile !== null) &&
      (!route.staff || state.profile?.staff === true)
  )
  document
    .getElementById("nav")
    .replaceChildren(
      ...items.map(({ nav, title }) =>
        h("li", null, h("a", { href: `#${nav}`, "aria-current": path.startsWith(nav) ? "page" : undefined }, title))
      )
    )
  document
    .getElementById("who")
    .replaceChildren(
      ...(state.profile === null
        ? signInLinks(state.providers, wayBack(path))
        : [
            h(
              "span",
              null,
              h("span", { class: "visually-hidden" }, "Signed in as "),
              state.profile.displayName || state.profile.handle,
              state.profile.staff ? h("span", { class: "soft" }, " (staff)") : undefined
            ),
            state.profile.emailVerified ? "" : h("a", { href: "#/verify-email" }, "Verify your address"),
            h("a", { href: "#/sessions", "aria-current": path === "/sessions" ? "page" : undefined }, "Sessions"),
            h("button", { type: "button", class: "plain", onclick: signOut }, "Sign out")
          ])
    )
}

const signInFirst = (title, path) => [
  h("h1", null, title),
  h("p", { class: "lead" }, "Sign in to see this page."),
  signInLinks(state.providers, wayBack(path))
]

/** The session ran out, or was ended elsewhere: what is filled in stays, and the way in stands above it. */
const signedOut = () => {
  if (state.profile === null) return
  state.profile = null
  showShell(location.hash.slice(1) || "/")
}

let leave = () => {}
let turn = 0

/** Shows the page of the address. A page may give a function that is called when it is left. */
const show = async (moved) => {
  const path = location.hash.slice(1) || "/"
  if (!path.startsWith("/")) return
  const mine = ++turn
  leave()
  leave = () => {}
  showShell(path)
  const [place] = path.split("?", 1)
  const route = routes.find(({ pattern }) => pattern.test(place))
  document.title = `${route?.title ?? "Not found"} · QuickAgents`
  main.setAttribute("aria-busy", "true")
  let content
  try {
    if (route === undefined) content = [h("h1", null, "Not found"), h("p", null, "There is no such page.")]
    else if (route.signedIn && state.profile === null) {
      content = signInFirst(route.title, path)
    } else {
      const onLeave = (stop) => {
        if (mine === turn) leave = stop
        else stop()
      }
      const names = route.pattern.exec(place).slice(1).map(decodeURIComponent)
      content = await route.page({ ...state, names, onLeave, reload })
    }
  } catch (problem) {
    if (!(problem instanceof Problem)) console.error(problem)
    content =
      problem.status === 401
        ? signInFirst(route.title, path)
        : [h("h1", null, problem.status === 404 ? "Not found" : route.title), problemBox(problem)]
  }
  if (mine !== turn) return
  main.replaceChildren(...content.flat(Infinity).filter(Boolean))
  main.removeAttribute("aria-busy")
  if (moved) {
    main.focus()
    announce(document.title)
  }
}

const start = async () => {
  try {
    const [meta, profile] = await Promise.all([get("/api/v1/meta"), whoAmI()])
    state.profile = profile
    state.providers = meta.signInProviders
    state.service = meta.service
    state.runs = meta.extensions.includes("runs")
    document.getElementById("service").textContent = `${meta.service} ${meta.version}`
  } catch (problem) {
    main.replaceChildren(problemBox(problem))
    return
  }
  addEventListener("signed-out", signedOut)
  addEventListener("hashchange", () => void show(true))
  await show(false)
}

await start()
