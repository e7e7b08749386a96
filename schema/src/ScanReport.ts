/**
 * Findings, stages and the report of the scan gate. A finding never holds the
 * secret or the injected text that it is about. Spec: SCAN; decisions on stages
 * stand in ARCHITECTURE.md.
 */
import { Schema } from "effect"
import { Digest, ReleaseRef, Timestamp } from "./Ids.ts"

export const StageId = Schema.Literals([
  "S0",
  "S1",
  "S2",
  "S3",
  "S4",
  "S5",
  "S6",
  "S7",
  "S8",
  "S9",
  "S10",
  "SK"
]).annotate({
  identifier: "StageId"
})
export type StageId = typeof StageId.Type

export const stageNames = {
  S0: "pipeline",
  S1: "archive",
  S2: "manifest",
  S3: "text",
  S4: "malware",
  S5: "secrets",
  S6: "capabilities",
  S7: "dependencies",
  S8: "rules",
  S9: "review",
  S10: "trial",
  SK: "knowledge"
} as const satisfies Record<StageId, string>

export const Severity = Schema.Literals(["info", "low", "medium", "high", "critical"]).annotate({
  identifier: "Severity"
})
export type Severity = typeof Severity.Type

export const Finding = Schema.Struct({
  stage: StageId,
  /** Stable name of the rule, `kebab-case`. */
  rule: Schema.String,
  severity: Severity,
  file: Schema.optionalKey(Schema.String),
  line: Schema.optionalKey(Schema.Int),
  chunk: Schema.optionalKey(Schema.Int),
  message: Schema.String
}).annotate({ identifier: "Finding" })
export type Finding = typeof Finding.Type

export const StageResult = Schema.Struct({
  stage: StageId,
  name: Schema.String,
  /** `skipped` says in `detail` why; a skipped stage never counts as passed. */
  status: Schema.Literals(["passed", "findings", "skipped", "failed"]),
  detail: Schema.optionalKey(Schema.String),
  /** Version of the stage's code, and digests of what it decided with (ruleset, rubric, model). */
  inputs: Schema.Record(Schema.String, Schema.String),
  findings: Schema.Array(Finding),
  durationMs: Schema.Int
}).annotate({ identifier: "StageResult" })
export type StageResult = typeof StageResult.Type

export const Verdict = Schema.Literals(["clean", "findings", "unscanned", "blocked"]).annotate({
  identifier: "Verdict"
})
export type Verdict = typeof Verdict.Type

export const ScanReport = Schema.Struct({
  version: Schema.Literal(1),
  ref: ReleaseRef,
  archive: Digest,
  manifest: Schema.NullOr(Digest),
  verdict: Verdict,
  stages: Schema.Array(StageResult),
  findingCounts: Schema.Record(Severity, Schema.Int),
  startedAt: Timestamp,
  finishedAt: Timestamp
}).annotate({ identifier: "ScanReport" })
export type ScanReport = typeof ScanReport.Type

/** DSSE envelope, https://github.com/secure-systems-lab/dsse */
export const DsseEnvelope = Schema.Struct({
  payloadType: Schema.String,
  payload: Schema.String,
  signatures: Schema.Array(Schema.Struct({ keyid: Schema.String, sig: Schema.String }))
}).annotate({
  identifier: "DsseEnvelope",
  examples: [
    {
      payloadType: "application/vnd.in-toto+json",
      payload: "eyJfdHlwZSI6...",
      signatures: [{ keyid: "5f70bf18...", sig: "MEUCIQ..." }]
    }
  ]
})
export type DsseEnvelope = typeof DsseEnvelope.Type

/** One key of `/.well-known/<service>/signing-keys.json`. */
export const SigningKey = Schema.Struct({
  keyId: Schema.String,
  algorithm: Schema.Literal("ed25519"),
  /** Raw public key, 32 bytes, base64. */
  publicKey: Schema.String,
  status: Schema.Literals(["active", "retired"]),
  createdAt: Timestamp,
  retiredAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "SigningKey" })
export type SigningKey = typeof SigningKey.Type
