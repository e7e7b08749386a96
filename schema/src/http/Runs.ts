/** Hosted runs. Spec: Resources, Run; States and transitions, Run; Hosted runs (extension). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, Idempotent, Identified } from "../Callers.ts"
import { Reason, RunnerReceipt, Step } from "../Envelope.ts"
import { AgentRef, Credits, Digest, Handle, IdempotencyKey, InputId, ReleaseRef, RunId, Timestamp } from "../Ids.ts"
import { Mode } from "../Manifest.ts"
import {
  BrowserPublicWeb,
  BrowserSite,
  ConnectionsUnsupported,
  CreditsExhausted,
  KnowledgeAttachUnavailable,
  ModeNotDeclared,
  NotFound,
  OutputNotReady,
  RunActive,
  RunsUnavailable,
  SecretsDeclared,
  SessionsUnavailable,
  SubscriptionInactive,
  TooLarge,
  VoiceBuildUnavailable
} from "../Problems.ts"
import { access } from "../Scopes.ts"

export const Tier = Schema.Literals(["standard", "pro", "business", "enterprise"]).annotate({ identifier: "Tier" })
export type Tier = typeof Tier.Type

export const RunKind = Schema.Literals([
  "run",
  "session",
  "knowledge_build",
  "draft",
  "revision",
  "voice_build"
]).annotate({
  identifier: "RunKind"
})
export type RunKind = typeof RunKind.Type

export const RunStatus = Schema.Literals(["queued", "claimed", "running", "cancelled", "finished"]).annotate({
  identifier: "RunStatus"
})
export type RunStatus = typeof RunStatus.Type

export const Outcome = Schema.Literals([
  "succeeded",
  "failed",
  "timeout",
  "budget",
  "interrupted",
  "refused",
  "error",
  "blocked"
]).annotate({ identifier: "Outcome" })
export type Outcome = typeof Outcome.Type

/** Never tokens. */
export const Caps = Schema.Struct({ seconds: Schema.Int, turns: Schema.Int }).annotate({ identifier: "Caps" })

/** The runner's envelope without result text and usage, and how a failed run ended. */
export const RunReceipt = Schema.Struct({
  ...RunnerReceipt.fields,
  stage: Schema.optionalKey(Step),
  reason: Schema.optionalKey(Reason)
}).annotate({ identifier: "RunReceipt" })
export type RunReceipt = typeof RunReceipt.Type

export const Run = Schema.Struct({
  id: RunId,
  ref: ReleaseRef,
  archiveDigest: Digest,
  kind: RunKind,
  mode: Mode,
  status: RunStatus,
  caps: Caps,
  /** 0 for the unmetered first-party organization. */
  holdCredits: Credits,
  payer: Handle,
  /** 1 is next; null once the run has left the queue. */
  queuePosition: Schema.NullOr(Schema.Int),
  /** When a queued run is cancelled if nobody has claimed it. */
  expiresAt: Timestamp,
  createdAt: Timestamp,
  claimedAt: Schema.NullOr(Timestamp),
  startedAt: Schema.NullOr(Timestamp),
  finishedAt: Schema.NullOr(Timestamp),
  cancelRequestedAt: Schema.NullOr(Timestamp),
  outcome: Schema.NullOr(Outcome),
  exitClass: Schema.NullOr(Schema.String),
  settledCredits: Schema.NullOr(Credits),
  /** `credits`: what the model use came to at close rates, before the hold capped it. */
  usage: Schema.NullOr(Schema.Struct({ turns: Schema.Int, wallMs: Schema.Int, credits: Credits })),
  receipt: Schema.NullOr(RunReceipt),
  error: Schema.NullOr(Schema.Struct({ class: Schema.String, message: Schema.String })),
  outputs: Schema.Array(Schema.Struct({ name: Schema.Literal("output.tar"), bytes: Schema.Int })),
  /** Null on a staff read. */
  task: Schema.NullOr(Schema.String),
  intake: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)),
  inputs: Schema.Array(Schema.Struct({ name: Schema.String, bytes: Schema.Int, digest: Digest })),
  /** Names only, of declared secrets the run carries. */
  secrets: Schema.Array(Schema.String),
  knowledge: Schema.Array(
    Schema.Struct({
      pack: Schema.String,
      name: Schema.String,
      digest: Digest,
      org: Schema.optionalKey(Handle),
      shared: Schema.optionalKey(Schema.Literal(true))
    })
  ),
  voice: Schema.NullOr(Schema.Struct({ digest: Digest })),
  /** AI Review scans of the run's inputs. */
  inputReview: Schema.Int,
  /** Only in the answer to its creation, and only when there are any: for people to see, such as that the pinned version is yanked. */
  warnings: Schema.optionalKey(Schema.Array(Schema.String)),
  /** True on a staff read: task, intake, receipt and error are empty. */
  withheld: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "Run", description: "A hosted run" })
export type Run = typeof Run.Type

const KiB64 = 65_536

export const CreateRun = Schema.Struct({
  ref: AgentRef,
  task: Schema.optionalKey(
    Schema.String.pipe(Schema.annotate({ description: `The text the agent receives, at most ${KiB64} bytes` }))
  ),
  intake: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).pipe(Schema.annotate({ description: "The release's intake answers" }))
  ),
  inputs: Schema.optionalKey(
    Schema.Array(InputId).pipe(Schema.annotate({ description: "At most 20 uploaded inputs" }))
  ),
  knowledge: Schema.optionalKey(
    Schema.Array(Schema.String).pipe(Schema.annotate({ description: "At most 5 packs, each once" }))
  ),
  voice: Schema.optionalKey(Schema.Boolean),
  mode: Schema.optionalKey(Mode),
  ask_optional_secrets: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "CreateRun", examples: [{ ref: "demo/csv-summary", task: "Summarise the attached table." }] })
export type CreateRun = typeof CreateRun.Type

export const RunInput = Schema.Struct({
  id: InputId,
  name: Schema.String,
  bytes: Schema.Int,
  digest: Digest,
  expiresAt: Timestamp
}).annotate({
  identifier: "RunInput"
})

/** `data` is JSON: for `status` a RunStatusRow. `id` is the row's sequence number. */
export const RunEvent = Schema.Struct({
  id: Schema.String,
  event: Schema.Literals(["log", "status", "charge", "error", "done", "timeout"]),
  data: Schema.String
}).annotate({ identifier: "RunEvent" })

export const RunStatusRow = Schema.Struct({
  status: RunStatus,
  at: Timestamp,
  host: Schema.optionalKey(Schema.Literal("sandbox")),
  outcome: Schema.optionalKey(Outcome),
  turns: Schema.optionalKey(Schema.Int),
  credits: Schema.optionalKey(Credits)
}).annotate({ identifier: "RunStatusRow" })
export type RunStatusRow = typeof RunStatusRow.Type

const CapsAndHold = Schema.Struct({ caps: Caps, holdCredits: Credits })

export const RunsStatus = Schema.Struct({
  available: Schema.Boolean,
  queued: Schema.Int,
  tiers: Schema.Record(Tier, Schema.Struct({ caps: Caps, holdCredits: Credits, build: CapsAndHold })),
  knowledgeBuild: Schema.Struct({ available: Schema.Boolean, holdCredits: Credits, packScanCredits: Credits }),
  draft: Schema.Struct({ available: Schema.Boolean, holdCredits: Credits }),
  voiceBuild: Schema.Struct({ available: Schema.Boolean, holdCredits: Credits, attach: Schema.Boolean }),
  knowledgeAttach: Schema.Struct({ enabled: Schema.Boolean, maxPacks: Schema.Int }),
  sessions: Schema.Struct({
    enabled: Schema.Boolean,
    freeMinutes: Schema.Int,
    minuteCredits: Credits,
    minCredits: Credits,
    idleCloseSeconds: Schema.Int,
    allowed: Schema.Record(Tier, Schema.Boolean)
  }),
  hostsOnline: Schema.Int,
  /** Deprecated. */
  workersOnline: Schema.Literal(0),
  caller: Schema.optionalKey(
    Schema.Struct({
      tier: Tier,
      account: Handle,
      caps: Caps,
      holdCredits: Credits,
      buildHoldCredits: Credits,
      draftHoldCredits: Credits,
      voice: Schema.Boolean,
      session: Schema.Struct({ allowed: Schema.Boolean })
    })
  )
}).annotate({ identifier: "RunsStatus" })
export type RunsStatus = typeof RunsStatus.Type

export class RunsStatusGroup extends HttpApiGroup.make("runsStatus")
  .add(
    HttpApiEndpoint.get("status", "/api/v1/x/runs/status", { success: RunsStatus })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Can this deployment take runs, and on which terms")
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Runs status", description: "What anyone may know about hosted runs here" })
  ) {}

export class RunsGroup extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.post("create", "/", {
      headers: { "idempotency-key": IdempotencyKey },
      payload: CreateRun,
      success: HttpApiSchema.WithHeaders(Run.pipe(HttpApiSchema.status(201)), { location: Schema.String }),
      error: [
        NotFound,
        TooLarge,
        ModeNotDeclared,
        BrowserPublicWeb,
        BrowserSite,
        SessionsUnavailable,
        CreditsExhausted,
        SubscriptionInactive,
        SecretsDeclared,
        ConnectionsUnsupported,
        RunActive,
        KnowledgeAttachUnavailable,
        VoiceBuildUnavailable,
        RunsUnavailable
      ]
    })
      .middleware(Idempotent)
      .annotateMerge(access.account("run:write"))
      .annotate(OpenApi.Summary, "Ask for a hosted run of a published release"),
    HttpApiEndpoint.get("list", "/", {
      success: Schema.Struct({ items: Schema.Array(Run) }).annotate({ identifier: "RunList" })
    })
      .annotateMerge(access.account("run:read"))
      .annotate(OpenApi.Summary, "The caller's newest fifty runs"),
    HttpApiEndpoint.post("uploadInput", "/inputs", {
      query: {
        name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)).pipe(
          Schema.annotate({ description: "Relative name in the workspace", examples: ["sales.csv"] })
        )
      },
      payload: HttpApiSchema.StreamUint8Array({ contentType: "application/octet-stream", maxBytes: "10 MiB" }),
      success: RunInput.pipe(HttpApiSchema.status(201)),
      error: [TooLarge, RunsUnavailable]
    })
      .annotateMerge(access.account("run:write"))
      .annotate(OpenApi.Summary, "Upload one input file, at most 10 MB"),
    HttpApiEndpoint.get("get", "/:id", { params: { id: RunId }, success: Run, error: NotFound })
      .annotateMerge(access.account("run:read"))
      .annotate(OpenApi.Summary, "Read a run"),
    HttpApiEndpoint.get("events", "/:id/events", {
      params: { id: RunId },
      query: { after: Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt())) },
      headers: { "last-event-id": Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt())) },
      success: HttpApiSchema.StreamSse({ events: RunEvent }),
      error: NotFound
    })
      .annotateMerge(access.account("run:read"))
      .annotate(OpenApi.Summary, "Events of a run as server-sent events"),
    HttpApiEndpoint.get("output", "/:id/outputs/:name", {
      params: { id: RunId, name: Schema.String.pipe(Schema.annotate({ examples: ["output.tar"] })) },
      success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array({ contentType: "application/x-tar" }), {
        "cache-control": Schema.String,
        "content-disposition": Schema.String
      }),
      error: [NotFound, OutputNotReady]
    })
      .annotateMerge(access.account("run:read"))
      .annotate(OpenApi.Summary, "Download the decrypted output.tar; only the person who ran it"),
    HttpApiEndpoint.post("cancel", "/:id/cancel", { params: { id: RunId }, success: Run, error: NotFound })
      .annotateMerge(access.account("run:write"))
      .annotate(OpenApi.Summary, "Cancel a run")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/x/runs")
  .annotateMerge(
    OpenApi.annotations({
      title: "Hosted runs",
      description: "Queued, paid from held credits, run in a sandbox, returned as one sealed output"
    })
  ) {}
