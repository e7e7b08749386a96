/**
 * Git's smart HTTP under `/git/{ns}/{name}.git`, for the stock git client: it is
 * decided here who may, `git http-backend` speaks the protocol. Request and
 * answer stream through Node's pipes; nothing is held in memory.
 * Spec: Scopes (repo:read, repo:write); Registry-wide limits.
 */
import { Credentials } from "@quickagents/identity"
import { CurrentRequest, RateLimits, Settings } from "@quickagents/platform"
import type { Bucket } from "@quickagents/platform"
import type { Account } from "@quickagents/schema"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Cause, Data, Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { PassThrough } from "node:stream"
import type { Duplex, Readable, Writable } from "node:stream"
import { Agents } from "../Agents.ts"
import { canPublish } from "../AgentsPolicy.ts"
import type { AgentRow } from "../AgentsSql.ts"
import { endGroup } from "./GitCommand.ts"
import type { GitService } from "./GitPolicy.ts"
import { holds, secretOf, serviceOf, updatesOf } from "./GitPolicy.ts"
import { GitRepositories } from "./GitRepositories.ts"

/** The answer to a request that is not served. Git shows plain text to the person. */
class GitRefused extends Data.TaggedError("GitRefused")<{
  readonly status: 401 | 403 | 404 | 409 | 429
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}> {}

const perRepository = 4
const perProcess = 32
const maxCgiHeadBytes = 16 * 1024
/** Refs of one push, as text. */
const maxUpdatesBytes = 1024 * 1024
const maxToldLength = 500
/** What git may take to end after its request did. */
const graceMs = 2_000

const unauthorized = (message: string) =>
  new GitRefused({ status: 401, message, headers: { "www-authenticate": 'Basic realm="git", charset="UTF-8"' } })
const notFound = new GitRefused({ status: 404, message: "Repository not found." })

interface CgiAnswer {
  readonly status: number
  readonly contentType: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** Reads the head of a CGI answer; the body stays in `stdout`. */
const cgiAnswer = (child: ChildProcess, stdout: Readable) =>
  Effect.callback<CgiAnswer>((resume) => {
    let head: Buffer = Buffer.alloc(0)
    const end = (effect: Effect.Effect<CgiAnswer>) => {
      stdout.off("data", onData)
      stdout.pause()
      resume(effect)
    }
    const broken = (what: string) => end(Effect.die(new Error(`git http-backend ${what}`)))
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk])
      const at = head.indexOf("\r\n\r\n")
      if (at < 0) {
        if (head.length > maxCgiHeadBytes) broken("answers without an end of its head")
        return
      }
      const fields = new Map(
        head
          .subarray(0, at)
          .toString("latin1")
          .split("\r\n")
          .map((line) => {
            const colon = line.indexOf(":")
            return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
          })
      )
      const { "content-type": contentType, status = "200", ...headers } = Object.fromEntries(fields)
      const body = head.subarray(at + 4)
      end(Effect.succeed({ status: Number.parseInt(status, 10), contentType, headers }))
      if (body.length > 0) stdout.unshift(body)
    }
    stdout.on("data", onData)
    child.once("error", (error) => broken(error.message))
    child.once("close", (code, signal) => broken(`ended with ${code ?? signal} before it answered`))
  })

/** What the pre-receive hook of a push hands over: its quarantine, then its refs, then an empty line. */
const handedOver = (hook: Duplex) =>
  Effect.callback<{ readonly quarantine: string; readonly lines: ReadonlyArray<string> }>((resume) => {
    let text = ""
    hook.setEncoding("utf8")
    hook.on("data", (chunk: string) => {
      text += chunk
      if (text.length > maxUpdatesBytes) hook.destroy()
      else if (text.endsWith("\n\n")) {
        const [quarantine = "", ...lines] = text.trimEnd().split("\n")
        resume(Effect.succeed({ quarantine, lines }))
      }
    })
    hook.on("error", () => undefined)
  })

/** One line of a sideband: no control characters, which could move the cursor of a terminal. */
const told = (line: string) => `:${line.replace(/[\x00-\x1f\x7f-\x9f]/g, " ").slice(0, maxToldLength)}\n`

const routes = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const settings = yield* Settings.Settings
    const credentials = yield* Credentials
    const agents = yield* Agents
    const limits = yield* RateLimits
    const repositories = yield* GitRepositories
    const ofAccount: ReadonlyArray<Bucket> = [
      { name: "authed-hour", limit: settings["limits.authedPerHour"], windowMs: 3_600_000 },
      { name: "authed-burst", limit: settings["limits.authedBurstPerMin"], windowMs: 60_000 }
    ]
    const ofAddress: ReadonlyArray<Bucket> = [
      { name: "anonymous", limit: settings["limits.anonymousPerMin"], windowMs: 60_000 }
    ]
    const pushes: ReadonlyArray<Bucket> = [
      { name: "git-push", limit: settings["limits.gitPushesPerHour"], windowMs: 3_600_000 }
    ]

    const take = Effect.fnUntraced(function* (subject: string, buckets: ReadonlyArray<Bucket>, message: string) {
      const standing = yield* limits.take(subject, buckets)
      const request = yield* CurrentRequest
      if (request !== undefined) request.standing = standing
      if (!standing.allowed) return yield* new GitRefused({ status: 429, message })
    })

    const identify = Effect.fnUntraced(function* (authorization: string | undefined, address: string) {
      const tooMany = "Too many requests; wait a little."
      if (authorization === undefined) {
        yield* take(address, ofAddress, tooMany)
        return null
      }
      const secret = secretOf(authorization)
      const account = secret === null ? null : yield* credentials.ofToken(secret)
      if (account === null) {
        yield* take(address, ofAddress, tooMany)
        return yield* unauthorized("The password must be a personal access token that is valid.")
      }
      yield* take(account.accountId, ofAccount, tooMany)
      return account
    })

    /** The agent whose repository is asked for, when `account` may do to it what it asks. */
    const permit = Effect.fnUntraced(function* (
      service: GitService,
      account: Account | null,
      ns: string,
      name: string
    ) {
      if (service === "git-upload-pack") {
        const reader = account !== null && holds(account, "repo:read") ? account : null
        const seen =
          reader === null
            ? agents.seen(null, ns, name)
            : // By a name that it had before, what is public is read by all alike.
              Effect.catchTag(agents.known(reader, ns, name), "NotFound", () => agents.seen(null, ns, name))
        return yield* Effect.mapError(seen, () =>
          account === null
            ? unauthorized("Sign in with a personal access token as the password.")
            : reader === null
              ? new GitRefused({ status: 403, message: "Your token lacks the scope repo:read." })
              : notFound
        ).pipe(Effect.map(({ agent }) => agent))
      }
      if (account === null) return yield* unauthorized("Pushing needs a personal access token as the password.")
      if (!holds(account, "repo:write"))
        return yield* new GitRefused({ status: 403, message: "Your token lacks the scope repo:write." })
      const { agent, hold, standing } = yield* Effect.mapError(agents.known(account, ns, name), () => notFound)
      if (!account.emailVerified)
        return yield* new GitRefused({ status: 403, message: "Verify your email address before you push." })
      if (!canPublish(standing))
        return yield* new GitRefused({ status: 403, message: `You may read ${ns}/${name}, but not push to it.` })
      if (hold !== null)
        return yield* new GitRefused({
          status: 409,
          message: `${hold.org} is read-only: it is going to be erased at ${hold.decommissionAt}.`
        })
      if (agent.retiredAt !== null)
        return yield* new GitRefused({ status: 403, message: `${ns}/${name} is retired and takes no push.` })
      return agent
    })

    const active = new Map<string, number>()
    /** A place among the requests that run now, for as long as the scope is open. */
    const enter = (address: string, agentId: string) => {
      const places = [
        { key: "process", most: perProcess },
        { key: `ip:${address}`, most: settings["limits.gitConcurrentPerIP"] },
        { key: `repository:${agentId}`, most: perRepository }
      ]
      return Effect.acquireRelease(
        Effect.suspend(() => {
          if (places.some(({ key, most }) => (active.get(key) ?? 0) >= most)) {
            return Effect.fail(
              new GitRefused({
                status: 429,
                message: "Too many git requests at once; try again.",
                headers: { "retry-after": "1" }
              })
            )
          }
          for (const { key } of places) active.set(key, (active.get(key) ?? 0) + 1)
          return Effect.void
        }),
        () =>
          Effect.sync(() => {
            for (const { key } of places) {
              const left = (active.get(key) ?? 1) - 1
              if (left === 0) active.delete(key)
              else active.set(key, left)
            }
          })
      )
    }

    /** Answers the hook of a push once. Whatever goes wrong, nothing is taken that was not looked at. */
    const answerHook = Effect.fnUntraced(function* (hook: Duplex, actor: Account, agent: AgentRow) {
      const { lines, quarantine } = yield* handedOver(hook)
      const { reasons, verdict } = yield* repositories
        .review({ actor, agent, quarantine, updates: updatesOf(lines) })
        .pipe(
          Effect.map((reasons) => ({ verdict: "accept", reasons })),
          Effect.catchTag("PushRefused", ({ reasons }) => Effect.succeed({ verdict: "refuse", reasons })),
          Effect.catchCauseIf(
            (cause) => !Cause.hasInterruptsOnly(cause),
            (cause) =>
              Effect.as(Effect.logError("a push could not be looked at", cause), {
                verdict: "refuse",
                reasons: ["The registry could not look at this push; try again later."]
              })
          )
        )
      hook.write(`${reasons.map(told).join("")}${verdict}\n`)
    })

    const serve = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const params = yield* HttpRouter.params
      const { search, searchParams } = new URL(request.url, "http://registry")
      const path = params["*"] ?? ""
      const service = serviceOf(request.method, path, searchParams)
      if (service === null) return yield* notFound
      const address = (yield* CurrentRequest)?.ip ?? "unknown"
      const { headers } = request
      const account = yield* identify(headers["authorization"], address)
      const name = (params["repo"] ?? "").replace(/\.git$/, "")
      const agent = yield* permit(service, account, params["ns"] ?? "", name)
      // A repository that is opened now would be in the way of the one that is copied.
      if (agent.forkState === "copying")
        return yield* new GitRefused({
          status: 403,
          message: "This fork is still being copied; try again in a moment."
        })
      // Git asks with an empty request of four bytes first whether a large one would be let in.
      const isPush = path === "git-receive-pack" && headers["content-length"] !== "4"
      if (isPush) {
        const most = settings["limits.gitPushesPerHour"]
        yield* take(agent.id, pushes, `A repository takes at most ${most} pushes in an hour.`)
      }
      yield* enter(address, agent.id)
      const repository = yield* repositories.open(agent.id)

      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn("git", ["http-backend"], {
            // A group of its own, so that what it starts ends with the request too.
            detached: true,
            stdio: ["pipe", "pipe", "ignore", "pipe"],
            env: {
              ...repositories.environment,
              GIT_PROJECT_ROOT: repositories.directory,
              GIT_HTTP_EXPORT_ALL: "1",
              PATH_INFO: `/${repository}/${path}`,
              REQUEST_METHOD: request.method,
              QUERY_STRING: search.slice(1),
              CONTENT_TYPE: headers["content-type"] ?? "",
              ...(headers["content-length"] === undefined ? {} : { CONTENT_LENGTH: headers["content-length"] }),
              ...(headers["content-encoding"] === undefined
                ? {}
                : { HTTP_CONTENT_ENCODING: headers["content-encoding"] }),
              ...(headers["git-protocol"] === undefined ? {} : { GIT_PROTOCOL: headers["git-protocol"] }),
              REMOTE_USER: account?.handle ?? "anonymous",
              REMOTE_ADDR: Option.getOrElse(request.remoteAddress, () => "")
            }
          })
        ),
        (child) =>
          Effect.sync(() => {
            // At the end of its input git ends by itself and takes away what had arrived; a signal, also that
            // of a broken pipe, would leave it behind.
            child.stdin?.destroy()
            child.stdio[3]?.destroy()
            child.stdout?.resume()
            setTimeout(() => endGroup(child), graceMs).unref()
          })
      )
      const [stdin, stdout, , hook] = child.stdio as unknown as [Writable, Readable, null, Duplex]
      // It may end before it has read everything.
      stdin.on("error", () => undefined)
      if (account !== null && isPush) yield* Effect.forkScoped(answerHook(hook, account, agent))
      ;(NodeHttpServerRequest.toIncomingMessage(request) as Readable).pipe(stdin)
      const answer = yield* cgiAnswer(child, stdout)
      // Between git and the answer: a person who goes away breaks this and not git's own pipe.
      return HttpServerResponse.raw(stdout.pipe(new PassThrough()), {
        status: answer.status,
        headers: answer.headers,
        ...(answer.contentType === undefined ? {} : { contentType: answer.contentType })
      })
    }).pipe(
      Effect.catchTag("GitRefused", ({ headers, message, status }) =>
        Effect.succeed(
          HttpServerResponse.text(`${message}\n`, { status, ...(headers === undefined ? {} : { headers }) })
        )
      )
    )

    yield* router.add("*", "/git/:ns/:repo/*", serve)
  })
)

/** The git routes; without `git.directory` there are none. */
export const GitHttp = Layer.unwrap(
  Effect.map(Settings.Settings, (settings) => {
    const directory = settings["git.directory"]
    return directory === null ? Layer.empty : routes.pipe(Layer.provide(GitRepositories.layer(directory)))
  })
)
