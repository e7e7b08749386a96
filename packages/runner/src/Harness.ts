/** The step `harness`: turns of the model and calls of its tools, until the agent ends or its turns do. */
import { Effect } from "effect"
import { type Message, type Model, noUsage, type ToolCall, type ToolResult, type TurnUsage } from "./Model.ts"
import type { Narrate } from "./Narration.ts"
import { blocked, harnessFailed, overBudget, type RunFailure } from "./RunFailure.ts"
import { type Tool, type ToolOutcome, ToolRefused } from "./Tool.ts"

/** A turn that calls more gets the rest answered as refused. */
const maxCallsPerTurn = 64

/** What a run used so far. Kept outside the harness, so that a run that is cut still tells it. */
export interface Progress {
  /** Of all turns, with what is known of the one that goes on. */
  usage: TurnUsage
  turns: number
  /** Calls by tool name. */
  readonly toolCalls: Map<string, number>
}

export const newProgress = (): Progress => ({ usage: noUsage, turns: 0, toolCalls: new Map() })

/** A turn that is tried again begins to count again; what its first try used is not taken back. */
const higher = (a: TurnUsage, b: TurnUsage): TurnUsage => {
  const input = Math.max(a.input, b.input)
  const output = Math.max(a.output, b.output)
  return { input, output, total: Math.max(a.total, b.total, input + output), cached: Math.max(a.cached, b.cached) }
}

const sum = (a: TurnUsage, b: TurnUsage): TurnUsage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  total: a.total + b.total,
  cached: a.cached + b.cached
})

const carryOut = (
  tools: ReadonlyArray<Tool>,
  progress: Progress,
  call: ToolCall
): Effect.Effect<ToolOutcome, ToolRefused> => {
  const tool = tools.find(({ definition }) => definition.name === call.name)
  if (tool === undefined) {
    const names = tools.map(({ definition }) => definition.name).join(", ")
    return Effect.fail(new ToolRefused({ message: `There is no such tool. The tools are: ${names}` }))
  }
  progress.toolCalls.set(call.name, (progress.toolCalls.get(call.name) ?? 0) + 1)
  return call.args === undefined
    ? Effect.fail(new ToolRefused({ message: "The arguments are not JSON" }))
    : tool.call(call.args)
}

/** What the agent ended with: the argument of `finish`, or the text of a turn without a call. */
export const runHarness = (options: {
  readonly model: Model
  readonly system: string
  readonly task: string
  readonly tools: ReadonlyArray<Tool>
  /** At most so many turns of the model. */
  readonly turns: number
  readonly progress: Progress
  readonly narrate: Narrate
}): Effect.Effect<unknown, RunFailure> =>
  Effect.gen(function* () {
    const { model, narrate, progress, system, tools } = options
    narrate({ type: "started" })
    const definitions = tools.map(({ definition }) => definition)
    // Models refuse an empty message.
    const messages: Array<Message> = [{ role: "user", text: options.task.trim() === "" ? "Begin." : options.task }]
    for (let turns = 0; turns < options.turns; turns++) {
      const before = progress.usage
      let used = noUsage
      const heard = (usage: TurnUsage) => {
        used = higher(used, usage)
        progress.usage = sum(before, used)
        const { input, output, total } = progress.usage
        narrate({ type: "tokens", input, output, total })
      }
      const turn = yield* model.turn({ system, messages }, definitions, heard)
      progress.turns++
      narrate({ type: "turn", turns: progress.turns })
      if (turn.calls.length === 0) {
        return turn.text.trim() === ""
          ? yield* harnessFailed("no-result", "The model ended without an answer")
          : turn.text
      }
      const results: Array<ToolResult> = []
      for (const [index, call] of turn.calls.entries()) {
        const outcome = yield* (
          index < maxCallsPerTurn
            ? carryOut(tools, progress, call)
            : Effect.fail(new ToolRefused({ message: `At most ${maxCallsPerTurn} calls are made in one turn` }))
        ).pipe(Effect.catchTag("ToolRefused", ({ message }) => Effect.succeed({ kind: "refused" as const, message })))
        switch (outcome.kind) {
          case "finish":
            return outcome.result
          case "block":
            return yield* blocked("agent-blocked", outcome.reason)
          case "text":
            results.push({ callId: call.id, text: outcome.text, isError: false })
            break
          case "refused":
            results.push({ callId: call.id, text: outcome.message, isError: true })
        }
      }
      messages.push({ role: "assistant", text: turn.text, calls: turn.calls }, { role: "tool", results })
    }
    return yield* overBudget("turns", `The agent did not end within ${options.turns} turns`)
  })
