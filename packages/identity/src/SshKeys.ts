/** The SSH keys of accounts: a credential of git alone. A key belongs to one account of the whole registry. Spec: Authentication, other rules 3. */
import { Audit, Database, newId } from "@quickagents/platform"
import { invalidField, NotFound, SshKeysFull, SshKeyTaken } from "@quickagents/schema"
import type { Account, AddSshKey, FeatureNotIncluded, SshKeyRecord, Validation } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Memberships } from "./Memberships.ts"
import { readSshPublicKey } from "./SshPublicKey.ts"

interface SshKeyRow {
  readonly id: string
  readonly title: string
  readonly key: string
  readonly fingerprint: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

const maxKeys = 100

const toRecord = (row: SshKeyRow): SshKeyRecord => ({
  id: row.id,
  title: row.title,
  key: row.key,
  fingerprint: row.fingerprint,
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null
})

export class SshKeys extends Context.Service<
  SshKeys,
  {
    /** Newest first. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<SshKeyRecord>>
    readonly get: (accountId: string, keyId: string) => Effect.Effect<SshKeyRecord, NotFound>
    /** Fails with `Validation` for what is no key that is taken, and with `SshKeyTaken` when any account has it. */
    readonly add: (
      account: Account,
      key: typeof AddSshKey.Type
    ) => Effect.Effect<SshKeyRecord, Validation | FeatureNotIncluded | SshKeyTaken | SshKeysFull>
    readonly remove: (account: Account, keyId: string) => Effect.Effect<void, NotFound>
  }
>()("identity/SshKeys") {
  static readonly layer = Layer.effect(
    SshKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit.Audit
      const memberships = yield* Memberships
      const transaction = Database.transaction(sql)
      const columns = sql.literal("id, title, key, fingerprint, created_at, last_used_at")
      const note = (account: Account, action: string, keyId: string, detail?: Record<string, unknown>) =>
        audit.record({
          actor: { type: "account", id: account.accountId, handle: account.handle },
          action,
          target: keyId,
          ...(detail === undefined ? {} : { detail })
        })

      return SshKeys.of({
        list: (accountId) =>
          sql<SshKeyRow>`SELECT ${columns} FROM ssh_keys WHERE account_id = ${accountId} ORDER BY id DESC`.pipe(
            Effect.map((rows) => rows.map(toRecord)),
            Effect.orDie
          ),
        get: (accountId, keyId) =>
          sql<SshKeyRow>`SELECT ${columns} FROM ssh_keys WHERE id = ${keyId} AND account_id = ${accountId}`.pipe(
            Effect.orDie,
            Effect.flatMap(([row]) =>
              row === undefined ? Effect.fail(new NotFound({})) : Effect.succeed(toRecord(row))
            )
          ),
        add: Effect.fn("SshKeys.add")(function* (account, { key: line, title }) {
          const key = readSshPublicKey(line)
          if (typeof key === "string") return yield* invalidField("/key", key)
          const refusal = yield* memberships.sshRefusal(account.accountId)
          if (refusal !== null) return yield* refusal
          const row: SshKeyRow = {
            id: yield* newId("key"),
            title,
            key: key.text,
            fingerprint: key.fingerprint,
            createdAt: new Date(yield* Clock.currentTimeMillis),
            lastUsedAt: null
          }
          yield* transaction(
            Effect.gen(function* () {
              // One after the other: two at once must not both find room for the last.
              yield* sql`SELECT 1 FROM accounts WHERE id = ${account.accountId} FOR NO KEY UPDATE`
              const [{ count }] = yield* sql<{ count: number }>`
                SELECT count(*)::integer AS count FROM ssh_keys WHERE account_id = ${account.accountId}`
              if (count >= maxKeys)
                return yield* new SshKeysFull({ detail: `An account has at most ${maxKeys} SSH keys` })
              yield* sql`INSERT INTO ssh_keys ${sql.insert({ ...row, accountId: account.accountId })}`.pipe(
                Effect.catch((error) =>
                  Database.uniqueConstraint(error) === "ssh_keys_fingerprint"
                    ? Effect.fail(new SshKeyTaken({ detail: "An account of this registry has this key already" }))
                    : Effect.die(error)
                )
              )
              yield* note(account, "user.ssh_key_add", row.id, { title, fingerprint: row.fingerprint })
            })
          )
          return toRecord(row)
        }),
        remove: Effect.fn("SshKeys.remove")(function* (account, keyId) {
          yield* transaction(
            Effect.gen(function* () {
              const [gone] = yield* sql<{ fingerprint: string }>`
                DELETE FROM ssh_keys WHERE id = ${keyId} AND account_id = ${account.accountId} RETURNING fingerprint`
              if (gone === undefined) return yield* new NotFound({})
              yield* note(account, "user.ssh_key_delete", keyId, { fingerprint: gone.fingerprint })
            })
          )
        })
      })
    })
  )
}
