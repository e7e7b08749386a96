/** Sandbox hosts: enrolment by the host itself, everything else by platform staff. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, EnrolmentAuthenticated } from "../Callers.ts"
import { EnrolmentId, HostId, Timestamp } from "../Ids.ts"
import { EnrolmentInvalid, EnrolmentNotOpen, HostRetired, NotFound, RunsUnavailable } from "../Problems.ts"
import { access } from "../Scopes.ts"

export const HostFeatures = Schema.Struct({
  sealedObjects: Schema.Boolean,
  browser: Schema.Boolean,
  inputReview: Schema.Boolean,
  sessions: Schema.Boolean,
  fullIsolation: Schema.Boolean
}).annotate({ identifier: "HostFeatures" })

export const Enrol = Schema.Struct({
  /** PKCS #10, PEM, P-256. */
  csr: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(10_000)),
  /** host:port at which the registry reaches this host. */
  address: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9.:[\]-]{1,255}:\d{1,5}$/u)),
  capacity: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  features: HostFeatures
}).annotate({
  identifier: "Enrol",
  examples: [
    {
      csr: "-----BEGIN CERTIFICATE REQUEST-----\n...",
      address: "10.0.0.7:4443",
      capacity: 4,
      features: { sealedObjects: true, browser: false, inputReview: false, sessions: false, fullIsolation: true }
    }
  ]
})

export const Enrolled = Schema.Struct({
  hostId: HostId,
  certificate: Schema.String,
  caChain: Schema.String,
  /** URI SAN that the registry's client certificate carries. */
  registryName: Schema.String,
  signingKeys: Schema.Array(Schema.Struct({ keyId: Schema.String, publicKey: Schema.String }))
}).annotate({ identifier: "Enrolled" })

export class HostEnrolGroup extends HttpApiGroup.make("hostEnrol")
  .add(
    HttpApiEndpoint.post("enrol", "/api/v1/x/runs/hosts/enrol", {
      payload: Enrol,
      success: Enrolled.pipe(HttpApiSchema.status(201)),
      error: [EnrolmentInvalid, EnrolmentNotOpen, RunsUnavailable]
    })
      .middleware(EnrolmentAuthenticated)
      .annotate(OpenApi.Transform, (operation) => ({ ...operation, security: [{ enrolment: [] }] }))
      .annotate(OpenApi.Summary, "Enrol a sandbox host with its one-use token")
  )
  .annotateMerge(OpenApi.annotations({ title: "Host enrolment", description: "The one route a sandbox host calls" })) {}

export const Host = Schema.Struct({
  id: HostId,
  name: Schema.String,
  address: Schema.String,
  capacity: Schema.Int,
  usedSlots: Schema.Int,
  features: HostFeatures,
  /** online: seen within the stale window, neither draining nor retired. */
  state: Schema.Literals(["online", "silent", "draining", "retired"]),
  version: Schema.NullOr(Schema.String),
  enrolledAt: Timestamp,
  seenAt: Schema.NullOr(Timestamp),
  certificateExpiresAt: Schema.NullOr(Timestamp),
  retiredAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "Host" })
export type Host = typeof Host.Type

export const Enrolment = Schema.Struct({
  id: EnrolmentId,
  name: Schema.String,
  state: Schema.Literals(["open", "used", "revoked", "expired"]),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  hostId: Schema.NullOr(HostId)
}).annotate({ identifier: "Enrolment" })
export type Enrolment = typeof Enrolment.Type

export const CreateEnrolment = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9.-]{0,62}$/u)).pipe(
    Schema.annotate({ examples: ["rack-3"] })
  ),
  expiresInSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 60, maximum: 604_800 })).pipe(
      Schema.annotate({ description: "Default 3600" })
    )
  )
}).annotate({ identifier: "CreateEnrolment" })

export const RunModel = Schema.Struct({
  provider: Schema.Literals(["scripted", "anthropic", "openai", "openai-compatible"]),
  baseUrl: Schema.NullOr(Schema.String),
  model: Schema.String,
  hasApiKey: Schema.Boolean,
  maxConcurrent: Schema.NullOr(Schema.Int)
}).annotate({
  identifier: "RunModel",
  examples: [{ provider: "scripted", baseUrl: null, model: "scripted-1", hasApiKey: false, maxConcurrent: null }]
})
export type RunModel = typeof RunModel.Type

export const PutRunModel = Schema.Struct({
  provider: Schema.Literals(["scripted", "anthropic", "openai", "openai-compatible"]),
  baseUrl: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s@]{1,2000}$/u))),
  /** Exact model id; an alias such as `latest` is refused. */
  model: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  apiKey: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4096))),
  maxConcurrent: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 })))
}).annotate({ identifier: "PutRunModel", examples: [{ provider: "scripted" as const, model: "scripted-1" }] })
export type PutRunModel = typeof PutRunModel.Type

export class StaffHostsGroup extends HttpApiGroup.make("staffHosts")
  .add(
    HttpApiEndpoint.get("hosts", "/hosts", {
      success: Schema.Struct({ items: Schema.Array(Host) }).annotate({ identifier: "HostList" })
    })
      .annotateMerge(access.staffRead)
      .annotate(OpenApi.Summary, "List sandbox hosts"),
    HttpApiEndpoint.get("enrolments", "/hosts/enrolments", {
      success: Schema.Struct({ items: Schema.Array(Enrolment) }).annotate({ identifier: "EnrolmentList" })
    })
      .annotateMerge(access.staffRead)
      .annotate(OpenApi.Summary, "List enrolments, newest first"),
    HttpApiEndpoint.post("createEnrolment", "/hosts/enrolments", {
      payload: CreateEnrolment,
      success: Schema.Struct({ ...Enrolment.fields, token: Schema.String })
        .annotate({ identifier: "CreatedEnrolment" })
        .pipe(HttpApiSchema.status(201))
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Make a one-use enrolment token"),
    HttpApiEndpoint.post("revokeEnrolment", "/hosts/enrolments/:enrolment/revoke", {
      params: { enrolment: EnrolmentId },
      success: Enrolment,
      error: [NotFound, EnrolmentNotOpen]
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Revoke an open enrolment"),
    HttpApiEndpoint.post("retire", "/hosts/:host/retire", {
      params: { host: HostId },
      success: Host,
      error: [NotFound, HostRetired]
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Retire a host for good; runs it holds end as error"),
    HttpApiEndpoint.get("model", "/model", { success: RunModel, error: NotFound })
      .annotateMerge(access.staffRead)
      .annotate(OpenApi.Summary, "The model that hosted runs use"),
    HttpApiEndpoint.put("putModel", "/model", { payload: PutRunModel, success: RunModel, error: RunsUnavailable })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Set the model that hosted runs use"),
    HttpApiEndpoint.delete("deleteModel", "/model", { success: HttpApiSchema.NoContent })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Go back to the model of the configuration")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/x/runs/staff")
  .annotateMerge(OpenApi.annotations({ title: "Hosts", description: "Platform staff: sandbox hosts and the model" })) {}
