/** Reports of abuse: anyone signed in reports, staff decides, and only staff knows who reported. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated } from "../Callers.ts"
import { AbuseReportId, AgentName, Handle, Timestamp, Version } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { AbuseReportOpen, AbuseReportResolved, AbuseReportsPerDay, NotFound } from "../Problems.ts"
import { access } from "../Scopes.ts"

const category = Schema.Literals([
  "malware",
  "data-theft",
  "deception",
  "impersonation",
  "copyright",
  "illegal-content",
  "spam",
  "other"
])
const state = Schema.Literals(["open", "triaged", "resolved"])
const resolution = Schema.Literals(["actioned", "dismissed"])
const Reason = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_000))

/** A report as its reporter reads it. */
export const AbuseReport = Schema.Struct({
  id: AbuseReportId,
  namespace: Handle,
  name: AgentName,
  /** Null: about the agent as a whole. */
  version: Schema.NullOr(Version),
  category,
  text: Schema.String,
  state,
  resolution: Schema.NullOr(resolution),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "AbuseReport" })
export type AbuseReport = typeof AbuseReport.Type

/** The same as staff reads it. */
export const StaffAbuseReport = Schema.Struct({
  ...AbuseReport.fields,
  reporter: Handle,
  /** Who triaged or resolved it last, and why. */
  handledBy: Schema.NullOr(Handle),
  reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "StaffAbuseReport" })
export type StaffAbuseReport = typeof StaffAbuseReport.Type

export const CreateAbuseReport = Schema.Struct({
  version: Schema.optionalKey(Version),
  category,
  text: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000))
}).annotate({
  identifier: "CreateAbuseReport",
  examples: [{ version: "1.2.0", category: "data-theft" as const, text: "It sends my files to an unknown address." }]
})
export type CreateAbuseReport = typeof CreateAbuseReport.Type

export const AbuseReportQuery = Schema.Struct({
  state: Schema.optionalKey(state),
  category: Schema.optionalKey(category),
  namespace: Schema.optionalKey(Handle),
  ...pageQuery(100, 50)
})
export type AbuseReportQuery = typeof AbuseReportQuery.Type

const params = { id: AbuseReportId }

export class AbuseReportsGroup extends HttpApiGroup.make("abuseReports")
  .add(
    HttpApiEndpoint.post("create", "/api/v1/agents/:ns/:name/abuse-reports", {
      params: { ns: Handle, name: AgentName },
      payload: CreateAbuseReport,
      success: AbuseReport.pipe(HttpApiSchema.status(201)),
      error: [NotFound, AbuseReportOpen, AbuseReportsPerDay]
    })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "Report an agent or a version of it to the platform's staff"),
    HttpApiEndpoint.get("mine", "/api/v1/user/abuse-reports", {
      query: pageQuery(100, 50),
      success: Paged(AbuseReport).annotate({
        identifier: "AbuseReportList"
      })
    })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "The caller's reports with their state, newest first"),
    HttpApiEndpoint.get("list", "/api/v1/platform/abuse-reports", {
      query: AbuseReportQuery.fields,
      success: Paged(StaffAbuseReport).annotate({
        identifier: "StaffAbuseReportList"
      })
    })
      .annotateMerge(access.staffRead)
      .annotate(OpenApi.Summary, "All reports of abuse, oldest first"),
    HttpApiEndpoint.post("triage", "/api/v1/platform/abuse-reports/:id/triage", {
      params,
      payload: Schema.Struct({ reason: Reason }).annotate({
        identifier: "TriageAbuseReport",
        examples: [{ reason: "Plausible; looking at the archive." }]
      }),
      success: StaffAbuseReport,
      error: [NotFound, AbuseReportResolved]
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Say that a report is being looked at, and why"),
    HttpApiEndpoint.post("resolve", "/api/v1/platform/abuse-reports/:id/resolve", {
      params,
      payload: Schema.Struct({ resolution, reason: Reason }).annotate({
        identifier: "ResolveAbuseReport",
        examples: [{ resolution: "actioned" as const, reason: "Version 1.2.0 is quarantined." }]
      }),
      success: StaffAbuseReport,
      error: [NotFound, AbuseReportResolved]
    })
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Close a report with what came of it")
  )
  .middleware(Authenticated)
  .annotateMerge(
    OpenApi.annotations({ title: "Abuse reports", description: "Reports of abuse and what came of them" })
  ) {}
