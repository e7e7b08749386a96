/**
 * `scan.ruleset_sweep`: carries out a ruleset release. Versions that other rules
 * judged are queued in the order of their ids, and each is judged again by the
 * stages that the rules belong to. What the first scan found and said is never
 * changed; what is new is recorded, put on the review queue, or stops the version.
 */
import { AgentsSql, refOf, ReviewsSql } from "@quickagents/catalog"
import { Audit, Database, ObjectStore, Settings } from "@quickagents/platform"
import type { Finding, StageResult } from "@quickagents/schema"
import { Clock, Data, Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { blocks, holds } from "./Gate.ts"
import { isOfProgram } from "./RulesetReleases.ts"
import type { ReleaseRow, RescanOutcome, RescanRow, RulesetStage } from "./RulesetReleasesSql.ts"
import { RulesetReleasesSql } from "./RulesetReleasesSql.ts"
import { archiveLimits, clamdOf } from "./Scan.ts"
import type { ScanContext, Stage } from "./Stage.ts"
import { archiveStage } from "./Stages.ts"
import { malwareStage } from "./stages/S4Malware.ts"
import { rulesStage } from "./stages/S8Rules.ts"

/** Versions that one statement lists. */
const listed = 200
/** Statements of listing in one turn. */
const listings = 50
/** How long one turn may rescan; then it is the pause's, and submissions' of this node. */
const turnMs = 5_000
/** Rescans of one turn at most. */
const perTurn = 500
const attempts = 5
/** Longer than a rescan can take: whoever has it is dead by then. */
const leaseMs = 10 * 60_000
const stageTimeout = "3 minutes"

const stageOf: Readonly<Record<RulesetStage, Stage>> = { S4: malwareStage, S8: rulesStage }

class RescanFailed extends Data.TaggedError("RescanFailed")<{ readonly message: string }> {}

/** The same finding may move to another line of the same file, and be worded anew: it is no new one. In a shipped pack SK found it first. */
const keyOf = ({ file, rule }: Finding) => `${rule} ${file ?? ""}`

const judge = Effect.fnUntraced(function* ({ stages, versionId }: RescanRow) {
  const settings = yield* Settings.Settings
  const version = (yield* Effect.orDie((yield* AgentsSql).versionById(versionId)))!
  const stored = yield* Effect.orDie((yield* ObjectStore).get(version.archiveDigest))
  const archive = Buffer.concat(yield* Effect.orDie(Stream.runCollect(stored.content)))
  const { pkg } = yield* archiveStage(archive, archiveLimits(settings))
  if (pkg === undefined) return yield* new RescanFailed({ message: "the archive cannot be opened any more" })
  const clamd = clamdOf(settings["scan.clamd"])
  const context: ScanContext = {
    namespace: version.namespace,
    name: version.name,
    version: version.version,
    // Neither stage asks for them.
    budgetCaps: { seconds: 0, turns: 0 },
    ...(clamd === undefined ? {} : { clamd })
  }
  const results = yield* Effect.forEach(stages, (stage) =>
    stageOf[stage](pkg, context).pipe(
      Effect.timeoutOrElse({
        duration: stageTimeout,
        orElse: () => Effect.fail(new RescanFailed({ message: `${stage} took too long` }))
      })
    )
  )
  const failed = results.find(({ status }) => status === "failed")
  if (failed !== undefined) return yield* new RescanFailed({ message: `${failed.stage}: ${failed.detail ?? "failed"}` })
  return results
})

const outcomeOf = (isLive: boolean, fresh: ReadonlyArray<Finding>): RescanOutcome =>
  fresh.length === 0
    ? "unchanged"
    : isLive && fresh.some(blocks)
      ? "quarantined"
      : isLive && fresh.some(holds)
        ? "flagged"
        : "recorded"

/** Record, state and review in one transaction, in the order of locks that reviews keep: release, version, review. */
const conclude = Effect.fnUntraced(function* (
  release: ReleaseRow,
  versionId: string,
  results: ReadonlyArray<StageResult>
) {
  const rows = yield* RulesetReleasesSql
  const agents = yield* AgentsSql
  const reviews = yield* ReviewsSql
  const audit = yield* Audit.Audit
  const at = new Date(yield* Clock.currentTimeMillis)
  yield* Database.transaction(yield* SqlClient.SqlClient)(
    Effect.gen(function* () {
      if (!(yield* rows.lockRunning(release.id))) return
      yield* reviews.lock(versionId)
      const version = (yield* agents.versionById(versionId))!
      const known = new Set((yield* rows.knownFindings(versionId)).map(keyOf))
      const fresh = results.flatMap(({ findings }) => findings).filter((finding) => !known.has(keyOf(finding)))
      const outcome = outcomeOf(version.status === "published" || version.status === "yanked", fresh)
      if (!(yield* rows.conclude(release.id, versionId, { outcome, results, newFindings: fresh }, at))) return
      if (outcome !== "quarantined" && outcome !== "flagged") return
      const grave = fresh.filter((finding) => blocks(finding) || holds(finding))
      if (outcome === "quarantined") {
        yield* agents.move(versionId, ["published", "yanked"], "quarantined", at)
        yield* rows.hold(versionId, grave)
      }
      yield* reviews.add(versionId, outcome === "quarantined" ? "quarantine" : "rescan", grave, at)
      yield* audit.record({
        actor: Audit.system,
        action: outcome === "quarantined" ? "version.quarantine" : "version.flag",
        target: refOf(version),
        org: version.org ?? undefined,
        detail: {
          reason: `A rescan by ruleset ${release.rulesetVersion} found ${grave.map(({ rule, stage }) => `${stage} ${rule}`).join(", ")}`,
          release: release.id,
          from: version.status
        }
      })
    }).pipe(Effect.orDie)
  )
})

/** The release first, as whoever supersedes it does. */
const giveUp = Effect.fnUntraced(function* (release: ReleaseRow, versionId: string, at: Date) {
  const rows = yield* RulesetReleasesSql
  yield* Database.transaction(yield* SqlClient.SqlClient)(
    Effect.gen(function* () {
      if (yield* rows.lockRunning(release.id)) yield* rows.fail(release.id, versionId, at)
    })
  )
})

const rescan = Effect.fnUntraced(function* (release: ReleaseRow, row: RescanRow) {
  const rows = yield* RulesetReleasesSql
  yield* judge(row).pipe(
    Effect.flatMap((results) => conclude(release, row.versionId, results)),
    Effect.catchCause(
      Effect.fnUntraced(function* (cause) {
        yield* Effect.logWarning("rescan failed", cause).pipe(Effect.annotateLogs({ version: row.versionId }))
        const at = yield* Clock.currentTimeMillis
        yield* row.attempts >= attempts
          ? giveUp(release, row.versionId, new Date(at))
          : rows.again(release.id, row.versionId, new Date(at + 2 ** row.attempts * 30_000))
      })
    )
  )
})

/** One turn: lists, rescans for a while, one version at least however many submissions wait, and says when all is done. Answers what it rescanned. */
export const sweepRuleset = Effect.gen(function* () {
  const rows = yield* RulesetReleasesSql
  const transaction = Database.transaction(yield* SqlClient.SqlClient)
  const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
  let release = yield* rows.running
  // A node whose program has other rules leaves it to one that has them.
  if (release === null || !isOfProgram(release)) return 0
  const { id } = release
  for (let count = 0; count < listings && release?.state === "listing"; count++) {
    const at = yield* now
    yield* transaction(
      Effect.gen(function* () {
        if (!(yield* rows.lockRunning(id))) return
        const current = yield* rows.byId(id)
        if (current?.state === "listing") yield* rows.listNext(current, listed, at)
      })
    )
    release = yield* rows.byId(id)
  }
  if (release === null) return 0
  const until = (yield* Clock.currentTimeMillis) + turnMs
  let rescanned = 0
  while (rescanned < perTurn) {
    if (rescanned > 0 && ((yield* Clock.currentTimeMillis) > until || (yield* rows.submissionsWait))) break
    const at = yield* now
    const next = yield* rows.next(id, new Date(at.getTime() + leaseMs), at)
    if (next === null) break
    rescanned++
    // Its process ended in every attempt before.
    if (next.attempts > attempts) yield* giveUp(release, next.versionId, at)
    else yield* rescan(release, next)
  }
  yield* rows.finish(id, yield* now)
  return rescanned
})
