/**
 * Where the line of each answered request goes. The one log entry that every
 * request pays for: a process that has a cheap way to write it provides it,
 * any other logs it like the rest.
 */
import { Context, Effect } from "effect"

export interface AccessEntry {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly request: string
}

export const AccessLog = Context.Reference<(entry: AccessEntry) => Effect.Effect<void>>("platform/AccessLog", {
  defaultValue: () => (entry) => Effect.annotateLogs(Effect.logInfo("request"), { ...entry })
})
