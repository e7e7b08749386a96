/**
 * Releases of the ruleset. The rules come with the program; a release says that
 * they are in force and has what others judged looked at again. Spec: SCAN-007.
 */
import { canonicalJson, digestOf } from "@quickagents/archive"
import { Audit, Database, newId } from "@quickagents/platform"
import { clamp, clampOffset, NotFound, RulesetReleaseRunning } from "@quickagents/schema"
import type { Account, Rescan, RulesetRelease } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ReleaseRow } from "./RulesetReleasesSql.ts"
import { RulesetReleasesSql } from "./RulesetReleasesSql.ts"
import { ruleset, rulesetHash, rulesetVersion } from "./rules/ruleset.ts"
import { yaraRulesHash } from "./Yara.ts"

/** The malware rules are one file, and change as one. */
const malwareRules = "malware-rules"

/** Hash of each rule of this program by its id. */
const rulesOfProgram: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ruleset.map(({ id, pattern, severity, threat }) => [
      id,
      digestOf(canonicalJson({ severity, threat, pattern: pattern.source, flags: pattern.flags }))
    ])
  ),
  [malwareRules]: yaraRulesHash
}

/** Whether the rules of this program are those of the release. */
export const isOfProgram = (release: Pick<ReleaseRow, "rulesetHash" | "malwareRules">): boolean =>
  release.rulesetHash === rulesetHash && release.malwareRules === yaraRulesHash

export const changesBetween = (
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>
): RulesetRelease["changes"] => ({
  added: Object.keys(after).filter((id) => before[id] === undefined),
  changed: Object.keys(after).filter((id) => before[id] !== undefined && before[id] !== after[id]),
  removed: Object.keys(before).filter((id) => after[id] === undefined)
})

const releaseRecord = (row: ReleaseRow): RulesetRelease => ({
  id: row.id,
  ruleset: { version: row.rulesetVersion, hash: row.rulesetHash, malwareRules: row.malwareRules },
  notes: row.notes,
  changes: row.changes,
  state: row.state,
  total: row.total,
  done: row.done,
  quarantined: row.quarantined,
  flagged: row.flagged,
  failed: row.failed,
  releasedBy: row.releasedBy,
  createdAt: row.createdAt.toISOString(),
  finishedAt: row.finishedAt?.toISOString() ?? null
})

export class RulesetReleases extends Context.Service<
  RulesetReleases,
  {
    /** Takes over what an unfinished release of other rules has left. */
    readonly create: (actor: Account, notes: string) => Effect.Effect<RulesetRelease, RulesetReleaseRunning>
    readonly list: (page: { readonly offset?: number; readonly limit?: number }) => Effect.Effect<{
      readonly items: ReadonlyArray<RulesetRelease>
      readonly total: number
      readonly offset: number
      readonly limit: number
    }>
    readonly get: (id: string) => Effect.Effect<RulesetRelease, NotFound>
    readonly rescansOf: (versionId: string) => Effect.Effect<ReadonlyArray<Rescan>>
  }
>()("scan/RulesetReleases") {
  static readonly layer = Layer.effect(
    RulesetReleases,
    Effect.gen(function* () {
      const rows = yield* RulesetReleasesSql
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(yield* SqlClient.SqlClient)

      return RulesetReleases.of({
        create: Effect.fnUntraced(function* (actor, notes) {
          const at = new Date(yield* Clock.currentTimeMillis)
          const id = yield* newId("rsr")
          yield* transaction(
            Effect.gen(function* () {
              yield* Effect.orDie(rows.lock)
              const running = yield* Effect.orDie(rows.running)
              if (running !== null && isOfProgram(running)) {
                return yield* new RulesetReleaseRunning({ detail: `${running.id} is not done yet` })
              }
              if (running !== null) yield* Effect.orDie(rows.supersede(running.id, at))
              const last = yield* Effect.orDie(rows.last)
              yield* Effect.orDie(
                rows.insert({
                  id,
                  rulesetVersion,
                  rulesetHash,
                  malwareRules: yaraRulesHash,
                  rules: rulesOfProgram,
                  changes: changesBetween(last?.rules ?? {}, rulesOfProgram),
                  notes,
                  createdBy: actor.accountId,
                  createdAt: at
                })
              )
              yield* audit.record({
                actor: { type: "account", id: actor.accountId, handle: actor.handle },
                action: "ruleset.release",
                target: id,
                detail: {
                  version: rulesetVersion,
                  hash: rulesetHash,
                  malwareRules: yaraRulesHash,
                  ...(running === null ? {} : { supersedes: running.id })
                }
              })
            })
          )
          return releaseRecord((yield* Effect.orDie(rows.byId(id)))!)
        }),
        list: Effect.fnUntraced(function* (page) {
          const [offset, limit] = [clampOffset(page.offset), clamp(page.limit, 100, 20)]
          const found = yield* Effect.orDie(rows.list(offset, limit))
          return { items: found.map(releaseRecord), total: yield* Effect.orDie(rows.count), offset, limit }
        }),
        get: Effect.fnUntraced(function* (id) {
          const row = yield* Effect.orDie(rows.byId(id))
          return row === null ? yield* new NotFound({}) : releaseRecord(row)
        }),
        rescansOf: (versionId) =>
          Effect.map(Effect.orDie(rows.rescansOf(versionId)), (found) =>
            found.map((row) => ({ ...row, finishedAt: row.finishedAt.toISOString() }))
          )
      })
    })
  )
}
