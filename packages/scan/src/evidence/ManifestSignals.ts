/** What a manifest asks for, against what the package says it does and against the version before. */
import type { Manifest } from "@quickagents/schema"
import { defaultInstructions, manifestFile } from "@quickagents/schema"
import type { PreviousRelease } from "../Stage.ts"
import type { Kind, Signal } from "./Signal.ts"

/** Programs that reach other machines, other rights or any other program. */
const strong = new Set(
  "sh bash zsh dash fish ksh pwsh powershell cmd sudo su doas ssh scp sftp nc ncat netcat socat telnet docker podman nsenter chroot iptables nft crontab at systemctl launchctl osascript kubectl ansible terraform curl wget rsync openssl perl python python3 ruby node nohup env xinput scrot xclip pbpaste gpg mount dd shred".split(
    " "
  )
)
/** Of those, what no text job asks for without a word about it. */
const grave = new Set(
  "sudo su doas nc ncat netcat socat telnet nsenter chroot iptables nft crontab at systemctl launchctl osascript docker podman ssh scp sftp xinput scrot dd shred mount".split(
    " "
  )
)

const hostOf = (egress: string) => egress.slice(0, egress.lastIndexOf(":")).toLowerCase()

/** Promises that a grant breaks. */
const promises: ReadonlyArray<readonly [says: RegExp, breaks: (manifest: Manifest) => boolean, what: string]> = [
  [
    /\b(?:offline|stays? (?:on|in) (?:your|the|this) (?:machine|computer|device|laptop|workspace)|nothing (?:is|gets|will be) (?:ever )?(?:uploaded|sent|shared|transmitted)|never (?:uploads?|sends?|leaves?|uses the network)|no (?:data (?:is collected|leaves|is sent|collection)|network(?: access)?|internet|uploads?|telemetry|tracking)|without (?:any )?(?:network|internet)|local[- ]only|(?:all|every) [\w ]{1,30} (?:is|stays|runs|happens) local(?:ly)?|(?:works|runs|decodes?|computes?|analy[sz]es|renders|parses) [\w ]{0,30}locally|never (?:transmitted|uploaded|sent)|private by design|lokal|hors ligne|sin conexión)\b/iu,
    ({ capabilities = {} }) =>
      (capabilities.network?.egress.length ?? 0) > 0 || capabilities.browser?.scope === "public",
    "the description promises that nothing leaves the machine, and the manifest asks for hosts"
  ],
  [
    /\b(?:read[- ]only|never (?:changes?|writes?|modif(?:y|ies)|edits?)|does not (?:change|write|modify)|only reads?|changes nothing)\b/iu,
    ({ capabilities = {} }) => (capabilities.filesystem?.write ?? []).some((glob) => glob.startsWith("**")),
    "the description promises to change nothing, and the manifest asks to write every file"
  ],
  [
    /\bnever (?:runs? (?:a |any )?(?:command|program)s?|executes?)\b|\bno (?:shell|commands?|programs?)\b/iu,
    ({ capabilities = {} }) => (capabilities.exec?.commands.length ?? 0) > 0,
    "the description promises to run nothing, and the manifest asks for commands"
  ],
  [
    /\b(?:no|without(?: an?)?) (?:accounts?|sign[- ]?(?:in|up)|log[- ]?in|registration|passwords?|keys?|credentials)\b|\bkein(?:e)? (?:konto|anmeldung)|sans (?:compte|inscription)|sin (?:cuenta|registro)/iu,
    ({ secrets = [] }) => secrets.length > 0,
    "the description promises that no account is needed, and the manifest asks for secrets"
  ]
]

/** Promises that the texts break. */
const promisesOfTexts: ReadonlyArray<readonly [says: RegExp, breaks: RegExp, what: string]> = [
  [
    /\b(?:read[- ]only|changes? nothing|never (?:changes?|writes?|modif\w+|edits?|deletes?)|does not (?:change|write|modify|delete)|only (?:reads?|looks?|reports?))\b/iu,
    /\b(?:create|attach|add|delete|remove|disable|grant|revoke|terminate|drop|push|merge)\b[^.\n]{0,40}\b(?:users?|roles?|polic(?:y|ies)|access keys?|admin\w*|buckets?|tables?|branch(?:es)?|instances?|groups?|accounts?)\b|\bAdministratorAccess\b/iu,
    "the description promises to change nothing, and the texts tell to change accounts or resources"
  ],
  [
    /\b(?:no (?:advertis\w+|ads|commissions?|sponsor\w*|affiliate\w*)|independent|neutral|unbiased|impartial|objective)\b/iu,
    /[?&](?:tag|ref|aff|affiliate|partner|via)=|\b(?:affiliate|referral|commission|kickback|sponsored|partner link|partner code)\b(?![^.\n]{0,30}\b(?:links? are|not|never|no|without)\b)/iu,
    "the description promises independence, and the texts earn by recommending"
  ],
  [
    /\b(?:offline|stays? (?:on|in) (?:your|the|this)|nothing (?:is|gets|will be) (?:ever )?(?:uploaded|sent|shared)|never (?:uploads?|sends?|leaves?)|local[- ]only|works locally|private by design|no (?:uploads?|telemetry|tracking|network))\b/iu,
    /\b(?:POST|PUT|upload|send|sync|submit)\b[^.\n]{0,80}https?:\/\/(?!localhost|127\.)/iu,
    "the description promises that nothing leaves the machine, and the texts send something"
  ]
]

/** Forbids what follows, or tells what somebody else could do. */
const notTold =
  /\b(?:never|not|no|nothing|nobody|don['’]?t|doesn['’]?t|cannot|can['’]?t|without|instead of|rather than|can|may|could|might|would|who|which|that|whether|if)\b[^.,;:\n]{0,60}$/iu
const isTold = (texts: string, act: RegExp): boolean =>
  texts
    .matchAll(new RegExp(act.source, "giu"))
    .take(100)
    .some(({ index }) => !notTold.test(texts.slice(Math.max(0, index - 80), index)))

/** Says nothing about what a secret is for. */
const vague =
  /^\W*(?:(?:is |are )?(?:needed|required|necessary|used|useful|optional|improves?|helps?|for|to|the|it|internal|general|access|better|full|features?|results?|functionality|performance|accuracy|operation|setup|configuration|authentication|integration|run|work|use|tool|agent|service|purposes?|more|some|all|other|additional|extended)\W*){0,9}$/iu
/** A purpose that talks a person into typing what belongs elsewhere. */
const talksInto =
  /\b(?:confirm|verify|prove|validate|re-?enter)\b[^.]{0,60}\b(?:password|identity|account|human|yourself|ownership)\b|\b(?:your|the) (?:e-?mail|bank(?:ing)?|google|microsoft|apple|paypal|online banking) (?:password|PIN|login)\b/iu

/** "Read-only unless you ask for fixes" promises nothing. */
const qualified =
  /\b(?:by default|unless|optional(?:ly)?|if you|when you|only if|can also|on request|opt[- ]in|after you|asks?)\b/iu

const broadScope =
  /(?:^|[.:_/-])(?:admin|full|modify|readwrite|write|send|all|delete|manage|owner|root)(?:$|[.:_/-])|^(?:drive|mail|repo|https:\/\/mail\.google\.com\/)$/iu
const passwordLike =
  /(?:PASSWORD|PASSWD|_PIN\b|PIN_|^PIN$|RECOVERY|SEED|MNEMONIC|CODE\b|CODES\b|PASSCODE|OTP|TAN\b|IDENTIFIANT)/u
const asksPassword =
  /\b(?:PIN|password|passcode|passphrase|seed phrase|recovery (?:phrase|code)|CVV|card number|one[- ]time code|TAN|security code|mother['’]s maiden|private key|social security)\b/iu
const wideRead = (globs: ReadonlyArray<string> = []) =>
  globs.some((glob) => glob === "**" || glob === "/**" || glob === "**/*" || glob.startsWith("~"))
const tamperGlob =
  /(?:^|\/)(?:\.bashrc|\.zshrc|\.profile|\.ssh|\.git\/hooks|\.github\/workflows|\.npmrc|\.pypirc|\.claude|\.cursor|docker\.sock|\.aws|\.gnupg|\.vscode)/u

/** Labels of hosts that are there to receive. */
const receiving =
  /(?:^|[.-])(?:sync|collect(?:or)?|logs?|ingest|intake|stats?|relay|telemetry|metrics|track(?:er|ing)?|reports?|cache|mirror|inbox|drop|hooks?|beacon|updates?|gate|in|up|dl)(?:[.-]|$)/u
/** A description of something that cannot be done without a network. */
const needsNetwork =
  /search|fetch|download|\bAPI\b|\bweb|\bsites?\b|sync|upload|\bpost|send|publish|notif|deploy|online|mail|feed|news|weather|translat|prices?|market|git|slack|discord|telegram|registry|packages?|domain|\bdns|http|server|cloud|look|check|monitor|track|import|export|release|webhook|calendar|\bbot\b|\btests?\b|service|literature|research|quer|database|sources?|rates?|install|benchmark|backup|automation|jira|salesforce|lockfile|upgrad|dependen/iu
const isPatchOf = (version: string, former: string) =>
  version.split(".").slice(0, 2).join(".") === former.split(".").slice(0, 2).join(".")
const publisherOf = ({ name }: Manifest) => name.split("/")[0].split("-")[0]

type Text = { readonly path: string; readonly text: string }

const named = (texts: string, name: string) =>
  new RegExp(`(?<![\\w-])${name.replace(/[^\w-]/gu, "\\$&")}(?![\\w-])`, "iu").test(texts)

export const manifestSignals = (
  manifest: Manifest,
  files: ReadonlyArray<Text>,
  previous: PreviousRelease | undefined
): ReadonlyArray<Signal> => {
  const signals: Array<Signal> = []
  const add = (kind: Kind, weight: number, what: string) =>
    signals.push({ kind, weight, line: 1, file: manifestFile, what })
  const { capabilities = {}, description, intake = [], mcpServers = [], secrets = [] } = manifest
  const commands = capabilities.exec?.commands ?? []
  const hosts = (capabilities.network?.egress ?? []).map(hostOf)
  const texts = files
    .filter(({ path }) => path !== manifestFile)
    .map(({ text }) => text.slice(0, 400_000))
    .join("\n")
  const said = `${description}\n${texts}`

  for (const [says, breaks, what] of promises)
    if (says.test(description) && !qualified.test(description) && breaks(manifest)) add("grants", 1, what)

  const unnamed = commands.filter((command) => !named(texts, command))
  const scripted = files.some(
    ({ path, text }) => /\.(?:sh|bash|py|m?js|ts|rb|pl|ps1)$/iu.test(path) || text.startsWith("#!")
  )
  const unnamedGrave = unnamed.filter((command) => grave.has(command))
  if (unnamedGrave.length > 0)
    add(
      "grants",
      // A sign of carelessness too: alone it holds nothing.
      Math.min(0.5, 0.45 * unnamedGrave.length),
      "asks for programs of wide reach that nothing in the package mentions"
    )
  const unnamedStrong = unnamed.filter((command) => strong.has(command) && !grave.has(command))
  if (unnamedStrong.length > 1 || (unnamedStrong.length === 1 && !scripted))
    add(
      "grants",
      Math.min(0.6, 0.25 * unnamedStrong.length),
      "asks for shells or network programs that nothing mentions"
    )
  const unnamedSecrets = secrets.filter(({ name }) => !said.includes(name))
  if (
    secrets.length >= 3 &&
    unnamedSecrets.length === secrets.length &&
    new Set(secrets.map(({ purpose }) => purpose ?? "")).size === 1
  )
    add("grants", 0.7, "asks for several secrets and gives all of them one purpose or none")
  // A secret that no server, host, command or text can use is only collected.
  const isUsable = hosts.length + commands.length + mcpServers.length > 0 || capabilities.browser !== undefined
  if (!isUsable && unnamedSecrets.length > 0)
    add("grants", Math.min(0.5, 0.45 * unnamedSecrets.length), "asks for secrets that nothing in the package can use")
  const vagueSecrets = secrets.filter(({ purpose }) => purpose !== undefined && vague.test(purpose))
  if (vagueSecrets.length > 1) add("grants", 0.3, "asks for secrets without saying what for")
  if (secrets.some(({ purpose }) => purpose !== undefined && talksInto.test(purpose)))
    add("phish", 0.9, "the purpose of a secret talks a person into giving a password")
  for (const [says, breaks, what] of promisesOfTexts)
    if (says.test(description) && isTold(texts, breaks)) add("grants", 0.75, what)
  const typed = secrets.filter(({ deliver, name }) => deliver === "browser" && passwordLike.test(name))
  if (capabilities.browser?.scope === "public" && capabilities.browser.typeSecrets === true && secrets.length > 0)
    add("grants", typed.length > 1 ? 0.8 : 0.4, "may type secrets into any public page")
  // A name below a domain of the author is still one of a few; `*` and `*.com` are everybody.
  if ((capabilities.targetHosts ?? []).some((name) => /^\*(?:\.[\w-]+)?$/u.test(name)))
    add("grants", 0.8, "asks for every target host")
  const globs = [...(capabilities.filesystem?.read ?? []), ...(capabilities.filesystem?.write ?? [])]
  const tampers = globs.filter((glob) => tamperGlob.test(glob))
  if (
    tampers.length > 0 &&
    !/\b(?:workflows?|hooks?|CI|dotfiles?|shell|profile|npmrc|registry|ssh|actions|editor|vscode)\b/iu.test(description)
  )
    add(
      "grants",
      // What the texts work on openly is their task.
      tampers.every((glob) => texts.includes(glob.replace(/^.*\//u, "").replace(/\*+$/u, ""))) ? 0.35 : 0.7,
      "asks for files that run code elsewhere, and its description speaks of none"
    )
  const broad = mcpServers.flatMap(({ scopes = [] }) => scopes.filter((scope) => broadScope.test(scope)))
  if (broad.length >= 3) add("grants", 1, "asks a server for many broad scopes")
  else if (broad.length === 2) add("grants", 0.5, "asks a server for broad scopes")
  const inner = (capabilities.network?.egress ?? []).filter(
    (entry, index) =>
      /:(?:22|23|25|389|445|587|636|1433|1521|3306|3389|5432|5900|6379|9200|27017)$/u.test(entry) &&
      !texts.includes(hosts[index])
  )
  if (
    inner.length > 0 &&
    !/\b(?:database|SQL|mail|LDAP|directory|ssh|redis|postgres|mysql|mongo|server)\b/iu.test(said)
  )
    add(
      "grants",
      Math.min(0.9, 0.35 * inner.length),
      "asks for databases, directories or mail servers that nothing mentions"
    )
  const unnamedHosts = hosts.filter((name) => !texts.includes(name.replace(/^\*\./u, "")))
  if (
    hosts.length > 0 &&
    unnamedHosts.length === hosts.length &&
    commands.length === 0 &&
    mcpServers.length === 0 &&
    !scripted
  )
    add("grants", 0.2, "asks for hosts that nothing mentions")
  for (const { label, type } of intake)
    if (
      (type === "string" || type === "text") &&
      asksPassword.test(label) &&
      !/\b(?:length|policy|rules?|manager|do not|don['’]t|never|no)\b/iu.test(label)
    )
      add("phish", 1, "asks for a password or code in a question, where it is stored as an answer")

  // Half of all packages ask for hosts or a shell; those of the publisher and those made to receive are rarer among honest ones.
  const publisher = publisherOf(manifest)
  const reach = [
    hosts.some((name) => publisher.length > 3 && name.split(/[.-]/u).includes(publisher)) ? 0.3 : 0,
    hosts.some((name) => receiving.test(name)) ? 0.3 : 0,
    hosts.length > 0 && !needsNetwork.test(`${description} ${(manifest.keywords ?? []).join(" ")}`) ? 0.15 : 0,
    commands.some((command) => /^(?:ba|z|da)?sh$/u.test(command)) ? 0.1 : 0
  ].reduce((sum, weight) => sum + weight, 0)
  if (reach > 0) add("reach", Math.min(0.5, reach), "asks for hosts or a shell that its description does not explain")

  if (previous === undefined) return signals
  const before = previous.capabilities
  const beforeHosts = (before.network?.egress ?? []).map(hostOf)
  const newHosts = hosts.filter((name) => !beforeHosts.includes(name))
  const newCommands = commands.filter((command) => !(before.exec?.commands ?? []).includes(command))
  const newSecrets = secrets.filter(({ name }) => !previous.secrets.includes(name))
  const widerFiles =
    (wideRead(capabilities.filesystem?.read) && !wideRead(before.filesystem?.read)) ||
    (wideRead(capabilities.filesystem?.write) && !wideRead(before.filesystem?.write))
  const newServers = mcpServers.filter(({ name }) => !previous.mcpServers.some((server) => server.name === name))
  const widerBrowser =
    capabilities.browser !== undefined &&
    (before.browser === undefined ||
      (capabilities.browser.scope === "public" && before.browser.scope !== "public") ||
      (capabilities.browser.typeSecrets === true && before.browser.typeSecrets !== true))
  const newTargets = (capabilities.targetHosts ?? []).filter((name) => !(before.targetHosts ?? []).includes(name))
  // What the texts name has been said; an honest new version explains what it is for.
  const prose = files
    .filter(({ path }) => path !== manifestFile && /\.(?:md|markdown|txt)$/iu.test(path))
    .map(({ text }) => text.slice(0, 400_000))
    .join("\n")
  const unsaid = (name: string) => !named(`${description}\n${prose}`, name)
  const widened =
    newHosts.filter((name) => unsaid(name.replace(/^\*\./u, ""))).length +
    newCommands.filter(unsaid).length +
    newSecrets.filter(({ name }) => unsaid(name)).length * 2 +
    newServers.filter(({ name }) => unsaid(name)).length * 2 +
    newTargets.filter(unsaid).length +
    (widerFiles ? 1 : 0) +
    (widerBrowser && !/browser/iu.test(texts) ? 2 : 0)
  const instructions = files.find(({ path }) => path === (manifest.instructions ?? defaultInstructions))?.text
  if (widened > 0 && previous.description === description) {
    const isSilent = previous.instructions !== undefined && previous.instructions.trim() === instructions?.trim()
    if (isSilent)
      add("grants", widened >= 2 ? 1 : 0.6, `asks for more than ${previous.version} and says no word about it`)
    else if (isPatchOf(manifest.version, previous.version))
      add("grants", 0.6, `asks for more than ${previous.version} in a version that only mends`)
    else if (widened >= 2)
      add(
        "grants",
        Math.min(0.8, 0.2 * widened),
        `asks for more than ${previous.version} under an unchanged description`
      )
  }
  if (newHosts.length + newServers.length > 0 && previous.description === description)
    add("reach", 0.3, `reaches hosts or servers that ${previous.version} did not, under an unchanged description`)
  const quietHosts = newHosts.filter((name) => unsaid(name.replace(/^\*\./u, "")))
  if (quietHosts.length > 0 && previous.description === description)
    add("grants", 0.7, `talks to a host that it did not talk to in ${previous.version}, and no text names it`)
  for (const server of mcpServers) {
    const former = previous.mcpServers.find(({ name }) => name === server.name)
    if (former === undefined) continue
    if (
      former.package !== undefined &&
      server.package !== undefined &&
      (former.package.name !== server.package.name || former.package.ecosystem !== server.package.ecosystem)
    )
      add("name", 1, `the server ${server.name} comes from another package than in ${previous.version}`)
    if (
      former.url !== undefined &&
      server.url !== undefined &&
      URL.canParse(former.url) &&
      URL.canParse(server.url) &&
      new URL(former.url).hostname !== new URL(server.url).hostname
    )
      add("name", 0.9, `the server ${server.name} is called at another host than in ${previous.version}`)
  }
  return signals
}
