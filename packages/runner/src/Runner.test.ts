import { assert, describe, it } from "@effect/vitest"
import { Envelope } from "@quickagents/schema"
import { Deferred, Effect, Schema, Stream } from "effect"
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { matches } from "./Glob.ts"
import { silent } from "./Narration.ts"
import { run, type RunRequest } from "./Runner.ts"
import { allowsEgress } from "./FetchTool.ts"

const directory = () => mkdtempSync(join(tmpdir(), "runner-test-"))

const aPackage = (manifest: object = {}, files: Record<string, string> = {}) => {
  const path = directory()
  const whole = {
    schemaVersion: 2,
    name: "demo/agent",
    version: "1.0.0",
    description: "A test.",
    modes: ["autonomous"],
    ...manifest
  }
  for (const [name, text] of Object.entries({ "agent.yaml": JSON.stringify(whole), "AGENT.md": "Do it.", ...files })) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  return path
}

const script = (steps: ReadonlyArray<object>) => `\`\`\`script\n${JSON.stringify(steps)}\n\`\`\``

const end = (options: Partial<RunRequest>) =>
  run({
    package: aPackage(),
    task: script([{ finish: "done" }]),
    intake: {},
    mode: "autonomous",
    workspace: directory(),
    inputs: [],
    secrets: [],
    caps: { seconds: 20, turns: 10 },
    model: { provider: "scripted", model: "scripted" },
    maxOutputBytes: 1_000_000,
    runtime: ["held by a test"],
    narrate: silent,
    onStep: () => {},
    interrupted: Effect.never,
    ...options
  })

const howItEnds = (options: Partial<RunRequest>) =>
  Effect.map(end(options), ({ envelope }) => [envelope.exitClass, envelope.exitCode, envelope.stage, envelope.reason])

const files = { filesystem: { read: ["in/**"], write: ["out.txt"] } }

describe("Runner", () => {
  it.live("[RUN-009] each failing step ends with its exit class, step and listed reason", () =>
    Effect.gen(function* () {
      assert.deepEqual(yield* howItEnds({}), ["ok", 0, undefined, undefined])
      assert.deepEqual(yield* howItEnds({ package: "/nowhere" }), ["cli", 1, "fetch", "archive-unreadable"])
      for (const manifest of [
        { capabilities: { browser: { scope: "public" } } },
        { mcpServers: [{ name: "x", url: "https://x.example" }] },
        { knowledge: ["pack"] }
      ]) {
        assert.deepEqual(yield* howItEnds({ package: aPackage(manifest) }), [
          "policy",
          11,
          "policy",
          "capability-refused"
        ])
      }
      assert.deepEqual(yield* howItEnds({ package: aPackage({ secrets: [{ name: "KEY" }] }) }), [
        "policy",
        11,
        "policy",
        "secret-absent"
      ])
      const intake = [{ id: "x", label: "X", type: "integer", required: true }]
      assert.deepEqual(yield* howItEnds({ package: aPackage({ intake }) }), [
        "compile",
        12,
        "compile",
        "intake-invalid"
      ])
      assert.deepEqual(yield* howItEnds({ package: aPackage({ modes: [] }) }), [
        "compile",
        12,
        "compile",
        "manifest-invalid"
      ])
      assert.deepEqual(yield* howItEnds({ task: script([]) }), ["harness", 14, "harness", "no-result"])
      assert.deepEqual(yield* howItEnds({ task: script([{ wait: 60_000 }]), caps: { seconds: 1, turns: 5 } }), [
        "timeout",
        15,
        "harness",
        "wall-time"
      ])
      assert.deepEqual(
        yield* howItEnds({
          task: script([{ call: "a" }, { call: "b" }, { call: "c" }]),
          caps: { seconds: 9, turns: 2 }
        }),
        ["budget", 16, "harness", "turns"]
      )
      assert.deepEqual(yield* howItEnds({ task: script([{ block: "no" }]) }), [
        "blocked",
        18,
        "harness",
        "agent-blocked"
      ])
      const withSchema = aPackage({ output: { schema: "o.json" } }, { "o.json": '{"type":"object"}' })
      assert.deepEqual(yield* howItEnds({ package: withSchema }), ["outputSchema", 17, "output", "result-invalid"])
      assert.deepEqual(yield* howItEnds({ maxOutputBytes: 10 }), ["cli", 1, "output", "output-too-large"])
    })
  )

  it.live("[RUN-010] the receipt names the mechanism behind each contract line and no text of the run", () =>
    Effect.gen(function* () {
      const { envelope } = yield* end({
        package: aPackage({ capabilities: files }),
        task: script([{ call: "fs_list" }, { call: "madeUp" }, { finish: "s3cret-text" }])
      })
      yield* Schema.decodeUnknownEffect(Envelope)(envelope)
      for (const sentences of Object.values(envelope.receipt.capabilities_enforced)) assert.isAbove(sentences.length, 0)
      assert.include(envelope.receipt.capabilities_enforced.runtime, "held by a test")
      assert.deepEqual(envelope.receipt.toolCalls, { finish: 1, fs_list: 1 })
      assert.notInclude(JSON.stringify(envelope.receipt), "s3cret-text")
    })
  )

  it.live(
    "a run finds scripts, references and assets of its package in its workspace, and its inputs as they were given",
    () =>
      Effect.gen(function* () {
        const workspace = directory()
        mkdirSync(join(workspace, "references"))
        writeFileSync(join(workspace, "references/given.md"), "given")
        const { envelope } = yield* end({
          package: aPackage(
            { capabilities: { filesystem: { read: ["**"] }, exec: { commands: ["node"] } } },
            {
              "scripts/double.mjs": "console.log(2 * 21)",
              "references/deep/guide.md": "guide",
              "references/given.md": "packed",
              "notes/private.md": "stays in the package"
            }
          ),
          workspace,
          task: script([
            { call: "fs_list" },
            { call: "run_command", args: { command: "node", args: ["scripts/double.mjs"] } },
            { finish: "{{last}}" }
          ])
        })
        assert.include(String(envelope.result), "42")
        assert.deepEqual(
          ["references/deep/guide.md", "references/given.md"].map((path) =>
            readFileSync(join(workspace, path), "utf8")
          ),
          ["guide", "given"]
        )
        assert.isFalse(existsSync(join(workspace, "notes")))
      })
  )

  it.live("an input that has the name of a folder of the package stays, and the run goes on without that folder", () =>
    Effect.gen(function* () {
      const workspace = directory()
      writeFileSync(join(workspace, "scripts"), "given")
      const { envelope } = yield* end({
        package: aPackage({}, { "scripts/one.mjs": "1", "scripts/deep/two.mjs": "2", "assets/three.txt": "3" }),
        workspace,
        task: script([{ finish: "done" }])
      })
      assert.strictEqual(envelope.result, "done")
      assert.strictEqual(readFileSync(join(workspace, "scripts"), "utf8"), "given")
      assert.strictEqual(readFileSync(join(workspace, "assets/three.txt"), "utf8"), "3")
    })
  )

  it.live("file tools refuse every way out of the workspace and its globs", () =>
    Effect.gen(function* () {
      const workspace = directory()
      mkdirSync(join(workspace, "in"))
      symlinkSync("/etc/hostname", join(workspace, "in/link"))
      symlinkSync("/etc", join(workspace, "in/dir"))
      symlinkSync("/tmp/never-written", join(workspace, "out.txt"))
      writeFileSync(join(workspace, "in/good"), "good")
      const read = (path: string) =>
        Effect.map(
          end({
            package: aPackage({ capabilities: files }),
            workspace,
            task: script([{ call: "fs_read", args: { path } }, { finish: "{{last}}" }])
          }),
          ({ envelope }) => envelope.result
        )
      assert.strictEqual(yield* read("in/good"), "good")
      for (const path of [
        "../etc/passwd",
        "/etc/passwd",
        "in/../../etc/passwd",
        "in/link",
        "in/dir/hostname",
        "other"
      ]) {
        assert.match(String(yield* read(path)), /relative to the workspace|symbolic link|does not grant/u, path)
      }
      const { envelope } = yield* end({
        package: aPackage({ capabilities: files }),
        workspace,
        task: script([{ call: "fs_write", args: { path: "out.txt", content: "x" } }, { finish: "{{last}}" }])
      })
      assert.match(String(envelope.result), /symbolic link/u)
    })
  )

  it.live("programs and hosts that are not listed are refused, and secrets are blanked", () =>
    Effect.gen(function* () {
      const pack = aPackage({
        capabilities: { exec: { commands: ["printenv"] }, network: { egress: ["api.example.com:443"] } },
        secrets: [{ name: "KEY" }]
      })
      const call = (tool: string, args: object) =>
        Effect.map(
          end({
            package: pack,
            secrets: [{ name: "KEY", value: "hush-hush", deliver: "env" }],
            task: script([{ call: tool, args }, { finish: "{{last}}" }])
          }),
          ({ envelope }) => String(envelope.result)
        )
      assert.match(yield* call("run_command", { command: "sh", args: ["-c", "id"] }), /does not list this program/u)
      assert.strictEqual(yield* call("run_command", { command: "printenv", args: ["KEY"] }), "exit 0\n[secret KEY]\n")
      assert.match(yield* call("fetch", { url: "http://127.0.0.1:1/" }), /does not list this host/u)
      assert.match(yield* call("run_command", { command: 7 }), /arguments are not valid/u)
      assert.isFalse(allowsEgress(["*.a.com:443"], "a.com", 443))
      assert.isFalse(matches(["a/*"], "a/b/c"))
    })
  )

  it.live("a signal still gives the outputs so far and the usage", () =>
    Effect.gen(function* () {
      const pack = aPackage({ capabilities: files, output: { files: ["out.txt"] } })
      const write = { call: "fs_write", args: { path: "out.txt", content: "x" } }
      const once = Effect.gen(function* () {
        const { envelope, output } = yield* end({ package: pack, task: script([write, { finish: 1 }]) })
        const tar = Buffer.concat(yield* Stream.runCollect(output))
        return (
          tar
            .toString("latin1")
            .replace(/"wallMs": \d+/u, "")
            .replace(/[0-7]{6}\0 0/u, "")
            .slice(tar.length - 6_000) + envelope.outputs.map(({ digest }) => digest).join()
        )
      })
      assert.strictEqual((yield* once).length > 0, true)
      const stop = yield* Deferred.make<void>()
      const { envelope } = yield* end({
        package: pack,
        task: script([{ tokens: { input: 5, output: 3 } }, write, { wait: 60_000 }]),
        narrate: (line) => line.type === "turn" && setTimeout(() => Deferred.doneUnsafe(stop, Effect.void), 100),
        interrupted: Deferred.await(stop)
      })
      assert.deepEqual([envelope.error?.class, envelope.reason, envelope.exitCode], ["interrupted", "interrupted", 14])
      assert.deepEqual(
        envelope.outputs.map(({ path }) => path),
        ["out.txt"]
      )
      assert.isAtLeast(envelope.usage.inputTokens, 5)
    })
  )

  it.live("an attestation holds only for its bytes, its name and a pinned key", () =>
    Effect.gen(function* () {
      const archive = gzipSync(Buffer.alloc(1024))
      const path = join(directory(), "a.tgz")
      writeFileSync(path, archive)
      const { privateKey, publicKey } = generateKeyPairSync("ed25519")
      const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url")
      const keyId = createHash("sha256").update(raw).digest("hex")
      const sha256 = createHash("sha256").update(archive).digest("hex")
      const attest = (name: string) => {
        const payload = Buffer.from(
          JSON.stringify({
            _type: "https://in-toto.io/Statement/v1",
            subject: [{ name, digest: { sha256 } }],
            predicateType: "x",
            predicate: {}
          })
        )
        const type = "application/vnd.in-toto+json"
        const sig = sign(
          null,
          Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]),
          privateKey
        ).toString("base64")
        return { payloadType: type, payload: payload.toString("base64"), signatures: [{ keyid: keyId, sig }] }
      }
      const ref = "demo/agent@1.0.0"
      const pinned = [{ keyId, publicKey: raw.toString("base64") }]
      const good = attest(ref)
      const ends = (attestation: object | null, { digest = `sha256:${sha256}`, pinnedKeys = pinned } = {}) =>
        Effect.map(
          howItEnds({
            package: path,
            release: { ref, digest, attested: { attestation: attestation && JSON.stringify(attestation), pinnedKeys } }
          }),
          ([, code, , reason]) => [code, reason]
        )
      assert.deepEqual(yield* ends(null), [10, "attestation-missing"])
      assert.deepEqual(yield* ends({ ...good, signatures: [{ keyid: keyId, sig: "AAAA" }] }), [
        10,
        "attestation-invalid"
      ])
      assert.deepEqual(yield* ends(good, { pinnedKeys: [] }), [10, "signing-key-unknown"])
      assert.deepEqual(yield* ends(attest("demo/other@1.0.0")), [10, "digest-mismatch"])
      assert.deepEqual(yield* ends(good, { digest: `sha256:${"0".repeat(64)}` }), [10, "digest-mismatch"])
      // Verified; what is wrong then is that the archive holds no manifest.
      assert.deepEqual(yield* ends(good), [12, "manifest-invalid"])
      // Trusted without an attestation: there is nothing to verify but the bytes.
      const trusted = (digest: string) =>
        Effect.map(howItEnds({ package: path, release: { ref, digest } }), ([, , , reason]) => reason)
      assert.strictEqual(yield* trusted(`sha256:${sha256}`), "manifest-invalid")
      assert.strictEqual(yield* trusted(`sha256:${"0".repeat(64)}`), "digest-mismatch")
    })
  )

  const events = {
    anthropic: [
      { type: "message_start", message: { usage: { input_tokens: 7, cache_read_input_tokens: 3, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "finish" } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"result":"gr' } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: 'üß"}' } },
      { type: "message_delta", delta: {}, usage: { output_tokens: 4 } },
      { type: "message_stop" }
    ],
    "openai-compatible": [
      {
        choices: [
          { delta: { tool_calls: [{ index: 0, id: "t", function: { name: "finish", arguments: '{"result":' } }] } }
        ]
      },
      {
        choices: [
          { delta: { tool_calls: [{ index: 0, function: { arguments: '"grüß"}' } }] }, finish_reason: "tool_calls" }
        ]
      },
      {
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 4,
          total_tokens: 14,
          prompt_tokens_details: { cached_tokens: 3 }
        }
      }
    ]
  } as const

  for (const provider of ["anthropic", "openai-compatible"] as const) {
    it.live(`${provider} is read byte by byte, waits when asked to, and says how it fails`, () =>
      Effect.gen(function* () {
        let answers: Array<number> = []
        const server = createServer((message, response) => {
          message.resume()
          const status = answers.shift() ?? 200
          response.writeHead(status, { "retry-after": "0", "content-type": "text/event-stream" })
          if (status !== 200) return void response.end("no")
          for (const byte of Buffer.from(
            events[provider].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
          ))
            response.write(Buffer.from([byte]))
          response.end()
        })
        yield* Effect.promise(() => new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening)))
        yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
        const ends = (statuses: Array<number>) => {
          answers = statuses
          return end({
            model: { provider, model: "m", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
          })
        }
        const { envelope } = yield* ends([429, 503])
        assert.strictEqual(envelope.result, "grüß")
        const { cachedTokens, inputTokens, outputTokens, totalTokens } = envelope.usage
        assert.deepEqual([inputTokens, outputTokens, totalTokens, cachedTokens], [10, 4, 14, 3])
        for (const [statuses, reason] of [
          [[401], "model-refused"],
          [[429, 429, 429, 429], "model-rate-limited"],
          [[500, 500, 500], "model-unavailable"]
        ] as const) {
          const failed = (yield* ends([...statuses])).envelope
          assert.deepEqual([failed.exitCode, failed.stage, failed.reason], [13, "gateway", reason])
        }
      })
    )
  }
})
