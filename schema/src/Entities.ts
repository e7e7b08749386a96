/**
 * The messages of the sharded entities. Only `supervise` and `scan` are
 * persisted: their loss would lose a run or a version. Every other handler writes its row first, so a repeated or
 * dropped message is harmless. ARCHITECTURE.md says who calls whom.
 */
import { Schema } from "effect"
import { ClusterSchema, Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import { RunReceipt, RunKind, Outcome, Tier } from "./http/Runs.ts"
import { Digest, InputId, ReleaseRef, RunId, Timestamp, VersionId } from "./Ids.ts"
import { Mode } from "./Manifest.ts"
import { CreditsExhausted, RunActive } from "./Problems.ts"

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** An uploaded input that a run carries; `dataKey` is wrapped by the key service. */
export const RunInputRecord = Schema.Struct({
  id: InputId,
  name: Schema.String,
  bytes: count,
  digest: Digest,
  object: Digest,
  dataKey: Schema.String
})
export type RunInputRecord = typeof RunInputRecord.Type

/** A run as it enters the queue. Its text is sealed before it is sent. */
export const NewRun = Schema.Struct({
  id: RunId,
  accountId: Schema.String,
  payer: Schema.String,
  tier: Tier,
  unmetered: Schema.Boolean,
  kind: RunKind,
  mode: Mode,
  versionId: Schema.String,
  ref: ReleaseRef,
  archiveDigest: Digest,
  slots: count,
  needsBrowser: Schema.Boolean,
  capsSeconds: count,
  capsTurns: count,
  tokenCap: count,
  holdCredits: count,
  request: Schema.Uint8ArrayFromBase64,
  requestKey: Schema.String,
  inputs: Schema.Array(RunInputRecord),
  sealTo: Schema.String,
  openWith: Schema.Uint8ArrayFromBase64,
  expiresAt: Timestamp,
  idempotencyKey: Schema.NullOr(Schema.String)
}).annotate({ identifier: "NewRun" })
export type NewRun = typeof NewRun.Type

/** How a run ends and what becomes of its hold. Booked once, whoever reports it and however often. */
export const RunEnd = Schema.Struct({
  runId: RunId,
  payer: Schema.String,
  /** The states the run may be in; in any other the end changes nothing. */
  from: Schema.Literals(["queued", "active"]),
  status: Schema.Literals(["cancelled", "finished"]),
  outcome: Schema.NullOr(Outcome),
  charge: Schema.Literals(["tokens", "review", "nothing"]),
  holdCredits: count,
  exitClass: Schema.NullOr(Schema.String),
  errorClass: Schema.NullOr(Schema.String),
  usage: Schema.Struct({ input: count, output: count, total: count, turns: count, wallMs: count }),
  inputsReviewed: Schema.Boolean,
  receipt: Schema.NullOr(RunReceipt),
  output: Schema.NullOr(Schema.Struct({ object: Digest, bytes: count, key: Schema.String }))
}).annotate({ identifier: "RunEnd" })
export type RunEnd = typeof RunEnd.Type

/** Id: payer handle. The single writer of the payer's credits and ledger lines. */
export const LedgerEntity = Entity.make("Ledger", [
  Rpc.make("open", { payload: NewRun, success: Schema.Void, error: Schema.Union([CreditsExhausted, RunActive]) }),
  /** True when this call ended the run; false when it had ended before. */
  Rpc.make("end", { payload: RunEnd, success: Schema.Boolean }),
  /** False when a grant of this id was booked before. */
  Rpc.make("grant", { payload: { payer: Schema.String, id: Schema.String, credits: count }, success: Schema.Boolean })
])

/** Id: run id. Supervises the run from its claim to its end. */
export const RunEntity = Entity.make("Run", [
  Rpc.make("supervise", {
    payload: {
      runId: RunId,
      /** One message a claim, and one more for each time a sweep found nobody supervising. */ turn: Schema.String
    },
    success: Schema.Void,
    primaryKey: ({ runId, turn }) => `${runId}:${turn}`
  }).annotate(ClusterSchema.Persisted, true),
  /** The row already says that the run is to be cancelled: tell its supervisor now. */
  Rpc.make("cancel", { success: Schema.Void })
])

/** Id: host id. Watches the host and claims work for it. */
export const HostEntity = Entity.make("Host", [
  /** Starts the watch if it does not run, and looks at the row again. */
  Rpc.make("wake", { success: Schema.Void })
])

/** Id: version id. Takes a version through the stages of the gate. */
export const ScanEntity = Entity.make("Scan", [
  Rpc.make("scan", {
    payload: {
      versionId: VersionId,
      /** One message a submission, and one more for each time it was found idle. */ turn: Schema.String
    },
    success: Schema.Void,
    primaryKey: ({ turn, versionId }) => `${versionId}:${turn}`
  }).annotate(ClusterSchema.Persisted, true)
])
