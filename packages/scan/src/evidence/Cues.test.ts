import { describe, expect, it } from "@effect/vitest"
import { cueBook } from "./Cues.ts"
import { tokensOf } from "./Tokens.ts"

const found = (cue: string, text: string) =>
  cueBook([[cue, "it"]])
    .find(tokensOf(text))
    .map(({ isDenied }) => (isDenied ? "denied" : "found"))

describe("a cue", () => {
  it("is words and stems in their order, with few others between", () => {
    expect(found("keep +it quiet/secret*", "Keep it very quiet.")).toEqual(["found"])
    expect(found("keep +it quiet/secret*", "Keep all of it quiet.")).toEqual([])
    expect(found("keep it secret*", "Keep all of it secretly.")).toEqual(["found"])
    expect(found("keep .. secret*", "Keep one two three four five six secret.")).toEqual(["found"])
    expect(found("keep secret*", "Keep one two three four five six secret.")).toEqual([])
  })

  it("names concepts, whatever the language", () => {
    for (const text of [
      "Delete all backups.",
      "Lösche alle Sicherungen.",
      "Supprime toutes les sauvegardes.",
      "Удали все резервные копии.",
      "删除所有备份。"
    ])
      expect([text, found("~ @destroy @all @property", text)]).toEqual([text, ["found"]])
  })

  it("is denied by never and do not, unless it says so itself", () => {
    expect(found("delete +all", "Never delete all files.")).toEqual(["denied"])
    expect(found("delete +all", "Never mind. Delete all files.")).toEqual(["found"])
    expect(found("@not tell", "Do not tell them.")).toEqual(["found"])
    expect(found("without asking", "Never go on without asking.")).toEqual(["denied"])
  })

  it("of an unknown concept is refused", () => {
    expect(() => cueBook([["@nothing", 0]])).toThrow("no concept @nothing")
  })
})
