/** Names and hosts that are made to be taken for well-known ones. */
import { otherPackages, popularHosts, popularPackages, popularScopes } from "./PopularPackages.ts"

/** Restricted Damerau-Levenshtein: one slip of the finger, a swap of neighbours included, costs 1. */
export const editDistance = (a: string, b: string): number => {
  const rows: Array<Array<number>> = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, rows[i - 2][j - 2] + 1)
      row.push(cost)
    }
    rows.push(row)
  }
  return rows[a.length][b.length]
}

/** Names that people read as one: separators and scope signs dropped. */
const bare = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/gu, "")

/** Letters that people take for each other made one. */
const skeleton = (name: string) =>
  name.toLowerCase().replaceAll("rn", "m").replaceAll("vv", "w").replace(/[1|!]/gu, "l").replaceAll("0", "o")

const isSlip = (name: string, known: string): boolean =>
  Math.abs(name.length - known.length) <= 2 &&
  (skeleton(name) === skeleton(known) ||
    (known.length > 4 && editDistance(name, known) <= (known.length >= 14 ? 2 : 1)))

/** The well-known scope that `@scope/name` imitates. */
export const imitatedScope = (name: string): string | undefined => {
  const scope = /^@([^/]+)\//u.exec(name.toLowerCase())?.[1]
  return scope === undefined || popularScopes.includes(scope)
    ? undefined
    : popularScopes.find((known) => isSlip(scope, known))
}

/** The known name that `name` imitates, or `undefined`. */
export const imitates = (ecosystem: "npm" | "pypi", name: string): string | undefined => {
  const known: ReadonlyArray<string> = popularPackages[ecosystem]
  // PyPI itself takes `a_b`, `a.b` and `A-b` for one name.
  const same = (a: string, b: string) =>
    ecosystem === "pypi" ? a.toLowerCase().replace(/[-_.]+/gu, "-") === b : a === b
  if (known.some((popular) => same(name, popular))) return undefined
  const scope = imitatedScope(name)
  if (scope !== undefined) return `@${scope}`
  return known.find((popular) => bare(popular) === bare(name) || isSlip(name.toLowerCase(), popular))
}

/** The well-known package of whatever kind that `name` imitates. */
export const imitatesAny = (name: string): string | undefined => {
  const plain = name.toLowerCase()
  const isKnown = (known: string) => known === plain || known.replaceAll("_", "-") === plain.replaceAll("_", "-")
  if (otherPackages.some(isKnown) || popularPackages.npm.some(isKnown) || popularPackages.pypi.some(isKnown))
    return undefined
  return otherPackages.find((known) => known.length > 4 && (isSlip(plain, known) || bare(known) === bare(plain)))
}

/** The well-known host that `host` is made to be taken for. */
export const imitatedHost = (host: string): string | undefined => {
  const name = host.toLowerCase()
  if (popularHosts.some((known) => name === known || name.endsWith(`.${known}`))) return undefined
  // `api.github.com.evil.example`: a reader stops at the name that he knows.
  const inside = popularHosts.find(
    (known) => name.startsWith(`${known}.`) || name.includes(`.${known}.`) || name.startsWith(`${known}-`)
  )
  if (inside !== undefined) return inside
  const registrable = name.split(".").slice(-2).join(".")
  return popularHosts.find((known) => known.length > 8 && registrable !== known && isSlip(registrable, known))
}
