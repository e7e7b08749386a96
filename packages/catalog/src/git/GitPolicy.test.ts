import { describe, expect, it } from "@effect/vitest"
import { commandOf, judgeUpdates, protocolOf, secretOf, serviceOf, updatesOf, versionOf } from "./GitPolicy.ts"

const none = "0".repeat(40)
const one = "1".repeat(40)
const two = "2".repeat(40)
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`

describe("GitPolicy", () => {
  it("serves the four requests of the smart protocol and nothing else", () => {
    const of = (method: string, path: string, query = "") => serviceOf(method, path, new URLSearchParams(query))
    expect(of("GET", "info/refs", "service=git-upload-pack")).toBe("git-upload-pack")
    expect(of("GET", "info/refs", "service=git-receive-pack")).toBe("git-receive-pack")
    expect(of("HEAD", "info/refs", "service=git-upload-pack")).toBe("git-upload-pack")
    expect(of("POST", "git-upload-pack")).toBe("git-upload-pack")
    expect(of("POST", "git-receive-pack")).toBe("git-receive-pack")
    for (const [method, path, query] of [
      ["GET", "info/refs", ""],
      ["GET", "info/refs", "service=git-upload-archive"],
      ["GET", "HEAD", ""],
      ["HEAD", "git-upload-pack", ""],
      ["GET", "git-upload-pack", ""],
      ["POST", "info/refs", "service=git-upload-pack"],
      ["PUT", "git-receive-pack", ""]
    ] as const)
      expect(of(method, path, query)).toBe(null)
  })

  it("takes the two commands that git sends over SSH, to the letter", () => {
    const fetch = { service: "git-upload-pack", ns: "acme", name: "a-1" }
    for (const path of ["/acme/a-1.git", "acme/a-1.git", "/acme/a-1", "acme/a-1", "/acme/a-1.git/", "/acme/a-1/"])
      expect(commandOf(`git-upload-pack '${path}'`)).toEqual(fetch)
    expect(commandOf("git-receive-pack '/acme/a-1.git'")).toEqual({ ...fetch, service: "git-receive-pack" })
    for (const wrong of [
      "git-upload-archive '/acme/a-1.git'",
      "git-upload-pack /acme/a-1.git",
      "git-upload-pack --strict '/acme/a-1.git'",
      "git-upload-pack '/acme/a-1.git'; id",
      "git-upload-pack '/acme/a-1.git'\n",
      "git-upload-pack  '/acme/a-1.git'",
      "git-upload-pack '//acme/a-1.git'",
      "git-upload-pack '/acme/../a-1.git'",
      "git-upload-pack '/acme/a-1.git//'",
      "git-upload-pack '/acme/A.git'",
      "git-upload-pack '/acme'",
      "id",
      ""
    ])
      expect(commandOf(wrong), wrong).toBe(null)
  })

  it("passes on the highest version of the protocol that is asked for and nothing else", () => {
    for (const version of ["version=0", "version=1", "version=2"]) expect(protocolOf(version)).toBe(version)
    for (const list of [
      "version=2:x",
      "x=y:version=2",
      "version=2:version=1",
      "version=1:version=2",
      "version=3:version=2"
    ])
      expect(protocolOf(list)).toBe("version=2")
    for (const other of ["version=3", "version=2\n", "version=2,x", "", undefined])
      expect(protocolOf(other)).toBe(undefined)
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
    const instead = "Push branches and tags alone: git push <repository> 'refs/heads/*' 'refs/tags/*'"
    expect(judge(`${none} ${one} refs/notes/x`).problems).toEqual([
      "refs/notes/x is neither a branch nor a tag.",
      instead
    ])
    const pulls = Array.from({ length: 300 }, (_, index) => `${none} ${one} refs/pull/${index}/head`)
    expect(judge(...pulls).problems).toEqual([
      ...[0, 1, 2].map((index) => `refs/pull/${index}/head is neither a branch nor a tag.`),
      "Nor are 297 more.",
      instead
    ])
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
