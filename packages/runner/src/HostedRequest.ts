/**
 * The document that a sandbox host writes to the runner's stdin: a hand-off
 * without the model's key and address, which only the host may know. Paths are
 * those that the runner sees in its sandbox.
 */
import { Digest, HandOff, Mode, ModelAccess, ReleaseRef } from "@quickagents/schema"
import { Schema } from "effect"

/** An attestation key that the host pins. `keyId` is the hex SHA-256 of the raw public key, `publicKey` its 32 bytes in base64. */
export const PinnedKey = Schema.Struct({ keyId: Schema.String, publicKey: Schema.String })
export type PinnedKey = typeof PinnedKey.Type

export const HostedRequest = Schema.Struct({
  ref: ReleaseRef,
  /** Of the archive, as the registry knows it. */
  digest: Digest,
  /** Path of the release's gzip tar. */
  archive: Schema.String,
  /** DSSE envelope as JSON text, or null for a release admitted unscanned, which the step `verify` refuses. */
  attestation: Schema.NullOr(Schema.String),
  pinnedKeys: Schema.Array(PinnedKey),
  task: Schema.String,
  intake: Schema.Record(Schema.String, Schema.Unknown),
  mode: Mode,
  /** Directory that the run works in; the inputs lie in it already, under their names. */
  workspace: Schema.String,
  inputs: Schema.Array(Schema.Struct({ name: Schema.String, bytes: Schema.Int, digest: Digest })),
  secrets: HandOff.fields.secrets,
  caps: HandOff.fields.caps,
  /** `socket` answers completion requests for this one model; nobody listens there for `scripted`. */
  model: Schema.Struct({ provider: ModelAccess.fields.provider, model: Schema.String, socket: Schema.String }),
  /** Unix socket of the HTTP proxy that lets out what the manifest lists. */
  egressSocket: Schema.String,
  maxOutputBytes: Schema.Int,
  /** What the host says of its isolation, for the receipt. */
  runtime: Schema.Array(Schema.String)
}).annotate({ identifier: "HostedRequest" })
export type HostedRequest = typeof HostedRequest.Type
