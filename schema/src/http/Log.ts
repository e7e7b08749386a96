/**
 * The transparency log: every attestation of a published release is a leaf of
 * a Merkle tree that only grows, readable by everyone.
 *
 * RFC 6962 (tree, proofs), https://c2sp.org/tlog-tiles (addresses),
 * https://c2sp.org/tlog-checkpoint and https://c2sp.org/signed-note (checkpoint).
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Identified } from "../Callers.ts"
import { Digest, ReleaseRef } from "../Ids.ts"
import { NotFound, NotLogged } from "../Problems.ts"
import { access } from "../Scopes.ts"

const hex32 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))

export const LogHash = hex32.pipe(
  Schema.annotate({
    description: "SHA-256 of the tree, 64 lowercase hex digits",
    examples: ["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"]
  })
)

/** What the commitment in the leaf of a private agent's release is made of; only its readers get it. */
export const LogOpening = Schema.Struct({
  ref: ReleaseRef,
  archive: Digest,
  /** Of the envelope with its first signature alone. */
  attestation: Digest,
  salt: hex32.pipe(Schema.annotate({ description: "32 random bytes, hex" }))
}).annotate({ identifier: "LogOpening" })
export type LogOpening = typeof LogOpening.Type

export const InclusionProof = Schema.Struct({
  leafIndex: Schema.Int,
  treeSize: Schema.Int,
  /** Of `entry`. */
  leafHash: LogHash,
  /** The audit path of RFC 6962, 2.1.1, from the leaf up. */
  hashes: Schema.Array(LogHash),
  /** The leaf's bytes as text: `{archive, attestation, ref}`, or `{commitment}` of a private agent, as canonical JSON. */
  entry: Schema.String,
  /** SHA-256 over its canonical JSON is the commitment. Null when the entry is in clear, or was asked for by its hash. */
  opening: Schema.NullOr(LogOpening)
}).annotate({
  identifier: "InclusionProof",
  examples: [
    {
      leafIndex: 1,
      treeSize: 2,
      leafHash: "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      hashes: ["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
      entry: '{"archive":"sha256:e3b0...","attestation":"sha256:5f70...","ref":"acme/meeting-notes@1.2.0"}',
      opening: null
    }
  ]
})
export type InclusionProof = typeof InclusionProof.Type

export const ConsistencyProof = Schema.Struct({
  first: Schema.Int,
  second: Schema.Int,
  /** The consistency proof of RFC 6962, 2.1.2. */
  hashes: Schema.Array(LogHash)
}).annotate({
  identifier: "ConsistencyProof",
  examples: [{ first: 1, second: 2, hashes: ["96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"] }]
})
export type ConsistencyProof = typeof ConsistencyProof.Type

const treeSize = Schema.NumberFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 })
).pipe(Schema.annotate({ description: "Leaves of a tree that the log has or had", examples: [2] }))

const segment = (description: string, example: string) =>
  Schema.String.check(Schema.isMaxLength(7)).pipe(Schema.annotate({ description, examples: [example] }))
const level = segment("Level of the tile, or `entries`", "0")

const tile = {
  success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array({ contentType: "application/octet-stream" }), {
    "cache-control": Schema.String,
    "content-length": Schema.String
  }),
  error: NotFound
}

export class LogGroup extends HttpApiGroup.make("log")
  .add(
    HttpApiEndpoint.get("checkpoint", "/checkpoint", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; charset=utf-8" }))
    })
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Size and root of the log as a note, signed by the active signing key"),
    // The address of a tile has one part for each three digits of its number, and two for the width of a partial one.
    HttpApiEndpoint.get("tile", "/tile/:level/:n", {
      params: { level, n: segment("Number of the tile, three digits", "000") },
      ...tile
    })
      .annotateMerge(access.anyone())
      .annotate(
        OpenApi.Summary,
        "A full tile: 256 hashes of 32 bytes, or as many entries behind their two-byte lengths"
      ),
    HttpApiEndpoint.get("tileBelow", "/tile/:level/:x/:n", {
      params: {
        level,
        x: segment("Thousands of the tile's number, or the number of a partial tile", "000.p"),
        n: segment("The number's last three digits, or the width of a partial tile", "17")
      },
      ...tile
    })
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "A partial tile, or a full one from number 1000 on"),
    HttpApiEndpoint.get("partialTileBelow", "/tile/:level/:x/:n/:width", {
      params: {
        level,
        x: segment("Thousands of the tile's number", "x001"),
        n: segment("The number's last three digits", "234.p"),
        width: segment("Hashes or entries, 1 to 255", "17")
      },
      ...tile
    })
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "A partial tile from number 1000 on"),
    HttpApiEndpoint.get("inclusion", "/proof/inclusion", {
      query: {
        ref: Schema.optionalKey(ReleaseRef),
        leaf: Schema.optionalKey(LogHash),
        size: Schema.optionalKey(treeSize)
      },
      success: InclusionProof,
      error: [NotFound, NotLogged]
    })
      .annotateMerge(access.anyone("agent:read"))
      .annotate(
        OpenApi.Summary,
        "Proof that a release's attestation, or a leaf hash, is in the log of a size; without one, of the checkpoint's"
      ),
    HttpApiEndpoint.get("consistency", "/proof/consistency", {
      query: { first: treeSize, second: treeSize },
      success: ConsistencyProof
    })
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Proof that the log of one size begins with the log of a smaller size")
  )
  .middleware(Identified)
  .prefix("/api/v1/log")
  .annotateMerge(
    OpenApi.annotations({
      title: "Transparency log",
      description: "What the registry ever attested, in a tree that only grows and that anyone can check"
    })
  ) {}
