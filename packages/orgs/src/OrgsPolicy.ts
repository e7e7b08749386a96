/** Who may do what in an organization. Nothing else decides it. Spec: Errors, registry core; decisions on roles stand on each rule. */
import { OrgDecommissioning } from "@quickagents/schema"
import type { OrgRole } from "@quickagents/schema"

export type Role = OrgRole | null

/** To everyone else the organization is not there. */
export const mayRead = (role: Role, staff: boolean) => role !== null || staff

export const isAdmin = (role: Role) => role === "owner" || role === "admin"

export const mayReadAudit = (role: Role, staff: boolean) => isAdmin(role) || staff

export interface MemberChange {
  readonly actorRole: Role
  /** The actor changes their own membership. */
  readonly self: boolean
  readonly from: Role
  /** Null removes the member. */
  readonly to: Role
  /** Active owners and admins besides the one that is changed. */
  readonly otherAdmins: number
}

/**
 * Admins change members, anyone may leave. An owner may end the organization,
 * so only an owner makes or unmakes one; an owner may always step down.
 */
export const memberChangeRefusal = (change: MemberChange): "forbidden" | "last-admin" | null => {
  const leaves = change.self && change.to === null
  const touchesOwner = change.from === "owner" || change.to === "owner"
  if (!leaves && !isAdmin(change.actorRole)) return "forbidden"
  if (touchesOwner && change.actorRole !== "owner") return "forbidden"
  if (isAdmin(change.from) && !isAdmin(change.to) && change.otherAdmins === 0) return "last-admin"
  return null
}

/** Spec: 409 staff-org-domain. Without a configured domain any account may be staff. */
export const maybeStaff = (
  account: { readonly email: string; readonly emailVerified: boolean },
  domain: string | null
) => domain === null || (account.emailVerified && account.email.endsWith(`@${domain.toLowerCase()}`))

/** Why nothing under an organization may change: it waits to be erased. Null when it may. Spec: Other states; 409 org-decommissioning. */
export const holdOf = (org: { readonly handle: string; readonly decommissionAt: Date | null }) =>
  org.decommissionAt === null
    ? null
    : new OrgDecommissioning({ org: org.handle, decommissionAt: org.decommissionAt.toISOString() })

/** Only an owner ends the organization, or takes that back. */
export const mayDecommission = (role: Role) => role === "owner"
