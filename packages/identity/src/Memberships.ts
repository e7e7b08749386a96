/**
 * What identity asks about organizations. They are built on accounts, so the
 * question stands here and the answer is given by `packages/orgs`.
 */
import type { FeatureNotIncluded, Membership } from "@quickagents/schema"
import { Context } from "effect"
import type { Effect } from "effect"
import type { Statement } from "effect/sql"

export class Memberships extends Context.Service<
  Memberships,
  {
    /** SQL condition, to stand in the statement that looks up a credential: `accountId`, a column, is an active member of the staff organization. */
    readonly isStaff: (accountId: Statement.Fragment) => Statement.Fragment
    /** The organizations that an account is an active member of. */
    readonly of: (accountId: string) => Effect.Effect<ReadonlyArray<typeof Membership.Type>>
    /** Why a member of an organization may not add an SSH key: its subscription does not include them. Null when nothing speaks against it. */
    readonly sshRefusal: (accountId: string) => Effect.Effect<FeatureNotIncluded | null>
  }
>()("identity/Memberships") {}
