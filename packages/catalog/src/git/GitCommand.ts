/** One git command without a shell, in an environment of ours only, with bounded output. */
import { Data, Effect } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"

/** Git ended with a failure, wrote more than `maxBytes` or took too long. The message may quote pushed text. */
export class GitFailed extends Data.TaggedError("GitFailed")<{
  readonly message: string
  readonly reason: "exit" | "too-much" | "time"
}> {}

export type GitEnvironment = Readonly<Record<string, string>>

type GitSettings = ReadonlyArray<readonly [key: string, value: string]>

/** Nothing of the machine's or the account's git configuration has a say; `settings` do. A key may stand more than once. */
export const gitEnvironment = (settings: GitSettings): GitEnvironment => ({
  PATH: process.env["PATH"] ?? "/usr/bin:/bin",
  LC_ALL: "C",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_CONFIG_COUNT: String(settings.length),
  ...Object.fromEntries(
    settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value]
    ])
  )
})

const killAfterMs = 5_000
const maxStderr = 4_096

/** Ends a command that leads a process group, and with it what it started. SIGTERM first: then git removes its lock files. */
export const endGroup = (child: ChildProcess) => {
  const signal = (name: NodeJS.Signals) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    try {
      process.kill(-child.pid, name)
    } catch {
      // It ended in between.
    }
  }
  signal("SIGTERM")
  setTimeout(() => signal("SIGKILL"), killAfterMs).unref()
}

export const git = (
  args: ReadonlyArray<string>,
  options: {
    readonly environment: GitEnvironment
    readonly input?: string | Uint8Array
    /** Bytes of standard output that are kept. */
    readonly maxBytes: number
  }
): Effect.Effect<Buffer, GitFailed> =>
  Effect.callback<Buffer, GitFailed>((resume) => {
    const child = spawn("git", args, { env: options.environment, detached: true, stdio: ["pipe", "pipe", "pipe"] })
    const chunks: Array<Buffer> = []
    let bytes = 0
    let stderr = ""
    const fail = (reason: GitFailed["reason"], message: string) =>
      resume(Effect.fail(new GitFailed({ reason, message: `git ${args[0]}: ${message}` })))
    child.once("error", (error) => fail("exit", error.message))
    // It may end before it has read all; its exit code tells.
    child.stdin.on("error", () => undefined)
    child.stdin.end(options.input ?? "")
    child.stderr.on("data", (chunk: Buffer) => {
      if (stderr.length < maxStderr) stderr += chunk.toString("utf8")
    })
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= options.maxBytes) chunks.push(chunk)
      else {
        endGroup(child)
        fail("too-much", `more than ${options.maxBytes} bytes`)
      }
    })
    child.once("close", (code, signal) => {
      if (code === 0) resume(Effect.succeed(Buffer.concat(chunks)))
      else fail("exit", `ended with ${code ?? signal}: ${stderr.slice(0, maxStderr).trim()}`)
    })
    return Effect.sync(() => endGroup(child))
  }).pipe(
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => Effect.fail(new GitFailed({ reason: "time", message: `git ${args[0]}: took too long` }))
    })
  )
