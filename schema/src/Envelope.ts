/**
 * What the runner writes when it ends: one envelope, with the receipt in it.
 *
 * The envelope with its `result` stays with the person who ran the agent (it is
 * sealed into `output.tar`); a hosted run reports `RunExit`, which holds no text
 * of the run. Spec: Resources, Run; States and transitions, Run.
 */
import { Schema } from "effect"
import { Digest, ReleaseRef } from "./Ids.ts"

/** Exit class by process exit code. Spec: States and transitions, Run. */
export const exitCodes = {
  ok: 0,
  cli: 1,
  usage: 2,
  verify: 10,
  policy: 11,
  compile: 12,
  gateway: 13,
  harness: 14,
  timeout: 15,
  budget: 16,
  outputSchema: 17,
  blocked: 18
} as const

export const ExitClass = Schema.Literals(Object.keys(exitCodes) as Array<keyof typeof exitCodes>).annotate({
  identifier: "ExitClass"
})
export type ExitClass = typeof ExitClass.Type

/** The CLI's step words, in the order in which a run passes them. */
export const Step = Schema.Literals(["fetch", "verify", "policy", "compile", "gateway", "harness", "output"]).annotate({
  identifier: "Step"
})
export type Step = typeof Step.Type

/** Why a run ended as it did; a closed list, so that no text of a run can travel in it. */
export const Reason = Schema.Literals([
  "archive-unreadable",
  "attestation-missing",
  "attestation-invalid",
  "signing-key-unknown",
  "digest-mismatch",
  "capability-refused",
  "isolation-unavailable",
  "secret-absent",
  "manifest-invalid",
  "instructions-missing",
  "intake-invalid",
  "model-unavailable",
  "model-refused",
  "model-rate-limited",
  "tool-failed",
  "no-result",
  "wall-time",
  "turns",
  "tokens",
  "result-invalid",
  "output-too-large",
  "agent-blocked",
  "runner-blocked",
  "interrupted",
  "input-refused",
  "not-reviewed",
  "internal"
]).annotate({ identifier: "Reason" })
export type Reason = typeof Reason.Type

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Tokens count what was processed; cached prefixes are part of `inputTokens`. */
export const RunnerUsage = Schema.Struct({
  inputTokens: count,
  outputTokens: count,
  /** Everything the provider counted; at least input + output. */
  totalTokens: count,
  cachedTokens: count,
  turns: count,
  wallMs: count
}).annotate({ identifier: "RunnerUsage" })
export type RunnerUsage = typeof RunnerUsage.Type

/** Sentences that name the mechanism behind each line of the contract. Clients show them item for item. */
export const CapabilitiesEnforced = Schema.Struct({
  filesystem: Schema.Array(Schema.String),
  exec: Schema.Array(Schema.String),
  network: Schema.Array(Schema.String),
  browser: Schema.Array(Schema.String),
  mcp: Schema.Array(Schema.String),
  runtime: Schema.Array(Schema.String),
  secrets: Schema.Array(Schema.String)
}).annotate({ identifier: "CapabilitiesEnforced" })

export const RunnerReceipt = Schema.Struct({
  release: Schema.Struct({ ref: ReleaseRef, digest: Digest, attestationKeyId: Schema.NullOr(Schema.String) }),
  model: Schema.NullOr(Schema.String),
  capabilities_enforced: CapabilitiesEnforced,
  secrets: Schema.Struct({ used: Schema.Array(Schema.String), absent: Schema.Array(Schema.String) }),
  knowledge: Schema.Array(Schema.Struct({ pack: Schema.String, digest: Digest })),
  withheldInputs: Schema.Array(Schema.String),
  /** Calls by tool name. */
  toolCalls: Schema.Record(Schema.String, count)
}).annotate({ identifier: "RunnerReceipt" })
export type RunnerReceipt = typeof RunnerReceipt.Type

export const Envelope = Schema.Struct({
  version: Schema.Literal(1),
  exitClass: ExitClass,
  exitCode: Schema.Int,
  error: Schema.optionalKey(Schema.Struct({ class: Schema.String, message: Schema.String })),
  stage: Schema.optionalKey(Step),
  reason: Schema.optionalKey(Reason),
  /** The agent's structured or plain result. Text of the run: never leaves the sealed output. */
  result: Schema.optionalKey(Schema.Unknown),
  outputs: Schema.Array(Schema.Struct({ path: Schema.String, bytes: count, digest: Digest })),
  usage: RunnerUsage,
  receipt: RunnerReceipt
}).annotate({ identifier: "Envelope" })
export type Envelope = typeof Envelope.Type

/** The end of a hosted run as its host reports it: the envelope without result, error text and paths. */
export const RunExit = Schema.Struct({
  /** A string, not `ExitClass`: an exit class this registry does not know yet is the outcome `error`. */
  exitClass: Schema.String,
  stage: Schema.optionalKey(Step),
  reason: Schema.optionalKey(Reason),
  /** Which check refused an input. Spec: Limits, Credits 5. */
  detail: Schema.optionalKey(Schema.Literals(["ai-review", "malware"])),
  interrupted: Schema.Boolean,
  usage: RunnerUsage,
  receipt: Schema.NullOr(RunnerReceipt)
}).annotate({ identifier: "RunExit" })
export type RunExit = typeof RunExit.Type

/** Envelope -> what may be told outside the sealed output. */
export const toRunExit = (envelope: Envelope): RunExit => ({
  exitClass: envelope.exitClass,
  ...(envelope.stage === undefined ? {} : { stage: envelope.stage }),
  ...(envelope.reason === undefined ? {} : { reason: envelope.reason }),
  interrupted: envelope.error?.class === "interrupted",
  usage: envelope.usage,
  receipt: envelope.receipt
})
