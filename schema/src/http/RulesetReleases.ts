/** Releases of the scan ruleset: which one is in force, and the rescan of what others judged. Spec: Registry core routes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, Idempotent, Identified } from "../Callers.ts"
import { AgentName, Digest, Handle, IdempotencyKey, RulesetReleaseId, Timestamp, Version } from "../Ids.ts"
import { Paged, pageQuery } from "../Page.ts"
import { NotFound, RulesetReleaseRunning } from "../Problems.ts"
import { Finding, StageResult } from "../ScanReport.ts"
import { access } from "../Scopes.ts"

const rules = Schema.Array(Schema.String)

export const RulesetRelease = Schema.Struct({
  id: RulesetReleaseId,
  ruleset: Schema.Struct({
    version: Schema.String,
    /** Hash of the static rules (S8). */
    hash: Digest,
    /** Hash of the malware rules (S4). */
    malwareRules: Digest
  }),
  notes: Schema.String,
  /** Against the release before; of the first one every rule is added. */
  changes: Schema.Struct({ added: rules, changed: rules, removed: rules }),
  /**
   * - `listing`: finding the versions that other rules judged; `total` still grows
   * - `rescanning`: all are listed
   * - `done`
   * - `superseded`: a later release took over what was left
   */
  state: Schema.Literals(["listing", "rescanning", "done", "superseded"]),
  /** Versions to rescan. */
  total: Schema.Int,
  /** Versions that are dealt with, those counted below among them. */
  done: Schema.Int,
  quarantined: Schema.Int,
  /** Published versions that were put on the review queue. */
  flagged: Schema.Int,
  /** Versions that could not be rescanned in five attempts. */
  failed: Schema.Int,
  releasedBy: Handle,
  createdAt: Timestamp,
  finishedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "RulesetRelease" })
export type RulesetRelease = typeof RulesetRelease.Type

export const CreateRulesetRelease = Schema.Struct({
  notes: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000))
}).annotate({
  identifier: "CreateRulesetRelease",
  examples: [{ notes: "Finds instructions that are hidden in tables." }]
})

export class RulesetReleasesGroup extends HttpApiGroup.make("rulesetReleases")
  .add(
    HttpApiEndpoint.post("create", "/", {
      headers: { "idempotency-key": IdempotencyKey },
      payload: CreateRulesetRelease,
      success: RulesetRelease.pipe(HttpApiSchema.status(201)),
      error: RulesetReleaseRunning
    })
      .middleware(Idempotent)
      .annotateMerge(access.staffChange)
      .annotate(OpenApi.Summary, "Put the ruleset of the running program in force and rescan what others judged"),
    HttpApiEndpoint.get("list", "/", {
      query: pageQuery(100, 20),
      success: Paged(RulesetRelease).annotate({ identifier: "RulesetReleaseList" })
    })
      .annotateMerge(access.staffRead)
      .annotate(OpenApi.Summary, "Releases of the ruleset, newest first"),
    HttpApiEndpoint.get("get", "/:id", { params: { id: RulesetReleaseId }, success: RulesetRelease, error: NotFound })
      .annotateMerge(access.staffRead)
      .annotate(OpenApi.Summary, "A release of the ruleset and how far its rescan is")
  )
  .prefix("/api/v1/platform/ruleset-releases")
  .middleware(Authenticated)
  .annotateMerge(
    OpenApi.annotations({ title: "Ruleset releases", description: "The scan ruleset in force, and rescans" })
  ) {}

/** What a later ruleset found in a version. The report of its first scan stays as it is. */
export const Rescan = Schema.Struct({
  release: RulesetReleaseId,
  rulesetVersion: Schema.String,
  /** The stages that ran again. */
  stages: Schema.Array(StageResult),
  /** Findings that no scan of the version had before. */
  newFindings: Schema.Array(Finding),
  /** `recorded`: new findings that neither stop the version nor need a person. */
  outcome: Schema.Literals(["unchanged", "recorded", "flagged", "quarantined"]),
  finishedAt: Timestamp
}).annotate({ identifier: "Rescan" })
export type Rescan = typeof Rescan.Type

export class RescansGroup extends HttpApiGroup.make("rescans")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/agents/:ns/:name/versions/:version/rescans", {
      params: { ns: Handle, name: AgentName, version: Version },
      success: Schema.Struct({ items: Schema.Array(Rescan) }).annotate({ identifier: "RescanList" }),
      error: NotFound
    }).annotate(OpenApi.Summary, "What later rulesets found in a version, newest first; at most the last hundred")
  )
  .middleware(Identified)
  .annotateEndpointsMerge(access.anyone("agent:read"))
  .annotateMerge(OpenApi.annotations({ title: "Rescans", description: "Versions judged again by later rulesets" })) {}
