/**
 * The Scan entity: takes a version through the stages and the gate. Each stage's
 * result is a row before the next one starts, so a scan that dies goes on where
 * it was. Spec: What the service does 2; States and transitions, Other states.
 */
import { AgentsSql, ScanStarter } from "@quickagents/catalog"
import type { VersionRow } from "@quickagents/catalog"
import { Audit, Database, ObjectStore, Settings } from "@quickagents/platform"
import { ScanEntity, stageNames } from "@quickagents/schema"
import type { StageId, StageResult } from "@quickagents/schema"
import { Clock, Data, Effect, Layer, Schedule, Semaphore, Stream } from "effect"
import type { HttpClient } from "effect/http"
import { Rpc } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { makeStatement, sign, signReport, stagesOf } from "./Attestation.ts"
import type { ArchiveLimits } from "@quickagents/archive"
import { defaultArchiveLimits } from "@quickagents/archive"
import type { ClamdAddress } from "./Clamd.ts"
import { decide, pipelineError } from "./Gate.ts"
import { Judge } from "./Judge.ts"
import { buildReport, manifestDigest, reportDigest, unscannedReport } from "./Report.ts"
import { rubricHash } from "./Rubric.ts"
import { rulesetHash } from "./rules/ruleset.ts"
import { shippedPacks } from "./ShippedPacks.ts"
import { SigningKeys } from "./SigningKeys.ts"
import type { ScanContext } from "./Stage.ts"
import { toStageResult } from "./Stage.ts"
import { archiveStage, stages, stagesFor } from "./Stages.ts"

/** A stage that could not do its work is tried so often, with growing pauses. Spec: Events 8. */
const attempts = 5
/** What a stage may take with all its tries. S9 asks the judge six questions about every 8 KiB, at the judge's pace. */
const stageTimeout = (stage: StageId) => (stage === "SK" ? "20 minutes" : stage === "S9" ? "15 minutes" : "3 minutes")
/** A scan older than this goes to a person. Spec: Other states. */
const scanLifeMs = 30 * 60_000
/** A scan without progress for so long has lost its message or its process. */
const idleMs = 60_000
/** Scans that one sweep looks at; the rest is the next one's. */
const batch = 200

export const clamdOf = (address: string | null): ClamdAddress | undefined => {
  if (address === null) return undefined
  if (address.startsWith("unix:")) return { path: address.slice("unix:".length) }
  const at = address.lastIndexOf(":")
  return { host: address.slice(0, at), port: Number(address.slice(at + 1)) }
}

export const archiveLimits = (settings: Settings.Values): ArchiveLimits => ({
  ...defaultArchiveLimits,
  archiveMaxBytes: settings["limits.archiveMaxBytes"],
  archiveMaxFiles: settings["limits.archiveMaxFiles"],
  archiveMaxFileBytes: settings["limits.archiveMaxFileBytes"],
  archiveMaxImageFileBytes: settings["limits.archiveMaxImageFileBytes"],
  archiveMaxTextBytes: settings["limits.archiveMaxTextBytes"]
})

const tierNames = ["standard", "pro", "business", "enterprise"] as const

/** S9 without a judge is skipped and says so; the gate hands such a version to a person. */
const withoutAnswer = (stage: StageId, judge: string): StageResult | undefined =>
  stage === "S9" && judge === "none"
    ? toStageResult(stage, "1", { findings: [], status: "skipped", detail: "No judge is configured" }, 0)
    : undefined

type Services =
  | AgentsSql
  | Audit.Audit
  | ObjectStore
  | Settings.Settings
  | SigningKeys
  | Judge
  | HttpClient.HttpClient
  | SqlClient.SqlClient

/** Someone else took the version out of `scanning`: what this scan would still find counts for nothing. */
class DecidedOtherwise extends Data.TaggedError("DecidedOtherwise") {}

/** One scan from where it is to its end; a defect leaves the version in `scanning`. Spec: SCAN-004. */
export const scanVersion = Effect.fnUntraced(
  function* (version: VersionRow): Effect.fn.Return<void, DecidedOtherwise, Services> {
    const rows = yield* AgentsSql
    const sql = yield* SqlClient.SqlClient
    const settings = yield* Settings.Settings
    const audit = yield* Audit.Audit
    const keys = yield* SigningKeys
    const judge = yield* Judge
    const transaction = Database.transaction(sql)
    const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
    const kept = yield* Effect.orDie(
      sql<{
        stage: StageId
        result: StageResult
        finishedAt: Date
      }>`SELECT stage, result, finished_at FROM scan_stages WHERE version_id = ${version.id}`
    )
    const finished = new Map(kept.map(({ result, stage }) => [stage, result] as const))
    // A scan that goes on began when its first stage did.
    const startedAt = new Date(
      Math.min(
        (yield* now).getTime(),
        ...kept.map(({ finishedAt, result }) => finishedAt.getTime() - result.durationMs)
      )
    )
    const tell = (stage: StageId, status: string, at: Date) =>
      Effect.orDie(rows.addEvent(version.id, "stage", { stage, name: stageNames[stage], status }, at)).pipe(
        Effect.filterOrFail(
          (told) => told,
          () => new DecidedOtherwise()
        )
      )
    const keep = Effect.fnUntraced(function* (result: StageResult) {
      const at = yield* now
      yield* transaction(
        Effect.gen(function* () {
          yield* Effect.orDie(
            sql`INSERT INTO scan_stages ${sql.insert({
              versionId: version.id,
              stage: result.stage,
              result: JSON.stringify(result),
              finishedAt: at
            })} ON CONFLICT DO NOTHING`
          )
          yield* tell(result.stage, result.status, at)
        })
      )
      finished.set(result.stage, result)
    })

    if (!finished.has("S1")) yield* tell("S1", "running", yield* now)
    const stored = yield* Effect.orDie((yield* ObjectStore).get(version.archiveDigest))
    const archive = Buffer.concat(yield* Effect.orDie(Stream.runCollect(stored.content)))
    const opened = yield* archiveStage(archive, archiveLimits(settings))
    if (!finished.has("S1")) yield* keep(opened.result)

    const { pkg } = opened
    const following = pkg === undefined ? stages : stagesFor(pkg)
    if (pkg !== undefined) {
      const previous = yield* Effect.orDie(rows.lastPublishedManifest(version.agentId))
      const clamd = clamdOf(settings["scan.clamd"])
      const osvBaseUrl = settings["scan.osvUrl"]
      const [npm, pypi] = [settings["scan.npmUrl"], settings["scan.pypiUrl"]]
      const caps = tierNames.map((tier) => settings[`runs.caps.${tier}`])
      const context: ScanContext = {
        namespace: version.namespace,
        name: version.name,
        version: version.version,
        budgetCaps: {
          seconds: Math.max(...caps.map(({ seconds }) => seconds)),
          turns: Math.max(...caps.map(({ turns }) => turns))
        },
        ...(previous === null
          ? {}
          : {
              previous: {
                version: previous.version,
                capabilities: previous.manifest.capabilities ?? {},
                mcpServers: previous.manifest.mcpServers ?? [],
                secrets: (previous.manifest.secrets ?? []).map(({ name }) => name)
              }
            }),
        ...(clamd === undefined ? {} : { clamd }),
        ...(osvBaseUrl === null ? {} : { osvBaseUrl }),
        registries: { ...(npm === null ? {} : { npm }), ...(pypi === null ? {} : { pypi }) }
      }
      for (const { run, stage } of following) {
        if (!finished.has(stage)) {
          yield* tell(stage, "running", yield* now)
          const unanswered = withoutAnswer(stage, judge.provider)
          const tooLong = toStageResult(stage, "0", { findings: [], status: "failed", detail: "took too long" }, 0)
          yield* keep(
            unanswered ??
              (yield* run(pkg, context).pipe(
                Effect.repeat({
                  schedule: Schedule.exponential("500 millis"),
                  times: attempts - 1,
                  while: (result) => result.status === "failed"
                }),
                Effect.timeoutOrElse({ duration: stageTimeout(stage), orElse: () => Effect.succeed(tooLong) })
              ))
          )
        }
        // A manifest that cannot be used leaves nothing for the later stages to judge; nor does an admission without a scan.
        if (stage === "S2" && (pkg.manifest === undefined || version.scanStatus === "skipped")) break
      }
    }

    const ordered = ["S1" as const, ...following.map(({ stage }) => stage)].flatMap(
      (stage) => finished.get(stage) ?? []
    )
    const decision = decide(ordered, pkg !== undefined && shippedPacks(pkg).length > 0)
    const finishedAt = yield* now
    const manifest = pkg?.manifest
    // What cannot be opened, or has no sound manifest, can be neither installed nor run: that much is asked of every version.
    const unscanned = version.scanStatus === "skipped" && manifest !== undefined && decision.status !== "blocked"
    const ref = `${version.namespace}/${version.name}@${version.version}`
    const archiveDigest = version.archiveDigest
    const release = { ref, archive: archiveDigest, manifest, startedAt, finishedAt }
    const report = unscanned ? unscannedReport(release) : buildReport(release, decision)
    const status = unscanned ? "published" : decision.status
    const attestation =
      manifest === undefined || unscanned
        ? null
        : sign(
            makeStatement({
              baseUrl: settings["service.baseUrl"],
              ref,
              archive: archiveDigest,
              predicate: {
                verdict: report.verdict,
                stages: stagesOf(report),
                rulesetHash,
                rubricHash,
                judge: { provider: judge.provider, model: judge.model },
                report: { digest: reportDigest(report) },
                manifest: { digest: manifestDigest(manifest) },
                capabilities: manifest.capabilities ?? {},
                submitter: version.submitter,
                source:
                  version.sourceKind === "git"
                    ? { kind: "git", commit: version.sourceCommit ?? "" }
                    : { kind: "upload" },
                submittedAt: version.createdAt.toISOString(),
                scannedAt: finishedAt.toISOString(),
                signedAt: finishedAt.toISOString()
              }
            }),
            keys.active
          )
    yield* transaction(
      Effect.gen(function* () {
        const concluded = yield* Effect.orDie(
          rows.concludeScan(
            version.id,
            {
              status,
              scanStatus: unscanned ? "skipped" : "scanned",
              manifest: manifest ?? null,
              manifestSchemaVersion: version.manifestSchemaVersion,
              verdict: report.verdict,
              findingCounts: report.findingCounts,
              holding: unscanned ? [] : decision.holdingFindings,
              report,
              reportEnvelope: signReport(report, keys.active),
              attestation
            },
            finishedAt
          )
        )
        if (concluded) {
          yield* audit.record({
            actor: Audit.system,
            action: `version.${status}`,
            target: ref,
            org: version.org ?? undefined,
            detail: { verdict: report.verdict }
          })
        }
      })
    )
  },
  Effect.catchTag("DecidedOtherwise", () => Effect.void)
)

export const ScanEntityLive = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    // Of the node, not of one entity.
    const workers = yield* Semaphore.make(settings["queue.workers"])
    return ScanEntity.toLayer(
      Effect.gen(function* () {
        const rows = yield* AgentsSql
        const services = yield* Effect.context<Services>()
        let scanning = false
        return ScanEntity.of({
          scan: ({ payload: { versionId } }) =>
            Rpc.fork(
              Effect.suspend(() => {
                if (scanning) return Effect.void
                scanning = true
                return Effect.gen(function* () {
                  const version = yield* Effect.orDie(rows.versionById(versionId))
                  if (version?.status === "scanning") yield* scanVersion(version)
                }).pipe(
                  workers.withPermits(1),
                  // A discarded scan leaves its version in `scanning`; reconcile finds it.
                  Effect.catchCause((cause) => Effect.logError("scan stopped", cause)),
                  Effect.ensuring(Effect.sync(() => (scanning = false))),
                  Effect.annotateLogs({ version: versionId }),
                  Effect.provideContext(services)
                )
              })
            )
        })
      }),
      { maxIdleTime: "1 minute", concurrency: "unbounded" }
    )
  })
)

const send = Effect.fnUntraced(function* (versionId: string, turn: string) {
  const of = yield* ScanEntity.client
  yield* of(versionId).scan({ versionId, turn }, { discard: true })
})

export const ScanStarterLive = Layer.effect(
  ScanStarter,
  Effect.gen(function* () {
    const services = yield* Effect.context<Effect.Services<ReturnType<typeof send>>>()
    return ScanStarter.of({
      // A message that cannot be sent is not the submitter's problem: the version is stored and reconcile sends it.
      start: (versionId) =>
        Effect.provideContext(send(versionId, "1"), services).pipe(
          Effect.catchCause((cause) => Effect.logWarning("scan not started", cause))
        )
    })
  })
)

/** Starts scans again that lost their process, and hands those past their time to a person. Called each minute. Spec: JOB-003. */
export const reconcileScans = Effect.gen(function* () {
  const rows = yield* AgentsSql
  const audit = yield* Audit.Audit
  const transaction = Database.transaction(yield* SqlClient.SqlClient)
  const now = new Date(yield* Clock.currentTimeMillis)
  const before = (ms: number) => new Date(now.getTime() - ms)
  const late = yield* Effect.orDie(rows.scansOlderThan(before(scanLifeMs), batch))
  yield* Effect.forEach(
    late,
    ({ id, org, ref }) =>
      transaction(
        Effect.gen(function* () {
          const moved = yield* Effect.orDie(
            rows.concludeBroken(id, [pipelineError("The scan did not end within 30 minutes")], now)
          )
          if (moved) {
            yield* audit.record({
              actor: Audit.system,
              action: "version.needs_review",
              target: ref,
              org: org ?? undefined,
              detail: { reason: "pipeline-error" }
            })
          }
        })
      ),
    { discard: true }
  )
  const idle = yield* Effect.orDie(rows.idleScans(before(idleMs), batch))
  yield* Effect.forEach(idle, ({ id }) => send(id, String(now.getTime())), { discard: true })
  return late.length + idle.length
})
