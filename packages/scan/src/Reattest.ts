/**
 * `scan.reattest_sweep`: after a rotation each attestation gets the new key's
 * countersignature, so that a client that pins the new key can verify what the
 * old one signed. A statement is first checked against its release and never
 * changed. Spec: Versioning 4.
 */
import { Audit } from "@quickagents/platform"
import type { DsseEnvelope } from "@quickagents/schema"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "./Attestation.ts"
import { countersign, statementPayloadType, verifiedBy } from "./Attestation.ts"
import { SigningKeys } from "./SigningKeys.ts"

interface Row {
  readonly id: string
  readonly ref: string
  readonly namespace: string
  readonly archiveDigest: string
  readonly attestation: DsseEnvelope
}

const batch = 200

/** The statement is about this release, and one of our keys has signed it. */
const isOurs = (row: Row, publicKeys: ReadonlyArray<Uint8Array>): boolean => {
  if (row.attestation.payloadType !== statementPayloadType || verifiedBy(row.attestation, publicKeys).length === 0)
    return false
  const { subject } = JSON.parse(Buffer.from(row.attestation.payload, "base64").toString("utf8")) as Statement
  return subject[0].name === row.ref && `sha256:${subject[0].digest.sha256}` === row.archiveDigest
}

/** Goes on where an earlier sweep stopped: what carries the active key already is not looked at. Answers what it signed and what it refused. */
export const reattest = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit.Audit
  const keys = yield* SigningKeys
  const publicKeys = (yield* keys.list).map(({ publicKey }) => new Uint8Array(Buffer.from(publicKey, "base64")))
  const carried = JSON.stringify([{ keyid: keys.active.keyId }])
  const counted = { signed: 0, refused: 0 }
  let after = ""
  while (true) {
    const rows = yield* sql<Row>`
      SELECT v.id, a.namespace, coalesce(v.released_as, a.namespace || '/' || a.name) || '@' || v.version AS ref, v.archive_digest, v.attestation
      FROM versions v JOIN agents a ON a.id = v.agent_id
      WHERE v.attestation IS NOT NULL AND NOT (v.attestation -> 'signatures' @> ${carried}::jsonb) AND v.id > ${after}
      ORDER BY v.id LIMIT ${batch}`
    for (const row of rows) {
      after = row.id
      if (!isOurs(row, publicKeys)) {
        counted.refused++
        yield* Effect.logError("an attestation does not state its release").pipe(
          Effect.annotateLogs({ version: row.id })
        )
        yield* audit.record({
          actor: Audit.system,
          action: "scan.attestation_refused",
          target: row.ref,
          org: row.namespace,
          detail: { keyId: keys.active.keyId }
        })
        continue
      }
      // Two nodes may sweep at once: the one that comes second finds another envelope, and leaves it.
      yield* sql`UPDATE versions SET attestation = ${JSON.stringify(countersign(row.attestation, keys.active))}::jsonb
        WHERE id = ${row.id} AND attestation = ${JSON.stringify(row.attestation)}::jsonb`
      counted.signed++
    }
    if (rows.length < batch) return counted
  }
})
