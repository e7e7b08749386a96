/**
 * The key that signs attestations, and the public part of every key that ever
 * did. A retired key stays listed while an attestation carries its signature.
 * Spec: Versioning 4.
 */
import { Database, Settings } from "@quickagents/platform"
import type { SigningKey } from "@quickagents/schema"
import { Clock, Context, Effect, Layer, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { SigningKeyPair } from "./Attestation.ts"
import { importSigningKey } from "./Attestation.ts"

interface Row {
  readonly keyId: string
  readonly publicKey: string
  readonly status: "active" | "retired"
  readonly createdAt: Date
  readonly retiredAt: Date | null
}

export class SigningKeys extends Context.Service<
  SigningKeys,
  {
    readonly active: SigningKeyPair
    /** Active first, then the retired ones that still count. */
    readonly list: Effect.Effect<ReadonlyArray<SigningKey>>
  }
>()("scan/SigningKeys") {
  /** Makes the configured key the active one and retires the one before. */
  static readonly layer = Layer.effect(
    SigningKeys,
    Effect.gen(function* () {
      const settings = yield* Settings.Settings
      const sql = yield* SqlClient.SqlClient
      const configured = settings["keys.signingKey"]
      if (configured === null) {
        return yield* new Settings.SettingsInvalid({
          problems: ["keys.signingKey is missing: attestations are signed with it"]
        })
      }
      const imported = importSigningKey(Redacted.make(configured))
      if (Result.isFailure(imported)) {
        return yield* new Settings.SettingsInvalid({ problems: [`keys.signingKey ${imported.failure.reason}`] })
      }
      const active = imported.success
      const now = new Date(yield* Clock.currentTimeMillis)
      yield* Database.transaction(sql)(
        Effect.gen(function* () {
          // One at a time: nodes that start together must not both retire and insert.
          yield* sql`LOCK TABLE signing_keys IN EXCLUSIVE MODE`
          yield* sql`UPDATE signing_keys SET status = 'retired', retired_at = ${now} WHERE status = 'active' AND key_id <> ${active.keyId}`
          yield* sql`INSERT INTO signing_keys ${sql.insert({
            keyId: active.keyId,
            publicKey: Buffer.from(active.publicKey).toString("base64"),
            status: "active",
            createdAt: now
          })} ON CONFLICT (key_id) DO UPDATE SET status = 'active', retired_at = NULL`
        })
      )
      return SigningKeys.of({
        active,
        list: sql<Row>`
          SELECT key_id, public_key, status, created_at, retired_at FROM signing_keys k
          WHERE status = 'active' OR EXISTS (
            SELECT FROM versions v WHERE v.attestation -> 'signatures' @> jsonb_build_array(jsonb_build_object('keyid', k.key_id))
          ) ORDER BY status, created_at DESC`.pipe(
          Effect.map((rows) =>
            rows.map((row): SigningKey => ({
              keyId: row.keyId,
              algorithm: "ed25519",
              publicKey: row.publicKey,
              status: row.status,
              createdAt: row.createdAt.toISOString(),
              retiredAt: row.retiredAt?.toISOString() ?? null
            }))
          ),
          Effect.orDie
        )
      })
    })
  )
}
