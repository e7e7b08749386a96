/** Handles that nobody gets, and how a new account comes to its handle. */
const reserved: ReadonlySet<string> = new Set([
  "about",
  "abuse",
  "account",
  "accounts",
  "admin",
  "administrator",
  "agent",
  "agents",
  "api",
  "app",
  "assets",
  "auth",
  "billing",
  "blog",
  "builtin",
  "cluster",
  "config",
  "dashboard",
  "docs",
  "favicon-ico",
  "git",
  "health",
  "healthz",
  "help",
  "host",
  "hosts",
  "internal",
  "knowledge",
  "legal",
  "login",
  "logout",
  "mail",
  "me",
  "meta",
  "metrics",
  "new",
  "null",
  "official",
  "org",
  "organization",
  "organizations",
  "orgs",
  "platform",
  "postmaster",
  "problems",
  "readyz",
  "registry",
  "review",
  "root",
  "run",
  "runs",
  "scim",
  "search",
  "security",
  "session",
  "sessions",
  "settings",
  "sign-in",
  "sign-out",
  "signin",
  "signout",
  "sso",
  "staff",
  "static",
  "status",
  "support",
  "system",
  "team",
  "teams",
  "token",
  "tokens",
  "undefined",
  "user",
  "users",
  "vault",
  "verify",
  "voice",
  "webhook",
  "webhooks",
  "well-known",
  "www"
])

export const isReservedHandle = (handle: string) => reserved.has(handle)

const maxLength = 39

/** What of `text` can stand in a handle: lower case letters, digits and single hyphens between them. */
export const handleFrom = (text: string) =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, maxLength)
    .replace(/^-+|-+$/g, "")

const suffixed = (stem: string, suffix: string) =>
  `${stem.slice(0, maxLength - suffix.length - 1).replace(/-+$/, "")}-${suffix}`

/** What a new account's handle may be, best first; `last` is a random suffix that is as good as never taken. */
export const handleCandidates = (wanted: string, last: string): ReadonlyArray<string> => {
  const stem = handleFrom(wanted)
  const base = stem === "" ? "person" : stem
  return [
    ...(isReservedHandle(base) ? [] : [base]),
    ...Array.from({ length: 8 }, (_, index) => suffixed(base, String(index + 2))),
    suffixed(base, last)
  ]
}
