/** How a run ended, from what its runner wrote, or did not write, and why the host stopped it. */
import { Envelope, type RunExit, toRunExit } from "@quickagents/schema"
import { Option, Schema } from "effect"

/** Why the host stopped a run before its runner ended by itself. */
export type StopReason = "cancelled" | "tokens" | "wall-time" | "output-too-large" | "drained"

export interface Narrated {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  readonly turns: number
}

export const nothingNarrated: Narrated = { inputTokens: 0, outputTokens: 0, totalTokens: 0, turns: 0 }

/** Envelope and journal are read whole; a larger one is none. */
export const maxEnvelopeBytes = 16 * 1024 * 1024
const maxReceiptCharacters = 256 * 1024

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Envelope))

/** The envelope is the last line that the runner wrote on stdout. */
export const readEnvelope = (stdout: string): Option.Option<Envelope> =>
  decode(stdout.trimEnd().split("\n").at(-1) ?? "").pipe(
    Option.filter(({ receipt }) => JSON.stringify(receipt).length <= maxReceiptCharacters)
  )

/** The exit of a run without an envelope; its usage is what was narrated last. */
export const exitWithoutEnvelope = (
  exit: Pick<RunExit, "exitClass" | "interrupted"> & Required<Pick<RunExit, "reason">>,
  narrated: Narrated,
  wallMs: number
): RunExit => ({ ...exit, usage: { ...narrated, cachedTokens: 0, wallMs }, receipt: null })

export const runExitOf = (end: {
  readonly envelope: Option.Option<Envelope>
  readonly stopped: StopReason | undefined
  readonly narrated: Narrated
  readonly wallMs: number
}): RunExit => {
  const without = (exitClass: string, reason: NonNullable<RunExit["reason"]>, interrupted: boolean) =>
    exitWithoutEnvelope({ exitClass, reason, interrupted }, end.narrated, end.wallMs)
  if (end.stopped === "output-too-large") return without("cli", "output-too-large", false)
  if (Option.isSome(end.envelope)) {
    const exit = toRunExit(end.envelope.value)
    if (!exit.interrupted) return exit
    // To the runner every signal is an interruption; only the host knows what this one meant.
    if (end.stopped === "wall-time") return { ...exit, exitClass: "timeout", reason: "wall-time", interrupted: false }
    if (end.stopped === "drained") return { ...exit, exitClass: "cli", reason: "internal", interrupted: false }
    return exit
  }
  switch (end.stopped) {
    case "wall-time":
      return without("timeout", "wall-time", false)
    case "cancelled":
    case "tokens":
      return without("harness", "interrupted", true)
    // A host that goes away is the service's fault: the class is one that is refunded.
    case "drained":
    case undefined:
      return without("cli", "internal", false)
  }
}
