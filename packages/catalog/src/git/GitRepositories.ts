/**
 * The bare repositories of agents and what a push may do to them. A push is
 * looked at inside git's own quarantine, before any ref moves: what is refused
 * leaves nothing behind, and its reason reaches the person who pushed.
 * Spec: What the service does 1; Registry-wide limits.
 */
import { Settings } from "@quickagents/platform"
import type { Account } from "@quickagents/schema"
import { Context, Data, Effect, Layer, Semaphore } from "effect"
import { execFileSync } from "node:child_process"
import { accessSync, constants, mkdirSync } from "node:fs"
import { access, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { AgentRow } from "../AgentsSql.ts"
import { AgentsSql } from "../AgentsSql.ts"
import { readArchiveHead } from "../ArchiveHead.ts"
import { Versions } from "../Versions.ts"
import type { GitEnvironment } from "./GitCommand.ts"
import { git, gitEnvironment } from "./GitCommand.ts"
import type { GitService, RefUpdate } from "./GitPolicy.ts"
import { isNone, judgeUpdates } from "./GitPolicy.ts"
import { releaseArchive } from "./GitRelease.ts"

/** None of the refs of the push moves. `reasons` are sentences for the person who pushed. */
export class PushRefused extends Data.TaggedError("PushRefused")<{ readonly reasons: ReadonlyArray<string> }> {}

export interface Push {
  readonly actor: Account
  readonly agent: AgentRow
  readonly updates: ReadonlyArray<RefUpdate>
  /** Object directory with what was pushed; empty when only refs are deleted. */
  readonly quarantine: string
}

const hooks = fileURLToPath(new URL("hooks", import.meta.url))
const maxWordsBytes = 64 * 1024
/** About 800,000 objects in one push. */
const maxObjectListBytes = 48 * 1024 * 1024
/** Each holds the files of a commit in memory. */
const releasesAtOnce = 2
const staleMs = 3_600_000
/** Refs of a push, and withheld commits, of which the person is told. */
const maxRefsLookedAt = 20
/** Names of as many branches as one push can delete. */
const maxBranchesBytes = 4 * 1024 * 1024
/** Repositories that are known to be there without a look. */
const maxKnown = 10_000

const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`
const refuse = (...reasons: ReadonlyArray<string>) => Effect.fail(new PushRefused({ reasons }))

/** Takes away what pushes left that were killed: older than any push can be. */
const sweep = async (objects: string) => {
  for (const name of await readdir(objects)) {
    if (!name.startsWith("tmp_objdir-")) continue
    const path = join(objects, name)
    const found = await stat(path).catch(() => null)
    if (found !== null && Date.now() - found.mtimeMs > staleMs) await rm(path, { recursive: true, force: true })
  }
}

/** Bytes of packs and loose objects as `git count-objects -v` tells them. */
const bytesOf = (counts: string) =>
  [...counts.matchAll(/^size(?:-pack)?: (\d+)$/gm)].reduce((sum, [, kibibytes]) => sum + Number(kibibytes) * 1024, 0)

/** The sentences of a refused submission. */
const reasonsOf = (error: {
  readonly _tag: string
  readonly title?: string
  readonly detail?: string | undefined
  readonly errors?: ReadonlyArray<{ readonly message: string }>
}) => error.errors?.map(({ message }) => message) ?? [error.detail ?? error.title ?? error._tag]

export class GitRepositories extends Context.Service<
  GitRepositories,
  {
    /** Holds all repositories. */
    readonly directory: string
    /** For the git process that serves a request. `protocol` is what the client asks for. */
    readonly environmentOf: (
      service: GitService,
      agentId: string,
      protocol: string | undefined
    ) => Effect.Effect<GitEnvironment>
    /** Folder name of the agent's repository, which is made when it is not there yet. */
    readonly open: (agentId: string) => Effect.Effect<string>
    /** Judges a push and submits the versions that it tags. Answers what the person is told about it. */
    readonly review: (push: Push) => Effect.Effect<ReadonlyArray<string>, PushRefused>
  }
>()("catalog/GitRepositories") {
  static readonly layer = (given: string) =>
    Layer.effect(
      GitRepositories,
      Effect.gen(function* () {
        const settings = yield* Settings.Settings
        const versions = yield* Versions
        const rows = yield* AgentsSql
        const quota = settings["limits.repoQuotaBytes"]
        const warnBytes = settings["limits.repoWarnBytes"]
        const maxBlobBytes = settings["limits.repoMaxBlobBytes"]
        const perDay = settings["limits.versionsPerDay"]
        const directory = resolve(given)
        const releasing = yield* Semaphore.make(releasesAtOnce)

        const gitSettings = [
          ["core.hooksPath", hooks],
          // A larger blob is refused; until then it is streamed and not held in memory.
          ["core.bigFileThreshold", String(maxBlobBytes + 1)],
          ["core.logAllRefUpdates", "false"],
          ["http.getanyfile", "false"],
          ["http.uploadpack", "true"],
          ["http.receivepack", "true"],
          ["transfer.fsckObjects", "true"],
          ["receive.fsckObjects", "true"],
          ["receive.maxInputSize", String(quota)],
          ["receive.denyNonFastForwards", "false"],
          // HEAD goes on to another branch by itself.
          ["receive.denyDeleteCurrent", "ignore"],
          ["pack.threads", "1"],
          ["pack.windowMemory", "64m"],
          // Housekeeping is part of the push that makes it necessary: nothing outlives its request.
          ["gc.autoDetach", "false"]
        ] as const
        const environment = gitEnvironment(gitSettings)
        // Without waiting: the server that these routes belong to listens already.
        mkdirSync(directory, { recursive: true })
        // Git skips a hook that it cannot execute, and would take every push.
        accessSync(join(hooks, "pre-receive"), constants.X_OK)
        execFileSync("git", ["--version"], { env: environment })

        const words = (args: ReadonlyArray<string>, environment: GitEnvironment) =>
          Effect.map(git(args, { environment, maxBytes: maxWordsBytes }), (output) => output.toString("utf8").trim())

        /** Those of `commits` that the repository has: a push that broke off may have taken its commit away again. */
        const present = Effect.fnUntraced(function* (environment: GitEnvironment, commits: ReadonlyArray<string>) {
          if (commits.length === 0) return []
          const found = yield* git(["rev-list", "--no-walk", "--ignore-missing", ...commits], {
            environment,
            maxBytes: commits.length * 65
          })
          return found.toString("latin1").split("\n").slice(0, -1)
        })

        /** The refs through which one of `commits` could be fetched. Nothing is left out: rather all of them than one too few. */
        const refsWith = Effect.fnUntraced(function* (own: GitEnvironment, commits: ReadonlyArray<string>) {
          const refs = yield* words(
            ["for-each-ref", "--format=%(refname)", ...commits.map((commit) => `--contains=${commit}`)],
            own
          )
          const head = yield* words(["symbolic-ref", "HEAD"], own)
          const listed = refs.split("\n").filter((ref) => ref !== "")
          return listed.includes(head) ? [...listed, "HEAD"] : listed
        })

        const environmentOf = Effect.fn("GitRepositories.environmentOf")(function* (
          service: GitService,
          agentId: string,
          protocol: string | undefined
        ) {
          if (service === "git-receive-pack") {
            return { ...environment, ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol }) }
          }
          const own = { ...environment, GIT_DIR: join(directory, `${agentId}.git`) }
          const withheld = yield* Effect.orDie(
            Effect.flatMap(rows.withheldCommits(agentId), (commits) => present(own, commits))
          )
          if (withheld.length === 0) {
            return {
              // A partial clone asks for objects that no ref names, also in the first version of the protocol.
              ...gitEnvironment([
                ...gitSettings,
                ["uploadpack.allowFilter", "true"],
                ["uploadpack.allowReachableSHA1InWant", "true"]
              ]),
              ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol })
            }
          }
          const hidden = yield* refsWith(own, withheld).pipe(
            Effect.catchIf(
              ({ reason }) => reason === "too-much",
              () => Effect.succeed(["refs", "HEAD"])
            ),
            Effect.orDie
          )
          // Version 2 of the protocol gives out every object that is named, and a partial clone needs that to get
          // on; the first version gives out only what the refs that it shows lead to.
          return gitEnvironment([...gitSettings, ...hidden.map((ref) => ["uploadpack.hideRefs", ref] as const)])
        })

        const known = new Set<string>()
        const open = Effect.fn("GitRepositories.open")(function* (agentId: string) {
          const name = `${agentId}.git`
          if (known.has(name)) return name
          const path = join(directory, name)
          const exists = yield* Effect.promise(() =>
            access(join(path, "HEAD")).then(
              () => true,
              () => false
            )
          )
          if (!exists) {
            // Made beside its place and moved there, so that nobody meets half a repository.
            const made = yield* Effect.promise(() => mkdtemp(join(directory, ".new-")))
            yield* Effect.orDie(
              git(["init", "--quiet", "--bare", "--template=", "--initial-branch=main", made], {
                environment,
                maxBytes: maxWordsBytes
              })
            )
            yield* Effect.promise(() =>
              rename(made, path).catch(async (error: NodeJS.ErrnoException) => {
                await rm(made, { recursive: true, force: true })
                // Someone else made it at the same time.
                if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error
              })
            )
          }
          yield* Effect.promise(() => sweep(join(path, "objects")))
          if (known.size >= maxKnown) known.clear()
          known.add(name)
          return name
        })

        /** Refuses blobs over the limit and a repository over its quota; warns of one that gets there. */
        const checkSizes = Effect.fnUntraced(function* (repository: string, quarantine: string) {
          // Without alternates: only what this push brings.
          const pushed = { ...environment, GIT_DIR: repository, GIT_OBJECT_DIRECTORY: quarantine }
          const listed = yield* git(
            [
              "cat-file",
              "--batch-all-objects",
              "--unordered",
              "--batch-check=%(objecttype) %(objectsize) %(objectname)"
            ],
            { environment: pushed, maxBytes: maxObjectListBytes }
          ).pipe(
            Effect.catchTag("GitFailed", (error) =>
              error.reason === "too-much"
                ? refuse("The push holds too many objects; push in parts.")
                : Effect.die(error)
            )
          )
          const large = listed
            .toString("latin1")
            .split("\n")
            .filter((line) => line.startsWith("blob ") && Number(line.split(" ")[1]) > maxBlobBytes)
          if (large.length > 0) {
            return yield* refuse(
              ...large.slice(0, 10).map((line) => {
                const [, size, id] = line.split(" ")
                return `A file has ${mebibytes(Number(size))}; at most ${mebibytes(maxBlobBytes)} are taken. Find it with: git log --all --find-object=${id}`
              })
            )
          }
          const counts = yield* Effect.forEach([pushed, { ...environment, GIT_DIR: repository }], (environment) =>
            Effect.orDie(words(["count-objects", "-v"], environment))
          )
          const size = counts.reduce((sum, count) => sum + bytesOf(count), 0)
          if (size > quota) {
            return yield* refuse(
              `With this push the repository would have ${mebibytes(size)}; its quota is ${mebibytes(quota)}.`
            )
          }
          return size > warnBytes ? [`The repository has ${mebibytes(size)} of at most ${mebibytes(quota)}.`] : []
        })

        /** The archive of a tagged commit, sound enough to be submitted. Null: this very commit is that version already. */
        const prepare = Effect.fnUntraced(function* (
          agent: AgentRow,
          environment: GitEnvironment,
          tag: { readonly version: string; readonly object: string }
        ) {
          const of = `v${tag.version}`
          const commit = yield* words(["rev-parse", "--verify", "--quiet", `${tag.object}^{commit}`], environment).pipe(
            Effect.catchTag("GitFailed", () => refuse(`${of} tags something that is not a commit.`))
          )
          const existing = yield* Effect.orDie(rows.version(agent.namespace, agent.name, tag.version))
          if (existing !== null) {
            // A push that broke off between submission and tag is pushed again.
            return existing.sourceKind === "git" && existing.sourceCommit === commit
              ? null
              : yield* refuse(`${agent.namespace}/${agent.name}@${tag.version} exists. A version is never replaced.`)
          }
          const path = yield* releaseArchive(environment, commit).pipe(
            Effect.catchTags({
              PackageInvalid: ({ problems }) => refuse(...problems.map((problem) => `${of}: ${problem}`)),
              GitFailed: Effect.die
            })
          )
          const head = yield* Effect.catchTag(readArchiveHead(path), "ArchiveUnreadable", ({ message }) =>
            refuse(`${of}: ${message}`)
          )
          if (head.version !== tag.version) {
            return yield* refuse(
              `${of}: agent.yaml says version ${head.version.slice(0, 128)}. Tag and version must be the same.`
            )
          }
          return { path, commit, version: tag.version }
        })

        /** What the person is told whose refs hold what nobody can fetch: without a word they would only vanish. */
        const withheldHistory = Effect.fnUntraced(function* (
          agent: AgentRow,
          environment: GitEnvironment,
          updates: ReadonlyArray<RefUpdate>
        ) {
          const refs = updates.filter(({ after }) => !isNone(after)).slice(0, maxRefsLookedAt)
          if (refs.length === 0) return []
          const withheld = yield* present(environment, yield* rows.withheldCommits(agent.id))
          const told: Array<string> = []
          for (const { after, ref } of refs) {
            for (const commit of withheld.slice(0, maxRefsLookedAt)) {
              const held = yield* Effect.isSuccess(words(["merge-base", "--is-ancestor", commit, after], environment))
              if (!held) continue
              told.push(
                `${ref} holds commit ${commit.slice(0, 12)} of a version that is withheld: it cannot be fetched until its history is rewritten without it.`
              )
              break
            }
          }
          return told
        })

        /**
         * A clone checks out what HEAD names: main, or else master or the first branch of the first push. When its
         * branch is deleted, or a push that was to bring it broke off, one of the push is chosen in the same way; when
         * a push only deletes it, the one with the latest commit.
         */
        const nameHead = Effect.fnUntraced(function* (
          repository: string,
          branches: ReadonlyArray<string>,
          updates: ReadonlyArray<RefUpdate>
        ) {
          const own = { ...environment, GIT_DIR: repository }
          const head = yield* words(["symbolic-ref", "HEAD"], own)
          if (branches.includes(head)) return
          const deleted = updates.flatMap(({ after, ref }) => (isNone(after) ? [ref] : []))
          const isDeleted = deleted.includes(head)
          if (!isDeleted && branches.length === 0) return
          if (!isDeleted && (yield* Effect.isSuccess(words(["rev-parse", "--verify", "--quiet", head], own)))) return
          const latest = ["--format=%(refname)", "--sort=-committerdate", `--count=${deleted.length + 1}`, "refs/heads"]
          const next =
            ["refs/heads/main", "refs/heads/master"].find((ref) => branches.includes(ref)) ??
            branches[0] ??
            (yield* git(["for-each-ref", ...latest], { environment: own, maxBytes: maxBranchesBytes }))
              .toString("utf8")
              .split("\n")
              .find((ref) => ref !== "" && !deleted.includes(ref))
          if (next !== undefined) yield* words(["symbolic-ref", "HEAD", next], own)
        })

        const review = Effect.fn("GitRepositories.review")(
          function* ({ actor, agent, quarantine, updates }: Push) {
            const { branches, problems, versions: tags } = judgeUpdates(updates)
            if (problems.length > 0) return yield* refuse(...problems)
            if (tags.length > perDay) return yield* refuse(`A push brings at most ${perDay} version tags.`)
            const repository = join(directory, `${agent.id}.git`)
            const told = quarantine === "" ? [] : [...(yield* checkSizes(repository, quarantine))]
            const view = {
              ...environment,
              GIT_DIR: repository,
              GIT_OBJECT_DIRECTORY: quarantine,
              GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repository, "objects")
            }
            told.push(...(yield* Effect.orDie(withheldHistory(agent, view, updates))))
            // All of them are looked at before the first is submitted: a push is refused as a whole.
            const releases = yield* Effect.forEach(tags, (tag) => prepare(agent, view, tag))
            const { name, namespace } = agent
            for (const release of releases) {
              if (release === null) continue
              yield* versions
                .submit(actor, namespace, name, release.path, { kind: "git", commit: release.commit })
                .pipe(
                  // With what was submitted before it: those versions stay, and their tags are taken when pushed again.
                  Effect.catch((error) =>
                    refuse(...told, ...reasonsOf(error).map((reason) => `v${release.version}: ${reason}`))
                  )
                )
              told.push(
                `${namespace}/${name}@${release.version} is submitted; its scan: ${settings["service.baseUrl"]}/api/v1/agents/${namespace}/${name}/versions/${release.version}`
              )
            }
            yield* Effect.orDie(nameHead(repository, branches, updates))
            return told
          },
          (effect, { updates }) => {
            const scoped = Effect.scoped(effect)
            return judgeUpdates(updates).versions.length === 0 ? scoped : releasing.withPermit(scoped)
          }
        )

        return GitRepositories.of({ directory, environmentOf, open, review })
      })
    )
}
