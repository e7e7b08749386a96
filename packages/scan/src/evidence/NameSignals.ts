/** Packages that texts and scripts install, and hosts they name, against the well-known ones. */
import type { Manifest } from "@quickagents/schema"
import { manifestFile } from "@quickagents/schema"
import { imitatedHost, imitates, imitatesAny } from "../Lookalikes.ts"
import { popularScopes } from "../PopularPackages.ts"
import type { Signal } from "./Signal.ts"

type Ecosystem = "npm" | "pypi" | "other"

const installers: ReadonlyArray<readonly [Ecosystem, RegExp]> = [
  ["pypi", /\b(?:pip3?|uv pip|uv|pipx|uvx|conda|poetry)\s+(?:install|add|run)?\s*([^\n\x60;&|)]{2,300})/giu],
  [
    "npm",
    /\b(?:npm\s+(?:install|i|add)|npx|pnpm\s+(?:add|dlx|i)|yarn\s+(?:add|dlx)|bunx|bun\s+add)\s+([^\n\x60;&|)]{2,300})/giu
  ],
  [
    "other",
    /\b(?:brew\s+(?:install|tap)|cargo\s+(?:install|add)|gem\s+install|go\s+install|docker\s+(?:pull|run))\s+([^\n\x60;&|)]{2,300})/giu
  ]
]

const maxNames = 200
const bareName = (argument: string) =>
  argument
    .replace(/^["']|["',]+$/gu, "")
    .replace(/(?<=.)@[^/]*$/u, "")
    .replace(/(?:[=<>~!]=?.*|\[.*\])$/u, "")

/** Names that `text` of the file at `path` installs. */
const installed = (path: string, text: string): ReadonlyArray<{ ecosystem: Ecosystem; name: string; line: number }> => {
  const found: Array<{ ecosystem: Ecosystem; name: string; line: number }> = []
  const isRequirements = /(?:^|\/)(?:requirements|constraints)[\w-]*\.txt$/iu.test(path)
  const isPackageJson = /(?:^|\/)package\.json$/iu.test(path)
  text
    .split("\n")
    .slice(0, 20_000)
    .forEach((raw, index) => {
      const content = raw.slice(0, 1_000)
      const line = index + 1
      const add = (ecosystem: Ecosystem, name: string) => {
        if (/^@?[A-Za-z][\w./@-]{2,80}$/u.test(name)) found.push({ ecosystem, name, line })
      }
      if (isRequirements) add("pypi", bareName(content.trim().split(/[\s;#]/u)[0]))
      else if (isPackageJson) {
        for (const [, name] of content.matchAll(/"(@?[a-z][\w./-]{1,80})"\s*:\s*"(?:[\^~<>=*\d]|latest|x)/giu))
          add("npm", name)
      } else
        for (const [ecosystem, pattern] of installers)
          for (const [, list] of content.matchAll(pattern))
            for (const argument of list.split(/\s+/u)) {
              if (argument.startsWith("-") || argument.includes("://")) continue
              if (!/^[a-z]/u.test(argument) && !argument.startsWith("@")) break
              if (ecosystem === "other")
                for (const part of argument.split("/")) add(ecosystem, bareName(part.replace(/:.*$/u, "")))
              else add(ecosystem, bareName(argument))
            }
    })
  return found.slice(0, maxNames)
}

const urlHost = /https?:\/\/([a-z0-9][a-z0-9.-]{3,200})/giu

export const nameSignals = (
  manifest: Manifest | undefined,
  files: ReadonlyArray<{ readonly path: string; readonly text: string }>
): ReadonlyArray<Signal> => {
  const signals: Array<Signal> = []
  const judged = new Map<string, string | undefined>()
  const once = (key: string, judge: () => string | undefined) => {
    if (!judged.has(key)) judged.set(key, judge())
    return judged.get(key)
  }
  let slips = 0
  for (const { path, text } of files) {
    const plain = text.slice(0, 400_000)
    for (const { ecosystem, line, name } of installed(path, plain)) {
      const popular = once(`${ecosystem} ${name}`, () =>
        ecosystem === "other" ? imitatesAny(name) : imitates(ecosystem, name)
      )
      if (popular === undefined) continue
      slips++
      signals.push({
        kind: "name",
        weight: 1,
        line,
        file: path,
        what: `installs a package named almost like ${popular}`
      })
    }
    plain
      .split("\n")
      .slice(0, 20_000)
      .forEach((raw, index) => {
        for (const [, host] of raw.slice(0, 2_000).matchAll(urlHost)) {
          const known = once(`host ${host}`, () => imitatedHost(host))
          if (known !== undefined)
            signals.push({
              kind: "name",
              weight: 1,
              line: index + 1,
              file: path,
              what: `names a host made to be taken for ${known}`
            })
        }
        if (
          /--(?:extra-)?index-url[= ]+https?:\/\/(?!pypi\.org|test\.pypi\.org|download\.pytorch\.org)|--registry[= ]+https?:\/\/(?!registry\.npmjs\.org)/iu.test(
            raw.slice(0, 2_000)
          )
        )
          signals.push({
            kind: "name",
            weight: 0.8,
            line: index + 1,
            file: path,
            what: "installs packages from an index of its own"
          })
      })
    if (slips > maxNames) break
  }
  if (manifest === undefined) return signals
  const { capabilities = {}, description, mcpServers = [], name } = manifest
  const hosts = [
    ...(capabilities.network?.egress ?? []).map((entry) => entry.slice(0, entry.lastIndexOf(":"))),
    ...mcpServers.flatMap(({ url }) => (url !== undefined && URL.canParse(url) ? [new URL(url).hostname] : []))
  ]
  for (const host of hosts) {
    const known = once(`host ${host}`, () => imitatedHost(host.replace(/^\*\./u, "")))
    if (known !== undefined)
      signals.push({
        kind: "name",
        weight: 1,
        line: 1,
        file: manifestFile,
        what: `asks for a host made to be taken for ${known}`
      })
  }
  const publisher = name.split("/")[0]
  const brand = popularScopes.find(
    (scope) =>
      scope.length > 4 &&
      publisher !== scope &&
      new RegExp(`(?:^|[.-])${scope}(?:-|\\.(?!com|org|io|dev|net|co|app|ai|so)[a-z])`, "u").test(
        `${hosts.join(" ")} ${publisher}`
      )
  )
  const claims =
    /\b(?:official|verified|certified|endorsed|authentic|genuine|approved) (?:\w+ ){0,4}?(?:by|from|publisher|build|skill|package|server|client|release)\b/iu.test(
      description
    )
  if (claims && brand !== undefined)
    signals.push({
      kind: "name",
      weight: 1,
      line: 1,
      file: manifestFile,
      what: `calls itself official under a name like ${brand}`
    })
  else if (claims)
    signals.push({ kind: "name", weight: 0.4, line: 1, file: manifestFile, what: "calls itself official or verified" })
  else if (brand !== undefined)
    signals.push({
      kind: "name",
      weight: 0.5,
      line: 1,
      file: manifestFile,
      what: `uses the name of ${brand} in a host or as publisher`
    })
  return signals
}
