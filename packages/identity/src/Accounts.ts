/**
 * Accounts and the identities at the sign-in provider that they are linked with.
 * Spec: Authentication, other rules 1.
 */
import { Audit, newId, Settings } from "@quickagents/platform"
import { SsoLinkRequired } from "@quickagents/schema"
import type { Account, Profile } from "@quickagents/schema"
import { Clock, Context, Data, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { handleCandidates } from "./Handles.ts"
import { linkingOf } from "./LinkingPolicy.ts"
import { Memberships } from "./Memberships.ts"
import { Sessions } from "./Sessions.ts"

export interface AccountRow {
  readonly id: string
  readonly handle: string
  readonly displayName: string
  /** Lower case; empty when the provider gives none. */
  readonly email: string
  readonly emailVerified: boolean
  readonly createdAt: Date
}

/** A person as the sign-in provider describes them. */
export interface ProviderIdentity {
  /** `<provider id>:<sub>` */
  readonly subject: string
  readonly email: string
  readonly emailVerified: boolean
  /** What the handle of a new account is made from. */
  readonly handle: string
  readonly displayName: string
}

/** Accounts were linked under another provider id: nobody of them could sign in again. */
export class ProviderChanged extends Data.TaggedError("ProviderChanged")<{
  readonly configured: string
  readonly known: string
}> {
  override get message() {
    return `auth.oidc.id is ${this.configured}, but accounts exist under ${this.known}: it must never change once accounts exist`
  }
}

export class Accounts extends Context.Service<
  Accounts,
  {
    readonly byId: (id: string) => Effect.Effect<AccountRow | null>
    readonly byHandle: (handle: string) => Effect.Effect<AccountRow | null>
    readonly profile: (account: Account) => Effect.Effect<Profile>
    /**
     * The account of a person at the provider, made or linked when this is the
     * first time they come. Address and its verification are taken over each time.
     * Fails with `SsoLinkRequired` when an account holds the address and not both sides are verified.
     */
    readonly ensure: (identity: ProviderIdentity) => Effect.Effect<AccountRow, SsoLinkRequired>
    /** For the start: refuses a provider id other than the one that accounts are linked under. */
    readonly assertProviderUnchanged: Effect.Effect<void, ProviderChanged>
  }
>()("identity/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const audit = yield* Audit.Audit
      const memberships = yield* Memberships
      const sessions = yield* Sessions

      const byId = (id: string) =>
        sql<AccountRow>`SELECT * FROM accounts WHERE id = ${id}`.pipe(
          Effect.map(([row]) => row ?? null),
          Effect.orDie
        )
      const byHandle = (handle: string) =>
        sql<AccountRow>`SELECT * FROM accounts WHERE handle = ${handle}`.pipe(
          Effect.map(([row]) => row ?? null),
          Effect.orDie
        )

      const refresh = (identity: ProviderIdentity) =>
        sql<AccountRow>`
          UPDATE accounts SET email = ${identity.email},
            email_verified = ${identity.emailVerified} OR (accounts.verified_email IS NOT NULL AND accounts.verified_email = ${identity.email})
          FROM identities
          WHERE identities.subject = ${identity.subject} AND accounts.id = identities.account_id
          RETURNING accounts.*`.pipe(Effect.map(([row]) => row ?? null))

      /** Takes the first free name; the name space decides, so two people at once do not get the same. */
      const takeHandle = Effect.fnUntraced(function* (wanted: string, accountId: string) {
        const last = (yield* newId("x")).slice(-8).toLowerCase()
        for (const handle of handleCandidates(wanted, last)) {
          if (handle === settings["orgs.staff"] || handle === settings["orgs.firstParty"]) continue
          const taken = yield* sql`
            INSERT INTO namespaces ${sql.insert({ handle, kind: "account", ownerId: accountId })}
            ON CONFLICT DO NOTHING RETURNING 1`
          if (taken.length === 1) return handle
        }
        return yield* Effect.die(new Error("no handle is free"))
      })

      const create = Effect.fnUntraced(function* (identity: ProviderIdentity, now: Date) {
        const id = yield* newId("acc")
        const handle = yield* takeHandle(identity.handle, id)
        const account: AccountRow = {
          id,
          handle,
          displayName: identity.displayName === "" ? handle : identity.displayName,
          email: identity.email,
          emailVerified: identity.emailVerified,
          createdAt: now
        }
        yield* sql`INSERT INTO accounts ${sql.insert({ ...account })}`
        yield* audit.record({ actor: { type: "account", id, handle }, action: "user.create", target: handle })
        return account
      })

      const link = Effect.fnUntraced(function* (identity: ProviderIdentity) {
        // First sign-ins one after the other: two at once must not both find the address free.
        yield* sql`SELECT pg_advisory_xact_lock(hashtext('identity.first-sign-in'))`
        const known = yield* refresh(identity)
        if (known !== null) return known
        const now = new Date(yield* Clock.currentTimeMillis)
        const holders =
          identity.email === ""
            ? []
            : yield* sql<AccountRow>`SELECT * FROM accounts WHERE email = ${identity.email} ORDER BY id`
        const linking = linkingOf(identity, holders)
        if (linking._tag === "Refuse") {
          return yield* new SsoLinkRequired({
            detail: "An account with this address exists, and not both addresses are verified"
          })
        }
        const account = linking._tag === "Create" ? yield* create(identity, now) : linking.account
        yield* sql`INSERT INTO identities ${sql.insert({ subject: identity.subject, accountId: account.id, linkedAt: now })}`
        if (linking._tag === "Link") {
          yield* audit.record({
            actor: { type: "account", id: account.id, handle: account.handle },
            action: "user.identity_link",
            target: account.handle
          })
        }
        return account
      })

      return Accounts.of({
        byId,
        byHandle,
        profile: Effect.fn("Accounts.profile")(function* (account) {
          const [row, of, csrfToken] = yield* Effect.all(
            [
              byId(account.accountId),
              memberships.of(account.accountId),
              account.credential.kind === "session" ? sessions.csrfToken(account.credential.id) : Effect.succeed(null)
            ],
            { concurrency: "unbounded" }
          )
          if (row === null) return yield* Effect.die(new Error("the account of a credential does not exist"))
          return {
            id: row.id,
            handle: row.handle,
            displayName: row.displayName,
            email: row.email,
            emailVerified: row.emailVerified,
            staff: account.staff,
            memberships: of,
            createdAt: row.createdAt.toISOString(),
            ...(csrfToken === null ? {} : { csrfToken })
          }
        }),
        ensure: Effect.fn("Accounts.ensure")(
          function* (given) {
            const identity = {
              ...given,
              email: given.email.trim().toLowerCase(),
              emailVerified: given.emailVerified && given.email.trim() !== ""
            }
            const known = yield* refresh(identity)
            return known ?? (yield* sql.withTransaction(link(identity)))
          },
          Effect.catchTag("SqlError", Effect.die)
        ),
        assertProviderUnchanged: sql<{ known: string }>`
          SELECT split_part(subject, ':', 1) AS known FROM identities
          WHERE split_part(subject, ':', 1) <> ${settings["auth.oidc.id"]} LIMIT 1`.pipe(
          Effect.orDie,
          Effect.flatMap(([row]) =>
            row === undefined
              ? Effect.void
              : Effect.fail(new ProviderChanged({ configured: settings["auth.oidc.id"], known: row.known }))
          )
        )
      })
    })
  )
}
