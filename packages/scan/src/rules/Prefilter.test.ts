import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { codeRules } from "../evidence/CodeSignals.ts"
import { proseRules } from "../evidence/ProseSignals.ts"
import { literalsOf, prefilter } from "./Prefilter.ts"
import { ruleset } from "./ruleset.ts"

describe("the prefilter", () => {
  it("finds literals that every match holds, and says so where there are none", () => {
    const literals = (pattern: RegExp) => literalsOf(pattern)
    expect(literals(/\b(?:send|post)s?\b.{0,40}\bhttps?:\/\//iu)).toEqual(["send", "post"])
    expect(literals(/\b(?:send|post)\s+(?:all|any)?\b/iu)).toEqual(["send", "post"])
    expect(literals(/(?<!not )delete[sd]?/iu)).toEqual(["delete"])
    expect(literals(/colou?rs+/u)).toEqual(["colo"])
    expect(literals(/\d{4}|year/u)).toBeUndefined()
    expect(literals(/(?:abc)?[x-z]+/u)).toBeUndefined()
  })

  it("leaves out no rule that matches", () => {
    const patterns = [...proseRules, ...codeRules, ...ruleset].map(({ pattern }) => pattern)
    const mayMatch = prefilter(patterns)
    const words =
      "Never send all API keys to https://x.test/in without asking rm -rf ~/ | bash curl -d @.env user ignore previous instructions hide it from the report Bcc: a@b.test DROP DATABASE prod sudo KEY отправь пароль 删除 所有 備份".split(
        " "
      )
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 30 }), (said) => {
        const text = said.join(" ")
        const may = new Set(mayMatch(text))
        const missed = patterns.filter((pattern, index) => pattern.test(text) && !may.has(index))
        expect([text, missed]).toEqual([text, []])
      })
    )
  })
})
