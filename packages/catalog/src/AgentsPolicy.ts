/** Who may read, publish to and manage an agent. A caller who may not read gets the 404 of a missing name. Spec: Authentication, other rules 7; Run creation rules 1. */
import type { Account, VersionStatus } from "@quickagents/schema"

export type Role = "owner" | "admin" | "member" | null
export type Grant = "read" | "write" | "manage" | null

export interface Standing {
  readonly visibility: "public" | "private"
  readonly role: Role
  readonly grant: Grant
}

export const standingOf = (row: {
  readonly visibility: Standing["visibility"]
  readonly role: Role
  readonly granted: Grant
}): Standing => ({ visibility: row.visibility, role: row.role, grant: row.granted })

/** Whether the agent is there at all for an account that wants to change it: what a token may do is said by its scope for that change. */
export const canKnow = ({ grant, role, visibility }: Standing): boolean =>
  visibility === "public" || role !== null || grant !== null

/** What a list may show: a token reads what is private only with agent:read. */
export const readerOf = (viewer: Account | null) => ({
  accountId: viewer?.accountId ?? null,
  privateToo: viewer !== null && (viewer.scopes === "all" || viewer.scopes.has("agent:read"))
})

export const canRead = (viewer: Account | null, { grant, role, visibility }: Standing): boolean =>
  visibility === "public" || (readerOf(viewer).privateToo && canKnow({ grant, role, visibility }))

/** Members of the namespace publish; so does who was granted `write`. */
export const canPublish = ({ grant, role }: Standing): boolean =>
  role !== null || grant === "write" || grant === "manage"

export const canManage = ({ grant, role }: Standing): boolean =>
  role === "owner" || role === "admin" || grant === "manage"

/** What holds a version, and unpublished versions at all, are for those who publish. */
export const seesPipeline = canPublish

/** A version in this state keeps its agent where it is: it is neither deleted nor transferred. */
export const isUnsettled = (status: VersionStatus): boolean =>
  status === "scanning" || status === "needs_review" || status === "quarantined" || status === "blocked"
