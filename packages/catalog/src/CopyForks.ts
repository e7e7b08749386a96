/**
 * Copies what forks were asked for. A fork's row in `copying` says what is to be
 * copied, so a copy that dies is made again from the start; what it had written
 * is written again as it was. Spec: Other states, Fork.
 */
import { archiveDirectory, defaultArchiveLimits, digestOf, openPackage } from "@quickagents/archive"
import type { ArchiveLimits, PackageFile } from "@quickagents/archive"
import { Audit, Database, ObjectStore, Settings } from "@quickagents/platform"
import { manifestFile } from "@quickagents/schema"
import { Cause, Clock, Data, Effect, Result, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parseDocument } from "yaml"
import { removeRemains } from "./AgentRemains.ts"
import type { CopiedVersion, CopyingFork } from "./AgentsSql.ts"
import { AgentsSql } from "./AgentsSql.ts"
import { makeForkedRepository } from "./git/ForkedRepository.ts"

/** A copy that failed is tried again after so long. */
const againMs = 60_000
/** A copy that is unfinished for so long is failed. Spec: Other states. */
const copyLifeMs = 2 * 3_600_000
/** Commits of a fork's first repository. */
const maxVersions = 100
/** Forks that one sweep fails; the rest is the next one's. */
const batch = 200

/** No later try would do better. `detail` is for the person who forked. */
class CopyImpossible extends Data.TaggedError("CopyImpossible")<{ readonly detail: string }> {}

/** What was published passed the limits of its time. */
const limits: ArchiveLimits = {
  ...defaultArchiveLimits,
  archiveMaxBytes: Number.MAX_SAFE_INTEGER,
  archiveMaxFiles: Number.MAX_SAFE_INTEGER,
  archiveMaxFileBytes: Number.MAX_SAFE_INTEGER,
  archiveMaxImageFileBytes: Number.MAX_SAFE_INTEGER,
  archiveMaxTextBytes: Number.MAX_SAFE_INTEGER
}

type Files = ReadonlyArray<Pick<PackageFile, "path" | "bytes" | "mode">>

const filesOf = Effect.fnUntraced(function* ({ archiveDigest, version }: CopiedVersion) {
  const { content } = yield* Effect.orDie((yield* ObjectStore).get(archiveDigest))
  const archive = Buffer.concat(yield* Effect.orDie(Stream.runCollect(content)))
  const opened = openPackage(archive, limits)
  if (Result.isFailure(opened))
    return yield* new CopyImpossible({ detail: `The archive of ${version} cannot be opened any more` })
  // What a package is packed without.
  return opened.success.files.filter(
    ({ path }) => !path.split("/").some((part) => part.startsWith(".") || part === "node_modules")
  )
})

/** The files with the fork's own name in the manifest, comments and order kept. */
const renamed = Effect.fnUntraced(function* (files: Files, name: string) {
  const manifest = files.find(({ path }) => path === manifestFile)
  const document = parseDocument(Buffer.from(manifest?.bytes ?? "").toString("utf8"))
  if (document.errors.length > 0 || document.get("name") === undefined)
    return yield* new CopyImpossible({ detail: `${manifestFile} of the forked version cannot be changed` })
  document.set("name", name)
  const bytes = Buffer.from(document.toString({ lineWidth: 0 }))
  return files.map((file) => (file.path === manifestFile ? { ...file, bytes } : file))
})

const pack = (files: Files) =>
  Effect.scoped(
    Effect.gen(function* () {
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "fork-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      yield* Effect.promise(async () => {
        for (const { bytes, mode, path } of files) {
          await mkdir(dirname(join(directory, path)), { recursive: true })
          await writeFile(join(directory, path), bytes, { flag: "wx", mode: (mode & 0o100) === 0 ? 0o644 : 0o755 })
        }
      })
      return yield* Effect.mapError(
        archiveDirectory(directory),
        ({ message }) => new CopyImpossible({ detail: `The forked version cannot be packed: ${message.slice(0, 400)}` })
      )
    })
  )

/** As many versions before the forked one as a repository holds without a warning. */
const affordable = (versions: ReadonlyArray<CopiedVersion>, maxBytes: number) => {
  let bytes = 0
  return versions.filter(({ archiveBytes }, index) => (bytes += archiveBytes) <= maxBytes || index === 0)
}

const conclude = Effect.fnUntraced(function* (
  fork: CopyingFork,
  end:
    | { readonly forkState: "failed"; readonly forkDetail: string }
    | { readonly forkState: "ready"; readonly forkDetail: string; readonly archive: Uint8Array }
) {
  const rows = yield* AgentsSql
  const audit = yield* Audit.Audit
  const objects = yield* ObjectStore
  const at = new Date(yield* Clock.currentTimeMillis)
  return yield* Database.transaction(yield* SqlClient.SqlClient)(
    Effect.gen(function* () {
      // The lock of submissions: one of the same bytes that is refused must not take them away before the row holds them.
      yield* Effect.orDie(rows.lock(`agent:${fork.id}`))
      const { forkDetail, forkState } = end
      const store = Effect.fnUntraced(function* (archive: Uint8Array) {
        // Nor must the end of an agent that had this name.
        yield* Effect.orDie(rows.lock(`archive:${digestOf(archive)}`))
        return yield* Effect.orDie(objects.put(Stream.make(archive), { maxBytes: archive.length }))
      })
      const stored = end.forkState === "failed" ? null : yield* store(end.archive)
      const ended = yield* Effect.orDie(
        rows.endFork(
          fork.id,
          {
            forkState,
            forkDetail,
            ...(stored === null ? {} : { forkArchive: stored.digest, forkArchiveBytes: stored.bytes })
          },
          at
        )
      )
      if (ended) {
        yield* audit.record({
          actor: Audit.system,
          action: `agent.fork_${forkState}`,
          target: `${fork.namespace}/${fork.name}`,
          org: fork.org ?? undefined,
          detail: { detail: forkDetail }
        })
      }
      return { ended, forkArchive: stored?.digest ?? null }
    })
  )
})

const copy = Effect.fnUntraced(function* (fork: CopyingFork) {
  const rows = yield* AgentsSql
  const settings = yield* Settings.Settings
  const found = yield* Effect.orDie(rows.versionsToCopy(fork.forkedFrom, fork.forkedVersion, maxVersions))
  const versions = affordable(found, settings["limits.repoWarnBytes"])
  const [forked] = versions
  if (forked?.version !== fork.forkedVersion)
    return yield* new CopyImpossible({ detail: "The forked version is no longer published" })
  const name = `${fork.namespace}/${fork.name}`
  const files = yield* renamed(yield* filesOf(forked), name)
  const archive = yield* pack(files)
  const directory = settings["git.directory"]
  if (directory !== null) {
    const services = yield* Effect.context<ObjectStore>()
    const { hostname } = new URL(settings["service.baseUrl"])
    yield* makeForkedRepository({
      directory,
      agentId: fork.id,
      committer: `registry <registry@${hostname}>`,
      commits: [
        ...versions.toReversed().map((version) =>
          filesOf(version).pipe(
            Effect.map((files) => ({ message: `${version.ref}\n`, at: version.publishedAt, files })),
            Effect.provideContext(services)
          )
        ),
        Effect.map(Clock.currentTimeMillis, (millis) => ({
          message: `Fork of ${forked.ref} as ${name}\n`,
          at: new Date(millis),
          files
        }))
      ]
    }).pipe(
      Effect.catchTag("GitFailed", (error) =>
        error.reason === "time"
          ? Effect.die(error)
          : Effect.andThen(
              Effect.logError("a fork's repository was not made", error),
              new CopyImpossible({ detail: "Its repository could not be made from the files of the source" })
            )
      )
    )
  }
  const { ended, forkArchive } = yield* conclude(fork, {
    forkState: "ready",
    forkDetail:
      directory === null || versions.length === 1
        ? `${forked.version} was copied`
        : `${versions.length} versions were copied, up to ${forked.version}`,
    archive
  })
  // It was deleted while it was copied.
  if (!ended && (yield* Effect.orDie(rows.lockedAgent(fork.id))) === null)
    yield* removeRemains({ id: fork.id, forkArchive })
})

/** Copies every fork that waits for it, one after the other. */
export const copyForks = Effect.gen(function* () {
  const rows = yield* AgentsSql
  while (true) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const fork = yield* Effect.orDie(rows.claimFork(now, new Date(now.getTime() - againMs)))
    if (fork === null) return
    yield* copy(fork).pipe(
      Effect.catchTag("CopyImpossible", ({ detail }) => conclude(fork, { forkState: "failed", forkDetail: detail })),
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterruptsOnly(cause),
        (cause) => Effect.logWarning("a fork was not copied; it is tried again", cause)
      ),
      Effect.annotateLogs({ agent: fork.id })
    )
  }
})

/** Fails copies that did not end within two hours. Spec: FORK-001. */
export const failUnfinishedForks = Effect.gen(function* () {
  const rows = yield* AgentsSql
  const before = new Date((yield* Clock.currentTimeMillis) - copyLifeMs)
  const late = yield* Effect.orDie(rows.unfinishedForks(before, batch))
  yield* Effect.forEach(
    late,
    (fork) => conclude(fork, { forkState: "failed", forkDetail: "The copy did not end within two hours" }),
    { discard: true }
  )
  return late.length
})
