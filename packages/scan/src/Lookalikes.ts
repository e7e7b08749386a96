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

/** How a name sounds: `playwrite` and `playwright`, `colour-s` and `colours`. */
const sound = (name: string) =>
  bare(name)
    .replaceAll("ight", "ite")
    .replaceAll("ph", "f")
    .replaceAll("ck", "k")
    .replace(/[cq]/gu, "k")
    .replaceAll("z", "s")
    .replaceAll("y", "i")
    .replace(/(.)\1+/gu, "$1")

/** One of many is mostly another package, and seldom a slip. */
const isPlural = (name: string, known: string) => known.length < 10 && (`${name}s` === known || name === `${known}s`)

const isSlip = (name: string, known: string): boolean =>
  !isPlural(name, known) &&
  Math.abs(name.length - known.length) <= 2 &&
  (skeleton(name) === skeleton(known) ||
    (known.length > 5 && sound(name) === sound(known)) ||
    (known.length > 4 && editDistance(name, known) <= (known.length >= 14 ? 2 : 1)))

/** The well-known scope that `@scope/name` imitates. */
const imitatedScope = (name: string): string | undefined => {
  const scope = /^@([^/]+)\//u.exec(name.toLowerCase())?.[1]
  return scope === undefined || popularScopes.includes(scope)
    ? undefined
    : popularScopes.find((known) => isSlip(scope, known))
}

/** Words that package names are made of. */
const parts = new Set(
  "parser parsers server client utils helper helpers request requests reader writer manager handler adapter adaptor plugin loader builder compiler formatter converter connector connect wrapper runner scanner checker generator validator router logger template extractor downloader uploader express react angular vue webpack playwright puppeteer selenium pandas numpy python node postgres mysql mongo redis stripe slack github gitlab google amazon azure openai anthropic langchain discord telegram document markdown calendar spreadsheet excel image browser crypto wallet bitcoin ethereum web3 security colors commander assistant official".split(
    " "
  )
)

/** The common word of which a part of `name` is a slip: a letter doubled, two swapped, one that looks alike. */
const slippedPart = (name: string): string | undefined => {
  for (const part of name.toLowerCase().split(/[^a-z0-9]+/u)) {
    if (part.length < 6 || parts.has(part)) continue
    for (const known of parts) {
      if (known.length < 6 || part.startsWith(known) || known.startsWith(part)) continue
      const isSwap =
        part.length === known.length &&
        editDistance(part, known) === 1 &&
        part.split("").toSorted().join("") === known.split("").toSorted().join("")
      const isDoubled =
        part.length === known.length + 1 && part.replace(/(.)\1/gu, "$1") === known.replace(/(.)\1/gu, "$1")
      if (isSwap || isDoubled || skeleton(part) === known) return known
    }
  }
  return undefined
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
  return (
    known.find((popular) => bare(popular) === bare(name) || isSlip(name.toLowerCase(), popular)) ?? slippedPart(name)
  )
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
