/**
 * The protocol between a registry and its sandbox hosts.
 *
 * The registry is always the client; the host never opens a connection to it.
 * RPC (NDJSON over HTTP, path `/rpc`) and two raw routes for bytes run on one
 * TLS 1.3 server that asks for the registry's client certificate:
 *
 * - `HEAD /objects/{digest}` and `PUT /objects/{digest}`: archives and sealed
 *   inputs, pushed before `Take`; the host checks the digest while it writes.
 * - `GET /runs/{runId}/output`: the sealed `output.tar` of a run that ended,
 *   kept until `Forget`.
 *
 * The registry's certificate carries the URI SAN `registryUri`, a host's leaf
 * carries `hostUri(hostId)`; each side refuses any other peer.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { RunExit } from "./Envelope.ts"
import { Digest, HostId, ReleaseRef, RunId, Timestamp } from "./Ids.ts"
import { Mode } from "./Manifest.ts"

export const registryUri = "quickagents://registry"
export const hostUri = (hostId: string) => `quickagents://host/${hostId}`

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Base64 = Schema.String

/** What the model gateway of a host talks to. `apiKey` never enters the sandbox. */
export const ModelAccess = Schema.Struct({
  provider: Schema.Literals(["scripted", "anthropic", "openai", "openai-compatible"]),
  baseUrl: Schema.optionalKey(Schema.String),
  /** Exact model id. */
  model: Schema.String,
  apiKey: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ModelAccess" })
export type ModelAccess = typeof ModelAccess.Type

/** An object that was pushed with `PUT /objects/{object}`, sealed under `dataKey` in the context `context`. */
export const SealedObject = Schema.Struct({
  /** Digest of the sealed bytes: the address of the object. */
  object: Digest,
  /** 32 bytes. */
  dataKey: Base64,
  context: Schema.String
})

export const HandOffInput = Schema.Struct({
  name: Schema.String,
  bytes: count,
  /** Digest of the plain bytes. */
  digest: Digest,
  sealed: SealedObject
})

export const HandOff = Schema.Struct({
  runId: RunId,
  ref: ReleaseRef,
  /** Digest of the release archive, pushed in the clear. */
  archive: Digest,
  /** DSSE envelope as JSON text, or null for a release admitted unscanned: the step `verify` refuses that. */
  attestation: Schema.NullOr(Schema.String),
  task: Schema.String,
  intake: Schema.Record(Schema.String, Schema.Unknown),
  mode: Mode,
  inputs: Schema.Array(HandOffInput),
  secrets: Schema.Array(
    Schema.Struct({ name: Schema.String, value: Schema.String, deliver: Schema.Literals(["env", "browser", "header"]) })
  ),
  caps: Schema.Struct({ seconds: Schema.Int, turns: Schema.Int }),
  model: ModelAccess,
  /** X25519 public key, 32 bytes: `output.tar` is sealed to it. */
  sealTo: Base64,
  maxOutputBytes: Schema.Int
}).annotate({ identifier: "HandOff" })
export type HandOff = typeof HandOff.Type

/** Numbered from 1 without gaps for one run, kept by the host until `Forget`. */
export const HostEvent = Schema.Struct({
  seq: Schema.Int,
  at: Timestamp,
  event: Schema.Union([
    Schema.Struct({ type: Schema.Literal("started") }),
    /** Running totals, not increments. */
    Schema.Struct({ type: Schema.Literal("tokens"), input: count, output: count, total: count }),
    Schema.Struct({ type: Schema.Literal("turn"), turns: count }),
    /** `bytes` and `digest` of the sealed bytes, `plainBytes` of the tar; `key` is the data key sealed to `sealTo`. */
    Schema.Struct({ type: Schema.Literal("sealed"), bytes: count, plainBytes: count, digest: Digest, key: Base64 }),
    /** The last event of a run. */
    Schema.Struct({ type: Schema.Literal("exited"), exit: RunExit })
  ])
}).annotate({ identifier: "HostEvent" })
export type HostEvent = typeof HostEvent.Type

/** Between events the host sends a heartbeat each second, so that a frozen host is noticed. */
export const WatchItem = Schema.Union([HostEvent, Schema.Struct({ heartbeat: Schema.Literal(true) })])
export type WatchItem = typeof WatchItem.Type

export const HostHealth = Schema.Struct({
  hostId: HostId,
  version: Schema.String,
  slots: Schema.Struct({ total: count, used: count }),
  draining: Schema.Boolean,
  acceptsSealedObjects: Schema.Boolean,
  acceptsBrowser: Schema.Boolean,
  acceptsInputReview: Schema.Boolean,
  acceptsSessions: Schema.Boolean,
  /** False when the host was started with weak isolation allowed and lacks a part of the sandbox. */
  fullIsolation: Schema.Boolean,
  /** Runs the host holds, running or ended and not yet forgotten. */
  runs: Schema.Array(RunId),
  certificateExpiresAt: Timestamp
}).annotate({ identifier: "HostHealth" })
export type HostHealth = typeof HostHealth.Type

/** The host does not take the run; it goes back to the queue. */
export class TakeRefused extends Schema.TaggedError<TakeRefused>()("TakeRefused", {
  reason: Schema.Literals(["no-slot", "draining", "object-missing", "isolation-unavailable", "unsupported"])
}) {}

/** The host does not hold this run: it was forgotten, or the host lost it in a restart. */
export class RunUnknown extends Schema.TaggedError<RunUnknown>()("RunUnknown", { runId: RunId }) {}

export class HostProtocol extends RpcGroup.make(
  Rpc.make("Health", { success: HostHealth }),
  /** Idempotent: a run that the host already holds is accepted again. */
  Rpc.make("Take", { payload: HandOff, success: Schema.Void, error: TakeRefused }),
  /** Events after `afterSeq`, then live ones, ending after `exited`. */
  Rpc.make("Watch", {
    payload: { runId: RunId, afterSeq: count },
    success: WatchItem,
    error: RunUnknown,
    stream: true
  }),
  /** Interrupts the runner; the run still ends with `exited`. Unknown runs are ignored. */
  Rpc.make("Cancel", {
    payload: { runId: RunId, reason: Schema.Literals(["cancelled", "tokens"]) },
    success: Schema.Void
  }),
  /** The finish is stored: the host may delete everything of this run. */
  Rpc.make("Forget", { payload: { runId: RunId }, success: Schema.Void }),
  /** First half of a certificate renewal: the host makes a new key and answers a CSR. */
  Rpc.make("RenewalRequest", { success: Schema.Struct({ csr: Schema.String }) }),
  /** Second half: the new leaf is used from the next handshake on. */
  Rpc.make("Renew", { payload: { certificate: Schema.String, caChain: Schema.String }, success: Schema.Void }),
  /** The attestation keys that this host pins, replaced as a whole. */
  Rpc.make("PinKeys", {
    payload: { keys: Schema.Array(Schema.Struct({ keyId: Schema.String, publicKey: Base64 })) },
    success: Schema.Void
  }),
  /** Takes no new run; those it holds go on. */
  Rpc.make("Drain", { success: Schema.Void })
) {}
