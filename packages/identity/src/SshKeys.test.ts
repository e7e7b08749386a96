import { assert, layer } from "@effect/vitest"
import type { Scope } from "@quickagents/schema"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { generateKeyPairSync } from "node:crypto"
import { Credentials } from "./Credentials.ts"
import { aPerson, layerTestRegistry, send } from "./testing/TestRegistry.ts"

/** Keys as ssh-keygen made them, with the fingerprints that it shows. */
const keys = [
  [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJugipTTL/2knAcmstuR858lBLv8HRDgqBB7S3KPIim3",
    "SHA256:sUmthRpK0eJJRcCgFEStKqmMvAD8FLYUkXwHfZ1/5hw"
  ],
  [
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHkTGJKRbywgkGWIBs6foTs8XdMUJFdlUkiy45c06YE006Wbqd7WVDm6tur27+BN8xaGe+83U60AWypP65Pmh+c=",
    "SHA256:HP6lEMv+XvuQYqY9xKxVMj++C2FyQ34WwSIdy7FlePQ"
  ],
  [
    "ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBAYvHPZk/0UrPHYzPsPGFriO3H1vlY/9lWcla05suuQvyE9QlTY4JXIm7Gy+w9kVizqgy+n0CNLaWcAw8Oe6GHy8drxjaYRhRltJW/dbeAy8Kg944qKRkHUgqj722QRQ5g==",
    "SHA256:+gLBm2YK6ftyBHmYCg4DcDD1r31j0N5ucKWUXFaMpWo"
  ],
  [
    "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBAFVqTx57x9QcYliyTMRuAAkrHMnIXQXi6qmDxWhv1Lsv0fVaOUsxBbB/eLlpS6LdB2nNggSvmAbcyTaCR2uyzKFjQHGOI7a9Yhu/BzSuQqf6aEEuBTkvoA0Z3JGWiq8kGuMc0n3f4pOZwvY1IlumsH8/cb66r8lplxkxWJXf2X6iLW3IQ==",
    "SHA256:V4KKomhWxa75SEXCho2CYzgPImLn2EKXbtQ7HiBcliw"
  ],
  [
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC5xBG+569labTe6ZH60MnOefI0IItNT7pPMihdnZ2KlRMIVYvLH+9opjBJrls94np+Ui3kdKg1Ras+0uqdqgNyio8ce+gr7OmDOEKVx/KjLKfQq8xm1KWx1JDJNtfGZ8DRpwKt0ca85q3Nn8UzPlZIGzx3bZYK7JKb4nzgBSB61jFDyc66REL67AopESjK6qbPB+czS5NRrKxSxwmw0FOnuH0ewtnRs5BIkutIO/HNGCzlbvYQBoxCvxPNnpyemFo76W8jVlo8Rsv/5ueDUm+tnyDzhWdJ15Japsq30xA32puNCfKxA17kLK5kGdH2BvT+eV3rt1jmLtETDVjSrZVP",
    "SHA256:x17ESM2eUT74sq3nsX/1FR5xX1eFpdLUWACSFCH+LUQ"
  ]
] as const
const shortRsa =
  "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDC/nZcw8mECuCxX9k1SCGWYxM4neSXM7RQAZk65bPhAQHZ8kN9f6xzFJFVXwDU843zJd7qsOdahvwdmxx58a2FRJq44SXntEb2iP+30UV6tnR4YcCdq2PZJvIdtPQ7K50n9vooi4M8fzvVMJ8oW97VEwvJtxvXmM28AssA6eV1GQ=="
const dss =
  "ssh-dss AAAAB3NzaC1kc3MAAACBALIFg9EkCLoBnhtsww6dyLTQpRO7ii9iScVmTsU0b8quoHcyivD3677KPU6c22jU4qDdPm9+06kcdywIiztRCl/6ZIoqXqsTK8UiDVmkG3tmtXwZstTRt5LVdOXgTZGZmVk4j2vgncJCVf8To61RSeklnQ33L4blAdx5kK/KZ+dpAAAAFQDCwW4+XB3QuO8k+RBighUWp4U9fwAAAIEApHbylrjz6dRUFm6pW+ZF131YbgPWc8c9R0K4nKo+k3aKWRCK9DjKyL+mLMtX9iELdlMCCtBj7RMjNGlqnbjWuSKlv+D5dFz52Q2fq3algy2dJu2Cuk1CGLy/tgMx2zITFETkwO9/uJWnedY0DZG1CHnlVyxlFF3bzCCjO0dznacAAACAf7VsqySWHLFGujkYV5KC7Egp4J4dwP+d6s1zZPwflWaFOS+BZellvCvs7aJrKyGEsRGkpfhBryag4vq7Pcss0KvfrHpTqzbjaREWJ86cRloEtEHxX6dpx+cUaVPwFs4M8p00CIe9WvzlY8BdoN4zOaBfosWezP4eqgm6lyRGw3Y="
const certificate =
  "ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIEAp1Zgo5Z0kiWZrWUSEZzg9ec9hMQ2gphIcPrOszAOdAAAAIJugipTTL/2knAcmstuR858lBLv8HRDgqBB7S3KPIim3AAAAAAAAAAAAAAABAAAAAXgAAAAAAAAAAAAAAAD//////////wAAAAAAAACCAAAAFXBlcm1pdC1YMTEtZm9yd2FyZGluZwAAAAAAAAAXcGVybWl0LWFnZW50LWZvcndhcmRpbmcAAAAAAAAAFnBlcm1pdC1wb3J0LWZvcndhcmRpbmcAAAAAAAAACnBlcm1pdC1wdHkAAAAAAAAADnBlcm1pdC11c2VyLXJjAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIJugipTTL/2knAcmstuR858lBLv8HRDgqBB7S3KPIim3AAAAUwAAAAtzc2gtZWQyNTUxOQAAAEDjug7OOZKNdJqVyswc6+vpl5OnBBf0In2IEbyzEBKe1yblFYwhu8zz2YX/1zRTZZEL74FD0t7kYNMpNZajH4wC"

const [ed25519] = keys[0]
const rsa = keys[4][0]
const path = "/api/v1/user/keys"

/** A key that nobody has. */
const aKey = () => {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" })
  const head = Buffer.from(ed25519.split(" ")[1], "base64").subarray(0, 19)
  return `ssh-ed25519 ${Buffer.concat([head, Buffer.from(x, "base64url")]).toString("base64")}`
}
const respelled = (key: string, change: (wire: Buffer) => Buffer) => {
  const [type, base64] = key.split(" ")
  return `${type} ${change(Buffer.from(base64, "base64")).toString("base64")}`
}
/** The same modulus with a zero more before it. */
const padded = (wire: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(wire.readUInt32BE(18) + 1)
  return Buffer.concat([wire.subarray(0, 18), length, Buffer.alloc(1), wire.subarray(22)])
}

layer(layerTestRegistry(() => ({})))("SSH keys", (it) => {
  const add = (person: { readonly changing: Record<string, string> }, key: unknown, title: unknown = "laptop") =>
    send(path, {
      method: "POST",
      headers: { ...person.changing, "content-type": "application/json" },
      body: JSON.stringify({ title, key })
    })

  it.effect("of every type that is taken are added, listed, read and deleted, each with its audit entry", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada")
      const eve = yield* aPerson("eve")
      const sql = yield* SqlClient.SqlClient
      const ids: Array<string> = []
      for (const [key, fingerprint] of keys) {
        const added = yield* add(ada, `${key} ada@laptop\n`)
        assert.strictEqual(added.status, 201, JSON.stringify(added.body))
        assert.deepInclude(added.body, { title: "laptop", key, fingerprint, lastUsedAt: null })
        ids.push(added.body.id)
      }
      const listed = yield* send(path, { headers: ada.headers })
      assert.deepStrictEqual(
        listed.body.items.map(({ id }: { id: string }) => id),
        ids.toReversed()
      )
      const [id] = ids
      const read = (person: { readonly headers: Record<string, string> }) =>
        send(`${path}/${id}`, { headers: person.headers })
      assert.strictEqual((yield* read(ada)).body.fingerprint, keys[0][1])
      assert.strictEqual((yield* read(eve)).status, 404)
      assert.deepStrictEqual((yield* send(path, { headers: eve.headers })).body.items, [])

      const remove = (person: { readonly changing: Record<string, string> }) =>
        Effect.map(send(`${path}/${id}`, { method: "DELETE", headers: person.changing }), ({ status }) => status)
      assert.strictEqual(yield* remove(eve), 404)
      assert.strictEqual(yield* remove(ada), 204)
      assert.strictEqual(yield* remove(ada), 404)
      assert.strictEqual((yield* read(ada)).status, 404)
      const audited = yield* sql<{
        action: string
      }>`SELECT action FROM audit_entries WHERE target = ${id} ORDER BY id`
      assert.deepStrictEqual(
        audited.map(({ action }) => action),
        ["user.ssh_key_add", "user.ssh_key_delete"]
      )
    })
  )

  it.effect("that are no good are refused with the reason, and nothing is stored", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada-refused")
      const wrong: ReadonlyArray<readonly [key: string, reason: RegExp]> = [
        [dss, /DSA/],
        [shortRsa, /1024 bits/],
        [certificate, /certificates/],
        ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbg==\n-----END OPENSSH PRIVATE KEY-----", /private key/],
        [`${aKey()}\n${aKey()}`, /more than one line/],
        [`no-pty ${aKey()}`, /type that is taken/],
        ["ssh-ed25519", /whole/],
        ["ssh-ed25519 AAAA", /whole/],
        [ed25519.slice(0, -4), /whole/],
        [`${ed25519}AAAA`, /whole/],
        [ed25519.replace("ssh-ed25519 ", "ssh-rsa "), /whole/],
        // Another spelling of the same key would be another fingerprint.
        [respelled(rsa, padded), /whole/],
        [ed25519.replace("AAAAC3", "AAAA C3"), /whole/],
        [respelled(keys[1][0], (wire) => wire.fill(1, wire.length - 8)), /sound/]
      ]
      for (const [key, reason] of wrong) {
        const refused = yield* add(ada, key)
        assert.strictEqual(refused.status, 422, key)
        assert.strictEqual(refused.body.errors[0].pointer, "/key")
        assert.match(refused.body.errors[0].message, reason)
      }
      for (const [key, title] of [
        [aKey(), ""],
        [aKey(), "x".repeat(101)],
        [7, "laptop"],
        [`${aKey()} ${"x".repeat(8_192)}`, "laptop"],
        [undefined, "laptop"]
      ])
        assert.strictEqual((yield* add(ada, key, title)).status, 422)
      assert.deepStrictEqual((yield* send(path, { headers: ada.headers })).body.items, [])
    })
  )

  it.effect("belong to one account of the whole registry, and an account has at most a hundred", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada-unique")
      const eve = yield* aPerson("eve-unique")
      const key = aKey()
      assert.strictEqual((yield* add(ada, key)).status, 201)
      for (const person of [eve, ada]) {
        const taken = yield* add(person, `${key} mine`)
        assert.strictEqual(taken.status, 409)
        assert.strictEqual(taken.body.type, "/problems/ssh-key-taken")
      }
      const many = yield* Effect.all(
        Array.from({ length: 104 }, () => add(eve, aKey())),
        { concurrency: 8 }
      )
      assert.lengthOf(
        many.filter(({ status }) => status === 201),
        100
      )
      assert.strictEqual(many.find(({ status }) => status !== 201)?.body.type, "/problems/ssh-keys-full")
      assert.lengthOf((yield* send(path, { headers: eve.headers })).body.items, 100)
    })
  )

  it.effect("stand for git alone, know when they were used, and are added by a verified address", () =>
    Effect.gen(function* () {
      const ada = yield* aPerson("ada-used")
      const uma = yield* aPerson("uma", { verified: false })
      assert.strictEqual((yield* add(uma, aKey())).body.type, "/problems/email-unverified")
      const { body } = yield* add(ada, aKey())
      // To be looked up is not to be used, however often.
      yield* (yield* Credentials).ofSshKey(body.fingerprint)
      const found = yield* (yield* Credentials).ofSshKey(body.fingerprint)
      assert.deepInclude(found?.account, {
        handle: "ada-used",
        credential: { kind: "sshKey", id: body.id },
        scopes: new Set<Scope>(["repo:read", "repo:write"])
      })
      assert.isNull(yield* (yield* Credentials).ofSshKey("SHA256:none"))
      const used = Effect.map(send(`${path}/${body.id}`, { headers: ada.headers }), (answer) => answer.body.lastUsedAt)
      assert.isNull(yield* used)
      yield* found!.used
      let at = yield* used
      for (let tries = 0; at === null && tries < 500; tries++) at = yield* used
      assert.isNotNull(at)
      // Neither the key nor its fingerprint is a credential of the API.
      for (const text of [body.fingerprint, body.key.split(" ")[1], body.id]) {
        const refused = yield* send("/api/v1/user", { headers: { authorization: `Bearer ${text}` } })
        assert.strictEqual(refused.status, 401)
      }
    })
  )
})
