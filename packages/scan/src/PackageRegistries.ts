/**
 * What the registries of npm and PyPI tell of one exact version of a package.
 * Their addresses are the operator's; a name has the form of its ecosystem
 * before it is asked for, so it names nothing but a package there.
 */
import type { McpServer } from "@quickagents/schema"
import { ByteSize, Effect, Schedule, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"

type Package = NonNullable<McpServer["package"]>

/** Base addresses, as `https://registry.npmjs.org` and `https://pypi.org`. One that is absent is not asked. */
export interface PackageRegistries {
  readonly npm?: string
  readonly pypi?: string
}

export interface RegistryRecord {
  /** What runs code of the package when it is installed, as a registry calls it. */
  readonly installScripts: ReadonlyArray<string>
  readonly license: string | undefined
  readonly deprecated: boolean
  readonly yanked: boolean
  /** `undefined`: the registry does not say. */
  readonly publishedAt: Date | undefined
}

/** The registry did not answer within its retries, or not in its own format. */
export class RegistryFailed extends Schema.TaggedError<RegistryFailed>()("RegistryFailed", {
  ecosystem: Schema.Literals(["npm", "pypi"]),
  reason: Schema.String
}) {}

const maxBytes = ByteSize.mebibytes(32)
const tooLarge = "more than 32 MiB"
/** Of the attempt: a registry that trickles holds no scan. */
const timeout = "20 seconds"

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined

const NpmVersion = Schema.Struct({
  version: Schema.String,
  scripts: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  hasInstallScript: Schema.optionalKey(Schema.Boolean),
  deprecated: Schema.optionalKey(Schema.Unknown),
  license: Schema.optionalKey(Schema.Unknown)
})
/** Only the whole document of a package has its times. */
const NpmPackage = Schema.Struct({ time: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) })

const PyPiVersion = Schema.Struct({
  info: Schema.Struct({
    license: Schema.optionalKey(Schema.Unknown),
    license_expression: Schema.optionalKey(Schema.Unknown),
    classifiers: Schema.optionalKey(Schema.Array(Schema.String)),
    yanked: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
  }),
  urls: Schema.Array(
    Schema.Struct({
      packagetype: Schema.String,
      upload_time_iso_8601: Schema.optionalKey(Schema.String),
      yanked: Schema.optionalKey(Schema.Boolean)
    })
  )
})

const dateOf = (value: unknown): Date | undefined => {
  const at = typeof value === "string" ? new Date(value) : undefined
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at
}

/** The document at `url`, or `undefined` when the registry has none. */
const document = <A>(ecosystem: Package["ecosystem"], url: string, schema: Schema.Decoder<A>) => {
  const failed = (reason: string) => new RegistryFailed({ ecosystem, reason })
  return Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(
      HttpClientRequest.get(url).pipe(HttpClientRequest.setHeader("accept", "application/json"))
    )
    if (response.status === 404 || response.status === 410) return undefined
    if (response.status !== 200) return yield* failed(`status ${response.status}`)
    const text = yield* response.stream.pipe(
      Stream.mapError(() => failed("no usable answer")),
      Stream.limitBytes(maxBytes, () => Stream.fail(failed(tooLarge))),
      Stream.decodeText,
      Stream.mkString
    )
    return yield* Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text)
  }).pipe(
    Effect.timeout(timeout),
    Effect.mapError((error) => (error instanceof RegistryFailed ? error : failed("no usable answer"))),
    Effect.retry({
      times: 2,
      schedule: Schedule.exponential("500 millis"),
      while: ({ reason }) => reason !== tooLarge
    })
  )
}

const npmRecord = Effect.fnUntraced(function* (baseUrl: string, { name, version }: Package) {
  const address = `${baseUrl}/${name.replace("/", "%2f")}`
  const found = yield* document("npm", `${address}/${encodeURIComponent(version)}`, NpmVersion)
  if (found === undefined) return undefined
  // Thousands of versions: such a package is not young, whatever this one is.
  const whole = yield* document("npm", address, NpmPackage).pipe(
    Effect.catchIf(
      ({ reason }) => reason === tooLarge,
      () => Effect.succeed(undefined)
    )
  )
  const scripts = ["preinstall", "install", "postinstall"].filter((script) => textOf(found.scripts?.[script]))
  const { license } = found
  return {
    installScripts: scripts.length === 0 && found.hasInstallScript === true ? ["install"] : scripts,
    // Old packages name it in an object.
    license: textOf(
      typeof license === "object" && license !== null ? (license as { readonly type?: unknown }).type : license
    ),
    // An empty text takes a deprecation back.
    deprecated: found.deprecated === true || textOf(found.deprecated) !== undefined,
    yanked: false,
    publishedAt: dateOf(whole?.time?.[version])
  }
})

const pypiRecord = Effect.fnUntraced(function* (baseUrl: string, { name, version }: Package) {
  const normal = name.toLowerCase().replace(/[-_.]+/gu, "-")
  const found = yield* document("pypi", `${baseUrl}/pypi/${normal}/${encodeURIComponent(version)}/json`, PyPiVersion)
  // A version whose files are gone can be installed by no one.
  if (found === undefined || found.urls.length === 0) return undefined
  const { info, urls } = found
  const uploads = urls.flatMap((file) => dateOf(file.upload_time_iso_8601)?.getTime() ?? [])
  const classified = info.classifiers?.find((classifier) => classifier.startsWith("License ::"))
  return {
    // Without a wheel its build runs where it is installed.
    installScripts: urls.every(({ packagetype }) => packagetype === "sdist") ? ["source distribution"] : [],
    license: textOf(info.license_expression) ?? textOf(info.license) ?? classified,
    deprecated: false,
    yanked: info.yanked === true || urls.every(({ yanked }) => yanked === true),
    publishedAt: uploads.length === 0 ? undefined : new Date(Math.min(...uploads))
  }
})

/** What the registry at `baseUrl` knows of the package's version; `undefined` when it has no such version. */
export const registryRecord = (
  baseUrl: string,
  pkg: Package
): Effect.Effect<RegistryRecord | undefined, RegistryFailed, HttpClient.HttpClient> =>
  (pkg.ecosystem === "npm" ? npmRecord : pypiRecord)(baseUrl.replace(/\/$/u, ""), pkg)
