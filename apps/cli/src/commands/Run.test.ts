import { assert, describe, it } from "@effect/vitest"
import { Envelope, exitCodes } from "@quickagents/schema"
import { Effect, Schema, Stream } from "effect"
import { Tar } from "effect/encoding"
import { spawn } from "node:child_process"
import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Readable, Writable } from "node:stream"
import { buffer, text } from "node:stream/consumers"
import { gzipSync } from "node:zlib"

const projectRoot = resolve(import.meta.dirname, "../../../..")
const examples = join(projectRoot, "examples")
const main = join(projectRoot, "apps/cli/src/main.ts")

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quickagent-cli-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const started = (parameters: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [main, ...parameters], { stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"] })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const quickagent = (parameters: ReadonlyArray<string>, stdin = "") =>
  Effect.gen(function* () {
    const child = yield* started(parameters)
    child.stdin.end(stdin)
    const ended = new Promise<number | null>((done) => child.once("exit", done))
    return yield* Effect.promise(async () => {
      const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
      return { stdout, stderr, code }
    })
  }).pipe(Effect.scoped)

const unpacked = (tar: Uint8Array) =>
  Stream.make(tar).pipe(
    Stream.pipeThroughChannel(Tar.decode()),
    Stream.mapEffect(({ body, header }) =>
      Effect.map(Stream.mkString(Stream.decodeText(body)), (content) => [header.path, content] as const)
    ),
    Stream.runCollect,
    Effect.map((entries) => new Map(entries))
  )

const readEnvelope = Schema.decodeUnknownEffect(Schema.fromJsonString(Envelope))

/** What a registry would sign about the release, and the key to pin. */
const attest = (ref: string, sha256: string) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32)
  const keyId = createHash("sha256").update(raw).digest("hex")
  const payloadType = "application/vnd.in-toto+json"
  const payload = Buffer.from(
    JSON.stringify({
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ name: ref, digest: { sha256 } }],
      predicateType: "https://registry.example/attestation/scan/v1",
      predicate: {}
    })
  )
  const message = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
    payload
  ])
  const signatures = [{ keyid: keyId, sig: sign(null, message, privateKey).toString("base64") }]
  return {
    pinnedKeys: [{ keyId, publicKey: raw.toString("base64") }],
    attestation: JSON.stringify({ payloadType, payload: payload.toString("base64"), signatures })
  }
}

const hostedRun = (place: string, task: string) =>
  Effect.gen(function* () {
    const manifest = {
      schemaVersion: 2,
      name: "demo/agent",
      version: "1.0.0",
      description: "A test.",
      modes: ["autonomous"],
      capabilities: { filesystem: { write: ["out.txt"] } },
      output: { files: ["out.txt"] }
    }
    const files = [Tar.file("agent.yaml", JSON.stringify(manifest)), Tar.file("AGENT.md", "Do it.")]
    const archive = gzipSync(
      Buffer.concat(yield* Stream.runCollect(Stream.fromIterable(files).pipe(Stream.pipeThroughChannel(Tar.encode()))))
    )
    mkdirSync(join(place, "workspace"))
    writeFileSync(join(place, "package.tar.gz"), archive)
    const ref = "demo/agent@1.0.0"
    const sha256 = createHash("sha256").update(archive).digest("hex")
    const child = yield* started(["run", "--hosted"])
    child.stdin.end(
      JSON.stringify({
        ref,
        digest: `sha256:${sha256}`,
        archive: join(place, "package.tar.gz"),
        ...attest(ref, sha256),
        task,
        intake: {},
        mode: "autonomous",
        workspace: join(place, "workspace"),
        inputs: [],
        secrets: [],
        caps: { seconds: 60, turns: 9 },
        model: { provider: "scripted", model: "scripted", socket: join(place, "model.sock") },
        egressSocket: join(place, "egress.sock"),
        maxOutputBytes: 1_000_000,
        runtime: []
      })
    )
    const ended = new Promise<number | null>((done) => child.once("exit", done))
    const pipe = (fd: number) => child.stdio[fd] as Readable & Writable
    const seen: Array<string> = []
    pipe(3).on("data", (chunk: Buffer) => {
      seen.push(chunk.toString())
      // In the third turn the agent waits for longer than this test.
      if (seen.join("").includes('"turns":2')) child.kill("SIGTERM")
    })
    return yield* Effect.promise(async () => {
      const [stdout, tar, code] = await Promise.all([text(child.stdout), buffer(pipe(4)), ended])
      return { stdout, tar, code, narrated: seen.join("") }
    })
  }).pipe(Effect.scoped)

describe("quickagent run", () => {
  it.live("runs the example that reads a table, and writes report, result and envelope", () =>
    Effect.gen(function* () {
      const output = join(yield* directory, "out.tar")
      const sales = join(examples, "csv-summary/sample/sales.csv")
      const { code, stderr, stdout } = yield* quickagent([
        "run",
        join(examples, "csv-summary"),
        "--unverified",
        "--input",
        sales,
        "--output",
        output
      ])
      assert.deepEqual(
        [code, stderr.trim().split("\n")],
        [0, ["fetch", "verify", "policy", "compile", "gateway", "harness", "output"]]
      )
      assert.strictEqual((JSON.parse(stdout) as { report: string }).report, "report.md")
      const files = yield* unpacked(readFileSync(output))
      assert.deepEqual([...files.keys()], ["report.md", "result.json", "envelope.json"])
      assert.include(files.get("report.md"), "north,2026-01,1200")
    }).pipe(Effect.scoped)
  )

  it.live("runs the example that takes intake answers, with the task from stdin, and prints the envelope", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* quickagent(
        [
          "run",
          join(examples, "release-notes"),
          "--unverified",
          "--intake",
          "product=Widget",
          "--intake",
          "version=2",
          "--task",
          "-",
          "--json"
        ],
        "- starts faster"
      )
      const envelope = yield* readEnvelope(stdout)
      assert.deepEqual([code, envelope.result], [0, "The notes of Widget 2 are in RELEASE_NOTES.md."])
      assert.deepEqual(
        envelope.outputs.map(({ path }) => path),
        ["RELEASE_NOTES.md", "result.json"]
      )
    })
  )

  it.live("exits with the class of the end, and says what to do", () =>
    Effect.gen(function* () {
      const ends = (...parameters: ReadonlyArray<string>) =>
        Effect.map(quickagent(["run", ...parameters]), ({ code, stderr }) => [code, stderr] as const)
      const notes = join(examples, "release-notes")
      const [unattested, missing, wrong, flag] = yield* Effect.all(
        [
          ends(notes),
          ends(notes, "--unverified"),
          ends(notes, "--provider", "anthropic", "--unverified"),
          ends("--no-such-flag")
        ],
        { concurrency: 2 }
      )
      assert.deepEqual(
        [unattested[0], missing[0], wrong[0], flag[0]],
        [exitCodes.verify, exitCodes.compile, exitCodes.usage, exitCodes.usage]
      )
      assert.include(unattested[1], "say --unverified")
      assert.include(missing[1], "product is required")
      assert.include(wrong[1], "needs --model")
    })
  )

  it.live("a hosted run that is asked to end still writes its output, its usage and its envelope", () =>
    Effect.gen(function* () {
      const steps = [
        { tokens: { input: 30, output: 4 } },
        { call: "fs_write", args: { path: "out.txt", content: "so far" } },
        { call: "fs_list" },
        { wait: 60_000 }
      ]
      const { code, narrated, stdout, tar } = yield* hostedRun(
        yield* directory,
        `\`\`\`script\n${JSON.stringify(steps)}\n\`\`\``
      )
      const envelope = yield* readEnvelope(stdout)
      assert.strictEqual(code, exitCodes.harness)
      assert.deepEqual([envelope.error?.class, envelope.reason], ["interrupted", "interrupted"])
      assert.isAtLeast(envelope.usage.inputTokens, 30)
      assert.include(narrated, '{"type":"started"}\n')
      const files = yield* unpacked(tar)
      assert.deepEqual([...files.keys()], ["out.txt", "envelope.json"])
      assert.strictEqual(files.get("out.txt"), "so far")
      assert.deepEqual(JSON.parse(files.get("envelope.json")!), JSON.parse(stdout))
    }).pipe(Effect.scoped)
  )

  it.live("what is no hosted request is a usage error that repeats nothing of it", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* quickagent(["run", "--hosted"], '{"secrets":"hush-hush"}')
      assert.deepEqual([code, stdout], [exitCodes.usage, ""])
      assert.notInclude(stderr, "hush-hush")
    })
  )
})
