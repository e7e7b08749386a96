/** Who may read, publish to and manage an agent. A caller who may not read gets the 404 of a missing name. Spec: Authentication, other rules 7; Run creation rules 1. */
import type { Account } from "@quickagents/schema"

export type Role = "owner" | "admin" | "member" | null
export type Grant = "read" | "write" | "manage" | null

export interface Standing {
  readonly visibility: "public" | "private"
  readonly role: Role
  readonly grant: Grant
}

/** Whether the agent is there at all for an account that wants to change it: what a token may do is said by its scope for that change. */
export const canKnow = ({ grant, role, visibility }: Standing): boolean =>
  visibility === "public" || role !== null || grant !== null

export const canRead = (viewer: Account | null, { grant, role, visibility }: Standing): boolean =>
  visibility === "public" ||
  // A token reads what is private only with agent:read, whatever else it may do.
  (viewer !== null &&
    (viewer.scopes === "all" || viewer.scopes.has("agent:read")) &&
    canKnow({ grant, role, visibility }))

/** Members of the namespace publish; so does who was granted `write`. */
export const canPublish = ({ grant, role }: Standing): boolean =>
  role !== null || grant === "write" || grant === "manage"

export const canManage = ({ grant, role }: Standing): boolean =>
  role === "owner" || role === "admin" || grant === "manage"

/** What holds a version, and unpublished versions at all, are for those who publish. */
export const seesPipeline = canPublish
