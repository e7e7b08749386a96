import { assert, layer } from "@effect/vitest"
import { migrations as catalogMigrations } from "@quickagents/catalog"
import { migrations as identityMigrations } from "@quickagents/identity"
import { migrations as orgsMigrations } from "@quickagents/orgs"
import { Audit, migrations as platformMigrations, Settings } from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import type { DsseEnvelope } from "@quickagents/schema"
import { Effect, Fiber, Layer, Logger, Redacted, Result } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, createPublicKey, verify } from "node:crypto"
import { importSigningKey, makeStatement, migrations, sign, SigningKeys } from "./index.ts"
import { reattest } from "./Reattest.ts"

const seed = (fill: number) => Buffer.alloc(32, fill).toString("base64")
const keyOf = (fill: number) => Result.getOrThrow(importSigningKey(Redacted.make(seed(fill))))
const settingsWith = (fill: number) =>
  Layer.succeed(Settings.Settings, {
    ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
    "keys.signingKey": seed(fill)
  })
/** As a node that starts with this key. */
const startedWith = (fill: number) => Layer.fresh(SigningKeys.layer.pipe(Layer.provide(settingsWith(fill))))

const Live = Audit.Audit.layer.pipe(
  Layer.provideMerge(
    layerDatabase({
      ...platformMigrations,
      ...identityMigrations,
      ...orgsMigrations,
      ...catalogMigrations,
      ...migrations
    })
  ),
  Layer.provideMerge(Logger.layer([]))
)

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** Shares nothing with the signer: DSSE by its specification, on node:crypto. */
const verifies = (envelope: DsseEnvelope, publicKey: Uint8Array) => {
  const payload = Buffer.from(envelope.payload, "base64")
  const message = Buffer.concat([
    Buffer.from(`DSSEv1 ${envelope.payloadType.length} ${envelope.payloadType} ${payload.length} `),
    payload
  ])
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") },
    format: "jwk"
  })
  const keyid = createHash("sha256").update(publicKey).digest("hex")
  return envelope.signatures.some(
    (signed) => signed.keyid === keyid && verify(null, message, key, Buffer.from(signed.sig, "base64"))
  )
}

const release = Effect.fnUntraced(function* (index: number, statedDigest?: string) {
  const sql = yield* SqlClient.SqlClient
  const digest = sha256(`archive ${index}`)
  const version = `1.0.${index}`
  const statement = makeStatement({
    baseUrl: "https://registry.example",
    ref: `ada/notes@${version}`,
    archive: `sha256:${statedDigest ?? digest}`,
    predicate: {
      verdict: "clean",
      stages: [],
      rulesetHash: "r",
      rubricHash: "q",
      judge: { provider: "local", model: "local-1" },
      report: { digest: `sha256:${digest}` },
      manifest: { digest: `sha256:${digest}` },
      capabilities: {},
      submitter: "ada",
      source: { kind: "upload" },
      submittedAt: "2026-01-01T00:00:00.000Z",
      scannedAt: "2026-01-01T00:00:00.000Z",
      signedAt: "2026-01-01T00:00:00.000Z"
    }
  })
  const envelope = sign(statement, keyOf(1))
  yield* sql`INSERT INTO versions (id, agent_id, version, status, archive_digest, archive_bytes, manifest_schema_version, scan_status,
      attestation, source_kind, submitted_by, created_at, progressed_at)
    VALUES (${`ver_${String(index).padStart(5, "0")}`}, 'agt', ${version}, 'published', ${`sha256:${digest}`}, 1, 2, 'scanned',
      ${JSON.stringify(envelope)}, 'upload', 'acc', now(), now())`
  return envelope.payload
})

const envelopes = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ attestation: DsseEnvelope }>`SELECT attestation FROM versions ORDER BY id`
).pipe(Effect.map((rows) => rows.map(({ attestation }) => attestation)))

layer(Live)("a rotation of the signing key", (it) => {
  it.effect(
    "[JOB-009] countersigns 1,000 releases, goes on after it was cut off, and changes no statement",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO namespaces VALUES ('ada', 'account', 'acc')`
        yield* sql`INSERT INTO agents (id, namespace, name, visibility, created_by, created_at, updated_at)
          VALUES ('agt', 'ada', 'notes', 'public', 'acc', now(), now())`
        const before = yield* sql.withTransaction(
          Effect.forEach(
            Array.from({ length: 1_000 }, (_, index) => index),
            (index) => release(index)
          )
        )
        yield* Effect.provide(SigningKeys, startedWith(1))
        const sweep = Effect.provide(reattest, startedWith(2))

        const cutOff = yield* Effect.forkChild(sweep)
        while ((yield* envelopes).filter(({ signatures }) => signatures.length === 2).length === 0)
          yield* Effect.yieldNow
        yield* Fiber.interrupt(cutOff)
        const half = (yield* envelopes).filter(({ signatures }) => signatures.length === 2).length
        assert.isBelow(half, 1_000)

        const { refused, signed } = yield* sweep
        assert.deepStrictEqual([signed, refused], [1_000 - half, 0])
        const after = yield* envelopes
        assert.deepStrictEqual(
          after.map(({ payload }) => payload),
          before
        )
        for (const envelope of after) {
          assert.isTrue(verifies(envelope, keyOf(1).publicKey), "an old pin")
          assert.isTrue(verifies(envelope, keyOf(2).publicKey), "a new pin")
          assert.isFalse(verifies(envelope, keyOf(3).publicKey))
        }
        assert.deepStrictEqual(yield* sweep, { signed: 0, refused: 0 })
        const list = yield* Effect.flatMap(SigningKeys, (keys) => keys.list).pipe(Effect.provide(startedWith(2)))
        assert.deepStrictEqual(
          list.map(({ keyId, status }) => [keyId, status]),
          [
            [keyOf(2).keyId, "active"],
            [keyOf(1).keyId, "retired"]
          ]
        )
      }),
    60_000
  )

  it.effect("signs no statement that is about another archive, and says so in the audit log", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* release(5_000, sha256("another archive"))
      const counted = yield* Effect.provide(reattest, startedWith(2))
      assert.deepStrictEqual(counted, { signed: 0, refused: 1 })
      const [entry] = yield* sql<{
        target: string
      }>`SELECT target FROM audit_entries WHERE action = 'scan.attestation_refused'`
      assert.strictEqual(entry?.target, "ada/notes@1.0.5000")
      const [last] = (yield* envelopes).slice(-1)
      assert.strictEqual(last?.signatures.length, 1)
    })
  )
})
