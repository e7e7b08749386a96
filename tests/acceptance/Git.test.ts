/** Git against a whole deployment, with the stock git client. Two nodes: the second has small limits. */
import type { AgentVersion } from "@quickagents/schema"
import { packDirectory } from "@quickagents/archive"
import { Settings } from "@quickagents/platform"
import { Effect } from "effect"
import { execFile, execFileSync, spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import type { PackageFiles } from "../stack/Packages.ts"
import { scriptedAgent } from "../stack/Packages.ts"
import { createAgent, submit, until } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

const MiB = 1024 * 1024
const pushesPerHour = 5
let stack: Stack
let olli: Person
let reader: Person
let desk: string

beforeAll(async () => {
  desk = mkdtempSync(join(tmpdir(), "quickagents-git-"))
  stack = await startStack({
    postgres: inject("postgresUrl"),
    nodes: 2,
    nodeSettings: [
      {},
      {
        SERVICE_LIMITS_REPO_QUOTA_BYTES: String(3 * MiB),
        SERVICE_LIMITS_REPO_WARN_BYTES: String(MiB),
        SERVICE_LIMITS_GIT_PUSHES_PER_HOUR: String(pushesPerHour),
        SERVICE_LIMITS_GIT_CONCURRENT_PER_IP: "2"
      }
    ]
  })
  olli = await stack.person("olli", ["agent:read", "agent:publish", "repo:read", "repo:write"])
  reader = await stack.person("rita", ["agent:read", "repo:read", "repo:write"])
})
afterAll(async () => {
  await stack?.stop()
  rmSync(desk, { recursive: true, force: true })
})

interface Ended {
  readonly code: number
  /** What the person sees. */
  readonly said: string
  readonly output: string
}

/** The stock client, without anything of the machine's configuration. */
const git = (directory: string, ...args: ReadonlyArray<string>) =>
  new Promise<Ended>((resolve) => {
    const child = execFile(
      "git",
      args,
      {
        cwd: directory,
        maxBuffer: 16 * MiB,
        env: {
          PATH: process.env["PATH"],
          HOME: desk,
          LC_ALL: "C",
          GIT_CONFIG_NOSYSTEM: "1",
          GIT_TERMINAL_PROMPT: "0",
          GIT_AUTHOR_NAME: "Olli",
          GIT_AUTHOR_EMAIL: "olli@people.example",
          GIT_COMMITTER_NAME: "Olli",
          GIT_COMMITTER_EMAIL: "olli@people.example"
        }
      },
      (_, output, said) => resolve({ code: child.exitCode ?? 1, output, said })
    )
  })
const sound = async (directory: string, ...args: ReadonlyArray<string>) => {
  const ended = await git(directory, ...args)
  expect(ended.code, `git ${args.join(" ")}: ${ended.said}`).toBe(0)
  return ended
}

const address = (path: string, token: string | null, node = 0) => {
  const url = new URL(`/git/${path}.git`, stack.urls[node])
  if (token !== null) {
    url.username = "anything"
    url.password = token
  }
  return url.href
}
const write = (directory: string, files: PackageFiles | Record<string, Uint8Array>) => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
}
const commit = async (directory: string, files: PackageFiles | Record<string, Uint8Array>) => {
  write(directory, files)
  await sound(directory, "add", "--all")
  await sound(directory, "commit", "--quiet", "--allow-empty", "-m", "Change")
  return (await sound(directory, "rev-parse", "HEAD")).output.trim()
}
let folders = 0
const folder = () => join(desk, `clone-${++folders}`)
const clone = async (url: string, ...options: ReadonlyArray<string>) => {
  const directory = folder()
  const ended = await sound(desk, "clone", "--quiet", ...options, url, directory)
  return { directory, said: ended.said }
}
/** A new agent of olli's with an empty repository, cloned with the right to push. */
const newAgent = async (name: string, node = 0, visibility: "public" | "private" = "public") => {
  await createAgent(stack, olli, `olli/${name}`, visibility)
  const { directory } = await clone(address(`olli/${name}`, olli.token, node))
  return directory
}
const versionOf = (name: string, version: string) =>
  stack.call<AgentVersion>(olli, "GET", `/api/v1/agents/olli/${name}/versions/${version}`)

/** Paths and contents of a gzip tar. */
const unpacked = (archive: Uint8Array) => {
  const tar = gunzipSync(archive)
  const files: Record<string, string> = {}
  for (let at = 0; tar[at] !== 0;) {
    const field = (start: number, length: number) =>
      tar
        .subarray(at + start, at + start + length)
        .toString("utf8")
        .replace(/\0.*$/s, "")
    const size = Number.parseInt(field(124, 12), 8)
    files[field(0, 100)] = tar.subarray(at + 512, at + 512 + size).toString("utf8")
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}

/** OpenSSH from an address of its own, since keys are counted by address, with these keys and the registry's host key. */
const sshOptions = (from: string, ...keys: ReadonlyArray<string>) => {
  const hosts = `UserKnownHostsFile=${join(desk, "known_hosts")}`
  const options = [`BindAddress=${from}`, hosts, "StrictHostKeyChecking=yes", "BatchMode=yes", "IdentitiesOnly=yes"]
  return ["-F", "none", ...options.flatMap((option) => ["-o", option]), ...keys.flatMap((key) => ["-i", key])]
}
/** Git by SSH with one key. */
const keyed =
  (from: string, key: string, more: ReadonlyArray<string> = []) =>
  (directory: string, ...args: ReadonlyArray<string>) =>
    git(directory, "-c", `core.sshCommand=ssh ${[...sshOptions(from, key), ...more].join(" ")}`, ...args)
const sshAddress = (path: string, node = 0) => `ssh://git@127.0.0.1:${stack.sshPorts[node]}/${path}.git`
const sshArguments = (options: ReadonlyArray<string>, ...command: ReadonlyArray<string>) => [
  ...options,
  "-p",
  String(stack.sshPorts[0]),
  "git@127.0.0.1",
  ...command
]
const ssh = (options: ReadonlyArray<string>, ...command: ReadonlyArray<string>) =>
  new Promise<Ended>((resolve) => {
    const child = execFile(
      "ssh",
      sshArguments(options, ...command),
      { env: { PATH: process.env["PATH"] } },
      (_, output, said) => resolve({ code: child.exitCode ?? 1, output, said })
    )
    child.stdin?.end()
  })
const newKey = (type: "ed25519" | "ecdsa" | "rsa" = "ed25519") => {
  const path = join(desk, `key-${++folders}`)
  const options = `-q -t ${type}${type === "rsa" ? " -b 2048" : ""} -C desk -f`
  execFileSync("ssh-keygen", [...options.split(" "), path, "-N", ""])
  return path
}
const addKey = (who: Person, key: string) =>
  stack.call<{ id: string; lastUsedAt: string | null }>(who, "POST", "/api/v1/user/keys", {
    title: "desk",
    key: readFileSync(`${key}.pub`, "utf8")
  })

describe("git over HTTP", () => {
  it("[AGENT-002] a version is accepted by upload and by git tag: the tag publishes exactly the files of its commit", async () => {
    const here = await newAgent("tagged")
    const files = scriptedAgent("olli/tagged", "1.0.0", { files: { "docs/notes.md": "Notes\n" } })
    // Attributes of the tree change nothing of what is published; hidden files are no part of a package.
    const id = await commit(here, {
      ...files,
      ".gitattributes": "docs/notes.md export-ignore\nAGENT.md export-subst\n",
      ".gitignore": "dist\n"
    })
    await sound(here, "push", "origin", "HEAD:refs/heads/main")
    expect((await stack.call(olli, "GET", "/api/v1/agents/olli/tagged/versions")).total).toBe(0)

    await sound(here, "tag", "-a", "-m", "First", "v1.0.0")
    const pushed = await sound(here, "push", "origin", "v1.0.0")
    expect(pushed.said).toContain("remote: olli/tagged@1.0.0 is submitted; its scan: http://")
    const version = await until(
      () => versionOf("tagged", "1.0.0"),
      ({ status }) => status !== "scanning"
    )
    expect(version, JSON.stringify(version.holding)).toMatchObject({
      status: "published",
      signed: true,
      source: { kind: "git", commit: id, url: "/git/olli/tagged.git" },
      submittedBy: "olli"
    })
    const answer = await stack.request(null, "GET", version.archive.href)
    const archive = new Uint8Array(await answer.arrayBuffer())
    expect(`sha256:${createHash("sha256").update(archive).digest("hex")}`).toBe(version.archive.digest)
    expect(unpacked(archive)).toEqual(files)
    const checkout = await clone(address("olli/tagged", null), "--branch=v1.0.0")
    const { digest } = await Effect.runPromise(packDirectory(checkout.directory))
    expect(digest).toBe(version.archive.digest)

    // The same repository takes an upload of the next version beside it.
    const uploaded = await submit(stack, olli, scriptedAgent("olli/tagged", "1.1.0"))
    expect(uploaded).toMatchObject({ status: "published", source: { kind: "upload", commit: null } })
    const audit = await stack.sql<{ detail: { commit?: string } }>(
      (sql) => sql`SELECT detail FROM audit_entries WHERE action = 'version.submit' AND target = 'olli/tagged@1.0.0'`
    )
    expect(audit[0].detail.commit).toBe(id)
  })

  it("the example goes from a folder to an installed agent, and a second time says why not", async () => {
    const author = await stack.person("elly", [
      "agent:read",
      "agent:publish",
      "repo:read",
      "repo:write",
      "user:profile"
    ])
    const example = () =>
      new Promise<Ended>((resolve) => {
        const child = execFile(
          process.execPath,
          ["examples/publish-with-git.mjs", "examples/release-notes", stack.urls[0]],
          { env: { PATH: process.env["PATH"], HOME: desk, QUICKAGENTS_TOKEN: author.token } },
          (_, output, said) => resolve({ code: child.exitCode ?? 1, output, said })
        )
      })
    const first = await example()
    expect(first, first.said).toMatchObject({ code: 0 })
    expect(first.output).toContain("It asks for filesystem.write:RELEASE_NOTES.md, and gets it.")
    expect(first.output).toContain("Installed elly/release-notes@1.0.0, signed")
    const again = await example()
    expect(again.code).toBe(1)
    expect(again.output).not.toContain("== Its scan")
  })

  it("clones whole, shallow and partially by every version of the protocol, without a credential when the agent is public", async () => {
    const here = await newAgent("cloned")
    await commit(here, scriptedAgent("olli/cloned", "1.0.0"))
    await commit(here, { "large.txt": "word ".repeat(20_000) })
    await commit(here, { "large.txt": "words ".repeat(20_000) })
    await sound(here, "push", "origin", "HEAD:refs/heads/trunk")

    const whole = await clone(address("olli/cloned", null))
    expect(readFileSync(join(whole.directory, "large.txt"), "utf8")).toBe("words ".repeat(20_000))
    expect((await sound(whole.directory, "log", "--format=%H")).output.trim().split("\n")).toHaveLength(3)
    expect((await sound(whole.directory, "branch", "--show-current")).output.trim()).toBe("trunk")

    const shallow = await clone(address("olli/cloned", null), "--depth=1")
    expect((await sound(shallow.directory, "log", "--format=%H")).output.trim().split("\n")).toHaveLength(1)

    for (const version of ["0", "1", "2"]) {
      const options = ["--filter=blob:none", "--no-checkout", `--config=protocol.version=${version}`]
      const partial = await clone(address("olli/cloned", null), ...options)
      expect(partial.said).not.toContain("filtering not recognized")
      const missing = (await sound(partial.directory, "rev-list", "--objects", "--all", "--missing=print")).output
      expect(missing).toMatch(/^\?/m)
      // What is missing is fetched when it is needed, by its name.
      await sound(partial.directory, "checkout", "--quiet", "trunk~1")
      expect(readFileSync(join(partial.directory, "large.txt"), "utf8")).toBe("word ".repeat(20_000))
    }
  })

  it("takes branches and tags of a mirror; other refs are refused with the whole push, and it says what to do instead", async () => {
    const here = await newAgent("mirrored")
    const id = await commit(here, scriptedAgent("olli/mirrored", "1.0.0"))
    await sound(here, "branch", "--quiet", "--move", "main", "master")
    await sound(here, "branch", "develop")
    await sound(here, "tag", "first")
    await sound(here, "update-ref", "refs/pull/1/head", id)
    const refs = async () => (await sound(here, "ls-remote", "--symref", "origin")).output
    const mirror = await git(here, "push", "--mirror", "origin")
    expect(mirror.code).not.toBe(0)
    expect(mirror.said).toContain("remote: refs/pull/1/head is neither a branch nor a tag.")
    expect(mirror.said).toContain(
      "remote: Push branches and tags alone: git push <repository> 'refs/heads/*' 'refs/tags/*'"
    )
    expect(await refs()).toBe("")
    await sound(here, "push", "origin", "refs/heads/*", "refs/tags/*")
    const taken = ["HEAD", "refs/heads/develop", "refs/heads/master", "refs/tags/first"]
    expect(await refs()).toBe(`ref: refs/heads/master\tHEAD\n${taken.map((ref) => `${id}\t${ref}\n`).join("")}`)
  })

  it("lets the branch that a clone checks out be renamed and deleted: HEAD goes on to another", async () => {
    const here = await newAgent("renamed")
    const first = await commit(here, scriptedAgent("olli/renamed", "1.0.0"))
    // Older than whatever is committed here, which may all happen within one second.
    const old = (await sound(here, "cat-file", "commit", first)).output.replace(
      /^(committer .*) \d+ [+-]\d{4}$/m,
      "$1 1 +0000"
    )
    writeFileSync(join(desk, "old-commit"), old)
    const side = (await sound(here, "hash-object", "-t", "commit", "-w", join(desk, "old-commit"))).output.trim()
    await sound(here, "push", "origin", "HEAD:refs/heads/main", `${side}:refs/heads/a-side`)
    const head = async () =>
      /^ref: (\S+)\tHEAD$/m.exec((await sound(here, "ls-remote", "--symref", "origin", "HEAD")).output)?.[1]
    await sound(here, "push", "origin", "HEAD:refs/heads/trunk", ":refs/heads/main")
    expect(await head()).toBe("refs/heads/trunk")
    await sound(here, "push", "origin", "HEAD:refs/heads/z-latest")
    await sound(here, "push", "origin", "--delete", "trunk")
    expect(await head()).toBe("refs/heads/z-latest")
    await sound(here, "push", "origin", "--delete", "a-side", "z-latest")
    expect(await head()).toBe(undefined)
    await sound(here, "push", "origin", "HEAD:refs/heads/anew")
    expect(await head()).toBe("refs/heads/anew")
    await sound(here, "push", "origin", "HEAD:refs/heads/a-last", "HEAD:refs/heads/main", ":refs/heads/anew")
    expect(await head()).toBe("refs/heads/main")
  })

  it("tells a client that asks first to go on, answers HEAD as GET, and serves the service that it permitted", async () => {
    const here = await newAgent("asked")
    await commit(here, scriptedAgent("olli/asked", "1.0.0"))
    await sound(here, "push", "origin", "HEAD:refs/heads/main")
    const repository = `${stack.urls[0]}/git/olli/asked.git`
    /** A request whose body is sent when it is asked for, and only then. */
    const asking = (service: string, body: string) =>
      new Promise<{ readonly status: number | undefined; readonly told: boolean; readonly text: string }>((resolve) => {
        let told = false
        const request = httpRequest(`${repository}/${service}`, {
          method: "POST",
          headers: {
            "content-type": `application/x-${service}-request`,
            "content-length": Buffer.byteLength(body),
            "git-protocol": "version=2",
            expect: "100-continue"
          }
        })
        request.on("continue", () => {
          told = true
          request.end(body)
        })
        request.on("error", () => undefined)
        request.on("response", (response) => {
          let text = ""
          response.on("data", (chunk: Buffer) => (text += chunk.toString()))
          response.on("end", () => {
            resolve({ status: response.statusCode, told, text })
            request.destroy()
          })
        })
        request.flushHeaders()
      })
    const listed = await asking("git-upload-pack", "0014command=ls-refs\n0000")
    expect(listed).toMatchObject({ status: 200, told: true })
    expect(listed.text).toContain("refs/heads/main")
    // Who may not push is told before anything of the push has travelled.
    expect(await asking("git-receive-pack", "0000")).toMatchObject({ status: 401, told: false })

    const info = `${repository}/info/refs?service=git-upload-pack`
    const head = await fetch(info, { method: "HEAD" })
    expect(head.status).toBe(200)
    expect(head.headers.get("content-type")).toBe("application/x-git-upload-pack-advertisement")
    expect(await head.text()).toBe("")
    const both = await fetch(`${info}&service=git-receive-pack`)
    expect(await both.text()).toMatch(/^001e# service=git-upload-pack\n/)
    const other = await fetch(`${repository}/info/refs?service=git-foo`)
    expect(await other.text()).toBe("There is git fetch and git push by the smart protocol here, and nothing else.\n")
  })

  it("[AUTH-011] repo:read allows git fetch and repo:write git push; without them both are refused in words", async () => {
    const here = await newAgent("scoped", 0, "private")
    await commit(here, scriptedAgent("olli/scoped", "1.0.0"))
    const writes = await stack.person("olli", ["repo:write"])
    await sound(here, "push", address("olli/scoped", writes.token), "HEAD:refs/heads/main")
    const reads = await stack.person("olli", ["repo:read"])
    const fetched = await clone(address("olli/scoped", reads.token))
    expect(existsSync(join(fetched.directory, "AGENT.md"))).toBe(true)

    const neither = await stack.person("olli", ["agent:read", "agent:publish", "agent:manage"])
    const unread = await git(desk, "clone", address("olli/scoped", neither.token), folder())
    expect(unread.code).not.toBe(0)
    expect(unread.said).toContain("remote: Your token lacks the scope repo:read.")
    for (const { token } of [reads, neither]) {
      const unwritten = await git(here, "push", address("olli/scoped", token), "HEAD:refs/heads/other")
      expect(unwritten.code).not.toBe(0)
      expect(unwritten.said).toContain("remote: Your token lacks the scope repo:write.")
    }
    expect((await sound(here, "ls-remote", address("olli/scoped", reads.token))).output).not.toContain("other")
  })

  it("hides a private agent from others, asks strangers for a credential, and knows no session", async () => {
    const here = await newAgent("hidden", 0, "private")
    await commit(here, scriptedAgent("olli/hidden", "1.0.0"))
    await sound(here, "push", "origin", "HEAD:refs/heads/main")
    for (const path of ["olli/hidden", "olli/missing"]) {
      const others = await git(desk, "clone", address(path, reader.token), folder())
      expect(others.said).toContain("Repository not found.")
      const info = `/git/${path}/info/refs?service=git-upload-pack`
      for (const headers of [{}, { cookie: olli.session.cookie }] as ReadonlyArray<Record<string, string>>) {
        const stranger = await fetch(`${stack.urls[0]}${info}`, { headers })
        expect(stranger.status).toBe(401)
        expect(stranger.headers.get("www-authenticate")).toContain("Basic")
      }
      const bad = await git(desk, "clone", address(path, `${olli.token}x`), folder())
      expect(bad.said).toContain("Authentication failed")
      const bearer = await fetch(`${stack.urls[0]}${info}`, { headers: { authorization: `Bearer ${reader.token}` } })
      expect(bearer.status).toBe(404)
    }
    // A public one may be read, not pushed to.
    const open = await newAgent("readable")
    await commit(open, scriptedAgent("olli/readable", "1.0.0"))
    const refused = await git(open, "push", address("olli/readable", reader.token), "HEAD:refs/heads/main")
    expect(refused.said).toContain("remote: You may read olli/readable, but not push to it.")
    const manager = await stack.person("olli", ["agent:manage"])
    await stack.call(manager, "POST", "/api/v1/agents/olli/readable/retire")
    const retired = await git(open, "push", "origin", "HEAD:refs/heads/main")
    expect(retired.said).toContain("remote: olli/readable is retired and takes no push.")
    await stack.call(manager, "POST", "/api/v1/agents/olli/readable/restore")
    // Neither files of the repository nor other services are served.
    for (const path of ["HEAD", "config", "objects/info/packs", "git-upload-archive", "info/refs", "../x/HEAD"]) {
      expect((await fetch(`${stack.urls[0]}/git/olli/readable.git/${path}`)).status).toBe(404)
    }
    // What cannot be a name is not looked for.
    for (const path of ["ol%00li/readable", "olli/read%00able", "olli/%ED%A0%80", "Olli/readable"]) {
      const info = await fetch(`${stack.urls[0]}/git/${path}.git/info/refs?service=git-upload-pack`)
      expect([path, info.status]).toEqual([path, 404])
    }
  })

  it("refuses a tag that is moved or deleted, says another version, or tags what is no release, with the reason", async () => {
    const here = await newAgent("strict")
    await commit(here, scriptedAgent("olli/strict", "1.0.0"))
    await sound(here, "tag", "v1.0.0")
    await sound(here, "push", "origin", "HEAD:refs/heads/main", "v1.0.0")
    const first = (await sound(here, "rev-parse", "v1.0.0")).output.trim()

    await commit(here, { "more.md": "More\n" })
    await sound(here, "tag", "--force", "v1.0.0")
    const moved = await git(here, "push", "--force", "origin", "v1.0.0")
    expect(moved.code).not.toBe(0)
    expect(moved.said).toContain("remote: Version 1.0.0 was submitted: its tag is never moved.")
    const deleted = await git(here, "push", "origin", ":refs/tags/v1.0.0")
    expect(deleted.said).toContain("remote: Version 1.0.0 was submitted: its tag is never deleted.")

    await sound(here, "tag", "v1.0.1")
    const wrong = await git(here, "push", "origin", "v1.0.1")
    expect(wrong.code).not.toBe(0)
    expect(wrong.said).toContain("remote: v1.0.1: agent.yaml says version 1.0.0. Tag and version must be the same.")

    await commit(here, { "agent.yaml": scriptedAgent("olli/other", "2.0.0")["agent.yaml"] })
    await sound(here, "tag", "v2.0.0")
    const foreign = await git(here, "push", "origin", "v2.0.0")
    expect(foreign.said).toContain("remote: v2.0.0: agent.yaml names olli/other, not olli/strict")

    // Refused as a whole: the branch beside the tag does not move either.
    const both = await git(here, "push", "origin", "HEAD:refs/heads/next", "v2.0.0")
    expect(both.code).not.toBe(0)
    await submit(stack, olli, scriptedAgent("olli/strict", "3.0.0"))
    await commit(here, { "agent.yaml": scriptedAgent("olli/strict", "3.0.0")["agent.yaml"] })
    await sound(here, "tag", "v3.0.0")
    const taken = await git(here, "push", "origin", "v3.0.0")
    expect(taken.said).toContain("remote: olli/strict@3.0.0 exists. A version is never replaced.")

    const refs = (await sound(here, "ls-remote", "origin")).output
    expect(refs).toContain(`${first}\trefs/tags/v1.0.0`)
    expect(refs.match(/refs\/\S+/g)).toEqual(["refs/heads/main", "refs/tags/v1.0.0"])
    const { items } = await stack.call<{ items: ReadonlyArray<AgentVersion> }>(
      olli,
      "GET",
      "/api/v1/agents/olli/strict/versions"
    )
    expect(items.map(({ version }) => version).toSorted()).toEqual(["1.0.0", "3.0.0"])

    // Branches are the pusher's: they may be rewritten.
    await sound(here, "reset", "--quiet", "--hard", first)
    await commit(here, { "rewritten.md": "Again\n" })
    await sound(here, "push", "--force", "origin", "HEAD:refs/heads/main")
  })

  it("takes the same tag again when a push broke off after the submission", async () => {
    const here = await newAgent("again")
    await commit(here, scriptedAgent("olli/again", "1.0.0"))
    await sound(here, "tag", "v1.0.0")
    await sound(here, "push", "origin", "v1.0.0")
    const { id } = await stack.call<{ id: string }>(olli, "GET", "/api/v1/agents/olli/again")
    await sound(join(stack.directory, "git", `${id}.git`), "update-ref", "-d", "refs/tags/v1.0.0")
    await sound(here, "push", "origin", "v1.0.0")
    expect((await stack.call(olli, "GET", "/api/v1/agents/olli/again/versions")).total).toBe(1)
  })

  it("[LIMIT-001] takes 20 MB, warns above repoWarnBytes, refuses a file above repoMaxBlobBytes and a repository above repoQuotaBytes", async () => {
    const standard = Settings.read({ environment: { DATABASE_URL: "postgres://nowhere/x" } })
    expect([
      standard["limits.repoQuotaBytes"],
      standard["limits.repoWarnBytes"],
      standard["limits.repoMaxBlobBytes"]
    ]).toEqual([100 * MiB, 25 * MiB, 25 * MiB])

    const here = await newAgent("large")
    await sound(here, "config", "core.compression", "0")
    await commit(here, { "first.bin": randomBytes(20 * MiB) })
    const first = await sound(here, "push", "origin", "HEAD:refs/heads/main")
    expect(first.said).not.toContain("The repository has")
    await commit(here, { "second.bin": randomBytes(6 * MiB) })
    const second = await sound(here, "push", "origin", "HEAD:refs/heads/main")
    expect(second.said).toMatch(/remote: The repository has 26\.\d MiB of at most 100\.0 MiB\./)
    // Small as it travels, too large as a file.
    await commit(here, { "third.txt": Buffer.alloc(25 * MiB + 1, 97) })
    const third = await git(here, "push", "origin", "HEAD:refs/heads/main")
    expect(third.code).not.toBe(0)
    expect(third.said).toMatch(/remote: A file has 25\.0 MiB; at most 25\.0 MiB are taken\. Find it with: git log/)
    expect((await clone(address("olli/large", null))).directory).toBeTruthy()

    const small = await newAgent("quota", 1)
    await commit(small, { "a.bin": randomBytes(2 * MiB) })
    await sound(small, "push", "origin", "HEAD:refs/heads/main")
    await commit(small, { "b.bin": randomBytes(2 * MiB) })
    const over = await git(small, "push", "origin", "HEAD:refs/heads/main")
    expect(over.said).toMatch(/remote: With this push the repository would have 4\.\d MiB; its quota is 3\.0 MiB\./)
    // What was refused left nothing: there is room for what fits.
    await sound(small, "reset", "--quiet", "--hard", "HEAD~1")
    await commit(small, { "c.bin": randomBytes(MiB / 2) })
    await sound(small, "push", "origin", "HEAD:refs/heads/main")
  })

  it("takes at most gitPushesPerHour pushes to a repository, 60 unless it is set", async () => {
    expect(Settings.table["limits.gitPushesPerHour"].standard).toBe(60)
    expect(Settings.table["limits.gitConcurrentPerIP"].standard).toBe(20)
    const here = await newAgent("hasty", 1)
    await commit(here, scriptedAgent("olli/hasty", "1.0.0"))
    for (let count = 0; count < pushesPerHour; count++)
      await sound(here, "push", "origin", `HEAD:refs/heads/branch-${count}`)
    const refused = await git(here, "push", "origin", "HEAD:refs/heads/one-more")
    expect(refused.code).not.toBe(0)
    expect(refused.said).toContain("429")
  })

  it("a push that is cut off leaves nothing behind, and its repository takes the next one", async () => {
    const here = await newAgent("cut")
    await commit(here, { "a.bin": randomBytes(MiB) })
    const { id } = await stack.call<{ id: string }>(olli, "GET", "/api/v1/agents/olli/cut")
    const objects = join(stack.directory, "git", `${id}.git`, "objects")
    const arriving = async () => readdirSync(objects).filter((name) => name.startsWith("tmp_objdir-"))
    const head = (await sound(here, "rev-parse", "HEAD")).output.trim()
    const update = `${"0".repeat(40)} ${head} refs/heads/main\0report-status`
    const request = httpRequest(`${stack.urls[0]}/git/olli/cut.git/git-receive-pack`, {
      method: "POST",
      headers: { authorization: `Bearer ${olli.token}`, "content-type": "application/x-git-receive-pack-request" }
    })
    request.on("error", () => undefined)
    request.write(`${(update.length + 4).toString(16).padStart(4, "0")}${update}0000`)
    // A pack of a thousand objects of which none comes.
    request.write(Buffer.from("5041434b00000002000003e8", "hex"))
    await until(arriving, (names) => names.length === 1, 10_000)
    request.destroy()
    await until(arriving, (names) => names.length === 0, 10_000)
    await sound(here, "push", "origin", "HEAD:refs/heads/main")
  })

  /** Requests whose bodies do not end, each of which keeps its place; answers how those that got none were refused. */
  const crowd = async (urls: ReadonlyArray<string>, places: number) => {
    const refused: Array<string> = []
    const requests = urls.map((url) => {
      const request = httpRequest(url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${olli.token}`,
          "content-type": "application/x-git-upload-pack-request"
        }
      })
      request.on("error", () => undefined)
      request.on("response", ({ headers, statusCode }) => refused.push(`${statusCode} after ${headers["retry-after"]}`))
      request.write("00")
      return request
    })
    await until(
      async () => refused.length,
      (count) => count >= urls.length - places,
      10_000
    )
    return { refused, leave: () => requests.forEach((request) => request.destroy()) }
  }
  const status = async (node: number, name: string) => {
    const info = `${stack.urls[node]}/git/olli/${name}/info/refs?service=git-upload-pack`
    return (await fetch(info, { headers: { authorization: `Bearer ${olli.token}` } })).status
  }

  it("serves at most four requests of one repository at once; more get 429 with Retry-After 1", async () => {
    for (const name of ["popular", "quiet"]) await createAgent(stack, olli, `olli/${name}`)
    const url = `${stack.urls[0]}/git/olli/popular/git-upload-pack`
    const { leave, refused } = await crowd(Array(6).fill(url), 4)
    expect(refused).toEqual(["429 after 1", "429 after 1"])
    expect(await status(0, "popular")).toBe(429)
    expect(await status(0, "quiet")).toBe(200)
    leave()
    await until(
      () => status(0, "popular"),
      (code) => code === 200,
      10_000
    )
  })

  it("serves at most gitConcurrentPerIP requests of an address at once; more get 429 with Retry-After 1", async () => {
    const names = ["busy", "calm", "slow"]
    for (const name of names) await createAgent(stack, olli, `olli/${name}`)
    const { leave, refused } = await crowd(
      names.map((name) => `${stack.urls[1]}/git/olli/${name}.git/git-upload-pack`),
      2
    )
    expect(refused).toEqual(["429 after 1"])
    leave()
    for (const name of names)
      await until(
        () => status(1, name),
        (code) => code === 200,
        10_000
      )
  })
})

describe("commits of a version that is withheld", () => {
  it("are fetched by nobody while it is blocked or quarantined, nor is history on top of them", async () => {
    const here = await newAgent("withheld")
    const clean = await commit(here, scriptedAgent("olli/withheld", "1.0.0"))
    await sound(here, "tag", "v1.0.0")
    await sound(here, "push", "origin", "HEAD:refs/heads/main", "v1.0.0", "HEAD:refs/heads/clean")
    const bad = await commit(here, { ...scriptedAgent("olli/withheld", "1.1.0"), "bad.md": "Bad\n" })
    await sound(here, "tag", "-a", "-m", "Bad", "v1.1.0")
    const top = await commit(here, { "top.md": "On top\n" })
    await sound(here, "push", "origin", "HEAD:refs/heads/main", "v1.1.0", "HEAD:refs/heads/other")
    await until(
      () => versionOf("withheld", "1.1.0"),
      ({ status }) => status === "published"
    )
    const moderate = (action: string) =>
      stack.call(stack.staff, "POST", `/api/v1/platform/agents/olli/withheld/${action}`, {
        version: "1.1.0",
        reason: "A test."
      })
    const url = address("olli/withheld", null)
    const refs = async () =>
      (await sound(desk, "ls-remote", url)).output
        .split("\n")
        .map((line) => line.split("\t")[1])
        .filter((ref) => ref !== undefined)
    const everything = [
      "HEAD",
      "refs/heads/clean",
      "refs/heads/main",
      "refs/heads/other",
      "refs/tags/v1.0.0",
      "refs/tags/v1.1.0",
      "refs/tags/v1.1.0^{}"
    ]
    const fetched = async (id: string, version: number) => {
      const into = folder()
      await sound(desk, "init", "--quiet", into)
      return (await git(into, "-c", `protocol.version=${version}`, "fetch", "--quiet", url, id)).code === 0
    }
    expect(await refs()).toEqual(everything)
    expect(await fetched(bad, 2)).toBe(true)

    await moderate("quarantine")
    expect(await refs()).toEqual(["refs/heads/clean", "refs/tags/v1.0.0"])
    await moderate("release")
    expect(await refs()).toEqual(everything)

    await moderate("block")
    expect(await refs()).toEqual(["refs/heads/clean", "refs/tags/v1.0.0"])
    const blob = (await sound(here, "rev-parse", `${bad}:bad.md`)).output.trim()
    for (const version of [0, 2]) {
      for (const id of [bad, top, blob]) expect(await fetched(id, version), `${id} by version ${version}`).toBe(false)
      expect(await fetched(clean, version)).toBe(true)
    }
    // What is not withheld is cloned as before, also by those who ask for a part of it.
    for (const options of [["--depth=1"], ["--filter=blob:none"]]) {
      const { directory } = await clone(url, "--branch=clean", ...options)
      expect(existsSync(join(directory, "AGENT.md"))).toBe(true)
    }
    // Its author hears of it at the next push, and mends it by rewriting the branch.
    const told = await sound(here, "push", "origin", "HEAD:refs/heads/more")
    expect(told.said).toContain(
      `remote: refs/heads/more holds commit ${bad.slice(0, 12)} of a version that is withheld`
    )
    await sound(here, "push", "origin", ":refs/heads/more")
    await sound(here, "reset", "--quiet", "--hard", clean)
    await commit(here, { "good.md": "Good\n" })
    await sound(here, "push", "--force", "origin", "HEAD:refs/heads/main")
    expect(await refs()).toEqual(["HEAD", "refs/heads/clean", "refs/heads/main", "refs/tags/v1.0.0"])
    expect(await fetched(bad, 2)).toBe(false)
  })
})

const hasOpenSsh = (() => {
  try {
    execFileSync("ssh", ["-V"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!hasOpenSsh)(
  `git over SSH${hasOpenSsh ? "" : " (OpenSSH's client is missing on this machine)"}`,
  () => {
    let key: string
    const byKey = (directory: string, ...args: ReadonlyArray<string>) => keyed("127.0.0.2", key)(directory, ...args)
    const soundByKey = async (directory: string, ...args: ReadonlyArray<string>) => {
      const ended = await byKey(directory, ...args)
      expect(ended.code, `git ${args.join(" ")}: ${ended.said}`).toBe(0)
      return ended
    }

    beforeAll(async () => {
      const hostKey = execFileSync("ssh-keygen", ["-y", "-f", join(stack.directory, "ssh_host_key")], {
        encoding: "utf8"
      })
      for (const port of stack.sshPorts) appendFileSync(join(desk, "known_hosts"), `[127.0.0.1]:${port} ${hostKey}`)
      key = newKey()
      await addKey(await stack.person("olli"), key)
    })

    it("clones whole, shallow and partially, pushes, and a tag that is pushed becomes a published version", async () => {
      await createAgent(stack, olli, "olli/keyed")
      const here = folder()
      await soundByKey(desk, "clone", "--quiet", sshAddress("olli/keyed"), here)
      const id = await commit(here, scriptedAgent("olli/keyed", "1.0.0"))
      await commit(here, { "noise.bin": randomBytes(5 * MiB) })
      await sound(here, "tag", "v1.0.0", id)
      const pushed = await soundByKey(here, "push", "origin", "HEAD:refs/heads/main", "v1.0.0")
      expect(pushed.said).toContain("remote: olli/keyed@1.0.0 is submitted; its scan: http://")
      const version = await until(
        () => versionOf("keyed", "1.0.0"),
        ({ status }) => status !== "scanning"
      )
      expect(version).toMatchObject({ status: "published", source: { kind: "git", commit: id }, submittedBy: "olli" })

      for (const [version, ...options] of [["0"], ["2"], ["2", "--depth=1"], ["2", "--filter=blob:none"]]) {
        const there = folder()
        const url = sshAddress("olli/keyed").replace(/\.git$/, "")
        await soundByKey(desk, "-c", `protocol.version=${version}`, "clone", "--quiet", ...options, url, there)
        expect(readFileSync(join(there, "noise.bin")).length).toBe(5 * MiB)
        const commits = (await sound(there, "log", "--format=%H")).output.trim().split("\n")
        expect(commits).toHaveLength(options.includes("--depth=1") ? 1 : 2)
      }
      // Nothing to push is no push, and says so.
      expect((await soundByKey(here, "push", "origin", "HEAD:refs/heads/main")).said).toContain("Everything up-to-date")
      // Once it is blocked it is not given out here either, not even to its author.
      await stack.call(stack.staff, "POST", "/api/v1/platform/agents/olli/keyed/block", {
        version: "1.0.0",
        reason: "A test."
      })
      const empty = folder()
      await sound(desk, "init", "--quiet", empty)
      const withheld = await byKey(empty, "-c", "protocol.version=2", "fetch", sshAddress("olli/keyed"), id)
      expect(withheld.code).not.toBe(0)
    })

    it("refuses a push that cannot be taken with the reason, as over HTTP, and nothing moves", async () => {
      await createAgent(stack, olli, "olli/keyed-strict")
      const here = folder()
      await soundByKey(desk, "clone", "--quiet", sshAddress("olli/keyed-strict"), here)
      await commit(here, scriptedAgent("olli/keyed-strict", "1.0.0"))
      await sound(here, "tag", "v2.0.0")
      const wrong = await byKey(here, "push", "origin", "HEAD:refs/heads/main", "v2.0.0")
      expect(wrong.code).not.toBe(0)
      expect(wrong.said).toContain("remote: v2.0.0: agent.yaml says version 1.0.0. Tag and version must be the same.")
      expect((await sound(desk, "ls-remote", address("olli/keyed-strict", null))).output).toBe("")
      const manager = await stack.person("olli", ["agent:manage"])
      await stack.call(manager, "POST", "/api/v1/agents/olli/keyed-strict/retire")
      const retired = await byKey(here, "push", "origin", "HEAD:refs/heads/main")
      expect(retired.said).toContain("olli/keyed-strict is retired and takes no push.")
    })

    it("knows whose key it is: what is not theirs is missing, an unverified address reads alone, a deleted key is nothing", async () => {
      await newAgent("keyed-hidden", 0, "private")
      await newAgent("keyed-open")
      const ritasKey = newKey()
      const rita = await stack.person("rita")
      const added = await addKey(rita, ritasKey)
      const asRita = keyed("127.0.0.3", ritasKey)
      for (const path of ["olli/keyed-hidden", "olli/none", "none/none"]) {
        const missing = await asRita(desk, "ls-remote", sshAddress(path))
        expect(missing.code).not.toBe(0)
        expect(missing.said).toContain("Repository not found.")
      }
      expect((await asRita(desk, "ls-remote", sshAddress("olli/keyed-open"))).code).toBe(0)
      const here = folder()
      await sound(desk, "init", "--quiet", here)
      await commit(here, { "a.md": "a" })
      const push = (path: string) => asRita(here, "push", sshAddress(path), "HEAD:refs/heads/main")
      expect((await push("olli/keyed-open")).said).toContain("You may read olli/keyed-open, but not push to it.")

      await stack.call(rita, "POST", "/api/v1/agents", { namespace: "rita", name: "own", visibility: "private" })
      await stack.sql((sql) => sql`UPDATE accounts SET email_verified = false WHERE handle = 'rita'`)
      expect((await push("rita/own")).said).toContain("Verify your email address before you push.")
      expect((await asRita(desk, "ls-remote", sshAddress("rita/own"))).code).toBe(0)
      await stack.sql((sql) => sql`UPDATE accounts SET email_verified = true WHERE handle = 'rita'`)
      expect((await push("rita/own")).code).toBe(0)
      const { lastUsedAt } = await stack.call<{ lastUsedAt: string | null }>(
        rita,
        "GET",
        `/api/v1/user/keys/${added.id}`
      )
      expect(lastUsedAt).not.toBe(null)

      await stack.call(rita, "DELETE", `/api/v1/user/keys/${added.id}`)
      const gone = await asRita(desk, "ls-remote", sshAddress("olli/keyed-open"))
      expect(gone.said).toContain("Permission denied (publickey)")
      const unknown = await keyed("127.0.0.3", newKey())(desk, "ls-remote", sshAddress("olli/keyed-open"))
      expect(unknown.said).toContain("Permission denied (publickey)")
    })

    it("[GIT-001] an SSH key is a credential of git only: it opens no shell, no command, no port and no route of the API", async () => {
      const options = sshOptions("127.0.0.4", key)
      const run = async (...command: ReadonlyArray<string>) => (await ssh(options, ...command)).code
      expect(await run()).not.toBe(0)
      const command = await ssh(options, "id")
      expect(command).toMatchObject({ code: 1, output: "" })
      expect(command.said).toContain("and nothing else.")
      expect(await run("git-upload-pack '/olli/keyed.git'; id")).toBe(1)
      expect(await run("git-upload-archive '/olli/keyed.git'")).toBe(1)
      expect((await ssh([...options, "-s"], "sftp")).code).not.toBe(0)
      const forwarded = await ssh([...options, "-W", new URL(stack.urls[0]).host])
      expect(forwarded.said).toContain("administratively prohibited")
      // As a credential of the API it is none, in whatever form.
      const text = readFileSync(`${key}.pub`, "utf8").split(" ")[1]
      const { items } = await stack.call<{ items: ReadonlyArray<{ id: string; fingerprint: string }> }>(
        await stack.person("olli"),
        "GET",
        "/api/v1/user/keys"
      )
      for (const credential of [text, items[0].id, items[0].fingerprint]) {
        for (const authorization of [`Bearer ${credential}`, `Basic ${btoa(`git:${credential}`)}`]) {
          const answer = await fetch(`${stack.urls[0]}/api/v1/user`, { headers: { authorization } })
          expect(answer.status).toBe(401)
          const info = `${stack.urls[0]}/git/olli/keyed.git/info/refs?service=git-upload-pack`
          expect((await fetch(info, { headers: { authorization } })).status).toBe(401)
        }
      }
    })

    it("takes keys of every type that can be added, and no signature by SHA-1", async () => {
      const owner = await stack.person("olli")
      for (const type of ["ecdsa", "rsa"] as const) {
        const other = newKey(type)
        await addKey(owner, other)
        const { code, said } = await keyed("127.0.0.5", other)(desk, "ls-remote", sshAddress("olli/keyed"))
        expect(code, said).toBe(0)
        if (type === "rsa") {
          const old = keyed("127.0.0.5", other, ["-o", "PubkeyAcceptedAlgorithms=ssh-rsa"])
          expect((await old(desk, "ls-remote", sshAddress("olli/keyed"))).said).toContain("Permission denied")
        }
      }
    })

    it("keeps to the limits that HTTP keeps to: pushes of an hour, requests at once", async () => {
      await createAgent(stack, olli, "olli/keyed-hasty")
      await createAgent(stack, olli, "olli/keyed-calm")
      const url = sshAddress("olli/keyed-hasty", 1)
      const here = folder()
      await sound(desk, "init", "--quiet", here)
      await commit(here, scriptedAgent("olli/keyed-hasty", "1.0.0"))
      for (let count = 0; count < pushesPerHour; count++)
        await soundByKey(here, "push", url, `HEAD:refs/heads/branch-${count}`)
      // Without anything to push it is none.
      await soundByKey(here, "push", url, "HEAD:refs/heads/branch-0")
      const refused = await byKey(here, "push", url, "HEAD:refs/heads/one-more")
      expect(refused.code).not.toBe(0)
      expect(refused.said).toContain(`A repository takes at most ${pushesPerHour} pushes in an hour.`)
      const byHttp = await git(here, "push", address("olli/keyed-hasty", olli.token, 1), "HEAD:refs/heads/one-more")
      expect(byHttp.said).toContain("429")
      expect((await soundByKey(here, "ls-remote", url)).output).not.toContain("one-more")

      // Five of one repository at once: each waits for its client, which says nothing.
      const crowd = Array.from({ length: 5 }, () => {
        const child = spawn("ssh", sshArguments(sshOptions("127.0.0.6", key), "git-upload-pack 'olli/keyed'"), {
          stdio: ["pipe", "pipe", "pipe"]
        })
        const ended = new Promise<string>((resolve) => {
          let said = ""
          child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()))
          child.once("close", () => resolve(said))
        })
        const served = new Promise<string>((resolve) => child.stdout.once("data", () => resolve("served")))
        return { child, ended, outcome: Promise.race([ended, served]) }
      })
      const outcomes = await Promise.all(crowd.map(({ outcome }) => outcome))
      expect(outcomes.toSorted()).toEqual([
        "Too many git requests at once; try again.\n",
        ...Array.from({ length: 4 }, () => "served")
      ])
      expect((await soundByKey(desk, "ls-remote", sshAddress("olli/keyed-calm"))).code).toBe(0)
      for (const { child } of crowd) child.kill()
      await Promise.all(crowd.map(({ ended }) => ended))
      await until(
        () => byKey(desk, "ls-remote", sshAddress("olli/keyed")),
        ({ code }) => code === 0,
        10_000
      )
    })

    it("sends away an address that offers more keys in a minute than it may", async () => {
      expect(Settings.table["limits.sshKeyOffersPerMin"].standard).toBe(60)
      const strange = Array.from({ length: 45 }, (_, index) => {
        const path = join(desk, `strange-${index}`)
        const head = Buffer.from("0000000b7373682d6564323535313900000020", "hex")
        writeFileSync(path, `ssh-ed25519 ${Buffer.concat([head, randomBytes(32)]).toString("base64")}\n`)
        return path
      })
      // In whichever minutes they fall, more than sixty of them fall into one.
      const said: Array<string> = []
      for (let time = 0; time < 3; time++) said.push((await ssh(sshOptions("127.0.0.7", ...strange), "id")).said)
      expect(said[0]).toContain("Permission denied (publickey)")
      expect(said.filter((text) => /closed|reset/i.test(text)).length, said.join("\n")).toBeGreaterThan(0)
      expect((await ssh(sshOptions("127.0.0.8", key), "id")).said).toContain("and nothing else.")
    })

    it("a push that is cut off leaves nothing behind", async () => {
      await createAgent(stack, olli, "olli/keyed-cut")
      const { id } = await stack.call<{ id: string }>(olli, "GET", "/api/v1/agents/olli/keyed-cut")
      const objects = join(stack.directory, "git", `${id}.git`, "objects")
      const arriving = async () =>
        existsSync(objects) ? readdirSync(objects).filter((name) => name.startsWith("tmp_objdir-")) : []
      const child = spawn("ssh", sshArguments(sshOptions("127.0.0.9", key), "git-receive-pack 'olli/keyed-cut.git'"))
      child.stdout.resume()
      const update = `${"0".repeat(40)} ${"1".repeat(40)} refs/heads/main\0report-status`
      child.stdin.write(`${(update.length + 4).toString(16).padStart(4, "0")}${update}0000`)
      child.stdin.write(Buffer.from("5041434b00000002000003e8", "hex"))
      await until(arriving, (names) => names.length === 1, 10_000)
      child.kill("SIGKILL")
      await until(arriving, (names) => names.length === 0, 10_000)
    })
  }
)
