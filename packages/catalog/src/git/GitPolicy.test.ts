import { describe, expect, it } from "@effect/vitest"
import { judgeUpdates, secretOf, serviceOf, updatesOf, versionOf } from "./GitPolicy.ts"

const none = "0".repeat(40)
const one = "1".repeat(40)
const two = "2".repeat(40)
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`

describe("GitPolicy", () => {
  it("serves the four requests of the smart protocol and nothing else", () => {
    const of = (method: string, path: string, query = "") => serviceOf(method, path, new URLSearchParams(query))
    expect(of("GET", "info/refs", "service=git-upload-pack")).toBe("git-upload-pack")
    expect(of("GET", "info/refs", "service=git-receive-pack")).toBe("git-receive-pack")
    expect(of("POST", "git-upload-pack")).toBe("git-upload-pack")
    expect(of("POST", "git-receive-pack")).toBe("git-receive-pack")
    for (const [method, path, query] of [
      ["GET", "info/refs", ""],
      ["GET", "info/refs", "service=git-upload-archive"],
      ["GET", "HEAD", ""],
      ["GET", "git-upload-pack", ""],
      ["POST", "info/refs", "service=git-upload-pack"],
      ["PUT", "git-receive-pack", ""]
    ] as const)
      expect(of(method, path, query)).toBe(null)
  })

  it("takes a token as the password of any user, or as a bearer", () => {
    expect(secretOf(basic("olli:a:b"))).toBe("a:b")
    expect(secretOf(basic(":token"))).toBe("token")
    expect(secretOf("bearer token")).toBe("token")
    for (const wrong of [basic("token"), "Digest token", "token", ""]) expect(secretOf(wrong)).toBe(null)
  })

  it("takes a tag for a version when v stands before a semantic version", () => {
    expect(versionOf("refs/tags/v1.2.0")).toBe("1.2.0")
    expect(versionOf("refs/tags/v1.2.0-rc.1+build")).toBe("1.2.0-rc.1+build")
    for (const ref of [
      "refs/tags/1.2.0",
      "refs/tags/v1",
      "refs/tags/v01.2.0",
      "refs/heads/v1.2.0",
      "refs/tags/x/v1.2.0"
    ])
      expect(versionOf(ref)).toBe(null)
  })

  it("never moves or deletes the tag of a version, and takes only branches and tags", () => {
    const judge = (...lines: ReadonlyArray<string>) => judgeUpdates(updatesOf(lines))
    expect(judge(`${one} ${two} refs/tags/v1.0.0`).problems).toEqual([
      "Version 1.0.0 was submitted: its tag is never moved."
    ])
    expect(judge(`${one} ${none} refs/tags/v1.0.0`).problems).toEqual([
      "Version 1.0.0 was submitted: its tag is never deleted."
    ])
    expect(judge(`${none} ${one} refs/notes/x`).problems).toEqual(["refs/notes/x is neither a branch nor a tag."])
    expect(
      judge(
        `${one} ${two} refs/heads/main`,
        `${one} ${none} refs/heads/old`,
        `${one} ${two} refs/tags/latest`,
        `${none} ${two} refs/tags/v2.0.0`
      )
    ).toEqual({
      problems: [],
      branches: ["refs/heads/main"],
      versions: [{ version: "2.0.0", object: two }]
    })
  })
})
