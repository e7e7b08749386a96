/** How a command ends that does not do what it was asked: one sentence for a person, and an exit code for a script. */
import { exitCodes } from "@quickagents/schema"
import type { ExitClass } from "@quickagents/schema"
import { Cause, Console, Effect, Predicate, Schema } from "effect"
import { HttpClientError } from "effect/http"
import { noAnswer } from "./Patience.ts"
import { over, plain, plainLines } from "./Progress.ts"

/** `message` is written for the person who typed the command. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  exitClass: Schema.Literals(["cli", "usage", "verify", "policy", "compile", "blocked"]),
  message: Schema.String
}) {}

const failing = (exitClass: CommandFailed["exitClass"]) => (message: string) =>
  new CommandFailed({ exitClass, message })

/** This machine or the registry could not do it. */
export const failed = failing("cli")
/** The command line asks for something that cannot be done. */
export const wrongUsage = failing("usage")
/** Bytes, attestation or lock file are not what they must be. */
export const notVerified = failing("verify")
/** Something is asked for that nobody agreed to. */
export const notAgreed = failing("policy")
/** The gate does not publish the version. */
export const held = failing("blocked")

/** What a shell answers for a program that Ctrl-C ended. */
const interruptedCode = 130

export const exitCodesText = `Exit codes: 0 done; 1 the registry or this machine could not do it; 2 the command line is wrong; 10 bytes, attestation or lock file are not what they must be; 11 something was not agreed to; 12 the package is not valid; 18 the gate holds or blocks the version; ${interruptedCode} interrupted.`

interface Told {
  readonly message: string
  readonly code: number
}

const originOf = (error: HttpClientError.HttpClientError): string =>
  URL.canParse(error.request.url) ? new URL(error.request.url).origin : error.request.url

const isProblem = (
  error: unknown
): error is {
  readonly _tag: string
  readonly title: string
  readonly detail?: string
  readonly required?: ReadonlyArray<string>
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly message: string }>
} =>
  Predicate.hasProperty(error, "type") &&
  typeof error.type === "string" &&
  error.type.startsWith("/problems/") &&
  Predicate.hasProperty(error, "title")

const advice: Readonly<Record<string, string>> = {
  Unauthorized: "The registry does not take your token; sign in with: quickagent login",
  NotFound: "There is no such thing at this registry, or you may not read it"
}

/** `undefined` for what no person should have to read: a defect. */
export const describe = (error: unknown): Told | undefined => {
  if (error instanceof CommandFailed) return { message: error.message, code: exitCodes[error.exitClass] }
  if (Predicate.isTagged(error, "PackageInvalid")) {
    const { problems } = error as unknown as { readonly problems: ReadonlyArray<string> }
    return { message: ["The package is not valid:", ...problems].join("\n  "), code: exitCodes.compile }
  }
  if (Predicate.isTagged(error, "RunFailure")) {
    const { exitClass, message } = error as unknown as { readonly exitClass: ExitClass; readonly message: string }
    return { message, code: exitCodes[exitClass] }
  }
  if (HttpClientError.isHttpClientError(error)) {
    const status = error.response?.status
    const message =
      error.reason._tag === "TransportError" && error.reason.description === noAnswer
        ? `${originOf(error)} does not answer; try again later`
        : status === undefined
          ? `${originOf(error)} cannot be reached. Are you online, and is that the address of the registry?`
          : status < 300
            ? `The answer of ${originOf(error)} broke off; try again`
            : `${originOf(error)} answered ${status}, which is no answer of a registry`
    return { message, code: exitCodes.cli }
  }
  if (isProblem(error)) {
    const parts = [
      advice[error._tag] ?? error.title,
      ...(error.detail === undefined ? [] : [error.detail]),
      ...(error.required === undefined ? [] : [`The token lacks ${error.required.join(", ")}`]),
      // A field's own message is often the detail.
      ...(error.errors ?? []).flatMap(({ message, pointer }) =>
        message === error.detail ? [] : [`${pointer}: ${message}`]
      )
    ]
    return { message: plain(parts.join(". ")), code: exitCodes.cli }
  }
  if (Predicate.isTagged(error, "SchemaError"))
    return { message: "The registry's answer cannot be read: is that the address of a registry?", code: exitCodes.cli }
  if (Predicate.isTagged(error, "LogRefuted")) {
    const { message } = error as unknown as { readonly message: string }
    return { message, code: exitCodes.verify }
  }
  if (Predicate.isTagged(error, "QuitError")) return { message: "Nothing was changed.", code: interruptedCode }
  return undefined
}

/** For a person, on stderr. */
export const complain = (message: string) =>
  Effect.suspend(() => {
    over()
    return Console.error(plainLines(message))
  })

const interruption = Effect.callback<void>((resume) => {
  const heard = () => resume(Effect.void)
  process.once("SIGINT", heard).once("SIGTERM", heard)
  return Effect.sync(() => void process.off("SIGINT", heard).off("SIGTERM", heard))
})

/**
 * Runs a command and sets the exit code of the process. Ctrl-C interrupts it, so
 * that temporary files go away; what it stores is stored whole or not at all.
 */
export const ended = <R>(command: Effect.Effect<void, unknown, R>): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    process.exitCode = yield* Effect.raceFirst(
      // First, so that it listens before anything is done.
      Effect.andThen(interruption, Effect.as(Console.error("\nInterrupted."), interruptedCode)),
      Effect.as(command, exitCodes.ok as number)
    ).pipe(
      Effect.catchCause((cause) => {
        const told = describe(Cause.squash(cause))
        return told === undefined
          ? Effect.failCause(cause as Cause.Cause<never>)
          : Effect.as(complain(told.message), told.code)
      })
    )
  })
