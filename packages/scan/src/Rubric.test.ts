import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { JudgeAnswer } from "./Judge.ts"
import { Judge, JudgeFailed } from "./Judge.ts"
import {
  chunkBytes,
  chunksOf,
  hashOfQuestions,
  reviewChunks,
  rubric,
  rubricHash,
  scoreOf,
  severityOf
} from "./Rubric.ts"
import { reviewParts, reviewStage } from "./stages/S9Review.ts"
import { manifestYaml } from "@quickagents/archive/testing"
import { context, packageWith, shown } from "./testing/TestPackages.ts"

/** A judge that answers each question from its own script, then with 0. */
const scripted = (answer: (questionId: string, text: string, time: number) => number | JudgeFailed) => {
  const times = new Map<string, number>()
  return Layer.succeed(Judge, {
    provider: "scripted",
    model: "scripted-2026-01-01",
    hosted: true,
    ask: (question, text): Effect.Effect<JudgeAnswer, JudgeFailed> =>
      Effect.suspend(() => {
        const key = `${question.id} ${text}`
        const time = (times.get(key) ?? 0) + 1
        times.set(key, time)
        const said = answer(question.id, text, time)
        return typeof said === "number" ? Effect.succeed({ probability: said, inputTokens: 10 }) : Effect.fail(said)
      })
  })
}
const c1 = rubric.slice(0, 1)

describe("chunks", () => {
  it("[MI-008] are at most 8 KiB, cut at line ends where there is one and never inside a character", () => {
    expect(chunkBytes).toBe(8192)
    const lines = `${"a".repeat(4999)}\n`.repeat(3)
    expect(chunksOf(lines).map((chunk) => chunk.length)).toEqual([5000, 5000, 5000])
    expect(chunksOf("a".repeat(8192)).length).toBe(1)
    expect(chunksOf("a".repeat(8193)).map((chunk) => chunk.length)).toEqual([8192, 1])
    const wide = chunksOf(`a${"\u{1f600}".repeat(3000)}`)
    expect(wide.join("")).toBe(`a${"\u{1f600}".repeat(3000)}`)
    expect(wide.every((chunk) => !chunk.includes("\ufffd"))).toBe(true)
    expect(chunksOf("")).toEqual([])
  })

  it("joined are the text again, for any text and bound", () => {
    expect(() =>
      fc.assert(
        fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), fc.integer({ min: 4, max: 64 }), (text, max) => {
          const chunks = chunksOf(text, max)
          return (
            chunks.join("") === text && chunks.every((chunk) => chunk.length > 0 && Buffer.byteLength(chunk) <= max)
          )
        })
      )
    ).not.toThrow()
  })
})

describe("scores", () => {
  it("[MI-010] 0.5, 0.7 and 0.9 are 1, 2 and 3", () => {
    expect([0, 0.4999, 0.5, 0.6999, 0.7, 0.8999, 0.9, 1].map(scoreOf)).toEqual([0, 0, 1, 1, 2, 2, 3, 3])
  })

  it("make high of 3, or of 2 for C1, C3 and C4, and medium of C2 and C6 always", () => {
    expect(
      rubric.map(({ id }) => [id, ([0, 1, 2, 3] as const).map((score) => severityOf(id, score) ?? "-").join(" ")])
    ).toEqual([
      ["C1_injection", "- medium high high"],
      ["C2_exfiltration", "- medium medium medium"],
      ["C3_undeclared_capability", "- medium high high"],
      ["C4_user_deception", "- medium high high"],
      ["C5_obfuscation", "- medium medium high"],
      ["C6_destructive_actions", "- medium medium medium"]
    ])
  })
})

describe("asking", () => {
  it.effect("[MI-011] asks an answer between 0.30 and 0.70 twice more and keeps the highest", () =>
    Effect.gen(function* () {
      const table: ReadonlyArray<readonly [ReadonlyArray<number>, number, number]> = [
        [[0.29, 1], 0.29, 1],
        [[0.3, 0.2, 0.8], 0.8, 3],
        [[0.5, 0.1, 0.2], 0.5, 3],
        [[0.7, 0.95, 0], 0.95, 3],
        [[0.71, 1], 0.71, 1]
      ]
      for (const [answers, kept, requests] of table) {
        const [chunk] = yield* reviewChunks(c1, ["x"]).pipe(
          Effect.provide(scripted((_, __, time) => answers[time - 1] ?? 0))
        )
        expect([answers, chunk?.answers[0]?.probability, chunk?.requests, chunk?.inputTokens]).toEqual([
          answers,
          kept,
          requests,
          requests * 10
        ])
      }
    })
  )

  it.effect("has up to four chunks at once, and answers in the order of the chunks", () =>
    Effect.gen(function* () {
      let open = 0
      let most = 0
      const go = yield* Deferred.make<void>()
      const judge = Layer.succeed(Judge, {
        provider: "p",
        model: "m",
        hosted: true,
        ask: (_question, text) =>
          Effect.gen(function* () {
            most = Math.max(most, ++open)
            yield* Deferred.await(go)
            open--
            return { probability: Number(text) / 100, inputTokens: 0 }
          })
      })
      const fiber = yield* Effect.forkChild(
        reviewChunks(c1, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]).pipe(Effect.provide(judge))
      )
      yield* TestClock.adjust("1 millis")
      expect(most).toBe(4)
      yield* Deferred.succeed(go, undefined)
      const reviewed = yield* Fiber.join(fiber)
      expect(reviewed.map(({ answers }) => answers[0]?.probability)).toEqual([
        0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09
      ])
      expect(most).toBe(4)
    })
  )
})

describe("S9 review", () => {
  it("reads the manifest's canonical JSON, then the files in path order, in 8 KiB chunks", () => {
    const pkg = packageWith({
      "b.md": `${"b".repeat(8191)}\nrest`,
      "Z.md": "upper",
      "logo.png": new Uint8Array([0]),
      "packs/p/wiki/x.md": "x",
      "agent.yaml": manifestYaml("knowledge: [packs/p]\n")
    })
    const parts = reviewParts(pkg.manifest!, pkg.files)
    expect(parts.map(({ file, chunk }) => `${file} ${chunk}`)).toEqual([
      "agent.yaml 0",
      "AGENT.md 0",
      "Z.md 0",
      "agent.yaml 0",
      "b.md 0",
      "b.md 1"
    ])
    expect(parts[0]?.text).toBe(
      '{"description":"Writes meeting notes.","knowledge":["packs/p"],"modes":["autonomous"],"name":"acme/notes","schemaVersion":2,"version":"1.0.0"}'
    )
    expect(rubric.map(({ id }) => id)).toEqual([
      "C1_injection",
      "C2_exfiltration",
      "C3_undeclared_capability",
      "C4_user_deception",
      "C5_obfuscation",
      "C6_destructive_actions"
    ])
  })

  it.effect("reports by file and chunk, with the rubric's hash and the judge's exact model", () =>
    Effect.gen(function* () {
      const judge = scripted((id, text) =>
        text.includes("bad") && (id === "C1_injection" || id === "C2_exfiltration") ? 0.95 : 0
      )
      const result = yield* reviewStage(packageWith({ "x.md": "bad words" }), context).pipe(Effect.provide(judge))
      expect(
        result.findings.map(({ rule, severity, file, chunk, message }) => [rule, severity, file, chunk, message])
      ).toEqual([
        ["C1_injection", "high", "x.md", 0, "AI Review scores C1_injection 3 of 3"],
        ["C2_exfiltration", "medium", "x.md", 0, "AI Review scores C2_exfiltration 3 of 3"]
      ])
      expect(result.inputs).toEqual({ stageVersion: "1", rubric: rubricHash, judge: "scripted/scripted-2026-01-01" })
    })
  )

  it.effect("fails after three tries of a chunk that the judge does not answer, and keeps the other findings", () =>
    Effect.gen(function* () {
      let tries = 0
      const judge = scripted((id, text) => {
        if (text.includes("mute")) {
          tries++
          return new JudgeFailed({ kind: "timeout" })
        }
        return text.includes("bad") && id === "C4_user_deception" ? 0.8 : 0
      })
      const fiber = yield* Effect.forkChild(
        reviewStage(packageWith({ "x.md": "mute", "y.md": "bad" }), context).pipe(Effect.provide(judge))
      )
      yield* TestClock.adjust("10 seconds")
      const result = yield* Fiber.join(fiber)
      expect([result.status, tries, ...shown(result)]).toEqual(["failed", 3, "C4_user_deception high"])
      expect(result.detail).toContain("1 chunks (timeout)")
    })
  )

  it("has a rubric hash that changes with any word of a question", () => {
    expect(hashOfQuestions(rubric)).toBe(rubricHash)
    expect(
      hashOfQuestions(
        rubric.map((question, index) => (index === 0 ? { ...question, text: `${question.text} ` } : question))
      )
    ).not.toBe(rubricHash)
  })
})
