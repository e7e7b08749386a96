/**
 * Domains of organizations, proven by a TXT record, and the people whose
 * address is of one. Spec: Registry core routes named; Errors, registry core.
 */
import { Audit, CurrentRequest, Database, randomToken, Settings } from "@quickagents/platform"
import {
  AlreadyAMember,
  DomainClaimed,
  DomainNotProven,
  EmailUnverified,
  NotFound,
  RateLimited,
  Unavailable
} from "@quickagents/schema"
import type { AccessRequest, Account, DomainClaim, DomainOrg, Forbidden, OrgDecommissioning } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Resolver } from "node:dns/promises"
import { administeredOrg } from "./AdministeredOrg.ts"
import { unseen } from "./Staff.ts"

interface ClaimRow {
  readonly domain: string
  readonly challenge: string
  readonly createdAt: Date
  readonly verifiedAt: Date | null
}

const recordPrefix = "_quickagents-challenge"
const dayMs = 86_400_000

const toClaim = (row: ClaimRow): DomainClaim => ({
  domain: row.domain,
  state: row.verifiedAt === null ? "pending" : "verified",
  record: { type: "TXT", name: `${recordPrefix}.${row.domain}`, value: row.challenge },
  createdAt: row.createdAt.toISOString(),
  verifiedAt: row.verifiedAt?.toISOString() ?? null
})

type Refused = NotFound | Forbidden | OrgDecommissioning

export class Domains extends Context.Service<
  Domains,
  {
    /** By name. The caller is an admin. */
    readonly list: (orgId: string) => Effect.Effect<ReadonlyArray<DomainClaim>>
    /** A claim that is there already is answered as it is. `DomainClaimed`: another organization has proven to hold it. */
    readonly create: (
      actor: Account,
      org: string,
      domain: string
    ) => Effect.Effect<DomainClaim, Refused | DomainClaimed>
    /** Looks the record up. `Unavailable`: DNS does not answer. */
    readonly verify: (
      actor: Account,
      org: string,
      domain: string
    ) => Effect.Effect<DomainClaim, Refused | DomainClaimed | DomainNotProven | Unavailable>
    readonly remove: (actor: Account, org: string, domain: string) => Effect.Effect<void, Refused>
    /** Oldest first; who became a member of any organization asks no longer. */
    readonly accessRequests: (orgId: string) => Effect.Effect<ReadonlyArray<AccessRequest>>
    readonly ofAccount: (account: Account) => Effect.Effect<DomainOrg, EmailUnverified>
    /** `NotFound`: nobody holds the domain of the account's address. `RateLimited`: asked within the last day. */
    readonly requestAccess: (account: Account) => Effect.Effect<void, NotFound | AlreadyAMember | RateLimited>
  }
>()("orgs/Domains") {
  static readonly layer = Layer.effect(
    Domains,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)
      const administered = administeredOrg(sql)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const resolver = new Resolver({ timeout: 3_000, tries: 2 })
      if (settings["orgs.dnsServers"].length > 0) resolver.setServers(settings["orgs.dnsServers"])

      const record = (actor: Account, action: string, org: string, target: string) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target,
          org
        })
      const claimOf = (orgId: string, domain: string) =>
        Effect.map(
          Effect.orDie(
            sql<ClaimRow>`SELECT domain, challenge, created_at, verified_at FROM domain_claims WHERE org_id = ${orgId} AND domain = ${domain}`
          ),
          ([row]) => row
        )
      const heldByOther = Effect.fnUntraced(function* (orgId: string, domain: string) {
        const [holder] = yield* Effect.orDie(sql<{ handle: string }>`
          SELECT o.handle FROM domain_claims c JOIN organizations o ON o.id = c.org_id
          WHERE c.domain = ${domain} AND c.verified_at IS NOT NULL AND c.org_id <> ${orgId}`)
        if (holder !== undefined) return yield* new DomainClaimed({ domain, org: holder.handle })
      })
      /** The organization's own columns say what its claims say; the oldest proven one is its domain. */
      const showOnOrg = (orgId: string) => sql`
        UPDATE organizations SET
          verified_domains = coalesce((SELECT jsonb_agg(domain ORDER BY verified_at, domain) FROM domain_claims WHERE org_id = ${orgId} AND verified_at IS NOT NULL), '[]'),
          domain = (SELECT domain FROM domain_claims WHERE org_id = ${orgId} AND verified_at IS NOT NULL ORDER BY verified_at, domain LIMIT 1)
        WHERE id = ${orgId}`
      const lookup = (name: string) =>
        Effect.tryPromise({
          try: () => resolver.resolveTxt(name),
          catch: (error) => String((error as NodeJS.ErrnoException).code)
        }).pipe(
          Effect.map((records) => records.map((chunks) => chunks.join(""))),
          Effect.catch((code) =>
            code === "ENOTFOUND" || code === "ENODATA"
              ? Effect.succeed<ReadonlyArray<string>>([])
              : Effect.fail(new Unavailable({ detail: "DNS does not answer; try again later" }))
          )
        )

      const holderOf = Effect.fnUntraced(function* (account: Account) {
        const [row] = yield* Effect.orDie(sql<{
          domain: string
          orgId: string | null
          handle: string | null
          displayName: string | null
          member: boolean
        }>`
          SELECT a.domain, o.id AS org_id, o.handle, o.display_name,
            EXISTS (SELECT FROM members m WHERE m.account_id = a.id AND m.org_id = o.id AND m.active) AS member
          FROM (SELECT id, substring(email FROM '[^@]*$') AS domain FROM accounts) a
          LEFT JOIN domain_claims c ON c.domain = a.domain AND c.verified_at IS NOT NULL
          LEFT JOIN organizations o ON o.id = c.org_id AND o.state NOT IN ${unseen(sql)}
          WHERE a.id = ${account.accountId}`)
        return row
      })

      return Domains.of({
        list: (orgId) =>
          Effect.map(
            Effect.orDie(
              sql<ClaimRow>`SELECT domain, challenge, created_at, verified_at FROM domain_claims WHERE org_id = ${orgId} ORDER BY domain`
            ),
            (rows) => rows.map(toClaim)
          ),
        create: Effect.fn("Domains.create")(function* (actor, handle, domain) {
          const challenge = yield* randomToken(32)
          const createdAt = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const existing = yield* claimOf(org.id, domain)
              if (existing !== undefined) return toClaim(existing)
              yield* heldByOther(org.id, domain)
              yield* sql`INSERT INTO domain_claims ${sql.insert({ orgId: org.id, domain, challenge, createdAt })}`
              yield* record(actor, "org.domain_claim", handle, domain)
              return toClaim({ domain, challenge, createdAt, verifiedAt: null })
            })
          )
        }),
        verify: Effect.fn("Domains.verify")(function* (actor, handle, domain) {
          const claimed = yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const claim = yield* claimOf(org.id, domain)
              if (claim === undefined) return yield* new NotFound({})
              yield* heldByOther(org.id, domain)
              return claim
            })
          )
          if (claimed.verifiedAt !== null) return toClaim(claimed)
          // Outside of the transaction: no lock waits for somebody else's DNS.
          const { record: wanted } = toClaim(claimed)
          if (!(yield* lookup(wanted.name)).includes(wanted.value)) {
            return yield* new DomainNotProven({
              detail: `${wanted.name} has no TXT record with the value of the claim`
            })
          }
          const verifiedAt = yield* now
          return yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              // Two organizations may come with their proof at once.
              yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`domain:${domain}`}, 0))`
              yield* heldByOther(org.id, domain)
              const [proven] = yield* sql<ClaimRow>`
                UPDATE domain_claims SET verified_at = coalesce(verified_at, ${verifiedAt})
                WHERE org_id = ${org.id} AND domain = ${domain} AND challenge = ${claimed.challenge}
                RETURNING domain, challenge, created_at, verified_at`
              if (proven === undefined) return yield* new NotFound({})
              yield* showOnOrg(org.id)
              yield* record(actor, "org.domain_verify", handle, domain)
              return toClaim(proven)
            })
          )
        }),
        remove: Effect.fn("Domains.remove")(function* (actor, handle, domain) {
          yield* transaction(
            Effect.gen(function* () {
              const org = yield* administered(actor, handle)
              const removed =
                yield* sql`DELETE FROM domain_claims WHERE org_id = ${org.id} AND domain = ${domain} RETURNING 1`
              if (removed.length === 0) return yield* new NotFound({})
              yield* showOnOrg(org.id)
              yield* record(actor, "org.domain_release", handle, domain)
            })
          )
        }),
        accessRequests: (orgId) =>
          Effect.map(
            Effect.orDie(sql<{ handle: string; displayName: string; email: string; requestedAt: Date }>`
              SELECT a.handle, a.display_name, a.email, r.requested_at FROM access_requests r JOIN accounts a ON a.id = r.account_id
              WHERE r.org_id = ${orgId} AND NOT EXISTS (SELECT FROM members m WHERE m.account_id = a.id AND m.active)
              ORDER BY r.requested_at, a.handle`),
            (rows) => rows.map((row) => ({ ...row, requestedAt: row.requestedAt.toISOString() }))
          ),
        ofAccount: Effect.fn("Domains.ofAccount")(function* (account) {
          // Otherwise anyone could find out by an address that is not theirs.
          if (!account.emailVerified) return yield* new EmailUnverified({})
          const { displayName, domain, handle, member } = yield* holderOf(account)
          return { domain, org: handle === null ? null : { handle, displayName: displayName ?? handle }, member }
        }),
        requestAccess: Effect.fn("Domains.requestAccess")(function* (account) {
          const { handle, orgId } = yield* holderOf(account)
          if (orgId === null || handle === null)
            return yield* new NotFound({ detail: "No organization holds the domain of your address" })
          const requestedAt = yield* now
          yield* transaction(
            Effect.gen(function* () {
              const active = yield* sql`SELECT 1 FROM members WHERE account_id = ${account.accountId} AND active`
              if (active.length > 0)
                return yield* new AlreadyAMember({ detail: "You are an active member of an organization" })
              const asked = yield* sql`
                INSERT INTO access_requests AS r ${sql.insert({ accountId: account.accountId, orgId, requestedAt })}
                ON CONFLICT (account_id) DO UPDATE SET org_id = excluded.org_id, requested_at = excluded.requested_at
                WHERE r.requested_at <= ${new Date(requestedAt.getTime() - dayMs)} RETURNING 1`
              if (asked.length === 0) {
                const [last] = yield* sql<{ requestedAt: Date }>`
                  SELECT requested_at FROM access_requests WHERE account_id = ${account.accountId}`
                const request = yield* CurrentRequest
                const resetSeconds = Math.ceil((last.requestedAt.getTime() + dayMs - requestedAt.getTime()) / 1000)
                if (request !== undefined) request.standing = { allowed: false, limit: 1, remaining: 0, resetSeconds }
                return yield* new RateLimited({ detail: "You can ask once a day" })
              }
              yield* record(account, "org.access_request", handle, account.handle)
            })
          )
        })
      })
    })
  )
}
