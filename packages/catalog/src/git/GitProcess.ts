/**
 * A git process that serves one request and lives no longer than it. Its hook
 * of a push is answered over descriptor 3, which only this process inherits.
 */
import type { Account } from "@quickagents/schema"
import { Cause, Effect } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import type { Duplex, Readable, Writable } from "node:stream"
import type { AgentRow } from "../AgentsSql.ts"
import { endGroup } from "./GitCommand.ts"
import type { GitEnvironment } from "./GitCommand.ts"
import { updatesOf } from "./GitPolicy.ts"
import type { GitRepositories } from "./GitRepositories.ts"

/** Refs of one push, as text. */
const maxUpdatesBytes = 1024 * 1024
const maxToldLength = 500
/** What git may take to end after its request did. */
const graceMs = 2_000

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

/** Answers the hook of a push once. Whatever goes wrong, nothing is taken that was not looked at. */
const answerHook = Effect.fnUntraced(function* (
  hook: Duplex,
  { actor, agent, repositories }: { actor: Account; agent: AgentRow; repositories: GitRepositories["Service"] }
) {
  const { lines, quarantine } = yield* handedOver(hook)
  const { reasons, verdict } = yield* repositories.review({ actor, agent, quarantine, updates: updatesOf(lines) }).pipe(
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

export interface GitProcess {
  readonly child: ChildProcess
  readonly stdin: Writable
  readonly stdout: Readable
}

/** Starts git until the scope closes. `push` when it may take one: who pushes what is reviewed before any ref moves. */
export const gitProcess = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: GitEnvironment,
  push: Parameters<typeof answerHook>[1] | null
) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("git", args, {
        // A group of its own, so that what it starts ends with the request too.
        detached: true,
        stdio: ["pipe", "pipe", "ignore", "pipe"],
        env
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
  if (push !== null) yield* Effect.forkScoped(answerHook(hook, push))
  return { child, stdin, stdout } satisfies GitProcess
})
