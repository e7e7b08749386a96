/**
 * Git's smart HTTP under `/git/{ns}/{name}.git`, for the stock git client: it is
 * decided here who asks, `git http-backend` speaks the protocol. Request and
 * answer stream through Node's pipes; nothing is held in memory.
 */
import { Credentials } from "@quickagents/identity"
import { CurrentRequest } from "@quickagents/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { AgentName, Handle } from "@quickagents/schema"
import { Effect, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ChildProcess } from "node:child_process"
import { PassThrough } from "node:stream"
import type { Readable } from "node:stream"
import { GitAdmission, GitRefused } from "./GitAdmission.ts"
import { protocolOf, secretOf, serviceOf } from "./GitPolicy.ts"
import { gitProcess } from "./GitProcess.ts"
import { GitRepositories } from "./GitRepositories.ts"

const isHandle = Schema.is(Handle)
const isName = Schema.is(AgentName)

const maxCgiHeadBytes = 16 * 1024

/** Without a look at the repository: whether it is there is nobody's business who does not ask for it. */
const notServed = new GitRefused({
  reason: "missing",
  message: "There is git fetch and git push by the smart protocol here, and nothing else."
})

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

const statusOf = { unauthorized: 401, forbidden: 403, missing: 404, held: 409, "too-many": 429, crowded: 429 } as const

/** Git shows plain text to the person. */
const answerOf = ({ message, reason }: GitRefused) =>
  HttpServerResponse.text(`${message}\n`, {
    status: statusOf[reason],
    ...(reason === "unauthorized" ? { headers: { "www-authenticate": 'Basic realm="git", charset="UTF-8"' } } : {}),
    ...(reason === "crowded" ? { headers: { "retry-after": "1" } } : {})
  })

export const GitHttp = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const credentials = yield* Credentials
    const admission = yield* GitAdmission
    const repositories = yield* GitRepositories

    const identify = Effect.fnUntraced(function* (authorization: string | undefined, address: string) {
      const secret = authorization === undefined ? null : secretOf(authorization)
      const account = secret === null ? null : yield* credentials.ofToken(secret)
      yield* admission.countRequest(account, address)
      return account === null && authorization !== undefined
        ? yield* new GitRefused({
            reason: "unauthorized",
            message: "The password must be a personal access token that is valid."
          })
        : account
    })

    const serve = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const params = yield* HttpRouter.params
      const { searchParams } = new URL(request.url, "http://registry")
      const path = params["*"] ?? ""
      const service = serviceOf(request.method, path, searchParams)
      const ns = params["ns"] ?? ""
      const name = (params["repo"] ?? "").replace(/\.git$/, "")
      if (service === null || !isHandle(ns) || !isName(name)) return yield* notServed
      const address = (yield* CurrentRequest)?.ip ?? "unknown"
      const { headers } = request
      const account = yield* identify(headers["authorization"], address)
      const agent = yield* admission.permit(service, account, ns, name)
      // Git asks with an empty request of four bytes first whether a large one would be let in.
      const isPush = path === "git-receive-pack" && headers["content-length"] !== "4"
      if (isPush) yield* admission.countPush(agent.id)
      yield* admission.enter(address, agent.id)
      const repository = yield* repositories.open(agent.id)
      const environment = yield* repositories.environmentOf(service, agent.id, protocolOf(headers["git-protocol"]))

      const { child, stdin, stdout } = yield* gitProcess(
        ["http-backend"],
        {
          ...environment,
          GIT_PROJECT_ROOT: repositories.directory,
          GIT_HTTP_EXPORT_ALL: "1",
          PATH_INFO: `/${repository}/${path}`,
          REQUEST_METHOD: request.method,
          // What was permitted, whatever else the address says: of two services git would take the last.
          QUERY_STRING: `service=${service}`,
          CONTENT_TYPE: headers["content-type"] ?? "",
          ...(headers["content-length"] === undefined ? {} : { CONTENT_LENGTH: headers["content-length"] }),
          ...(headers["content-encoding"] === undefined ? {} : { HTTP_CONTENT_ENCODING: headers["content-encoding"] }),
          REMOTE_USER: account?.handle ?? "anonymous",
          REMOTE_ADDR: Option.getOrElse(request.remoteAddress, () => "")
        },
        account !== null && isPush ? { actor: account, agent, repositories } : null
      )
      // Who asked first is told to go on: the body is read past the server, which would have said so.
      if (headers["expect"]?.toLowerCase() === "100-continue")
        NodeHttpServerRequest.toServerResponse(request).writeContinue()
      ;(NodeHttpServerRequest.toIncomingMessage(request) as Readable).pipe(stdin)
      const answer = yield* cgiAnswer(child, stdout)
      // Between git and the answer: a person who goes away breaks this and not git's own pipe.
      return HttpServerResponse.raw(stdout.pipe(new PassThrough()), {
        status: answer.status,
        headers: answer.headers,
        ...(answer.contentType === undefined ? {} : { contentType: answer.contentType })
      })
    }).pipe(Effect.catchTag("GitRefused", (refused) => Effect.succeed(answerOf(refused))))

    yield* router.add("*", "/git/:ns/:repo/*", serve)
  })
)
