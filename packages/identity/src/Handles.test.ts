import { assert, describe, it } from "@effect/vitest"
import { Handle } from "@quickagents/schema"
import { Schema } from "effect"
import { handleCandidates, handleFrom } from "./Handles.ts"
import { signInCookies } from "./SignInCookies.ts"

describe("the handle of a new account", () => {
  it("is made of what can stand in one", () => {
    const made: Record<string, string> = {
      "Ada Lovelace": "ada-lovelace",
      "José Ñandú": "jose-nandu",
      "a.b+c_d": "a-b-c-d",
      "--x--": "x",
      日本: "",
      "": "",
      [`${"a".repeat(38)} b`]: "a".repeat(38)
    }
    for (const [from, handle] of Object.entries(made)) assert.strictEqual(handleFrom(from), handle, from)
  })

  it("is always one that the contract admits, also when others were taken", () => {
    const isHandle = Schema.is(Handle)
    for (const wanted of ["Ada", "admin", "日本", "x".repeat(80), `${"a".repeat(36)}--b`, ""]) {
      const candidates = handleCandidates(wanted, "0a1b2c3d")
      assert.lengthOf([...new Set(candidates)], candidates.length)
      for (const candidate of candidates) assert.isTrue(isHandle(candidate), candidate)
    }
    assert.strictEqual(handleCandidates("Ada", "0a1b2c3d")[0], "ada")
    assert.strictEqual(handleCandidates("Admin", "0a1b2c3d")[0], "admin-2")
  })
})

describe("the cookies", () => {
  it("are bound to host and https wherever the registry has https", () => {
    const cookies = signInCookies("https://registry.example")
    assert.strictEqual(cookies.session, "__Host-session")
    assert.deepStrictEqual(cookies.options, { httpOnly: true, sameSite: "lax", path: "/", secure: true })
    assert.strictEqual(signInCookies("http://127.0.0.1:4000").session, "session")
  })
})
