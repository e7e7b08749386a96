/**
 * Names that would mislead: those that speak for the platform or a well-known
 * vendor, and those that people take for a popular agent of somebody else.
 * Pure; the look of a name is folded in SQL (`name_skeleton`), where it is indexed.
 */

/** Installs from which an agent's look is kept free of look-alikes. */
export const popularInstalls = 10
/** Installs from which one slip of the finger must not lead elsewhere. */
export const veryPopularInstalls = 1_000
/** In shorter names, one letter makes another word. */
const minSlipLength = 5

const ofThePlatform: ReadonlySet<string> = new Set([
  "admin",
  "administrator",
  "built-in",
  "builtin",
  "first-party",
  "moderator",
  "null",
  "official",
  "platform",
  "quickagent",
  "quickagents",
  "registry",
  "root",
  "staff",
  "undefined",
  "verified"
])

const vendors: ReadonlySet<string> = new Set([
  "adobe",
  "amazon",
  "anthropic",
  "apple",
  "atlassian",
  "aws",
  "azure",
  "bitbucket",
  "chatgpt",
  "claude",
  "cloudflare",
  "copilot",
  "datadog",
  "docker",
  "dropbox",
  "figma",
  "gemini",
  "github",
  "gitlab",
  "gmail",
  "google",
  "huggingface",
  "linkedin",
  "microsoft",
  "mistral",
  "notion",
  "npm",
  "okta",
  "openai",
  "oracle",
  "paypal",
  "pypi",
  "salesforce",
  "slack",
  "snowflake",
  "stripe",
  "twilio",
  "zoom"
])

/** Why nobody but staff gets the name; undefined when it is free. A vendor's name is the vendor's in the vendor's own namespace. */
export const reservedFor = (namespace: string, name: string): string | undefined =>
  ofThePlatform.has(name)
    ? `${name} is reserved: it would speak for the platform`
    : vendors.has(name) && namespace !== name
      ? `${name} is reserved: people would take it for an agent of that vendor`
      : undefined

/** Whether one letter more, less, other, or swapped with its neighbour makes `b` of `a`. */
const isOneSlipApart = (a: string, b: string): boolean => {
  if (a.length > b.length) return isOneSlipApart(b, a)
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  if (a.length < b.length) return a.slice(at) === b.slice(at + 1)
  return (
    a.slice(at + 1) === b.slice(at + 1) ||
    (a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2))
  )
}

/** The agent that `name` is mistaken for. `same` says that it looks the same. */
export const mistakenFor = <A extends { readonly name: string; readonly same: boolean }>(
  name: string,
  candidates: ReadonlyArray<A>
): A | undefined =>
  candidates.find(({ same }) => same) ??
  candidates.find((other) => name.length >= minSlipLength && isOneSlipApart(name, other.name))
