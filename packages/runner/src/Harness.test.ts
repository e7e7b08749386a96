import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { endTools } from "./EndTools.ts"
import { newProgress, runHarness } from "./Harness.ts"
import { type Message, type Model, noUsage, type Turn } from "./Model.ts"
import { silent } from "./Narration.ts"
import { modelFailed } from "./RunFailure.ts"
import { scriptedModel } from "./ScriptedModel.ts"

const usage = { input: 10, output: 5, total: 20, cached: 4 }
const saying = (text: string): Turn => ({ text, calls: [], usage: noUsage })

/** Gives `turns` one after the other, and keeps what it was asked. */
const modelOf = (turns: ReadonlyArray<Turn>) => {
  const asked: Array<ReadonlyArray<Message>> = []
  const model: Model = {
    name: "m",
    turn: (conversation, _tools, heard) =>
      Effect.suspend(() => {
        heard(usage)
        asked.push([...conversation.messages])
        const turn = turns[asked.length - 1]
        return turn === undefined ? Effect.fail(modelFailed("model-unavailable", "gone")) : Effect.succeed(turn)
      })
  }
  return { asked, model }
}

const harness = (model: Model, turns = 9) => {
  const progress = newProgress()
  return {
    progress,
    end: runHarness({ model, system: "s", task: " ", tools: endTools, turns, progress, narrate: silent })
  }
}

describe("Harness", () => {
  it.effect("answers a bad call to the model as an error and goes on", () =>
    Effect.gen(function* () {
      const calls = [
        { id: "1", name: "fs_read", args: { path: "x" } },
        { id: "2", name: "finish", args: undefined },
        { id: "3", name: "block", args: { because: "no" } }
      ]
      const { asked, model } = modelOf([{ text: "", calls, usage: noUsage }, saying("done")])
      const { end, progress } = harness(model)
      assert.strictEqual(yield* end, "done")
      assert.deepEqual(asked[0], [{ role: "user", text: "Begin." }])
      const answered = asked[1][2]
      assert(answered.role === "tool")
      assert.deepEqual(
        answered.results.map(({ callId, isError }) => [callId, isError]),
        [
          ["1", true],
          ["2", true],
          ["3", true]
        ]
      )
      assert.include(answered.results[0].text, "The tools are: finish, block")
      assert.include(answered.results[1].text, "not JSON")
      assert.include(answered.results[2].text, "reason")
      assert.deepEqual(
        [...progress.toolCalls],
        [
          ["finish", 1],
          ["block", 1]
        ]
      )
    })
  )

  it.effect("adds up what the turns used, also of the one that failed", () =>
    Effect.gen(function* () {
      const { model } = modelOf([{ text: "", calls: [{ id: "1", name: "nope", args: {} }], usage }])
      const { end, progress } = harness(model)
      const failure = yield* Effect.flip(end)
      assert.deepEqual([failure.exitClass, failure.reason], ["gateway", "model-unavailable"])
      assert.deepEqual(progress.usage, { input: 20, output: 10, total: 40, cached: 8 })
      assert.strictEqual(progress.turns, 1)
    })
  )

  it.effect("ends at the turn cap, and refuses an empty answer", () =>
    Effect.gen(function* () {
      const busy = { text: "", calls: [{ id: "1", name: "nope", args: {} }], usage }
      assert.deepInclude(yield* Effect.flip(harness(modelOf([busy, busy, busy]).model, 2).end), {
        exitClass: "budget",
        reason: "turns"
      })
      assert.deepInclude(yield* Effect.flip(harness(modelOf([saying(" \n")]).model).end), {
        exitClass: "harness",
        reason: "no-result"
      })
    })
  )
})

describe("ScriptedModel", () => {
  const scripted = (task: string, script?: string) =>
    scriptedModel({ name: "scripted", task, intake: { who: "you", n: 3 }, script })

  it.effect("fills in task, intake and the last result, and prefers the script of the task", () =>
    Effect.gen(function* () {
      const task =
        "Hello\n```script\n- say: 'a {{intake.who}} {{intake.n}} {{intake.none}}|'\n- call: fs_write\n  args: { path: '{{last}}', deep: ['{{task}}'] }\n```"
      const model = yield* scripted(task, "- say: never")
      const messages: ReadonlyArray<Message> = [
        { role: "tool", results: [{ callId: "0", text: "result", isError: false }] }
      ]
      const turn = yield* model.turn({ system: "", messages }, [], () => {})
      assert.strictEqual(turn.text, "a you 3 |")
      assert.deepEqual(
        turn.calls.map(({ args, name }) => ({ name, args })),
        [{ name: "fs_write", args: { path: "result", deep: [task] } }]
      )
    })
  )

  it.effect("refuses a run without a script, and a script with an unknown step", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(scripted("Hello"))).exitClass, "compile")
      assert.include((yield* Effect.flip(scripted("", "- jump: 1"))).message, "The script is not valid")
      assert.include((yield* Effect.flip(scripted("", "- [: x"))).message, "not YAML")
    })
  )
})
