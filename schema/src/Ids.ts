/**
 * Identifiers and the small value types that every part of the contract shares.
 *
 * Ids are ULIDs behind a prefix that names their kind, so that an id in a log
 * line or a ticket says what it is. Times are RFC 3339 in UTC, kept as checked
 * strings: they are only ever compared and shown on the wire.
 */
import { Schema } from "effect"

/** What a text must match, in words: a pattern explains nothing to who wrote the text. */
const like = (pattern: RegExp, expected: string) => Schema.isPattern(pattern, { expected })

const id = <const Prefix extends string>(prefix: Prefix, description: string) =>
  Schema.String.check(Schema.isPattern(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`, "u"))).pipe(
    Schema.annotate({ description, examples: [`${prefix}_01JD8K2Z4W5X6Y7Z8A9B0C1D2E`] })
  )

export const AccountId = id("acc", "An account")
export const OrgId = id("org", "An organization")
export const TeamId = id("team", "A team of an organization")
export const TokenId = id("tok", "A personal access token")
export const SshKeyId = id("key", "An SSH key of an account")
export const SessionId = id("ses", "A browser session")
export const AgentId = id("agt", "An agent")
export const VersionId = id("ver", "A version of an agent")
export const RunId = id("run", "A hosted run")
export const InputId = id("inp", "An uploaded input of a run")
export const HostId = id("host", "A sandbox host")
export const DependencyAlertId = id("dep", "A dependency alert")
export const EnrolmentId = id("enr", "An enrolment of a sandbox host")
export const AbuseReportId = id("abr", "A report of abuse")
export const RulesetReleaseId = id("rsr", "A release of the scan ruleset")

/** RFC 3339 in UTC, as `Date.prototype.toISOString` writes it. */
export const Timestamp = Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/u)).pipe(
  Schema.annotate({ description: "RFC 3339, UTC", format: "date-time", examples: ["2026-11-21T07:00:00.000Z"] })
)

/** `sha256:` and 64 lowercase hex digits. */
export const Digest = Schema.String.check(Schema.isPattern(/^sha256:[0-9a-f]{64}$/u)).pipe(
  Schema.annotate({
    description: "SHA-256 content address",
    examples: ["sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]
  })
)
export type Digest = typeof Digest.Type

/** Account or organization handle; both share one name space. */
export const Handle = Schema.String.check(
  like(/^[a-z0-9](?:[a-z0-9-]{0,37}[a-z0-9])?$/u, "1 to 39 small letters, digits and hyphens, with no hyphen at an end")
).pipe(Schema.annotate({ description: "Handle of an account or organization", examples: ["acme"] }))

export const AgentName = Schema.String.check(
  like(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/u, "1 to 64 small letters, digits and hyphens, with no hyphen at an end")
).pipe(Schema.annotate({ description: "Name of an agent within its namespace", examples: ["meeting-notes"] }))

export const AgentPath = Schema.String.check(like(/^[a-z0-9-]{1,39}\/[a-z0-9-]{1,64}$/u, "an agent as ns/name")).pipe(
  Schema.annotate({ description: "ns/name", examples: ["acme/meeting-notes"] })
)

export const TeamName = Schema.String.check(
  like(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/u, "1 to 64 small letters, digits and hyphens, with no hyphen at an end")
).pipe(Schema.annotate({ description: "Name of a team within its organization", examples: ["billing"] }))

/** Semantic Versioning 2.0.0, without a leading `v`. */
export const Version = Schema.String.check(
  like(
    /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/u,
    "a semantic version as 1.2.0"
  ),
  Schema.isMaxLength(128)
).pipe(Schema.annotate({ description: "Semantic version", examples: ["1.2.0"] }))

/** `ns/name@version`, a release that can be run, verified or installed. */
export const ReleaseRef = Schema.String.check(
  Schema.isPattern(/^[a-z0-9-]{1,39}\/[a-z0-9-]{1,64}@[0-9A-Za-z.+-]{1,128}$/u)
).pipe(Schema.annotate({ description: "Resolved ns/name@version", examples: ["acme/meeting-notes@1.2.0"] }))

/** What the contract's additive rule lets widen: the check is not a part of the document, which would promise its pattern. */
const matching = (pattern: RegExp, message: string) =>
  Schema.makeFilter((text: string) => (pattern.test(text) ? undefined : message))

/**
 * An exact version, also a yanked one, or a range as npm writes it. A range means the version of highest precedence
 * that is published: none that is yanked, quarantined or blocked, and no prerelease unless the range names one.
 */
export const VersionOrRange = Schema.String.check(
  matching(/^[0-9A-Za-z.+\-^~<>=*| ]{1,128}$/u, "is neither a version nor a version range")
).pipe(
  Schema.annotate({
    description: "Exact version, or a range as npm writes it: ^1.2, ~1.2.3, 1.x, >=1.0.0 <2.0.0, *",
    examples: ["1.2.0", "^1.2"]
  })
)

/** `ns/name@version`, `ns/name@range`, or `ns/name` for the latest published release. */
export const AgentRef = Schema.String.check(
  matching(
    /^[a-z0-9-]{1,39}\/[a-z0-9-]{1,64}(@[0-9A-Za-z.+\-^~<>=*| ]{1,128})?$/u,
    "is not ns/name, ns/name@version or ns/name@range"
  )
).pipe(
  Schema.annotate({
    description: "ns/name@version, ns/name@range for the newest published release in it, or ns/name for the latest",
    examples: ["acme/meeting-notes", "acme/meeting-notes@^1.2"]
  })
)

export const Credits = Schema.Int.pipe(Schema.annotate({ description: "Whole credits" }))

/** A limit that is clamped, never refused: above `max` it is `max`, under 1 it is `standard`. Spec: Registry-wide limits, rule 1. */
export const clampedLimit = (max: number, standard: number) =>
  Schema.NumberFromString.check(Schema.isInt()).pipe(
    Schema.annotate({ description: `1 to ${max}, clamped; default ${standard}` })
  )
export const clamp = (limit: number | undefined, max: number, standard: number) =>
  limit === undefined || limit < 1 ? standard : Math.min(limit, max)

/** A negative offset is 0, one past 10000 is 10000. */
export const Offset = Schema.NumberFromString.check(Schema.isInt()).pipe(
  Schema.annotate({ description: "Rows to skip: 0 to 10000, clamped; default 0" })
)
export const clampOffset = (offset: number | undefined) => Math.max(0, Math.min(offset ?? 0, 10_000))

export const IdempotencyKey = Schema.optionalKey(
  Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)).pipe(
    Schema.annotate({ description: "At most 255 characters; the first answer is kept for 24 hours" })
  )
)
