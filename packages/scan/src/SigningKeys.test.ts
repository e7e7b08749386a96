import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { migrations as catalogMigrations } from "@quickagents/catalog"
import * as Identity from "@quickagents/identity"
import { memberships, migrations as orgsMigrations } from "@quickagents/orgs"
import { Audit, HttpEdge, migrations as platformMigrations, RateLimits, Settings } from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import { KeySet, WellKnownGroup } from "@quickagents/schema"
import { Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"
import { migrations, ScanHttp, SigningKeys } from "./index.ts"

class TestApi extends HttpApi.make("registry").add(WellKnownGroup) {}

const withKey = (fill: number | null): Settings.Values => ({
  ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
  "service.name": "quickagents",
  "limits.anonymousPerMin": 100_000,
  "keys.signingKey": fill === null ? null : Buffer.alloc(32, fill).toString("base64")
})
/** The keys as a node sees them that starts with this configured key. */
const keysOf = (fill: number | null) =>
  SigningKeys.layer.pipe(Layer.provide(Layer.succeed(Settings.Settings, withKey(fill))))
const starts = (fill: number | null) =>
  Effect.gen(function* () {
    const keys = yield* SigningKeys
    return { active: keys.active.keyId, list: yield* keys.list }
  }).pipe(Effect.provide(Layer.fresh(keysOf(fill))))

const services = Identity.layer.pipe(
  Layer.provideMerge(memberships),
  Layer.provideMerge(Layer.mergeAll(Audit.Audit.layer, RateLimits.layer, keysOf(1))),
  Layer.provideMerge(
    layerDatabase({
      ...platformMigrations,
      ...Identity.migrations,
      ...orgsMigrations,
      ...catalogMigrations,
      ...migrations
    })
  ),
  Layer.provideMerge(Layer.succeed(Settings.Settings, withKey(1))),
  Layer.provideMerge(Logger.layer([]))
)
const routes = HttpApiBuilder.layer(TestApi).pipe(
  Layer.provide(ScanHttp),
  Layer.provide(Identity.authentication),
  Layer.provideMerge(HttpEdge.layer(TestApi))
)
const Live = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provideMerge(services)
)

const keySet = (service: string) =>
  HttpServer.addressFormattedWith((url) =>
    Effect.promise(async () => {
      const response = await fetch(`${url}/.well-known/${service}/signing-keys.json`)
      return { status: response.status, body: (await response.json()) as typeof KeySet.Type }
    })
  )

/** A version whose attestation carries these signatures. */
const attested = Effect.fnUntraced(function* (version: string, ...keyIds: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO namespaces VALUES ('ada', 'account', 'acc') ON CONFLICT DO NOTHING`
  yield* sql`INSERT INTO agents (id, namespace, name, visibility, created_by, created_at, updated_at)
    VALUES ('agt', 'ada', 'notes', 'public', 'acc', now(), now()) ON CONFLICT DO NOTHING`
  const attestation = JSON.stringify({
    payloadType: "t",
    payload: "",
    signatures: keyIds.map((keyid) => ({ keyid, sig: "" }))
  })
  yield* sql`INSERT INTO versions (id, agent_id, version, status, archive_digest, archive_bytes, manifest_schema_version, scan_status,
      attestation, source_kind, submitted_by, created_at, progressed_at)
    VALUES (${`ver_${version}`}, 'agt', ${version}, 'published', 'sha256:0', 1, 2, 'scanned', ${attestation}, 'upload', 'acc', now(), now())`
})

layer(Live, { excludeTestServices: true })("signing keys", (it) => {
  it.effect(
    "[SCAN-010] [SCAN-013] the key before is retired, and listed while an attestation carries its signature",
    () =>
      Effect.gen(function* () {
        const first = yield* starts(1)
        assert.deepStrictEqual(
          first.list.map(({ keyId, status }) => [keyId, status]),
          [[first.active, "active"]]
        )
        assert.isNull(first.list[0].retiredAt)
        const second = yield* starts(2)
        assert.notStrictEqual(second.active, first.active)
        // Nothing carries the first key's signature: there is nothing left to verify with it.
        assert.deepStrictEqual(
          second.list.map(({ keyId }) => keyId),
          [second.active]
        )

        yield* attested("1.0.0", "someone-else", first.active)
        const listed = yield* keySet("quickagents")
        assert.strictEqual(listed.status, 200)
        assert.deepStrictEqual(
          listed.body.keys.map(({ keyId, status }) => [keyId, status]),
          [
            [second.active, "active"],
            [first.active, "retired"]
          ]
        )
        assert.isNotNull(listed.body.keys[1].retiredAt)
        assert.lengthOf(Buffer.from(listed.body.keys[0].publicKey, "base64"), 32)
        assert.strictEqual(listed.body.keys[0].algorithm, "ed25519")

        // The same key again changes nothing; the old one, configured again, is active again.
        assert.deepStrictEqual((yield* starts(2)).list, listed.body.keys)
        const back = yield* starts(1)
        assert.deepInclude(
          back.list.find(({ keyId }) => keyId === first.active),
          { status: "active", retiredAt: null }
        )
      })
  )

  it.effect("nodes that start together agree on one active key", () =>
    Effect.gen(function* () {
      yield* Effect.all([starts(3), starts(3), starts(3), starts(3)], { concurrency: "unbounded" })
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql`SELECT 1 FROM signing_keys WHERE status = 'active'`, 1)
    })
  )

  it.effect("another service's key set is not here", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* keySet("other")).status, 404)
    })
  )

  it.effect("a registry without a key does not start, and says which setting is missing", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(starts(null))
      assert.strictEqual(refused._tag, "SettingsInvalid")
      assert.match(refused.message, /keys\.signingKey is missing/)
    })
  )
})
