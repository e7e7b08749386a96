/** Programs that the manifest names, started without a shell in the workspace. */
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import type { Policy } from "./Policy.ts"
import { makeTool, textOutcome, type Tool, ToolRefused } from "./Tool.ts"

const maxOutputBytes = 256 * 1024
const standardSeconds = 60
const maxSeconds = 600

const environment = (workspace: string, policy: Policy, proxy: string | undefined): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
  HOME: workspace,
  LANG: "C.UTF-8",
  ...(proxy === undefined ? {} : { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy }),
  ...Object.fromEntries(policy.secrets.map(({ name, value }) => [name, value]))
})

/** A program that prints a secret must not hand it to the model. */
const withoutSecrets = (text: string, policy: Policy): string =>
  policy.secrets.reduce(
    (rest, { name, value }) => (value === "" ? rest : rest.replaceAll(value, `[secret ${name}]`)),
    text
  )

const run = (
  workspace: string,
  policy: Policy,
  proxy: string | undefined,
  args: {
    readonly command: string
    readonly args?: ReadonlyArray<string>
    readonly stdin?: string
    readonly seconds?: number
  }
) =>
  Effect.callback<string, ToolRefused>((resume) => {
    const child = spawn(args.command, args.args ?? [], {
      cwd: workspace,
      env: environment(workspace, policy, proxy),
      shell: false,
      // A group of its own, so that what the program starts ends with it.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"]
    })
    const kill = () => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, "SIGKILL")
      } catch {
        // The group ended before the signal.
      }
    }
    const kept: Array<Buffer> = []
    let bytes = 0
    const keep = (chunk: Buffer) => {
      if (bytes < maxOutputBytes) kept.push(chunk.subarray(0, maxOutputBytes - bytes))
      bytes += chunk.length
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    child.stdin.on("error", () => child.stdin.destroy())
    child.stdin.end(args.stdin ?? "")
    child.once("error", () =>
      resume(Effect.fail(new ToolRefused({ message: "The program cannot be started on this machine" })))
    )
    // A grandchild that keeps the pipes open would hold back `close` for ever.
    child.once("exit", kill)
    child.once("close", (code, signal) => {
      const cut = bytes > maxOutputBytes ? `\n[${bytes - maxOutputBytes} more bytes]` : ""
      resume(
        Effect.succeed(
          `exit ${code ?? signal ?? "unknown"}\n${withoutSecrets(Buffer.concat(kept).toString("utf8"), policy)}${cut}`
        )
      )
    })
    return Effect.sync(kill)
  }).pipe(
    Effect.timeoutOrElse({
      duration: (args.seconds ?? standardSeconds) * 1000,
      orElse: () => Effect.fail(new ToolRefused({ message: "The program took too long and was ended" }))
    }),
    Effect.map(textOutcome)
  )

const Args = Schema.Struct({
  command: Schema.String,
  args: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(1_000))),
  stdin: Schema.optionalKey(Schema.String),
  seconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxSeconds })))
})

/** `proxy` is the address that programs are told to reach the network through. */
export const commandTools = (workspace: string, policy: Policy, proxy: string | undefined): ReadonlyArray<Tool> =>
  policy.commands.length === 0
    ? []
    : [
        makeTool(
          "run_command",
          `Runs one of these programs in the workspace, without a shell: ${policy.commands.join(", ")}. Answers its exit code and output.`,
          Args,
          (args) =>
            policy.commands.includes(args.command)
              ? run(workspace, policy, proxy, args)
              : Effect.fail(new ToolRefused({ message: "The manifest does not list this program" }))
        )
      ]
