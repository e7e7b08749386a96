/** What an account has installed and starred. Spec: Other records, Account install; Registry core routes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdvisoryNote } from "../Advisory.ts"
import { Authenticated } from "../Callers.ts"
import { AgentName, AgentPath, Handle, Timestamp, Version, VersionOrRange } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { Capabilities } from "../Manifest.ts"
import { Blocked, InstallConsentRequired, NotFound, VersionNotPublished, VersionQuarantined } from "../Problems.ts"
import { Severity } from "../ScanReport.ts"
import { access } from "../Scopes.ts"

export const ReadableInstall = Schema.Struct({
  ref: AgentPath,
  readable: Schema.Literal(true),
  installedVersion: Version,
  capabilities: Schema.NullOr(Capabilities),
  acceptedUnsigned: Schema.Boolean,
  acceptedUnscanned: Schema.Boolean,
  latestVersion: Schema.NullOr(Version),
  /** Absent while the scan is pending. */
  verdict: Schema.optionalKey(Schema.Literals(["scanned", "unscanned"])),
  findingCounts: Schema.optionalKey(Schema.Record(Severity, Schema.Int)),
  /** Published advisories that affect the installed version; absent when there is none. */
  advisories: Schema.optionalKey(Schema.Array(AdvisoryNote)),
  signed: Schema.Boolean,
  quarantineState: Schema.Literals(["none", "quarantined", "blocked", "yanked"]),
  /** For people to see: that the installed version is yanked. */
  warnings: Schema.Array(Schema.String),
  installedAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "ReadableInstall" })

/** The caller may no longer read the agent: nothing but its name is told. */
export const UnreadableInstall = Schema.Struct({ ref: AgentPath, readable: Schema.Literal(false) }).annotate({
  identifier: "UnreadableInstall"
})

export const Install = Schema.Union([ReadableInstall, UnreadableInstall]).annotate({ identifier: "Install" })
export type Install = typeof Install.Type

export const PutInstall = Schema.Struct({
  /** A range installs the newest published version in it. */
  version: VersionOrRange,
  /** Capabilities that the person was shown and accepts, each as `capabilityList` writes it. */
  acceptCapabilities: Schema.Array(Schema.String.check(Schema.isMaxLength(400))).check(Schema.isMaxLength(1_000)),
  acceptUnsigned: Schema.optionalKey(Schema.Boolean),
  acceptUnscanned: Schema.optionalKey(Schema.Boolean)
}).annotate({
  identifier: "PutInstall",
  examples: [{ version: "1.2.0", acceptCapabilities: ["filesystem.read:*.csv", "network.egress:api.example.com:443"] }]
})
export type PutInstall = typeof PutInstall.Type

/** The capabilities of a release, one text each, as consent is given to them: `filesystem.read:*.csv`, `exec.commands:git`. */
export const capabilityList = (capabilities: Capabilities): ReadonlyArray<string> => [
  ...(capabilities.filesystem?.read ?? []).map((glob) => `filesystem.read:${glob}`),
  ...(capabilities.filesystem?.write ?? []).map((glob) => `filesystem.write:${glob}`),
  ...(capabilities.exec?.commands ?? []).map((command) => `exec.commands:${command}`),
  ...(capabilities.network?.egress ?? []).map((host) => `network.egress:${host}`),
  ...(capabilities.browser === undefined ? [] : [`browser:${capabilities.browser.scope}`]),
  ...(capabilities.browser?.sites ?? []).map((site) => `browser.sites:${site}`),
  ...(capabilities.browser?.typeSecrets === true ? ["browser.typeSecrets"] : []),
  ...(capabilities.targetHosts ?? []).map((host) => `targetHosts:${host}`)
]

const params = { ns: Handle, name: AgentName }

export class InstallsGroup extends HttpApiGroup.make("installs")
  .add(
    HttpApiEndpoint.get("list", "/installs", {
      query: pageQuery(100, 50),
      success: Paged(Install).annotate({ identifier: "InstallList" })
    }).annotate(OpenApi.Summary, "The caller's installs, newest change first"),
    HttpApiEndpoint.put("put", "/installs/:ns/:name", {
      params,
      payload: PutInstall,
      success: Install,
      error: [NotFound, VersionNotPublished, VersionQuarantined, Blocked, InstallConsentRequired]
    }).annotate(OpenApi.Summary, "Install a version, or change to another one, with consent"),
    HttpApiEndpoint.delete("remove", "/installs/:ns/:name", { params, success: HttpApiSchema.NoContent }).annotate(
      OpenApi.Summary,
      "Uninstall; 204 also when nothing was installed"
    ),
    HttpApiEndpoint.put("star", "/stars/:ns/:name", {
      params,
      success: HttpApiSchema.NoContent,
      error: NotFound
    }).annotate(OpenApi.Summary, "Star an agent"),
    HttpApiEndpoint.delete("unstar", "/stars/:ns/:name", { params, success: HttpApiSchema.NoContent }).annotate(
      OpenApi.Summary,
      "Take a star back"
    )
  )
  .middleware(Authenticated)
  .prefix("/api/v1/user")
  .annotateEndpointsMerge(access.account("user:profile"))
  .annotateMerge(
    OpenApi.annotations({ title: "Installs", description: "What the caller has installed and starred" })
  ) {}
