import { assert, describe, it } from "@effect/vitest"
import { plain, plainLines } from "./Progress.ts"

describe("a text from elsewhere", () => {
  it("holds nothing that a terminal obeys, or that reorders what is shown", () => {
    const hostile = "a\u001b]0;title\u0007b\u009b2Jc\u202egnp.exe\u2066d\u200fe"
    for (const text of [plain(hostile), plainLines(hostile)])
      assert.notMatch(text, /[\u0000-\u001f\u007f-\u009f\u200f\u202e\u2066]/)
    assert.strictEqual(plain("one\ntwo\tthree"), "one two three")
    assert.strictEqual(plainLines("one\ntwo\tthree\r"), "one\ntwo\tthree ")
    assert.strictEqual(plain("Grüße, 日本語 🎉"), "Grüße, 日本語 🎉")
  })
})
