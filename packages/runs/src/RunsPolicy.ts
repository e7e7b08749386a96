/** Who may read and stop a run. Spec: Run creation rules 4; Authentication, other rules 9. */
import type { Account } from "@quickagents/schema"
import type { RunRow } from "./RunsSql.ts"

/** `own`: all of it. `staff`: the record without its text. `none`: as if it did not exist, also to a fellow member whose organization paid. */
export const reading = (actor: Account, run: RunRow): "own" | "staff" | "none" =>
  run.accountId === actor.accountId ? "own" : actor.staff && actor.credential.kind === "session" ? "staff" : "none"

export const isOwn = (actor: Account, run: RunRow) => run.accountId === actor.accountId
