/** Agents, their versions, archives, scan reports and attestations. */
import { Schema } from "effect"
import { Multipart } from "effect/http"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdvisoryNote } from "../Advisory.ts"
import { Authenticated, Idempotent, Identified } from "../Callers.ts"
import {
  AgentId,
  AgentName,
  AgentPath,
  Digest,
  Handle,
  IdempotencyKey,
  ReleaseRef,
  Timestamp,
  Version,
  VersionId,
  VersionOrRange
} from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { Capabilities, Manifest, Mode } from "../Manifest.ts"
import {
  AdmissionUnavailable,
  CreditsExhausted,
  FeatureNotIncluded,
  SubscriptionInactive,
  AgentInUse,
  AgentNotRetired,
  AgentRetired,
  AgentUnscanned,
  Blocked,
  BuiltinFirstParty,
  ConfirmName,
  Forbidden,
  ForkSource,
  ForkStaysPrivate,
  NameHeld,
  NameTaken,
  NamespaceFull,
  NotFound,
  NothingToFork,
  PipelineSkipPersonal,
  PipelineSkipPublic,
  OrgDecommissioning,
  PrivateAgentCap,
  ReportNotReady,
  TooLarge,
  VersionExists,
  VersionNotPublished,
  VersionQuarantined,
  VersionsPerDay
} from "../Problems.ts"
import { DsseEnvelope, Finding, ScanReport, Severity, StageId, Verdict } from "../ScanReport.ts"
import { access } from "../Scopes.ts"

export const Visibility = Schema.Literals(["public", "private"]).annotate({ identifier: "Visibility" })

/** Spec: States and transitions, Other states. */
export const VersionStatus = Schema.Literals([
  "scanning",
  "needs_review",
  "published",
  "quarantined",
  "blocked",
  "yanked"
]).annotate({
  identifier: "VersionStatus"
})
export type VersionStatus = typeof VersionStatus.Type

/** Where a fork comes from. Of a private agent only those learn the name who may read it. */
export const ForkedFrom = Schema.Struct({
  /** Null when the caller may not know the name. */
  namespace: Schema.NullOr(Handle),
  name: Schema.NullOr(AgentName),
  version: Schema.NullOr(Version),
  /** False once the caller cannot read the source, or it is deleted. */
  available: Schema.Boolean
}).annotate({ identifier: "ForkedFrom" })

export const ForkState = Schema.Literals(["copying", "ready", "failed"]).annotate({ identifier: "ForkState" })
export type ForkState = typeof ForkState.Type

export const Agent = Schema.Struct({
  id: AgentId,
  namespace: Handle,
  name: AgentName,
  description: Schema.String,
  visibility: Visibility,
  builtin: Schema.Boolean,
  modes: Schema.Array(Mode),
  latestVersion: Schema.NullOr(Version),
  /** Published advisories that affect the latest version; absent when there is none. */
  advisories: Schema.optionalKey(Schema.Array(AdvisoryNote)),
  /** Set while the agent is retired: private, and closed to submissions. */
  retiredAt: Schema.NullOr(Timestamp),
  /** Open alerts on its published versions: known vulnerabilities of packages that they declare. */
  dependencyAlerts: Schema.Int,
  /** Null when the agent is no fork. */
  forkedFrom: Schema.NullOr(ForkedFrom),
  /** Forks of it that are ready. */
  forkCount: Schema.Int,
  /** Null when the agent is no fork. A copy that is unfinished after two hours is `failed`. */
  forkState: Schema.NullOr(ForkState),
  /** What was copied, or why it was not. */
  forkDetail: Schema.NullOr(Schema.String),
  /** The files of the forked version under the fork's own name, once they are copied; for those who publish the fork. */
  forkArchive: Schema.NullOr(Schema.Struct({ digest: Digest, bytes: Schema.Int, href: Schema.String })),
  /** Versions of it are admitted unscanned. */
  pipelineSkip: Schema.Boolean,
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Agent" })
export type Agent = typeof Agent.Type

export const CreateAgent = Schema.Struct({
  namespace: Handle,
  name: AgentName,
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
  /** Default public. */
  visibility: Schema.optionalKey(Visibility)
}).annotate({
  identifier: "CreateAgent",
  examples: [{ namespace: "acme", name: "meeting-notes", visibility: "public" as const }]
})

export const PatchAgent = Schema.Struct({
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
  visibility: Schema.optionalKey(Visibility),
  /** Admits versions unscanned; only of a private agent of an organization. Versions that were admitted so stay so. */
  pipelineSkip: Schema.optionalKey(Schema.Boolean),
  /** Platform staff only, and only in the first-party namespace. */
  builtin: Schema.optionalKey(
    Schema.NullOr(Schema.Literals(["agent", "knowledge_build", "draft", "revision", "voice_build"]))
  )
}).annotate({ identifier: "PatchAgent", examples: [{ visibility: "private" as const }] })

export const ForkAgent = Schema.Struct({
  /** Where the fork goes: a namespace that the caller may create agents in. */
  namespace: Handle,
  /** Default the name of the source. */
  name: Schema.optionalKey(AgentName)
}).annotate({ identifier: "ForkAgent", examples: [{ namespace: "olli", name: "meeting-minutes" }] })
export type ForkAgent = typeof ForkAgent.Type

export const TransferAgent = Schema.Struct({
  /** Where the agent goes: a namespace that the caller manages. */
  namespace: Handle,
  /** Default the name it has. */
  name: Schema.optionalKey(AgentName)
}).annotate({ identifier: "TransferAgent", examples: [{ namespace: "acme" }] })
export type TransferAgent = typeof TransferAgent.Type

export const AgentStats = Schema.Struct({
  /** Installs ever made. */
  installsTotal: Schema.Int,
  installs30d: Schema.Int,
  stars: Schema.Int
}).annotate({ identifier: "AgentStats", examples: [{ installsTotal: 120, installs30d: 14, stars: 9 }] })
export type AgentStats = typeof AgentStats.Type

/** Where a version is in the pipeline; findings only once a stage has ended. */
export const PipelineProgress = Schema.Struct({
  stage: StageId,
  name: Schema.String,
  status: Schema.Literals(["running", "passed", "findings", "skipped", "failed"])
}).annotate({ identifier: "PipelineProgress" })

export const AgentVersion = Schema.Struct({
  id: VersionId,
  namespace: Handle,
  name: AgentName,
  version: Version,
  /** What its manifest and its attestation name: after a transfer of the agent still the name that it was released under. */
  ref: ReleaseRef,
  status: VersionStatus,
  manifestSchemaVersion: Schema.Int,
  /** `skipped`: admitted unscanned, without an attestation. */
  scanStatus: Schema.Literals(["pending", "scanned", "skipped"]),
  verdict: Schema.optionalKey(Verdict),
  findingCounts: Schema.optionalKey(Schema.Record(Severity, Schema.Int)),
  /** What holds a version in review or blocked it; shown to those who may publish it. */
  holding: Schema.optionalKey(Schema.Array(Finding)),
  /** Published advisories that affect this version; absent when there is none. */
  advisories: Schema.optionalKey(Schema.Array(AdvisoryNote)),
  signed: Schema.Boolean,
  archive: Schema.Struct({ digest: Digest, bytes: Schema.Int, href: Schema.String }),
  manifest: Schema.NullOr(Manifest),
  modes: Schema.Array(Mode),
  capabilities: Schema.NullOr(Capabilities),
  source: Schema.Struct({
    kind: Schema.Literals(["upload", "git"]),
    commit: Schema.NullOr(Schema.String),
    /** Of a version from git: the repository to clone, which holds the commit under the version's tag; relative to the registry. */
    url: Schema.optionalKey(Schema.String)
  }),
  submittedBy: Handle,
  /** For people to see before they use it: that it is yanked. */
  warnings: Schema.Array(Schema.String),
  pipeline: Schema.Array(PipelineProgress),
  createdAt: Timestamp,
  publishedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "AgentVersion" })
export type AgentVersion = typeof AgentVersion.Type

/** `event` is `stage` (PipelineProgress), `status` (the version's state) or the closing `done`; `data` is JSON. */
export const VersionEvent = Schema.Struct({
  id: Schema.String,
  event: Schema.Literals(["stage", "status", "done"]),
  data: Schema.String
}).annotate({ identifier: "VersionEvent" })

export const SignedReport = Schema.Struct({
  report: ScanReport,
  envelope: DsseEnvelope
}).annotate({ identifier: "SignedReport" })

const agentParams = { ns: Handle, name: AgentName }
const versionParams = { ...agentParams, version: Version }

/** Where a caller who cannot read an agent gets the 404 a missing name gets. Spec: Authentication, other rules 7. */
export class AgentReadsGroup extends HttpApiGroup.make("agentReads")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: {
        namespace: Schema.optionalKey(Handle),
        q: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        mode: Schema.optionalKey(Mode),
        state: Schema.optionalKey(Schema.Literals(["active", "retired"])),
        sort: Schema.optionalKey(Schema.Literals(["name", "newest", "installs", "submitted"])),
        forks: Schema.optionalKey(
          Schema.Literals(["only", "none"]).pipe(Schema.annotate({ description: "Only forks, or none of them" }))
        ),
        forkOf: Schema.optionalKey(
          AgentPath.pipe(Schema.annotate({ description: "Only forks of this agent that are ready, as ns/name" }))
        ),
        ...pageQuery(100, 20)
      },
      success: Paged(Agent).annotate({
        identifier: "AgentList"
      })
    }).annotate(OpenApi.Summary, "List the agents the caller may read"),
    HttpApiEndpoint.get("get", "/:ns/:name", { params: agentParams, success: Agent, error: NotFound }).annotate(
      OpenApi.Summary,
      "Read an agent"
    ),
    HttpApiEndpoint.get("stats", "/:ns/:name/stats", {
      params: agentParams,
      success: AgentStats,
      error: NotFound
    }).annotate(OpenApi.Summary, "Installs and stars of an agent"),
    HttpApiEndpoint.get("listVersions", "/:ns/:name/versions", {
      params: agentParams,
      query: pageQuery(100, 20),
      success: Paged(AgentVersion).annotate({ identifier: "AgentVersionList" }),
      error: NotFound
    }).annotate(OpenApi.Summary, "List versions, newest first"),
    HttpApiEndpoint.get("getVersion", "/:ns/:name/versions/:version", {
      params: versionParams,
      success: AgentVersion,
      error: NotFound
    }).annotate(OpenApi.Summary, "Read a version"),
    HttpApiEndpoint.get("resolve", "/:ns/:name/resolve", {
      params: agentParams,
      query: {
        range: Schema.optionalKey(VersionOrRange),
        prerelease: Schema.optionalKey(
          Schema.Literals(["true", "false"]).pipe(
            Schema.annotate({ description: "Whether a range may mean a prerelease that it does not name" })
          )
        )
      },
      success: AgentVersion,
      error: NotFound
    }).annotate(
      OpenApi.Summary,
      "The version that a range or an exact version means; without one the latest that is published"
    ),
    HttpApiEndpoint.get("versionEvents", "/:ns/:name/versions/:version/events", {
      params: versionParams,
      query: { after: Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt())) },
      headers: { "last-event-id": Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt())) },
      success: HttpApiSchema.StreamSse({ events: VersionEvent }),
      error: NotFound
    }).annotate(OpenApi.Summary, "Pipeline progress until a terminal state, as server-sent events"),
    HttpApiEndpoint.get("report", "/:ns/:name/versions/:version/report", {
      params: versionParams,
      success: SignedReport,
      error: [NotFound, ReportNotReady]
    }).annotate(OpenApi.Summary, "The signed scan report"),
    HttpApiEndpoint.get("attestation", "/:ns/:name/versions/:version/attestation", {
      params: versionParams,
      success: DsseEnvelope,
      error: [NotFound, ReportNotReady]
    }).annotate(OpenApi.Summary, "The attestation of a version, a DSSE envelope"),
    HttpApiEndpoint.get("archive", "/:ns/:name/archives/:digest", {
      params: { ...agentParams, digest: Digest },
      success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array({ contentType: "application/gzip" }), {
        "cache-control": Schema.String,
        etag: Schema.String,
        "content-length": Schema.String
      }),
      error: [NotFound, VersionNotPublished, VersionQuarantined, Blocked]
    }).annotate(OpenApi.Summary, "Download a release archive by its digest")
  )
  .middleware(Identified)
  .prefix("/api/v1/agents")
  .annotateEndpointsMerge(access.anyone("agent:read"))
  .annotateMerge(
    OpenApi.annotations({ title: "Agents", description: "Read agents, versions, archives, reports and attestations" })
  ) {}

export class AgentChangesGroup extends HttpApiGroup.make("agentChanges")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateAgent,
      success: Agent.pipe(HttpApiSchema.status(201)),
      error: [NotFound, NameTaken, NameHeld, NamespaceFull, PrivateAgentCap, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:publish"))
      .annotate(OpenApi.Summary, "Create an agent"),
    HttpApiEndpoint.patch("patch", "/:ns/:name", {
      params: agentParams,
      payload: PatchAgent,
      success: Agent,
      error: [
        NotFound,
        Forbidden,
        PrivateAgentCap,
        AgentRetired,
        BuiltinFirstParty,
        ForkStaysPrivate,
        PipelineSkipPublic,
        PipelineSkipPersonal,
        FeatureNotIncluded,
        AgentUnscanned,
        OrgDecommissioning
      ]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(
        OpenApi.Summary,
        "Change visibility, description, whether versions skip the scan or, as staff, whether it is built in"
      ),
    HttpApiEndpoint.post("retire", "/:ns/:name/retire", {
      params: agentParams,
      success: Agent,
      error: [NotFound, AgentRetired, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Retire an agent: private, and closed to submissions"),
    HttpApiEndpoint.post("restore", "/:ns/:name/restore", {
      params: agentParams,
      success: Agent,
      error: [NotFound, AgentNotRetired, PrivateAgentCap, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Restore a retired agent to the visibility it had"),
    HttpApiEndpoint.post("fork", "/:ns/:name/fork", {
      params: agentParams,
      payload: ForkAgent,
      success: Agent.pipe(HttpApiSchema.status(202)),
      error: [
        NotFound,
        NameTaken,
        NameHeld,
        NamespaceFull,
        PrivateAgentCap,
        ForkSource,
        NothingToFork,
        OrgDecommissioning
      ]
    })
      .annotateMerge(access.account("agent:publish"))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Fork an agent: a new agent with the source of its published versions",
          description:
            "The fork has the visibility of its source and no version of its own: a version is attested under the name it was released under. " +
            "It holds the files of the source's latest published version, its name in `agent.yaml` changed to the fork's: as the archive " +
            "`forkArchive` and, where the registry serves git, as the last commit of `main`, after one commit for each published version before it " +
            "that there is room for. Nothing of the source that is unpublished, yanked, quarantined or blocked is copied. The copy is made after the answer."
        })
      ),
    HttpApiEndpoint.post("transfer", "/:ns/:name/transfer", {
      params: agentParams,
      payload: TransferAgent,
      success: Agent,
      error: [
        OrgDecommissioning,
        NotFound,
        Forbidden,
        NameTaken,
        NameHeld,
        NamespaceFull,
        PrivateAgentCap,
        AgentInUse,
        AgentRetired,
        AgentUnscanned,
        PipelineSkipPersonal,
        FeatureNotIncluded,
        BuiltinFirstParty
      ]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Move an agent to another namespace, or give it another name",
          description:
            "Versions, installs, stars and the repository move along; grants on the agent end. A version stays released under the name it had: " +
            "its manifest and its attestation name that, and so does its `ref`. The old name is held and goes on leading readers to the agent; " +
            "changes are made under the new one."
        })
      ),
    HttpApiEndpoint.delete("delete", "/:ns/:name", {
      params: agentParams,
      query: {
        confirm: Schema.optionalKey(
          Schema.String.check(Schema.isMaxLength(100)).pipe(
            Schema.annotate({ description: "The agent's name; needed when it has versions" })
          )
        )
      },
      success: HttpApiSchema.NoContent,
      error: [NotFound, ConfirmName, AgentInUse, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Delete an agent; with versions its name is held for good"),
    HttpApiEndpoint.post("submit", "/:ns/:name/versions", {
      params: agentParams,
      headers: { "idempotency-key": IdempotencyKey },
      payload: Schema.Struct({ archive: Multipart.SingleFileSchema }).pipe(
        HttpApiSchema.asMultipart({ maxParts: 2, maxFileSize: "11 MiB", maxTotalSize: "12 MiB", maxFieldSize: "4 KiB" })
      ),
      success: HttpApiSchema.WithHeaders(AgentVersion.pipe(HttpApiSchema.status(202)), { location: Schema.String }),
      error: [
        NotFound,
        TooLarge,
        AgentRetired,
        VersionExists,
        VersionsPerDay,
        OrgDecommissioning,
        CreditsExhausted,
        SubscriptionInactive,
        AdmissionUnavailable
      ]
    })
      .middleware(Idempotent)
      .annotateMerge(access.account("agent:publish"))
      .annotate(OpenApi.Summary, "Submit a version: its archive, a gzip tar with agent.yaml at its top"),
    HttpApiEndpoint.post("yank", "/:ns/:name/versions/:version/yank", {
      params: versionParams,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Yank a published version"),
    HttpApiEndpoint.post("unyank", "/:ns/:name/versions/:version/unyank", {
      params: versionParams,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished, OrgDecommissioning]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Take a yank back")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/agents")
  .annotateMerge(OpenApi.annotations({ title: "Publishing", description: "Create agents and submit versions" })) {}
