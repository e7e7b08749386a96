/**
 * Every problem of the API, one class per slug. The `type` member is a
 * reference relative to the registry, so that it leads to the page that
 * explains the slug (`{base_url}/problems/<slug>`). RFC 9457; spec: Errors.
 */
import { Schema } from "effect"
import { HttpApiError } from "effect/http-api"
import { Scope } from "./Scopes.ts"

const typeOf = <const Slug extends string>(slug: Slug) => `/problems/${slug}` as const

/** The slug of a problem's `type`. */
export const slugOf = (type: string) => type.slice("/problems/".length)

const texts = Schema.Array(Schema.String)

export class Validation extends HttpApiError.Problem<Validation>()(
  "Validation",
  { type: typeOf("validation"), status: 422, title: "The request is not valid" },
  {
    errors: Schema.Array(
      Schema.Struct({
        /** RFC 6901 pointer into the part named by `in`. */
        pointer: Schema.String,
        in: Schema.Literals(["path", "query", "header", "body"]),
        message: Schema.String
      })
    )
  }
) {}

/** A 422 about one field of the body. */
export const invalidField = (pointer: string, message: string, where: "path" | "query" | "header" | "body" = "body") =>
  new Validation({ detail: message, errors: [{ pointer, in: where, message }] })

export class Unauthorized extends HttpApiError.Problem<Unauthorized>()("Unauthorized", {
  type: typeOf("unauthorized"),
  status: 401,
  title: "Sign in first"
}) {}

export class Forbidden extends HttpApiError.Problem<Forbidden>()(
  "Forbidden",
  { type: typeOf("forbidden"), status: 403, title: "Not allowed" },
  { required: Schema.optionalKey(Schema.Array(Scope)) }
) {}

export class EmailUnverified extends HttpApiError.Problem<EmailUnverified>()("EmailUnverified", {
  type: typeOf("email-unverified"),
  status: 403,
  title: "Verify your email address first"
}) {}

/** Staff routes want a session whose sign-in is recent. */
export class SignInTooOld extends HttpApiError.Problem<SignInTooOld>()("SignInTooOld", {
  type: typeOf("sign-in-too-old"),
  status: 403,
  title: "Sign in again to act as platform staff"
}) {}

/** A desktop grant's code, or the token of a verification mail. */
export class CodeInvalid extends HttpApiError.Problem<CodeInvalid>()("CodeInvalid", {
  type: typeOf("code-invalid"),
  status: 400,
  title: "The code is unknown, used or expired"
}) {}

export class SsoLinkRequired extends HttpApiError.Problem<SsoLinkRequired>()("SsoLinkRequired", {
  type: typeOf("sso-link-required"),
  status: 409,
  title: "An account with this address exists already"
}) {}

export class SshKeyTaken extends HttpApiError.Problem<SshKeyTaken>()("SshKeyTaken", {
  type: typeOf("ssh-key-taken"),
  status: 409,
  title: "The SSH key is in use"
}) {}

export class SshKeysFull extends HttpApiError.Problem<SshKeysFull>()("SshKeysFull", {
  type: typeOf("ssh-keys-full"),
  status: 409,
  title: "The account has as many SSH keys as it may"
}) {}

export class SignInFailed extends HttpApiError.Problem<SignInFailed>()("SignInFailed", {
  type: typeOf("sign-in-failed"),
  status: 400,
  title: "Sign-in did not complete"
}) {}

export class SignInUnavailable extends HttpApiError.Problem<SignInUnavailable>()("SignInUnavailable", {
  type: typeOf("sign-in-unavailable"),
  status: 503,
  title: "The identity provider does not answer"
}) {}

export class NotFound extends HttpApiError.Problem<NotFound>()("NotFound", {
  type: typeOf("not-found"),
  status: 404,
  title: "Not found"
}) {}

export class MethodNotAllowed extends HttpApiError.Problem<MethodNotAllowed>()("MethodNotAllowed", {
  type: typeOf("method-not-allowed"),
  status: 405,
  title: "Method not allowed"
}) {}

export class TooLarge extends HttpApiError.Problem<TooLarge>()("TooLarge", {
  type: typeOf("too-large"),
  status: 413,
  title: "Too large"
}) {}

export class UnsupportedMediaType extends HttpApiError.Problem<UnsupportedMediaType>()("UnsupportedMediaType", {
  type: typeOf("unsupported-media-type"),
  status: 415,
  title: "Unsupported media type"
}) {}

export class RateLimited extends HttpApiError.Problem<RateLimited>()("RateLimited", {
  type: typeOf("rate-limited"),
  status: 429,
  title: "Too many requests"
}) {}

export class Internal extends HttpApiError.Problem<Internal>()("Internal", {
  type: typeOf("internal"),
  status: 500,
  title: "Internal error"
}) {}

export class Unavailable extends HttpApiError.Problem<Unavailable>()("Unavailable", {
  type: typeOf("unavailable"),
  status: 503,
  title: "Not available now"
}) {}

/** Idempotency-Key reuse with a different body, or while the first attempt runs. */
export class IdempotencyConflict extends HttpApiError.Problem<IdempotencyConflict>()("IdempotencyConflict", {
  type: typeOf("idempotency-conflict"),
  status: 409,
  title: "Idempotency-Key conflict"
}) {}

export class NameTaken extends HttpApiError.Problem<NameTaken>()("NameTaken", {
  type: typeOf("name-taken"),
  status: 409,
  title: "The name is taken"
}) {}

export class LastAdmin extends HttpApiError.Problem<LastAdmin>()("LastAdmin", {
  type: typeOf("last-admin"),
  status: 409,
  title: "An organization keeps at least one admin"
}) {}

export class AlreadyAMember extends HttpApiError.Problem<AlreadyAMember>()("AlreadyAMember", {
  type: typeOf("already-a-member"),
  status: 409,
  title: "The account is an active member of another organization"
}) {}

export class StaffOrgDomain extends HttpApiError.Problem<StaffOrgDomain>()("StaffOrgDomain", {
  type: typeOf("staff-org-domain"),
  status: 409,
  title: "The staff organization takes addresses of its own domain only"
}) {}

export class DomainClaimed extends HttpApiError.Problem<DomainClaimed>()(
  "DomainClaimed",
  { type: typeOf("domain-claimed"), status: 409, title: "Another organization holds the domain" },
  { domain: Schema.String, org: Schema.String }
) {}

export class DomainNotProven extends HttpApiError.Problem<DomainNotProven>()("DomainNotProven", {
  type: typeOf("domain-not-proven"),
  status: 409,
  title: "The domain's DNS does not hold the challenge"
}) {}

/** Any change of an organization, or of what is under it, while it waits to be erased. */
export class OrgDecommissioning extends HttpApiError.Problem<OrgDecommissioning>()(
  "OrgDecommissioning",
  { type: typeOf("org-decommissioning"), status: 409, title: "The organization is read-only until it is erased" },
  { org: Schema.String, decommissionAt: Schema.String }
) {}

export class SubscriptionInactive extends HttpApiError.Problem<SubscriptionInactive>()(
  "SubscriptionInactive",
  { type: typeOf("subscription-inactive"), status: 402, title: "The organization's subscription is not in force" },
  { account: Schema.String, standing: Schema.String, tier: Schema.String }
) {}

/** A new organization waits until the first one is paid for. */
export class OrgPending extends HttpApiError.Problem<OrgPending>()(
  "OrgPending",
  { type: typeOf("org-pending"), status: 409, title: "An organization that you created awaits payment" },
  { org: Schema.String }
) {}

export class SeatAllowance extends HttpApiError.Problem<SeatAllowance>()(
  "SeatAllowance",
  { type: typeOf("seat-allowance"), status: 403, title: "The organization's seats are taken" },
  {
    /** Active members. */
    used: Schema.Int,
    /** Always 0: members are added, not invited. */
    invited: Schema.Int,
    /** Open access requests. */
    pending: Schema.Int,
    max: Schema.Int
  }
) {}

export class FeatureNotIncluded extends HttpApiError.Problem<FeatureNotIncluded>()(
  "FeatureNotIncluded",
  { type: typeOf("feature-not-included"), status: 403, title: "The organization's subscription does not include this" },
  { org: Schema.String, feature: Schema.String }
) {}

/** Only where an admission extension runs. Nothing was stored; the same request may be sent again. */
export class AdmissionUnavailable extends HttpApiError.Problem<AdmissionUnavailable>()("AdmissionUnavailable", {
  type: typeOf("admission-unavailable"),
  status: 503,
  title: "Submissions cannot be admitted now"
}) {}

// Agents and versions

export class PrivateAgentCap extends HttpApiError.Problem<PrivateAgentCap>()("PrivateAgentCap", {
  type: typeOf("private-agent-cap"),
  status: 422,
  title: "No further private agent is included"
}) {}

export class NamespaceFull extends HttpApiError.Problem<NamespaceFull>()("NamespaceFull", {
  type: typeOf("namespace-full"),
  status: 409,
  title: "The namespace holds as many agents as it may"
}) {}

export class VersionExists extends HttpApiError.Problem<VersionExists>()("VersionExists", {
  type: typeOf("version-exists"),
  status: 409,
  title: "This version exists already"
}) {}

export class VersionsPerDay extends HttpApiError.Problem<VersionsPerDay>()("VersionsPerDay", {
  type: typeOf("versions-per-day"),
  status: 429,
  title: "No further version of this agent today"
}) {}

export class VersionNotPublished extends HttpApiError.Problem<VersionNotPublished>()(
  "VersionNotPublished",
  { type: typeOf("version-not-published"), status: 409, title: "The version is not published" },
  { versionStatus: Schema.String }
) {}

export class VersionQuarantined extends HttpApiError.Problem<VersionQuarantined>()("VersionQuarantined", {
  type: typeOf("version-quarantined"),
  status: 409,
  title: "The version is quarantined"
}) {}

export class Blocked extends HttpApiError.Problem<Blocked>()("Blocked", {
  type: typeOf("blocked"),
  status: 410,
  title: "The version is blocked"
}) {}

export class ReportNotReady extends HttpApiError.Problem<ReportNotReady>()("ReportNotReady", {
  type: typeOf("report-not-ready"),
  status: 409,
  title: "The scan has not ended"
}) {}

/** Without an attestation, or published a moment ago. */
export class NotLogged extends HttpApiError.Problem<NotLogged>()("NotLogged", {
  type: typeOf("not-logged"),
  status: 409,
  title: "The release is not in the transparency log"
}) {}

export class AgentRetired extends HttpApiError.Problem<AgentRetired>()("AgentRetired", {
  type: typeOf("agent-retired"),
  status: 409,
  title: "The agent is retired"
}) {}

export class AgentNotRetired extends HttpApiError.Problem<AgentNotRetired>()("AgentNotRetired", {
  type: typeOf("agent-not-retired"),
  status: 409,
  title: "The agent is not retired"
}) {}

export class ConfirmName extends HttpApiError.Problem<ConfirmName>()("ConfirmName", {
  type: typeOf("confirm-name"),
  status: 422,
  title: "Name the agent to delete it with its versions"
}) {}

/** A deleted agent's name is held for good. */
export class NameHeld extends HttpApiError.Problem<NameHeld>()("NameHeld", {
  type: typeOf("name-held"),
  status: 409,
  title: "The name belonged to a deleted agent"
}) {}

/** A version is in the pipeline, in review, quarantined or blocked, or an advisory or an open abuse report exists. */
export class AgentInUse extends HttpApiError.Problem<AgentInUse>()("AgentInUse", {
  type: typeOf("agent-in-use"),
  status: 409,
  title: "The agent cannot be deleted now"
}) {}

export class BuiltinFirstParty extends HttpApiError.Problem<BuiltinFirstParty>()("BuiltinFirstParty", {
  type: typeOf("builtin-first-party"),
  status: 409,
  title: "Only agents of the first-party organization are built in"
}) {}

/** Making an agent public, or submissions of a public one unscanned: only a private agent skips the pipeline. */
export class PipelineSkipPublic extends HttpApiError.Problem<PipelineSkipPublic>()("PipelineSkipPublic", {
  type: typeOf("pipeline-skip-public"),
  status: 409,
  title: "A public agent's versions are scanned"
}) {}

export class PipelineSkipPersonal extends HttpApiError.Problem<PipelineSkipPersonal>()("PipelineSkipPersonal", {
  type: typeOf("pipeline-skip-personal"),
  status: 409,
  title: "Only an organization's private agents skip the pipeline"
}) {}

/** The agent has versions that were admitted unscanned, and stays a private one of an organization. */
export class AgentUnscanned extends HttpApiError.Problem<AgentUnscanned>()(
  "AgentUnscanned",
  { type: typeOf("agent-unscanned"), status: 409, title: "The agent has versions that were never scanned" },
  {
    /** Versions that were admitted unscanned and are not blocked. */
    unscanned: Schema.Int
  }
) {}

/** A fork of an agent into itself, of one that is retired, or of a fork that is still being copied. */
export class ForkSource extends HttpApiError.Problem<ForkSource>()("ForkSource", {
  type: typeOf("fork-source"),
  status: 409,
  title: "The agent cannot be forked so"
}) {}

/** No version of the agent is published. */
export class NothingToFork extends HttpApiError.Problem<NothingToFork>()("NothingToFork", {
  type: typeOf("nothing-to-fork"),
  status: 409,
  title: "The agent has no published version"
}) {}

/** A fork of an agent that was private when it was forked stays private, as long as its source is not public. */
export class ForkStaysPrivate extends HttpApiError.Problem<ForkStaysPrivate>()("ForkStaysPrivate", {
  type: typeOf("fork-stays-private"),
  status: 409,
  title: "A fork of a private agent stays private"
}) {}

export class InstallConsentRequired extends HttpApiError.Problem<InstallConsentRequired>()(
  "InstallConsentRequired",
  { type: typeOf("install-consent-required"), status: 409, title: "The install needs your consent" },
  {
    /** Consents that are missing: capabilities as this document lists them, `unsigned`, `unscanned`. */
    missing: texts,
    /** Capabilities that the installed version did not have. */
    widened: texts
  }
) {}

// Review, advisories, abuse reports, ruleset releases

export class ReviewClaimed extends HttpApiError.Problem<ReviewClaimed>()(
  "ReviewClaimed",
  { type: typeOf("review-claimed"), status: 409, title: "Another reviewer has claimed this version" },
  { claimedBy: Schema.String }
) {}

/** Neither the gate nor a rescan nor staff holds the version, or its owner need not wait for a decision. */
export class VersionNotHeld extends HttpApiError.Problem<VersionNotHeld>()(
  "VersionNotHeld",
  { type: typeOf("version-not-held"), status: 409, title: "The version is not held" },
  { versionStatus: Schema.String }
) {}

export class AlreadyDisputed extends HttpApiError.Problem<AlreadyDisputed>()("AlreadyDisputed", {
  type: typeOf("already-disputed"),
  status: 409,
  title: "The hold is disputed already"
}) {}

/** The advisory's state does not admit this: a draft is published, a published one is withdrawn. */
export class AdvisoryState extends HttpApiError.Problem<AdvisoryState>()(
  "AdvisoryState",
  { type: typeOf("advisory-state"), status: 409, title: "The advisory's state does not admit this" },
  { state: Schema.String }
) {}

export class AbuseReportOpen extends HttpApiError.Problem<AbuseReportOpen>()("AbuseReportOpen", {
  type: typeOf("abuse-report-open"),
  status: 409,
  title: "You have an open report on this agent"
}) {}

export class AbuseReportsPerDay extends HttpApiError.Problem<AbuseReportsPerDay>()("AbuseReportsPerDay", {
  type: typeOf("abuse-reports-per-day"),
  status: 429,
  title: "No further report today"
}) {}

export class AbuseReportResolved extends HttpApiError.Problem<AbuseReportResolved>()("AbuseReportResolved", {
  type: typeOf("abuse-report-resolved"),
  status: 409,
  title: "The report is resolved"
}) {}

export class RulesetReleaseRunning extends HttpApiError.Problem<RulesetReleaseRunning>()("RulesetReleaseRunning", {
  type: typeOf("ruleset-release-running"),
  status: 409,
  title: "This ruleset is being released already"
}) {}

// Hosted runs

export class RunsUnavailable extends HttpApiError.Problem<RunsUnavailable>()("RunsUnavailable", {
  type: typeOf("runs-unavailable"),
  status: 503,
  title: "This deployment cannot take runs now"
}) {}

export class ModeNotDeclared extends HttpApiError.Problem<ModeNotDeclared>()("ModeNotDeclared", {
  type: typeOf("mode-not-declared"),
  status: 409,
  title: "The release does not declare this mode"
}) {}

export class BrowserPublicWeb extends HttpApiError.Problem<BrowserPublicWeb>()("BrowserPublicWeb", {
  type: typeOf("browser-public-web"),
  status: 409,
  title: "This deployment runs no agent that browses the public web"
}) {}

export class BrowserSite extends HttpApiError.Problem<BrowserSite>()(
  "BrowserSite",
  { type: typeOf("browser-site"), status: 409, title: "No host can open this site" },
  { question: Schema.String }
) {}

export class SessionsUnavailable extends HttpApiError.Problem<SessionsUnavailable>()("SessionsUnavailable", {
  type: typeOf("sessions-unavailable"),
  status: 409,
  title: "Hosted sessions are not available"
}) {}

export class CreditsExhausted extends HttpApiError.Problem<CreditsExhausted>()(
  "CreditsExhausted",
  { type: typeOf("credits-exhausted"), status: 402, title: "Not enough credits" },
  {
    account: Schema.String,
    balance: Schema.Int,
    hold: Schema.Int,
    resetsAt: Schema.NullOr(Schema.String),
    tier: Schema.String
  }
) {}

export class SecretsDeclared extends HttpApiError.Problem<SecretsDeclared>()(
  "SecretsDeclared",
  {
    type: typeOf("secrets-declared"),
    status: 409,
    title: "The release requires secrets and this deployment keeps none"
  },
  { required: texts, secrets: texts }
) {}

export class ConnectionsUnsupported extends HttpApiError.Problem<ConnectionsUnsupported>()(
  "ConnectionsUnsupported",
  { type: typeOf("connections-unsupported"), status: 409, title: "This deployment keeps no OAuth connections" },
  { connections: texts }
) {}

export class RunActive extends HttpApiError.Problem<RunActive>()("RunActive", {
  type: typeOf("run-active"),
  status: 409,
  title: "The account has an active run"
}) {}

export class KnowledgeAttachUnavailable extends HttpApiError.Problem<KnowledgeAttachUnavailable>()(
  "KnowledgeAttachUnavailable",
  { type: typeOf("knowledge-attach-unavailable"), status: 503, title: "Knowledge packs cannot be attached here" }
) {}

export class VoiceBuildUnavailable extends HttpApiError.Problem<VoiceBuildUnavailable>()("VoiceBuildUnavailable", {
  type: typeOf("voice-build-unavailable"),
  status: 503,
  title: "This deployment cannot attach a voice"
}) {}

export class OutputNotReady extends HttpApiError.Problem<OutputNotReady>()("OutputNotReady", {
  type: typeOf("output-not-ready"),
  status: 409,
  title: "The run has no output yet"
}) {}

// Hosts

export class EnrolmentInvalid extends HttpApiError.Problem<EnrolmentInvalid>()("EnrolmentInvalid", {
  type: typeOf("enrolment-invalid"),
  status: 401,
  title: "The enrolment token is not valid"
}) {}

export class EnrolmentNotOpen extends HttpApiError.Problem<EnrolmentNotOpen>()("EnrolmentNotOpen", {
  type: typeOf("enrolment-not-open"),
  status: 409,
  title: "The enrolment was used, revoked or has expired"
}) {}

export class HostRetired extends HttpApiError.Problem<HostRetired>()("HostRetired", {
  type: typeOf("host-retired"),
  status: 409,
  title: "The host is retired"
}) {}
