import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { hintOf, isTokenText, newTokenText } from "./TokenText.ts"

describe("the text of a token", () => {
  it.effect("is prefix, 40 characters and a checksum that tells a typing error without a database", () =>
    Effect.gen(function* () {
      const texts = yield* Effect.all(Array.from({ length: 200 }, () => newTokenText))
      assert.lengthOf([...new Set(texts)], 200)
      for (const text of texts) {
        assert.match(text, /^qat_[0-9A-Za-z]{46}$/)
        assert.isTrue(isTokenText(text))
        const at = 4 + (text.charCodeAt(10) % 46)
        const changed = text[at] === "a" ? "b" : "a"
        assert.isFalse(isTokenText(text.slice(0, at) + changed + text.slice(at + 1)), text)
      }
      // All of the alphabet comes, so no byte was cut to a smaller one.
      assert.lengthOf([...new Set(texts.map((text) => text.slice(4, 44)).join(""))], 62)
    })
  )

  it.effect("is nothing else", () =>
    Effect.gen(function* () {
      const text = yield* newTokenText
      for (const other of [
        "",
        "qat_",
        text.slice(1),
        `${text}a`,
        text.slice(0, -1),
        ` ${text}`,
        `gat_${text.slice(4)}`
      ]) {
        assert.isFalse(isTokenText(other), other)
      }
      assert.strictEqual(hintOf(text), text.slice(0, 8))
    })
  )
})
