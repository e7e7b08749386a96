import type { Finding, Manifest, Severity } from "@quickagents/schema"
import { defaultInstructions, manifestFile } from "@quickagents/schema"
import { Effect } from "effect"
import type { ReleasePackage } from "@quickagents/archive"
import { isInside } from "@quickagents/archive"
import type { PreviousRelease } from "../Stage.ts"
import { defineStage } from "../Stage.ts"
import { ungrantedTools } from "../Ungranted.ts"

/** Files about the package for people; an agent is not handed them as instructions. */
const forPeople = /(?:^|\/)(?:README|CHANGELOG|CONTRIBUTING|LICENSE|SECURITY|CODE_OF_CONDUCT)(?:\.[a-z]+)?$/iu

/** The texts an agent reads as its own instructions, the instruction file first. */
export const instructionTexts = (
  pkg: ReleasePackage,
  manifest: Manifest
): ReadonlyArray<{ readonly path: string; readonly text: string }> => {
  const instructions = manifest.instructions ?? defaultInstructions
  const packs = manifest.knowledge ?? []
  const texts = pkg.files.flatMap(({ path, text }) =>
    text !== undefined &&
    (path === instructions ||
      (/\.(?:md|markdown|txt)$/iu.test(path) && !forPeople.test(path) && !packs.some((pack) => isInside(pack, path))))
      ? [{ path, text }]
      : []
  )
  return [...texts.filter(({ path }) => path === instructions), ...texts.filter(({ path }) => path !== instructions)]
}

/** Places built to receive what strangers send: collectors, tunnels, chat webhooks, anonymous pastes. */
const dropHosts = [
  "webhook.site",
  "requestbin.com",
  "pipedream.net",
  "requestcatcher.com",
  "beeceptor.com",
  "interact.sh",
  "oast.fun",
  "oast.pro",
  "oast.live",
  "oast.site",
  "oast.online",
  "oast.me",
  "oastify.com",
  "burpcollaborator.net",
  "canarytokens.com",
  "ngrok.io",
  "ngrok.app",
  "ngrok-free.app",
  "trycloudflare.com",
  "loca.lt",
  "serveo.net",
  "transfer.sh",
  "file.io",
  "pastebin.com",
  "paste.ee",
  "dpaste.com",
  "hastebin.com",
  "discord.com",
  "discordapp.com",
  "api.telegram.org"
]

/** Suffixes of registries: a wildcard there is a whole country. */
const registrySuffixes = ["com", "net", "org", "io", "dev", "app", "co.uk", "com.au", "co.jp", "com.br"]

/** Platforms where anyone can have a name: a wildcard there reaches whoever asks for one, the author's own among them. */
const sharedSuffixes = [
  "github.io",
  "gitlab.io",
  "pages.dev",
  "workers.dev",
  "vercel.app",
  "netlify.app",
  "herokuapp.com",
  "onrender.com",
  "fly.dev",
  "web.app",
  "firebaseapp.com",
  "appspot.com",
  "run.app",
  "azurewebsites.net",
  "cloudfront.net",
  "amazonaws.com",
  "s3.amazonaws.com",
  "blob.core.windows.net",
  "storage.googleapis.com",
  "r2.dev",
  "replit.app",
  "glitch.me",
  "surge.sh"
]

const hostOf = (egress: string) => egress.slice(0, egress.lastIndexOf(":"))
const isUnder = (host: string, parent: string) => host === parent || host.endsWith(`.${parent}`)
const shells = new Set([
  "sh",
  "bash",
  "zsh",
  "dash",
  "fish",
  "ksh",
  "pwsh",
  "powershell",
  "cmd",
  "env",
  "xargs",
  "sudo",
  "su",
  "ssh"
])

/** What a manifest asks for, as lines that can be compared with an earlier release's. */
const grants = ({
  capabilities = {},
  mcpServers = [],
  secrets = []
}: {
  readonly capabilities?: PreviousRelease["capabilities"]
  readonly mcpServers?: PreviousRelease["mcpServers"]
  readonly secrets?: ReadonlyArray<string>
}): ReadonlyArray<string> => [
  ...(capabilities.filesystem?.read ?? []).map((glob) => `read ${glob}`),
  ...(capabilities.filesystem?.write ?? []).map((glob) => `write ${glob}`),
  ...(capabilities.exec?.commands ?? []).map((command) => `command ${command}`),
  ...(capabilities.network?.egress ?? []).map((host) => `egress ${host}`),
  ...(capabilities.browser ? [`browser ${capabilities.browser.scope}`] : []),
  ...(capabilities.browser?.sites ?? []).map((site) => `browser site ${site}`),
  ...(capabilities.browser?.typeSecrets ? ["browser types secrets"] : []),
  ...(capabilities.targetHosts ?? []).map((host) => `target host ${host}`),
  ...mcpServers.flatMap(({ name, scopes = [], tools }) => [
    `mcp server ${name}`,
    ...scopes.map((scope) => `mcp server ${name} scope ${scope}`),
    ...(tools ?? ["(all)"]).map((tool) => `mcp server ${name} tool ${tool}`)
  ]),
  ...secrets.map((name) => `secret ${name}`)
]

/** What `manifest` asks for that the release before did not. */
export const widenedGrants = (manifest: Manifest, previous: PreviousRelease): ReadonlyArray<string> => {
  const before = new Set(grants(previous))
  const { capabilities = {}, mcpServers = [], secrets = [] } = manifest
  return grants({ capabilities, mcpServers, secrets: secrets.map(({ name }) => name) }).filter(
    (grant) => !before.has(grant)
  )
}

type Report = (rule: string, severity: Severity, path: ReadonlyArray<PropertyKey>, message: string) => void

/** Of the drop hosts, those where people also get their own messages. */
const messengers: ReadonlyArray<readonly [host: string, name: RegExp]> = [
  ["discord.com", /discord/iu],
  ["discordapp.com", /discord/iu],
  ["api.telegram.org", /telegram/iu]
]

const judgeBreadth = (manifest: Manifest, report: Report) => {
  const egress = manifest.capabilities?.network?.egress ?? []
  egress.forEach((entry, index) => {
    const at = ["capabilities", "network", "egress", index]
    const host = hostOf(entry)
    // The person's own messenger: the description says so, and the address is the person's secret.
    const isOwn =
      (manifest.secrets ?? []).length > 0 &&
      messengers.some(([messenger, name]) => isUnder(host, messenger) && name.test(manifest.description))
    if (dropHosts.some((drop) => isUnder(host.replace(/^\*\./u, ""), drop)))
      report(
        "egress-drop-host",
        isOwn ? "medium" : "high",
        at,
        `${host} takes what anyone sends and shows it to whoever made the address`
      )
    if (host.startsWith("*.") && registrySuffixes.includes(host.slice(2)))
      report("egress-shared-suffix", "high", at, `Anyone can have a name under ${host}`)
    else if (host.startsWith("*.") && sharedSuffixes.includes(host.slice(2)))
      report("egress-shared-suffix", "medium", at, `Anyone can have a name under ${host}`)
    else if (host.startsWith("*.")) report("egress-wildcard", "low", at, `${host} covers every name under it`)
    if (/^(?:\d+\.){3}\d+$/u.test(host))
      report("egress-address", "high", at, "An egress host is a bare address, which nobody can read")
  })
  manifest.capabilities?.exec?.commands.forEach((command, index) => {
    if (shells.has(command))
      report("exec-shell", "medium", ["capabilities", "exec", "commands", index], `${command} starts any other program`)
  })
  const secrets = manifest.secrets ?? []
  const browser = manifest.capabilities?.browser
  if (secrets.length > 0 && browser?.scope === "public" && browser.typeSecrets) {
    report(
      "secret-to-anywhere",
      "medium",
      ["capabilities", "browser"],
      "The browser may type secrets into any public page"
    )
  }
}

const judgeUnused = (manifest: Manifest, text: string, report: Report) => {
  const unused = (path: ReadonlyArray<PropertyKey>, what: string) =>
    report("grant-unused", "low", path, `${what} is granted and nothing in the package names it`)
  manifest.capabilities?.exec?.commands.forEach((command, index) => {
    if (!text.includes(command)) unused(["capabilities", "exec", "commands", index], `The command ${command}`)
  })
  manifest.capabilities?.network?.egress.forEach((entry, index) => {
    // `*.example.org` is named by any of its hosts.
    if (!text.includes(hostOf(entry).replace(/^\*\./u, "")))
      unused(["capabilities", "network", "egress", index], `The egress host ${hostOf(entry)}`)
  })
  if (manifest.capabilities?.browser && !/browser|web ?page|web ?site|https?:/iu.test(text))
    unused(["capabilities", "browser"], "The browser")
  manifest.secrets?.forEach((secret, index) => {
    if ((secret.deliver ?? "env") === "env" && !text.includes(secret.name))
      unused(["secrets", index], `The secret ${secret.name}`)
  })
}

/** S6: what the instructions use against what the manifest grants, and against the release before. */
export const capabilitiesStage = defineStage("S6", "3", (pkg, { previous }) =>
  Effect.sync(() => {
    const { manifest, manifestSource } = pkg
    if (manifest === undefined || manifestSource === undefined) {
      return { findings: [], status: "skipped" as const, detail: "The manifest cannot be read" }
    }
    const instructions = instructionTexts(pkg, manifest)
    const findings: Array<Finding> = ungrantedTools(manifest, instructions).map(({ tool, grant, path, line }) => ({
      stage: "S6",
      rule: "ungranted-tool",
      severity: "high",
      file: path,
      line,
      message: `The instructions use ${tool}, which needs ${grant}`
    }))
    const report: Report = (rule, severity, path, message) => {
      findings.push({ stage: "S6", rule, severity, file: manifestFile, line: manifestSource.lineOf(path), message })
    }
    judgeBreadth(manifest, report)
    judgeUnused(
      manifest,
      pkg.files.flatMap(({ path, text }) => (path === manifestFile || text === undefined ? [] : [text])).join("\n"),
      report
    )
    if (previous) {
      for (const grant of widenedGrants(manifest, previous)) {
        report("grant-widened", "medium", ["capabilities"], `New since ${previous.version}: ${grant}`)
      }
    }
    return { findings, inputs: { previous: previous?.version ?? "none" } }
  })
)
