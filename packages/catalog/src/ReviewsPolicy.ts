/** Who may decide on a held version. Pure. Spec: AUTH-014. */
import type { Account, Severity } from "@quickagents/schema"
import type { Role } from "./AgentsPolicy.ts"

/** Why this reviewer may not decide on this version; null when they may. */
export const reviewerRefusal = (
  reviewer: Pick<Account, "accountId" | "staff">,
  version: { readonly submittedBy: string },
  roleInNamespace: Role
): string | null => {
  if (!reviewer.staff) return "Reviewers are members of the staff organization"
  if (version.submittedBy === reviewer.accountId) return "Nobody decides on a version of their own"
  return roleInNamespace === null ? null : "Nobody decides on a version of a namespace that they belong to"
}

export const needsSecondApproval = (fourEyes: ReadonlyArray<string>, severity: Severity): boolean =>
  fourEyes.includes(severity)
