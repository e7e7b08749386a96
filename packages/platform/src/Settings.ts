/**
 * Configuration: one YAML file (`SERVICE_CONFIG`) with the dotted keys of this
 * table, each also settable by environment: `limits.repoQuotaBytes` is
 * `SERVICE_LIMITS_REPO_QUOTA_BYTES`. The environment wins. An unknown or removed
 * key, or a value out of its range, stops the start with a message that names it.
 * Spec: Limits; Versioning 5 and 6.
 */
import { Context, Data } from "effect"
import { readFileSync } from "node:fs"
import { parse as parseYaml } from "yaml"

/** Every problem of the configuration at once, so that one start shows all that is to be mended. */
export class SettingsInvalid extends Data.TaggedError("SettingsInvalid")<{ readonly problems: ReadonlyArray<string> }> {
  override get message() {
    return `The configuration cannot be used:\n${this.problems.map((problem) => `  - ${problem}`).join("\n")}`
  }
}

interface Setting<A> {
  readonly description: string
  readonly standard: A
  readonly secret: boolean
  /** Reads the text of a variable or a YAML value; throws an Error that says what is wrong with it. */
  readonly read: (value: string) => A
}

const setting = <A>(description: string, standard: A, read: (value: string) => A, secret = false): Setting<A> => ({
  description,
  standard,
  secret,
  read
})

const fail = (message: string): never => {
  throw new Error(message)
}
const optional =
  <A>(read: (value: string) => A) =>
  (value: string): A | null =>
    value === "" ? null : read(value)

const text = (value: string) => value
const bool = (value: string) =>
  value === "true" || value === "1" ? true : value === "false" || value === "0" ? false : fail("must be true or false")
const integer =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  (value: string) => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN
    return Number.isSafeInteger(number) && number >= minimum && number <= maximum
      ? number
      : fail(`must be a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? "" : ` to ${maximum}`}`)
  }
const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** `90s`, `10m`, `1h`, `30d`; milliseconds. */
const duration =
  (minimumMs: number, maximumMs = Number.MAX_SAFE_INTEGER) =>
  (value: string) => {
    const match = /^(\d+)(ms|s|m|h|d)$/.exec(value)
    const ms = match === null ? Number.NaN : Number(match[1]) * units[match[2] as keyof typeof units]
    return ms >= minimumMs && ms <= maximumMs
      ? ms
      : fail(
          `must be a duration such as 10m, from ${minimumMs / 1000}s${maximumMs === Number.MAX_SAFE_INTEGER ? "" : ` to ${maximumMs / 1000}s`}`
        )
  }
const oneOf =
  <const A extends string>(...names: ReadonlyArray<A>) =>
  (value: string) =>
    (names as ReadonlyArray<string>).includes(value) ? (value as A) : fail(`must be one of ${names.join(", ")}`)
const issuer = (value: string) =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : fail("must be an http or https address")
/** Without slashes at its end. An issuer keeps them: it is a name that is compared letter by letter. */
const url = (value: string) => issuer(value).replace(/\/+$/, "")
const smtp = (value: string) =>
  URL.canParse(value) && /^smtps?:$/.test(new URL(value).protocol) ? value : fail("must be an smtp or smtps address")
const list = (value: string) =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
/** Paths are appended to it. */
const base = (value: string) => {
  const { hash, password, search, username } = new URL(url(value))
  return `${hash}${password}${search}${username}` === ""
    ? url(value)
    : fail("must be an address without user, query and fragment")
}
const sharedSecret = (value: string) => {
  const { length } = Buffer.from(value, "base64")
  return /^[A-Za-z0-9+/]+={0,2}$/.test(value) && length >= 24 && length <= 64
    ? value
    : fail("must be 24 to 64 bytes in base64")
}
const key32 = (value: string) =>
  Buffer.from(value, "base64").length === 32 ? value : fail("must be 32 bytes in base64")

export interface TierCaps {
  readonly seconds: number
  readonly turns: number
  readonly tokens: number
}
const caps = (value: string): TierCaps => {
  const parts = value.split(",").map((part) => part.trim())
  const numbers = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : 0))
  if (parts.length !== 3 || numbers.some((number) => number < 1))
    return fail("must be seconds,turns,tokens, none of them zero")
  return { seconds: numbers[0], turns: numbers[1], tokens: numbers[2] }
}

/** A moving name of a model: what it answers can change under the thresholds that are calibrated for it. */
export const isModelAlias = (model: string) => /(^|[-:/@])(latest|default|auto|current|preview|stable)$/i.test(model)
const pinnedModel = (value: string) => (isModelAlias(value) ? fail("must be an exact model id, not an alias") : value)

const KiB = 1024
const MiB = 1024 * KiB

export const table = {
  port: setting("Port of the REST API", 4000, integer(0, 65_535)),
  "service.name": setting("Name in /.well-known/<service>/", "service", text),
  "service.baseUrl": setting("Public address of this deployment", "http://127.0.0.1:4000", url),
  "service.listen": setting("Address that the REST API listens on", "127.0.0.1", text),
  "service.trustProxy": setting("Take a client's address from X-Forwarded-For, set by the proxy in front", false, bool),
  "service.extensions": setting("Extensions to mount", ["runs"] as ReadonlyArray<string>, (value) => {
    const names = list(value)
    return names.every((name) => name === "runs") ? names : fail("knows only: runs")
  }),
  "database.url": setting("PostgreSQL connection string", "", text, true),
  "database.maxConnections": setting("Connections of this node", 10, integer(2, 500)),
  "objects.directory": setting(
    "Directory of the object store; used when no bucket is set",
    null as string | null,
    optional(text)
  ),
  "objects.bucket": setting("S3 bucket", null as string | null, optional(text)),
  "objects.region": setting("S3 region", "us-east-1", text),
  "objects.endpoint": setting("S3 endpoint, for other vendors", null as string | null, optional(url)),
  "objects.accessKeyId": setting("S3 access key", null as string | null, optional(text)),
  "objects.secretAccessKey": setting("S3 secret key", null as string | null, optional(text), true),
  "git.directory": setting(
    "Directory of the agents' git repositories, one for all nodes; without it there is no git transport",
    null as string | null,
    optional(text)
  ),
  "git.sshPort": setting(
    "Port of git over SSH; without it there is none",
    null as number | null,
    optional(integer(1, 65_535))
  ),
  "git.sshHostKey": setting(
    "Path of the private host key of git over SSH, in OpenSSH's format, one for all nodes",
    null as string | null,
    optional(text)
  ),
  "keys.sealingKey": setting("32 bytes in base64 that wrap data keys", null as string | null, optional(key32), true),
  "keys.signingKey": setting(
    "Ed25519 seed, 32 bytes in base64, that signs attestations",
    null as string | null,
    optional(key32),
    true
  ),
  "ca.certificate": setting("Path of the certificate of the internal CA, PEM", null as string | null, optional(text)),
  "ca.key": setting("Path of its private key, PEM", null as string | null, optional(text)),
  "auth.oidc.id": setting("Id of the sign-in provider; never changes once accounts exist", "oidc", (value) =>
    /^[a-z][a-z0-9-]{0,31}$/.test(value) ? value : fail("must be a short lowercase name")
  ),
  "auth.oidc.name": setting("Name of the provider on the sign-in page", "Single sign-on", text),
  "auth.oidc.issuer": setting("Issuer of the OpenID provider", null as string | null, optional(issuer)),
  "auth.oidc.clientId": setting("Client id", null as string | null, optional(text)),
  "auth.oidc.clientSecret": setting("Client secret", null as string | null, optional(text), true),
  "auth.sessionDays": setting("Life of a browser session, days", 14, integer(1, 365)),
  "auth.staffSignIn": setting(
    "How old the sign-in of a session may be that acts as platform staff",
    12 * 3_600_000,
    duration(60_000)
  ),
  "mail.smtp": setting(
    "SMTP server that mails leave by: smtp://user:password@host:587, or smtps:; without it addresses are verified by the sign-in provider alone",
    null as string | null,
    optional(smtp),
    true
  ),
  "mail.from": setting("Sender of mails", "QuickAgents <no-reply@localhost>", text),
  "orgs.staff": setting("Handle of the staff organization", "staff", text),
  "orgs.staffDomain": setting("Mail domain of the staff organization", null as string | null, optional(text)),
  "orgs.firstParty": setting(
    "Handle of the first-party organization, whose runs are unmetered",
    null as string | null,
    optional(text)
  ),
  "orgs.dnsServers": setting(
    "DNS servers that domain claims are proven at, address or address:port each; without them those of the machine",
    [] as ReadonlyArray<string>,
    list
  ),
  "orgs.decommissionHold": setting(
    "How long a decommissioned organization is read-only before it is erased",
    30 * 86_400_000,
    duration(0)
  ),
  "admission.url": setting(
    "Address of the admission extension's service, which is asked before a submission is stored; without it there is none",
    null as string | null,
    optional(base)
  ),
  "admission.secret": setting(
    "24 to 64 bytes in base64 that the registry and that service sign with",
    null as string | null,
    optional(sharedSecret),
    true
  ),
  "cluster.address": setting("host:port at which other registry nodes reach this one", "127.0.0.1:4001", text),
  "cluster.listen": setting("Address that the cluster port listens on", "127.0.0.1", text),
  "judge.provider": setting(
    "Judge of the AI Review",
    "local",
    oneOf("local", "openai-compatible", "anthropic", "none")
  ),
  "judge.model": setting("Exact model id of the judge", null as string | null, optional(pinnedModel)),
  "judge.baseUrl": setting("Address of the judge", null as string | null, optional(url)),
  "judge.apiKey": setting("Key of the judge", null as string | null, optional(text), true),
  "scan.clamd": setting("clamd: host:port or unix:/path", null as string | null, optional(text)),
  "scan.osvUrl": setting("OSV API that answers vulnerability queries", null as string | null, optional(url)),
  "scan.npmUrl": setting(
    "npm registry that tells of packages of MCP servers, as https://registry.npmjs.org",
    null as string | null,
    optional(url)
  ),
  "scan.pypiUrl": setting(
    "Python index that tells of packages of MCP servers, as https://pypi.org",
    null as string | null,
    optional(url)
  ),
  "review.fourEyes": setting(
    "Severities of which a held version needs two reviewers to be published; empty asks for one",
    ["high", "critical"] as ReadonlyArray<string>,
    (value) => list(value).map(oneOf("info", "low", "medium", "high", "critical"))
  ),
  "review.hours.critical": setting("Hours until a review with a critical finding is due", 4, integer(1, 10_000)),
  "review.hours.high": setting("Hours until a review with a high finding is due", 24, integer(1, 10_000)),
  "review.hours.other": setting("Hours until any other review is due", 72, integer(1, 10_000)),
  "queue.workers": setting("Scans that one node runs at once", 1, integer(1, 64)),
  "audit.retentionDays": setting("Days that audit entries are kept; 0 keeps all", 400, integer(0, 100_000)),
  "limits.archiveMaxBytes": setting("Release archive, compressed bytes", 10 * MiB, integer(1)),
  "limits.archiveMaxFiles": setting("Files in an archive", 2_000, integer(1)),
  "limits.archiveMaxFileBytes": setting("A file of an archive", 2 * MiB, integer(1)),
  "limits.archiveMaxImageFileBytes": setting("An image of an archive", 5 * MiB, integer(1)),
  "limits.archiveMaxTextBytes": setting("A text file of an archive", MiB, integer(1)),
  "limits.agentsPerUserNamespace": setting("Agents of an account", 200, integer(0)),
  "limits.agentsPerOrgNamespace": setting("Agents of an organization", 500, integer(0)),
  "limits.privateAgentsPerNamespace": setting(
    "Private agents of a namespace; empty is no cap",
    null as number | null,
    optional(integer(0))
  ),
  "limits.versionsPerDay": setting("Versions of one agent in 24 hours", 20, integer(1)),
  "limits.abuseReportsPerDay": setting("Abuse reports of an account in 24 hours", 10, integer(1)),
  "limits.repoQuotaBytes": setting("Git repository of an agent", 100 * MiB, integer(1)),
  "limits.repoWarnBytes": setting("Repository size from which a push is warned", 25 * MiB, integer(1)),
  "limits.repoMaxBlobBytes": setting("A file in a repository", 25 * MiB, integer(1)),
  "limits.gitPushesPerHour": setting("Pushes to one repository", 60, integer(1)),
  "limits.gitConcurrentPerIP": setting("Git requests of an address at once", 20, integer(1)),
  "limits.sshKeyOffersPerMin": setting("SSH keys that an address offers", 60, integer(1)),
  "limits.authedPerHour": setting("Requests of an account, sustained", 5_000, integer(1)),
  "limits.authedBurstPerMin": setting("Requests of an account, burst", 100, integer(1)),
  "limits.anonymousPerMin": setting("Requests of an address without a credential", 60, integer(1)),
  "limits.loginPerMin": setting("Sign-in requests of an address", 10, integer(1)),
  "limits.edgeAuthPerMin": setting("Sign-in requests of an address that a node lets in, sustained", 30, integer(1)),
  "limits.edgeAuthBurst": setting("Sign-in requests of an address that a node lets in, burst", 30, integer(1)),
  "limits.edgeGitPerMin": setting("Git requests of an address that a node lets in, sustained", 120, integer(1)),
  "limits.edgeGitBurst": setting("Git requests of an address that a node lets in, burst", 60, integer(1)),
  "limits.edgeGitActivePerIP": setting("Git requests of an address that a node lets in at once", 8, integer(1)),
  "credits.allowance.standard": setting("Credits a cycle, Standard", 100, integer(0)),
  "credits.allowance.pro": setting("Credits a cycle, Pro", 2_000, integer(0)),
  "credits.allowance.business": setting("Credits a cycle, Business", 10_000, integer(0)),
  "credits.allowance.enterprise": setting("Credits a cycle, Enterprise", 50_000, integer(0)),
  "runs.caps.standard": setting("seconds,turns,tokens of Standard", { seconds: 300, turns: 20, tokens: 500_000 }, caps),
  "runs.caps.pro": setting("seconds,turns,tokens of Pro", { seconds: 900, turns: 60, tokens: 5_000_000 }, caps),
  "runs.caps.business": setting(
    "seconds,turns,tokens of Business",
    { seconds: 900, turns: 60, tokens: 5_000_000 },
    caps
  ),
  "runs.caps.enterprise": setting(
    "seconds,turns,tokens of Enterprise",
    { seconds: 900, turns: 60, tokens: 5_000_000 },
    caps
  ),
  "runs.inputTokensPerCredit": setting("Input tokens that one credit buys", 50_000, integer(1)),
  "runs.outputTokensPerCredit": setting("Output tokens that one credit buys", 25_000, integer(1)),
  "runs.queueMax": setting("How long a run waits for a host", 3_600_000, duration(1_000, 43_200_000)),
  "runs.stale": setting("How long a host may be silent", 600_000, duration(1_000)),
  "runs.outputMaxBytes": setting("Plain output of a run", 50 * MiB, integer(1)),
  "runs.browserPublicWeb": setting("Run agents that browse the public web", false, bool),
  "runs.streamTimeout": setting("Length of one event stream", 600_000, duration(1_000)),
  "runs.model.provider": setting(
    "Model provider of hosted runs",
    "scripted",
    oneOf("scripted", "anthropic", "openai", "openai-compatible")
  ),
  "runs.model.name": setting("Exact model id of hosted runs", "scripted-1", pinnedModel),
  "runs.model.baseUrl": setting("Address of the model provider", null as string | null, optional(url)),
  "runs.model.apiKey": setting("Key of the model provider", null as string | null, optional(text), true)
} satisfies Record<string, Setting<unknown>>

export type Key = keyof typeof table
export type Values = { readonly [K in Key]: (typeof table)[K] extends Setting<infer A> ? A : never }

/** Keys that earlier releases knew, and what to do instead. */
const removed: Readonly<Record<string, string>> = {
  "runs.tokensPerCredit": "use SERVICE_RUNS_INPUT_TOKENS_PER_CREDIT and SERVICE_RUNS_OUTPUT_TOKENS_PER_CREDIT",
  "runs.draftTokenCredits": "use SERVICE_RUNS_DRAFT_CREDITS and SERVICE_RUNS_DRAFT_MAX_TOKENS",
  "auth.native": "the registry keeps no passwords; configure auth.oidc",
  "auth.nativeAccounts": "the registry keeps no passwords; configure auth.oidc",
  "auth.social": "social sign-in providers are gone; configure auth.oidc"
}

/** `limits.repoQuotaBytes` -> `SERVICE_LIMITS_REPO_QUOTA_BYTES` */
export const environmentName = (key: string) =>
  `SERVICE_${key
    .replace(/([A-Z]+)/g, "_$1")
    .replaceAll(".", "_")
    .toUpperCase()}`

const byEnvironmentName = new Map(
  [...Object.keys(table), ...Object.keys(removed)].map((key) => [environmentName(key), key] as const)
)

/** YAML may nest or use dotted keys; both mean the same. */
const flatten = (value: unknown, prefix = ""): ReadonlyArray<readonly [string, string]> => {
  if (value === null || value === undefined) return prefix === "" ? [] : [[prefix, ""]]
  if (Array.isArray(value)) return [[prefix, value.join(",")]]
  if (typeof value !== "object") return [[prefix, `${value as string | number | boolean}`]]
  return Object.entries(value).flatMap(([key, inner]) =>
    Object.hasOwn(table, prefix)
      ? [[prefix, JSON.stringify(value)] as const]
      : flatten(inner, prefix === "" ? key : `${prefix}.${key}`)
  )
}

const removal = (key: string) => {
  const found = Object.keys(removed).find((name) => key === name || key.startsWith(`${name}.`))
  return found === undefined ? undefined : removed[found]
}

export interface Sources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Text of the YAML file, if one is configured. */
  readonly file?: string | undefined
}

/** All settings with their effective values, or everything that is wrong with them. */
export const read = ({ environment, file }: Sources): Values => {
  const problems: Array<string> = []
  const given = new Map<string, { readonly value: string; readonly name: string }>()
  const parsed =
    file === undefined
      ? {}
      : (() => {
          try {
            return parseYaml(file) as unknown
          } catch (error) {
            problems.push(`the configuration file is not YAML: ${(error as Error).message.split("\n")[0]}`)
            return {}
          }
        })()
  for (const [key, value] of flatten(parsed)) given.set(key, { value, name: key })
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith("SERVICE_") || name === "SERVICE_CONFIG" || value === undefined) continue
    const key = byEnvironmentName.get(name) ?? (/^SERVICE_AUTH_(SOCIAL|NATIVE)_/.test(name) ? "auth.social" : undefined)
    if (key === undefined) problems.push(`${name} is not a setting`)
    else given.set(key, { value, name })
  }
  if (environment["DATABASE_URL"] !== undefined && !given.has("database.url")) {
    given.set("database.url", { value: environment["DATABASE_URL"], name: "DATABASE_URL" })
  }
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(table).map(([key, { standard }]) => [key, standard])
  )
  for (const [key, { name, value }] of given) {
    const instead = removal(key)
    if (instead !== undefined) problems.push(`${name} is no longer a setting: ${instead}`)
    else if (!Object.hasOwn(table, key)) problems.push(`${name} is not a setting`)
    else {
      try {
        values[key] = table[key as Key].read(value)
      } catch (error) {
        problems.push(`${name} ${(error as Error).message}`)
      }
    }
  }
  const settings = values as Values
  if (settings["database.url"] === "") problems.push("DATABASE_URL is missing: the registry needs PostgreSQL")
  if (
    settings["judge.provider"] !== "local" &&
    settings["judge.provider"] !== "none" &&
    settings["judge.model"] === null
  ) {
    problems.push(`judge.model is missing: ${settings["judge.provider"]} needs an exact model id`)
  }
  if (settings["git.sshPort"] !== null) {
    for (const key of ["git.sshHostKey", "git.directory"] as const) {
      if (settings[key] === null) problems.push(`${key} is missing: git.sshPort needs it`)
    }
  }
  if ((settings["admission.url"] === null) !== (settings["admission.secret"] === null)) {
    const [missing, needing] = settings["admission.url"] === null ? ["url", "secret"] : (["secret", "url"] as const)
    problems.push(`admission.${missing} is missing: admission.${needing} needs it`)
  }
  if (problems.length > 0) throw new SettingsInvalid({ problems })
  return settings
}

/** Reads the environment and the file that it names. */
export const fromEnvironment = (environment: NodeJS.ProcessEnv): Values => {
  const path = environment["SERVICE_CONFIG"]
  let file: string | undefined
  if (path !== undefined && path !== "") {
    try {
      file = readFileSync(path, "utf8")
    } catch {
      throw new SettingsInvalid({ problems: [`SERVICE_CONFIG names ${path}, which cannot be read`] })
    }
  }
  return read({ environment, file })
}

/** The effective values for people, secrets left out. */
export const show = (values: Values) =>
  Object.entries(table)
    .map(([key, { secret }]) => {
      const value = values[key as Key]
      return `${key}: ${value === null ? "" : secret ? "(secret)" : typeof value === "object" ? Object.values(value).join(",") : String(value)}`
    })
    .join("\n")

export class Settings extends Context.Service<Settings, Values>()("platform/Settings") {}
