/** Agents, their versions, archives, scan reports and attestations. */
import { Schema } from "effect"
import { Multipart } from "effect/http"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, Idempotent, Identified } from "../Callers.ts"
import {
  AgentId,
  AgentName,
  clampedLimit,
  Digest,
  Handle,
  IdempotencyKey,
  Offset,
  Timestamp,
  Version,
  VersionId
} from "../Ids.ts"
import { Capabilities, Manifest, Mode } from "../Manifest.ts"
import {
  AgentInUse,
  AgentNotRetired,
  AgentRetired,
  Blocked,
  BuiltinFirstParty,
  ConfirmName,
  Forbidden,
  NameHeld,
  NameTaken,
  NamespaceFull,
  NotFound,
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

export const Agent = Schema.Struct({
  id: AgentId,
  namespace: Handle,
  name: AgentName,
  description: Schema.String,
  visibility: Visibility,
  builtin: Schema.Boolean,
  modes: Schema.Array(Mode),
  latestVersion: Schema.NullOr(Version),
  /** Set while the agent is retired: private, and closed to submissions. */
  retiredAt: Schema.NullOr(Timestamp),
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
  /** Platform staff only, and only in the first-party namespace. */
  builtin: Schema.optionalKey(
    Schema.NullOr(Schema.Literals(["agent", "knowledge_build", "draft", "revision", "voice_build"]))
  )
}).annotate({ identifier: "PatchAgent", examples: [{ visibility: "private" as const }] })

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
  status: VersionStatus,
  manifestSchemaVersion: Schema.Int,
  scanStatus: Schema.Literals(["pending", "scanned", "skipped"]),
  verdict: Schema.optionalKey(Verdict),
  findingCounts: Schema.optionalKey(Schema.Record(Severity, Schema.Int)),
  /** What holds a version in review or blocked it; shown to those who may publish it. */
  holding: Schema.optionalKey(Schema.Array(Finding)),
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
        offset: Schema.optionalKey(Offset),
        limit: Schema.optionalKey(clampedLimit(100, 20))
      },
      success: Schema.Struct({
        items: Schema.Array(Agent),
        total: Schema.Int,
        offset: Schema.Int,
        limit: Schema.Int
      }).annotate({
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
      query: { offset: Schema.optionalKey(Offset), limit: Schema.optionalKey(clampedLimit(100, 20)) },
      success: Schema.Struct({
        items: Schema.Array(AgentVersion),
        total: Schema.Int,
        offset: Schema.Int,
        limit: Schema.Int
      }).annotate({ identifier: "AgentVersionList" }),
      error: NotFound
    }).annotate(OpenApi.Summary, "List versions, newest first"),
    HttpApiEndpoint.get("getVersion", "/:ns/:name/versions/:version", {
      params: versionParams,
      success: AgentVersion,
      error: NotFound
    }).annotate(OpenApi.Summary, "Read a version"),
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
      error: [NotFound, NameTaken, NameHeld, NamespaceFull, PrivateAgentCap]
    })
      .annotateMerge(access.account("agent:publish"))
      .annotate(OpenApi.Summary, "Create an agent"),
    HttpApiEndpoint.patch("patch", "/:ns/:name", {
      params: agentParams,
      payload: PatchAgent,
      success: Agent,
      error: [NotFound, Forbidden, PrivateAgentCap, AgentRetired, BuiltinFirstParty]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Change visibility, description or, as staff, whether it is built in"),
    HttpApiEndpoint.post("retire", "/:ns/:name/retire", {
      params: agentParams,
      success: Agent,
      error: [NotFound, AgentRetired]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Retire an agent: private, and closed to submissions"),
    HttpApiEndpoint.post("restore", "/:ns/:name/restore", {
      params: agentParams,
      success: Agent,
      error: [NotFound, AgentNotRetired, PrivateAgentCap]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Restore a retired agent to the visibility it had"),
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
      error: [NotFound, ConfirmName, AgentInUse]
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
      error: [NotFound, TooLarge, AgentRetired, VersionExists, VersionsPerDay]
    })
      .middleware(Idempotent)
      .annotateMerge(access.account("agent:publish"))
      .annotate(OpenApi.Summary, "Submit a version: its archive, a gzip tar with agent.yaml at its top"),
    HttpApiEndpoint.post("yank", "/:ns/:name/versions/:version/yank", {
      params: versionParams,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Yank a published version"),
    HttpApiEndpoint.post("unyank", "/:ns/:name/versions/:version/unyank", {
      params: versionParams,
      success: AgentVersion,
      error: [NotFound, VersionNotPublished]
    })
      .annotateMerge(access.account("agent:manage"))
      .annotate(OpenApi.Summary, "Take a yank back")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/agents")
  .annotateMerge(OpenApi.annotations({ title: "Publishing", description: "Create agents and submit versions" })) {}
