/**
 * Organizations and their members. Roles are read from the database each time:
 * a removed member is refused at the next request. Spec: Authentication, other
 * rules 6; Errors, registry core.
 */
import { Accounts, isReservedHandle } from "@quickagents/identity"
import { Audit, Database, newId, pageOf, Settings } from "@quickagents/platform"
import type { AskedPage, Page } from "@quickagents/platform"
import {
  AlreadyAMember,
  Forbidden,
  LastAdmin,
  NameTaken,
  NotFound,
  OrgPending,
  StaffOrgDomain
} from "@quickagents/schema"
import type { Account, Member, Organization, OrgDecommissioning, OrgRole, SeatAllowance } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { holdOf, isAdmin, maybeStaff, memberChangeRefusal } from "./OrgsPolicy.ts"
import type { Role } from "./OrgsPolicy.ts"
import { staffCondition, unseen } from "./Staff.ts"
import { seatFor } from "./Subscriptions.ts"
import type { Subscription } from "./Subscriptions.ts"

export interface OrgRow {
  readonly id: string
  readonly handle: string
  readonly displayName: string
  readonly domain: string | null
  readonly verifiedDomains: ReadonlyArray<string>
  readonly state: Organization["state"]
  readonly decommissionAt: Date | null
  readonly createdAt: Date
}

export interface OrgMembership {
  readonly orgId: string
  /** Handle of the organization. */
  readonly org: string
  readonly role: OrgRole
  /** `active`, or why its members' runs are blocked. */
  readonly standing: string
}

export interface NamespaceRow {
  readonly handle: string
  readonly kind: "account" | "org"
  readonly ownerId: string
  /** Of an organization in a decommission hold, otherwise null: until then nothing under it changes. */
  readonly decommissionAt: Date | null
  /** That an organization's subscription includes; null is all, as for an account. */
  readonly features: ReadonlyArray<string> | null
}

interface MemberRow {
  readonly handle: string
  readonly displayName: string
  readonly role: OrgRole
  readonly since: Date
}

export const orgColumns =
  "o.id, o.handle, o.display_name, o.domain, o.verified_domains, o.state, o.decommission_at, o.created_at"

export const toOrganization = (row: OrgRow): Organization => ({
  id: row.id,
  handle: row.handle,
  displayName: row.displayName,
  domain: row.domain,
  verifiedDomains: row.verifiedDomains,
  state: row.state,
  decommissionAt: row.decommissionAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString()
})

const toMember = (row: MemberRow): Member => ({
  handle: row.handle,
  displayName: row.displayName,
  role: row.role,
  since: row.since.toISOString()
})

export interface NewOrg {
  readonly handle: string
  readonly displayName?: string | undefined
}

export class Orgs extends Context.Service<
  Orgs,
  {
    /** Null also when suspended or erased: it is then as if it were not there. */
    readonly byHandle: (handle: string) => Effect.Effect<OrgRow | null>
    /** The organization with the caller's role in it; null when there is none or it is suspended. */
    readonly seenBy: (
      accountId: string,
      handle: string
    ) => Effect.Effect<{ readonly org: OrgRow; readonly role: Role } | null>
    /** An account is an active member of at most one organization. */
    readonly membershipOf: (accountId: string) => Effect.Effect<OrgMembership | null>
    /** Role in a namespace; its owner is the `owner` of an account's own one. Null without a role and for a suspended organization. */
    readonly roleIn: (accountId: string | null, namespace: string) => Effect.Effect<Role>
    /** Null for a suspended organization. */
    readonly namespace: (handle: string) => Effect.Effect<NamespaceRow | null>
    readonly isStaff: (accountId: string) => Effect.Effect<boolean>
    /**
     * The founder becomes its owner. Reserved handles, and those of the staff and the first-party organization, are
     * taken. Where an admission extension runs it awaits payment, and its founder creates no other until it is paid for.
     */
    readonly create: (founder: Account, org: NewOrg) => Effect.Effect<OrgRow, NameTaken | AlreadyAMember | OrgPending>
    /** For the deployment itself: any handle, and one that is there already is left as it is. */
    readonly ensure: (org: NewOrg & { readonly ownerId: string }) => Effect.Effect<OrgRow, NameTaken | AlreadyAMember>
    readonly patch: (
      actor: Account,
      org: string,
      change: { readonly displayName: string }
    ) => Effect.Effect<OrgRow, NotFound | Forbidden | OrgDecommissioning>
    readonly members: (orgId: string, asked: AskedPage) => Effect.Effect<Page<Member>>
    /** Adds a member or changes a role. `NotFound`: no such account. */
    readonly putMember: (
      actor: Account,
      org: string,
      member: string,
      role: OrgRole
    ) => Effect.Effect<
      Member,
      NotFound | Forbidden | LastAdmin | AlreadyAMember | StaffOrgDomain | SeatAllowance | OrgDecommissioning
    >
    readonly removeMember: (
      actor: Account,
      org: string,
      member: string
    ) => Effect.Effect<void, NotFound | Forbidden | LastAdmin | OrgDecommissioning>
  }
>()("orgs/Orgs") {
  static readonly layer = Layer.effect(
    Orgs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings.Settings
      const accounts = yield* Accounts
      const audit = yield* Audit.Audit

      const seat = seatFor(sql)

      const columns = sql.literal(orgColumns)

      const one = <A extends object, E>(rows: Effect.Effect<ReadonlyArray<A>, E>) =>
        rows.pipe(
          Effect.map(([row]) => row ?? null),
          Effect.orDie
        )

      const seenBy = (accountId: string, handle: string) =>
        one(sql<OrgRow & { readonly role: Role }>`
          SELECT ${columns}, m.role FROM organizations o
          LEFT JOIN members m ON m.org_id = o.id AND m.account_id = ${accountId} AND m.active
          WHERE o.handle = ${handle} AND o.state NOT IN ${unseen(sql)}`).pipe(
          Effect.map((row) => {
            if (row === null) return null
            const { role, ...org } = row
            return { org, role }
          })
        )

      const conflict = (error: SqlError.SqlError) => {
        switch (Database.uniqueConstraint(error)) {
          case "namespaces_pkey":
            return new NameTaken({})
          case "members_one_active":
            return new AlreadyAMember({})
          default:
            return null
        }
      }

      const found = Effect.fnUntraced(
        function* (
          { displayName, handle }: NewOrg,
          founder: { readonly id: string; readonly handle: string },
          subscription: Subscription["standing"]
        ) {
          const id = yield* newId("org")
          const now = new Date(yield* Clock.currentTimeMillis)
          yield* sql`INSERT INTO namespaces ${sql.insert({ handle, kind: "org", ownerId: id })}`
          const [org] = yield* sql<OrgRow>`
          INSERT INTO organizations AS o ${sql.insert({
            id,
            handle,
            displayName: displayName ?? handle,
            subscription,
            createdBy: founder.id,
            createdAt: now
          })} RETURNING ${columns}`
          yield* sql`INSERT INTO members ${sql.insert({ orgId: id, accountId: founder.id, role: "owner", since: now })}`
          yield* audit.record({
            actor: { type: "account", id: founder.id, handle: founder.handle },
            action: "org.create",
            target: handle,
            org: handle
          })
          return org
        },
        sql.withTransaction,
        Effect.catchTag("SqlError", (error) => {
          const problem = conflict(error)
          return problem === null ? Effect.die(error) : Effect.fail(problem)
        })
      )

      /**
       * The organization locked, and what a change of one of its members has to
       * know. FOR UPDATE: two changes at once must not each leave the other as the last admin.
       */
      const lockedFor = Effect.fnUntraced(function* (actor: Account, handle: string, memberId: string) {
        const [org] = yield* sql<OrgRow>`
          SELECT ${columns} FROM organizations o WHERE o.handle = ${handle} AND o.state NOT IN ${unseen(sql)} FOR UPDATE`
        if (org === undefined) return null
        const [roles] = yield* sql<{ actorRole: Role; from: Role; otherAdmins: number }>`
          SELECT
            max(role) FILTER (WHERE account_id = ${actor.accountId}) AS actor_role,
            max(role) FILTER (WHERE account_id = ${memberId}) AS "from",
            (count(*) FILTER (WHERE role IN ('owner', 'admin') AND account_id <> ${memberId}))::int AS other_admins
          FROM members WHERE org_id = ${org.id} AND active`
        return { org, ...roles }
      })

      const changeMember = Effect.fnUntraced(function* (actor: Account, handle: string, member: string, to: Role) {
        const target = yield* accounts.byHandle(member)
        const locked = yield* lockedFor(actor, handle, target?.id ?? "")
        // To an outsider neither the organization nor its members are there.
        if (locked === null || locked.actorRole === null) return yield* new NotFound({})
        if (target === null) return yield* new NotFound({ detail: `Nobody has the handle ${member}` })
        const { actorRole, from, org, otherAdmins } = locked
        const refusal = memberChangeRefusal({ actorRole, self: target.id === actor.accountId, from, to, otherAdmins })
        if (refusal === "forbidden") return yield* new Forbidden({})
        const hold = holdOf(org)
        if (hold !== null) return yield* hold
        if (refusal === "last-admin") return yield* new LastAdmin({})
        return { org, target, from }
      })

      const recordChange = (
        actor: Account,
        action: string,
        org: OrgRow,
        member: string,
        detail: Record<string, unknown>
      ) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: member,
          org: org.handle,
          detail
        })

      return Orgs.of({
        byHandle: (handle) =>
          one(
            sql<OrgRow>`SELECT ${columns} FROM organizations o WHERE o.handle = ${handle} AND o.state NOT IN ${unseen(sql)}`
          ),
        seenBy,
        membershipOf: (accountId) =>
          one(sql<OrgMembership>`
            SELECT o.id AS org_id, o.handle AS org, m.role,
              CASE o.state WHEN 'active' THEN o.subscription ELSE o.state END AS standing
            FROM members m JOIN organizations o ON o.id = m.org_id
            WHERE m.account_id = ${accountId} AND m.active`),
        roleIn: (accountId, namespace) =>
          accountId === null
            ? Effect.succeed(null)
            : one(sql<{ role: Role }>`
              SELECT CASE WHEN n.kind = 'account' THEN CASE WHEN n.owner_id = ${accountId} THEN 'owner' END ELSE m.role END AS role
              FROM namespaces n
              LEFT JOIN organizations o ON n.kind = 'org' AND o.id = n.owner_id AND o.state NOT IN ${unseen(sql)}
              LEFT JOIN members m ON m.org_id = o.id AND m.account_id = ${accountId} AND m.active
              WHERE n.handle = ${namespace}`).pipe(Effect.map((row) => row?.role ?? null)),
        namespace: (handle) =>
          one(sql<NamespaceRow>`
            SELECT n.handle, n.kind, n.owner_id, o.decommission_at, o.features
            FROM namespaces n
            LEFT JOIN organizations o ON n.kind = 'org' AND o.id = n.owner_id
            WHERE n.handle = ${handle} AND (o.id IS NULL OR o.state NOT IN ${unseen(sql)})`),
        isStaff: (accountId) =>
          one(
            sql<{ staff: boolean }>`SELECT ${staffCondition(sql, settings["orgs.staff"])(sql`${accountId}`)} AS staff`
          ).pipe(Effect.map((row) => row?.staff ?? false)),
        create: Effect.fn("Orgs.create")(function* (founder, org) {
          const { handle } = org
          if (isReservedHandle(handle) || handle === settings["orgs.staff"] || handle === settings["orgs.firstParty"]) {
            return yield* new NameTaken({ detail: "The name is reserved" })
          }
          const pending = yield* one(sql<{ handle: string }>`
            SELECT handle FROM organizations
            WHERE created_by = ${founder.accountId} AND subscription = 'pending-payment' AND state IN ('active', 'suspended')`)
          if (pending !== null) return yield* new OrgPending({ org: pending.handle })
          const standing = settings["admission.url"] === null ? "active" : "pending-payment"
          return yield* found(org, { id: founder.accountId, handle: founder.handle }, standing)
        }),
        ensure: Effect.fn("Orgs.ensure")(function* (org) {
          const existing = yield* one(
            sql<OrgRow>`SELECT ${columns} FROM organizations o WHERE o.handle = ${org.handle}`
          )
          if (existing !== null) return existing
          const owner = yield* accounts.byId(org.ownerId)
          if (owner === null) return yield* Effect.die(new Error("the owner of an organization has to exist"))
          return yield* found(org, owner, "active")
        }),
        patch: Effect.fn("Orgs.patch")(
          function* (actor, handle, change) {
            const locked = yield* lockedFor(actor, handle, "")
            if (locked === null || locked.actorRole === null) return yield* new NotFound({})
            if (!isAdmin(locked.actorRole)) return yield* new Forbidden({})
            const hold = holdOf(locked.org)
            if (hold !== null) return yield* hold
            const [org] = yield* sql<OrgRow>`
              UPDATE organizations AS o SET display_name = ${change.displayName} WHERE o.id = ${locked.org.id} RETURNING ${columns}`
            yield* recordChange(actor, "org.update", org, handle, change)
            return org
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", Effect.die)
        ),
        members: Effect.fnUntraced(function* (orgId, asked) {
          const { page, rows } = yield* pageOf(asked, { max: 100, standard: 50 }, (offset, limit) =>
            Effect.orDie(sql<MemberRow & { readonly total: number }>`
              SELECT a.handle, a.display_name, m.role, m.since, count(*) OVER ()::integer AS total
              FROM members m JOIN accounts a ON a.id = m.account_id
              WHERE m.org_id = ${orgId} AND m.active ORDER BY a.handle LIMIT ${limit} OFFSET ${offset}`)
          )
          return { items: rows.map(toMember), ...page }
        }),
        putMember: Effect.fn("Orgs.putMember")(
          function* (actor, handle, member, role) {
            const { from, org, target } = yield* changeMember(actor, handle, member, role)
            if (org.handle === settings["orgs.staff"] && !maybeStaff(target, settings["orgs.staffDomain"])) {
              return yield* new StaffOrgDomain({})
            }
            if (from === null) yield* seat(org.id)
            const now = new Date(yield* Clock.currentTimeMillis)
            const [row] = yield* sql<{ since: Date }>`
            INSERT INTO members ${sql.insert({ orgId: org.id, accountId: target.id, role, since: now })}
            ON CONFLICT (org_id, account_id) DO UPDATE SET
              role = excluded.role, active = true, since = CASE WHEN members.active THEN members.since ELSE excluded.since END
            RETURNING since`
            yield* recordChange(actor, from === null ? "org.member_add" : "org.member_role", org, target.handle, {
              from,
              role
            })
            return toMember({ handle: target.handle, displayName: target.displayName, role, since: row.since })
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", (error) => {
            const problem = conflict(error)
            return problem?._tag === "AlreadyAMember" ? Effect.fail(problem) : Effect.die(error)
          })
        ),
        removeMember: Effect.fn("Orgs.removeMember")(
          function* (actor, handle, member) {
            const { from, org, target } = yield* changeMember(actor, handle, member, null)
            if (from === null) return yield* new NotFound({})
            yield* sql`UPDATE members SET active = false WHERE org_id = ${org.id} AND account_id = ${target.id}`
            yield* sql`
              DELETE FROM team_members t USING teams
              WHERE teams.id = t.team_id AND teams.org_id = ${org.id} AND t.account_id = ${target.id}`
            yield* recordChange(actor, "org.member_remove", org, target.handle, { from })
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", Effect.die)
        )
      })
    })
  )
}
