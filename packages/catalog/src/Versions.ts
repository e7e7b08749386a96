/**
 * Versions: submitted, scanned, published, yanked, quarantined, blocked. A row
 * is immutable but for its state and what the scan found. Spec: States and
 * transitions, Other states; Versioning 6.
 */
import { Orgs } from "@quickagents/orgs"
import { Audit, Database, newId, Notifications, ObjectStore, pageOf, Settings } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import {
  AgentRetired,
  Blocked,
  Forbidden,
  invalidField,
  NotFound,
  ReportNotReady,
  TooLarge,
  Version,
  VersionExists,
  VersionNotPublished,
  VersionQuarantined,
  VersionsPerDay
} from "@quickagents/schema"
import type {
  Account,
  AgentVersion,
  Digest,
  DsseEnvelope,
  Manifest,
  OrgDecommissioning,
  SignedReport,
  Validation,
  VersionEvent,
  VersionStatus
} from "@quickagents/schema"
import { NodeStream } from "@effect/platform-node"
import { Clock, Context, Effect, Layer, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { Agents } from "./Agents.ts"
import { canPublish, canRead, seesPipeline, standingOf } from "./AgentsPolicy.ts"
import type { Standing } from "./AgentsPolicy.ts"
import type { StageEvent, StandingRow, VersionRow } from "./AgentsSql.ts"
import { affecting, AgentsSql } from "./AgentsSql.ts"
import { readArchiveHead } from "./ArchiveHead.ts"
import { hotArchives } from "./HotArchives.ts"
import { ScanStarter } from "./ScanStarter.ts"
import type { SubmissionRefused } from "./SubmissionAdmission.ts"
import { SubmissionAdmission, submissionId } from "./SubmissionAdmission.ts"
import { versionMeant } from "./VersionRanges.ts"

/** A release as others use it: to run, verify or install it. */
export interface ReleaseRow {
  readonly versionId: string
  readonly agentId: string
  readonly ref: string
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly status: VersionStatus
  readonly archiveDigest: string
  readonly archiveBytes: number
  readonly manifest: Manifest
  /** DSSE envelope as JSON text. */
  readonly attestation: string | null
  readonly visibility: "public" | "private"
  readonly builtin: string | null
  readonly scanStatus: "pending" | "scanned" | "skipped"
}

const dayMs = 86_400_000
const isVersion = Schema.is(Version)
const lookAgain = "5 seconds"
/** The highest number that an event can have. */
const lastSeq = 2 ** 31 - 1
const terminal: ReadonlyArray<VersionStatus> = ["needs_review", "published", "quarantined", "blocked", "yanked"]

/** `ns/name@version` as it was released: a version keeps it when its agent moves. */
export const refOf = (row: Pick<VersionRow, "releasedAs" | "namespace" | "name" | "version">) =>
  `${row.releasedAs ?? `${row.namespace}/${row.name}`}@${row.version}`

/** What people are told before they use a version. Spec: Other states. */
export const warningsOf = (status: VersionStatus): ReadonlyArray<string> =>
  status === "yanked" ? ["This version is yanked: its publisher advises against it. Ranges leave it out."] : []

export const versionRecord = (row: VersionRow, pipeline: ReadonlyArray<StageEvent>, all: boolean): AgentVersion => ({
  id: row.id,
  namespace: row.namespace,
  name: row.name,
  version: row.version,
  ref: refOf(row),
  status: row.status,
  manifestSchemaVersion: row.manifestSchemaVersion,
  scanStatus: row.scanStatus,
  ...(row.verdict === null ? {} : { verdict: row.verdict }),
  ...(row.findingCounts === null ? {} : { findingCounts: row.findingCounts }),
  // Of what holds a version only those learn who can mend it.
  ...(row.holding === null || !all ? {} : { holding: row.holding }),
  ...affecting(row.advisories, row.version),
  signed: row.signed,
  archive: {
    digest: row.archiveDigest,
    bytes: row.archiveBytes,
    href: `/api/v1/agents/${row.namespace}/${row.name}/archives/${row.archiveDigest}`
  },
  manifest: row.manifest,
  modes: row.manifest?.modes ?? [],
  capabilities: row.manifest?.capabilities ?? null,
  source: {
    kind: row.sourceKind,
    commit: row.sourceCommit,
    ...(row.sourceKind === "git" ? { url: `/git/${row.namespace}/${row.name}.git` } : {})
  },
  submittedBy: row.submitter,
  warnings: warningsOf(row.status),
  pipeline,
  createdAt: row.createdAt.toISOString(),
  publishedAt: row.publishedAt?.toISOString() ?? null
})

export class Versions extends Context.Service<
  Versions,
  {
    readonly list: (
      viewer: Account | null,
      ns: string,
      name: string,
      page: { readonly offset?: number; readonly limit?: number }
    ) => Effect.Effect<Page<AgentVersion>, NotFound>
    readonly get: (
      viewer: Account | null,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<AgentVersion, NotFound>
    /** The version that `range` means, or an exact version; the latest published one without. A range means a prerelease only when it names it, or with `prerelease`. */
    readonly resolveVersion: (
      viewer: Account | null,
      ns: string,
      name: string,
      range: string | undefined,
      prerelease: boolean
    ) => Effect.Effect<AgentVersion, NotFound | Validation>
    /** Pipeline progress until a terminal state, then `done`. */
    readonly events: (
      viewer: Account | null,
      ns: string,
      name: string,
      version: string,
      after: number
    ) => Effect.Effect<Stream.Stream<typeof VersionEvent.Type>, NotFound>
    readonly report: (
      viewer: Account | null,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<typeof SignedReport.Type, NotFound | ReportNotReady>
    readonly attestation: (
      viewer: Account | null,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<typeof DsseEnvelope.Type, NotFound | ReportNotReady>
    readonly archive: (
      viewer: Account | null,
      ns: string,
      name: string,
      digest: Digest
    ) => Effect.Effect<
      { readonly bytes: number; readonly public: boolean; readonly content: Stream.Stream<Uint8Array, unknown> },
      NotFound | VersionNotPublished | VersionQuarantined | Blocked
    >
    /** Stores the archive at `path`, makes the version and starts its scan. Nothing is stored when it is refused. `source` when it was not uploaded. */
    readonly submit: (
      actor: Account,
      ns: string,
      name: string,
      path: string,
      source?: { readonly kind: "git"; readonly commit: string }
    ) => Effect.Effect<
      AgentVersion,
      | NotFound
      | TooLarge
      | Validation
      | AgentRetired
      | VersionExists
      | VersionsPerDay
      | OrgDecommissioning
      | SubmissionRefused
    >
    readonly yank: (
      actor: Account,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<AgentVersion, NotFound | VersionNotPublished | OrgDecommissioning>
    readonly unyank: (
      actor: Account,
      ns: string,
      name: string,
      version: string
    ) => Effect.Effect<AgentVersion, NotFound | VersionNotPublished | OrgDecommissioning>
    /** Staff's decision on a version, with its reason. */
    readonly moderate: (
      actor: Account,
      ns: string,
      name: string,
      version: string,
      decision: "quarantine" | "release" | "block",
      reason: string
    ) => Effect.Effect<AgentVersion, NotFound | VersionNotPublished>
    /** The decision alone; who may take it when is asked by `Reviews`. */
    readonly review: (
      actor: Account,
      ns: string,
      name: string,
      version: string,
      decision: "publish" | "block",
      reason: string
    ) => Effect.Effect<AgentVersion, NotFound | Forbidden | VersionNotPublished>
    /** `ns/name@version`, `ns/name@range`, or the latest published of `ns/name`. 404 as for a missing name when the reader may not read it. */
    readonly resolve: (ref: string, reader: Account) => Effect.Effect<ReleaseRow, NotFound | Validation>
    /** For a run that was created from it: whatever its state is now. */
    readonly releaseById: (versionId: string) => Effect.Effect<ReleaseRow | null>
  }
>()("catalog/Versions") {
  static readonly layer = Layer.effect(
    Versions,
    Effect.gen(function* () {
      const rows = yield* AgentsSql
      const agents = yield* Agents
      const orgs = yield* Orgs
      const objects = yield* ObjectStore
      const archives = yield* hotArchives
      const audit = yield* Audit.Audit
      const settings = yield* Settings.Settings
      const notifications = yield* Notifications
      const scans = yield* ScanStarter
      const admission = yield* SubmissionAdmission
      const sql = yield* SqlClient.SqlClient
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const transaction = Database.transaction(sql)

      const seesAll = (viewer: Account | null, standing: Standing) => seesPipeline(standing) || viewer?.staff === true
      /** The version as the viewer may know it: one that was never published is only its publishers'. */
      const known = <Row extends VersionRow & StandingRow>(viewer: Account | null, row: Row | null) => {
        const standing = row === null ? null : standingOf(row)
        if (row === null || standing === null || !canRead(viewer, standing)) return Effect.fail(new NotFound({}))
        const all = seesAll(viewer, standing)
        return all || row.publishedAt !== null ? Effect.succeed({ row, all }) : Effect.fail(new NotFound({}))
      }
      const find = Effect.fnUntraced(function* (viewer: Account | null, ns: string, name: string, version: string) {
        return yield* known(viewer, yield* Effect.orDie(rows.seenVersion(viewer?.accountId ?? null, ns, name, version)))
      })
      const show = Effect.fnUntraced(function* (row: VersionRow, all: boolean) {
        const stages = yield* Effect.orDie(rows.stageEvents([row.id]))
        return versionRecord(
          row,
          stages.map(({ data }) => data),
          all
        )
      })
      const reread = (id: string) => Effect.flatMap(Effect.orDie(rows.versionById(id)), (row) => show(row!, true))

      const note = (actor: Account, action: string, row: VersionRow, detail: Record<string, unknown>) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: refOf(row),
          org: row.org ?? undefined,
          detail
        })
      const change = Effect.fnUntraced(function* (
        actor: Account,
        row: VersionRow,
        from: ReadonlyArray<VersionStatus>,
        to: VersionStatus,
        action: string,
        detail: Record<string, unknown>
      ) {
        const at = yield* now
        const moved = yield* transaction(
          Effect.gen(function* () {
            const done = yield* Effect.orDie(rows.move(row.id, from, to, at))
            if (done) yield* note(actor, action, row, { ...detail, from: row.status })
            return done
          })
        )
        if (!moved) {
          const current = (yield* Effect.orDie(rows.versionById(row.id)))!
          return yield* new VersionNotPublished({
            detail: `The version is ${current.status}; this needs ${from.join(" or ")}`,
            versionStatus: current.status
          })
        }
        return yield* reread(row.id)
      })
      const ofManager = Effect.fnUntraced(function* (actor: Account, ns: string, name: string, version: string) {
        const { hold } = yield* agents.managed(actor, ns, name)
        const row = yield* Effect.orDie(rows.version(ns, name, version))
        if (row === null) return yield* new NotFound({})
        return hold === null ? row : yield* hold
      })
      /** While the agent stays where its manager found it. */
      const asManager = <A, E>(row: VersionRow, change: Effect.Effect<A, E>) =>
        transaction(Effect.andThen(rows.lockedAs({ id: row.agentId }, row), change))
      /** Staff sees every version, also of private agents: it decides on them. */
      const ofStaff = Effect.fnUntraced(function* (ns: string, name: string, version: string) {
        const row = yield* Effect.orDie(rows.version(ns, name, version))
        // Its own namespace: it may have moved from the one that was asked for.
        return row === null || (yield* orgs.namespace(row.namespace)) === null ? yield* new NotFound({}) : row
      })
      const release = (row: VersionRow, attestation: unknown): ReleaseRow | null =>
        row.manifest === null
          ? null
          : {
              versionId: row.id,
              agentId: row.agentId,
              ref: refOf(row),
              namespace: row.namespace,
              name: row.name,
              version: row.version,
              status: row.status,
              archiveDigest: row.archiveDigest,
              archiveBytes: row.archiveBytes,
              manifest: row.manifest,
              attestation: attestation === null ? null : JSON.stringify(attestation),
              visibility: row.visibility,
              builtin: row.builtin,
              scanStatus: row.scanStatus
            }
      /** What resolves: the exact version, also a yanked one, or the newest published one that a range means. */
      const pick = Effect.fnUntraced(function* (
        accountId: string | null,
        ns: string,
        name: string,
        range: string | undefined,
        asked: { readonly pointer: string; readonly where: "query" | "body"; readonly prerelease?: boolean }
      ) {
        const version = range === undefined ? undefined : yield* versionMeant(rows, ns, name, range, asked)
        if (range !== undefined && version === undefined) return yield* new NotFound({})
        const row = yield* Effect.orDie(
          version === undefined ? rows.seenLatest(accountId, ns, name) : rows.seenVersion(accountId, ns, name, version)
        )
        return row !== null && (row.status === "published" || row.status === "yanked") ? row : yield* new NotFound({})
      })

      const submit = Effect.fnUntraced(function* (
        actor: Account,
        ns: string,
        name: string,
        path: string,
        source?: { readonly kind: "git"; readonly commit: string }
      ) {
        const seen = yield* agents.known(actor, ns, name)
        if (!canPublish(seen.standing)) return yield* new NotFound({})
        if (seen.hold !== null) return yield* seen.hold
        const retired = new AgentRetired({ detail: "A retired agent takes no submission" })
        if (seen.agent.retiredAt !== null) return yield* retired
        const { size } = yield* Effect.orDie(Effect.tryPromise(() => stat(path)))
        const maxBytes = settings["limits.archiveMaxBytes"]
        if (size > maxBytes) return yield* new TooLarge({ detail: `A release archive has at most ${maxBytes} bytes` })
        const head = yield* Effect.catchTag(readArchiveHead(path), "ArchiveUnreadable", ({ message }) =>
          invalidField("/archive", message)
        )
        if (head.name !== `${ns}/${name}`) {
          return yield* invalidField("/archive", `agent.yaml names ${head.name.slice(0, 120)}, not ${ns}/${name}`)
        }
        if (!isVersion(head.version)) {
          return yield* invalidField("/archive", "the version in agent.yaml is not a semantic version")
        }
        const exists = new VersionExists({
          detail: `${ns}/${name}@${head.version} exists. A version is never replaced.`
        })
        if ((yield* Effect.orDie(rows.version(ns, name, head.version))) !== null) return yield* exists
        const perDay = settings["limits.versionsPerDay"]
        const withinDay = Effect.fnUntraced(function* (at: Date) {
          if ((yield* Effect.orDie(rows.submittedSince(seen.agent.id, new Date(at.getTime() - dayMs)))) >= perDay) {
            return yield* new VersionsPerDay({ detail: `An agent takes at most ${perDay} versions in 24 hours` })
          }
        })
        // Asked before anything is stored, and again where two submissions cannot both pass.
        yield* withinDay(yield* now)
        yield* admission.admit({
          id: submissionId(seen.agent.id, head.version),
          actor: { id: actor.accountId, handle: actor.handle },
          namespace: ns,
          org: seen.org,
          agent: name,
          version: head.version,
          bytes: size
        })
        const put = objects.put(NodeStream.fromReadable({ evaluate: () => createReadStream(path) }), { maxBytes }).pipe(
          Effect.catchTag("ObjectTooLarge", () => new TooLarge({})),
          Effect.catch((error) => (error instanceof TooLarge ? Effect.fail(error) : Effect.die(error)))
        )
        const stored = yield* put
        const id = yield* newId("ver")
        const at = yield* now
        const archiveLock = `archive:${stored.digest}`
        yield* transaction(
          Effect.gen(function* () {
            // It may have been renamed, retired, made public or told to scan meanwhile. And the end of an agent that
            // had this name must not take the bytes away.
            const current = yield* rows.lockedAs(seen.agent, { namespace: ns, name }, archiveLock)
            if (current.retiredAt !== null) return yield* retired
            yield* withinDay(at)
            // A submission of the same bytes that was refused meanwhile took them away again.
            if (!(yield* Effect.orDie(objects.has(stored.digest)))) yield* put
            yield* rows
              .insertVersion({
                id,
                agentId: seen.agent.id,
                version: head.version,
                archiveDigest: stored.digest,
                archiveBytes: stored.bytes,
                manifestSchemaVersion: head.manifestSchemaVersion,
                sourceKind: source?.kind ?? "upload",
                sourceCommit: source?.commit ?? null,
                scanStatus: current.pipelineSkip ? "skipped" : "pending",
                submittedBy: actor.accountId,
                createdAt: at
              })
              .pipe(
                Effect.catch((error) =>
                  Database.uniqueConstraint(error) === "versions_once" ? Effect.fail(exists) : Effect.die(error)
                )
              )
            yield* Effect.orDie(rows.addEvent(id, "status", { status: "scanning", at: at.toISOString() }, at))
            yield* audit.record({
              actor: { type: "account", id: actor.accountId, handle: actor.handle },
              action: "version.submit",
              target: `${ns}/${name}@${head.version}`,
              org: seen.org ?? undefined,
              detail: { digest: stored.digest, ...(source === undefined ? {} : { commit: source.commit }) }
            })
          })
        ).pipe(
          // Refused or cut off after all. Under the lock, so that no other submission of these bytes is between its look and its row.
          Effect.onError(() =>
            transaction(
              Effect.gen(function* () {
                yield* Effect.orDie(rows.lock(`agent:${seen.agent.id}`, archiveLock))
                if (!(yield* Effect.orDie(rows.holdsArchive(stored.digest))))
                  yield* Effect.orDie(objects.remove(stored.digest))
              })
            ).pipe(Effect.catchCause((cause) => Effect.logWarning("an archive without a version stays", cause)))
          )
        )
        yield* scans.start(id)
        return yield* reread(id)
      })

      const events = Effect.fnUntraced(function* (
        viewer: Account | null,
        ns: string,
        name: string,
        version: string,
        after: number
      ) {
        const { row } = yield* find(viewer, ns, name, version)
        let last = Math.max(0, Math.min(after, lastSeq))
        const look = Effect.suspend(() => Effect.orDie(rows.events(row.id, last))).pipe(
          Effect.tap((found) => Effect.sync(() => (last = found.at(-1)?.seq ?? last)))
        )
        const ended = Effect.map(
          Effect.orDie(rows.versionById(row.id)),
          (current) => current === null || terminal.includes(current.status)
        )
        return Stream.unwrap(
          Effect.map(notifications.subscribe("version_events"), (notified) =>
            Stream.merge(
              Stream.filter(notified, (id) => id === row.id),
              Stream.tick(lookAgain)
            )
          )
        ).pipe(
          Stream.mapEffect(() => look),
          Stream.mapEffect((found) => {
            const end = found.some(
              ({ data, event }) => event === "status" && terminal.includes(data["status"] as VersionStatus)
            )
            if (found.length > 0) return Effect.succeed({ found, end })
            // It may have ended between the look and this: its last events come before `done`.
            return Effect.flatMap(ended, (end) =>
              Effect.map(end ? look : Effect.succeed(found), (found) => ({ found, end }))
            )
          }),
          Stream.takeUntil(({ end }) => end),
          Stream.flatMap(({ end, found }) =>
            Stream.fromIterable<typeof VersionEvent.Type>([
              ...found.map(({ data, event, seq }) => ({ id: String(seq), event, data: JSON.stringify(data) })),
              ...(end ? [{ id: String(last), event: "done" as const, data: "{}" }] : [])
            ])
          )
        )
      })

      const signatures = Effect.fnUntraced(function* (
        viewer: Account | null,
        ns: string,
        name: string,
        version: string
      ) {
        const { row } = yield* find(viewer, ns, name, version)
        return { ...(yield* Effect.orDie(rows.signatures(row.id)))!, published: row.publishedAt !== null }
      })

      return Versions.of({
        list: Effect.fnUntraced(function* (viewer, ns, name, asked) {
          const { agent, standing } = yield* agents.seen(viewer, ns, name)
          const all = seesAll(viewer, standing)
          const { page, rows: found } = yield* pageOf(asked, { max: 100, standard: 20 }, (offset, limit) =>
            Effect.orDie(rows.versions(agent.id, all, offset, limit))
          )
          const stages = yield* Effect.orDie(rows.stageEvents(found.map(({ id }) => id)))
          const of = (id: string) => stages.filter(({ versionId }) => versionId === id).map(({ data }) => data)
          return { items: found.map((row) => versionRecord(row, of(row.id), all)), ...page }
        }),
        get: Effect.fnUntraced(function* (viewer, ns, name, version) {
          const found = rows.shownVersion(viewer?.accountId ?? null, ns, name, version)
          const { all, row } = yield* known(viewer, yield* Effect.orDie(found))
          return versionRecord(row, row.pipeline, all)
        }),
        resolveVersion: Effect.fnUntraced(function* (viewer, ns, name, range, prerelease) {
          const asked = { pointer: "/range", where: "query", prerelease } as const
          // Before the range is read: what is wrong with it is told to readers alone.
          yield* agents.seen(viewer, ns, name)
          const { all, row } = yield* known(viewer, yield* pick(viewer?.accountId ?? null, ns, name, range, asked))
          return yield* show(row, all)
        }),
        events,
        report: Effect.fnUntraced(function* (viewer, ns, name, version) {
          const { report, reportEnvelope } = yield* signatures(viewer, ns, name, version)
          return report === null || reportEnvelope === null
            ? yield* new ReportNotReady({})
            : { report, envelope: reportEnvelope }
        }),
        attestation: Effect.fnUntraced(function* (viewer, ns, name, version) {
          const { attestation, published } = yield* signatures(viewer, ns, name, version)
          // Whoever has it passes for published wherever only the registry's signature is checked.
          return (
            (published ? attestation : null) ??
            (yield* new ReportNotReady({ detail: "The version has no attestation, or was never published" }))
          )
        }),
        archive: Effect.fnUntraced(function* (viewer, ns, name, digest) {
          const row = yield* Effect.orDie(rows.seenArchive(viewer?.accountId ?? null, ns, name, digest))
          if (row === null) {
            // What a fork starts with is its authors' to go on with, and no release.
            const { agent, standing } = yield* agents.seen(viewer, ns, name)
            if (digest !== agent.forkArchive || !seesAll(viewer, standing)) return yield* new NotFound({})
          } else {
            const standing = standingOf(row)
            if (!canRead(viewer, standing)) return yield* new NotFound({})
            if (row.status === "blocked") return yield* new Blocked({})
            if (row.status === "quarantined") return yield* new VersionQuarantined({})
            if (row.status === "scanning" || row.status === "needs_review") {
              return seesAll(viewer, standing)
                ? yield* new VersionNotPublished({ versionStatus: row.status })
                : yield* new NotFound({})
            }
          }
          const { bytes, content } = yield* Effect.orDie(archives.get(digest))
          return { bytes, public: row?.visibility === "public", content }
        }),
        submit,
        yank: Effect.fnUntraced(function* (actor, ns, name, version) {
          const row = yield* ofManager(actor, ns, name, version)
          return yield* asManager(row, change(actor, row, ["published"], "yanked", "version.yank", {}))
        }),
        unyank: Effect.fnUntraced(function* (actor, ns, name, version) {
          const row = yield* ofManager(actor, ns, name, version)
          return yield* asManager(row, change(actor, row, ["yanked"], "published", "version.unyank", {}))
        }),
        moderate: Effect.fnUntraced(function* (actor, ns, name, version, decision, reason) {
          const row = yield* ofStaff(ns, name, version)
          switch (decision) {
            case "quarantine":
              return yield* change(actor, row, ["published", "yanked"], "quarantined", "version.quarantine", { reason })
            case "release": {
              // What was yanked before its quarantine stays yanked.
              const before = yield* Effect.orDie(rows.statusBefore(row.id))
              return yield* change(
                actor,
                row,
                ["quarantined"],
                before === "yanked" ? "yanked" : "published",
                "version.release",
                { reason }
              )
            }
            case "block":
              return yield* change(
                actor,
                row,
                ["needs_review", "published", "yanked", "quarantined"],
                "blocked",
                "version.block",
                { reason }
              )
          }
        }),
        review: Effect.fnUntraced(function* (actor, ns, name, version, decision, reason) {
          if (!actor.staff) return yield* new Forbidden({ detail: "Reviewers are members of the staff organization" })
          const row = yield* ofStaff(ns, name, version)
          if (row.submittedBy === actor.accountId)
            return yield* new Forbidden({ detail: "Nobody decides on a version of their own" })
          // Nothing may be published without an attestation: its scan did not end, or could not read its manifest.
          if (decision === "publish" && !row.signed) {
            return yield* new VersionNotPublished({
              detail: "This version has no attestation. Block it; its submitter can submit a new version.",
              versionStatus: row.status
            })
          }
          return yield* change(
            actor,
            row,
            ["needs_review"],
            decision === "publish" ? "published" : "blocked",
            "version.review",
            { decision, reason }
          )
        }),
        resolve: Effect.fnUntraced(function* (ref, reader) {
          const [path, version] = ref.split("@") as [string, string | undefined]
          const [ns, name] = path.split("/") as [string, string]
          const row = yield* pick(reader.accountId, ns, name, version, { pointer: "/ref", where: "body" })
          if (!canRead(reader, standingOf(row))) return yield* new NotFound({})
          const found = release(row, null)
          return found === null ? yield* new NotFound({}) : found
        }),
        releaseById: Effect.fnUntraced(function* (versionId) {
          const row = yield* Effect.orDie(rows.versionById(versionId))
          if (row === null) return null
          const signed = yield* Effect.orDie(rows.signatures(versionId))
          return release(row, signed?.attestation ?? null)
        })
      })
    })
  )
}
