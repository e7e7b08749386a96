import { assert, describe, it } from "@effect/vitest"
import { registryUri } from "@quickagents/schema"
import { Effect, Stream } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { HostConfig } from "./HostConfig.ts"
import {
  archiveOf,
  asRegistry,
  certifyHost,
  freePort,
  handOffOf,
  makeRegistry,
  manifestText,
  newId,
  placeIdentity,
  push,
  rawRequest,
  rpcClient,
  sealedInput,
  testConfig,
  type TestRegistry
} from "./TestRegistry.ts"

const variables = (config: HostConfig): Record<string, string> => ({
  HOST_DATA_DIR: config.dataDir,
  HOST_WORK_DIR: config.workDir,
  HOST_LISTEN_PORT: String(config.listenPort),
  HOST_RUNNER_COMMAND: config.runnerCommand.join(" "),
  HOST_RUNNER_PATHS: config.runnerPaths.join(":"),
  HOST_ALLOW_WEAK_ISOLATION: "true",
  HOST_CAPACITY: "2",
  HOST_DRAIN_SECONDS: "5",
  NODE_COMPILE_CACHE: join(tmpdir(), "host-test-compile-cache")
})

interface Daemon {
  readonly child: ChildProcess
  /** All that it printed so far. */
  readonly printed: () => string
  readonly exited: Effect.Effect<number | null>
}

/** The daemon as a process, from the moment its log says that it is up. */
const aDaemon = (environment: Record<string, string>, waitFor = "host is up") =>
  Effect.acquireRelease(
    Effect.callback<Daemon>((resume) => {
      const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], { env: environment })
      let text = ""
      const daemon: Daemon = {
        child,
        printed: () => text,
        exited: Effect.callback((resume) => {
          if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.succeed(child.exitCode))
          child.once("exit", (code) => resume(Effect.succeed(code)))
        })
      }
      const hear = (chunk: Buffer) => {
        text += chunk.toString()
        if (text.includes(waitFor)) resume(Effect.succeed(daemon))
      }
      child.stdout.on("data", hear)
      child.stderr.on("data", hear)
      child.once("close", () => resume(Effect.succeed(daemon)))
    }),
    ({ child, exited }) => Effect.sync(() => child.kill("SIGKILL")).pipe(Effect.andThen(exited))
  )

const aMachine = Effect.gen(function* () {
  const config = yield* testConfig(yield* freePort)
  const registry = yield* makeRegistry
  const archive = yield* archiveOf({ "agent.yaml": manifestText(), "AGENT.md": "Take notes." })
  return { archive, config, registry }
})

/** Whether a process on this machine was started with `path`. */
const runsAnywhere = (path: string) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(path)
      } catch {
        return false
      }
    })

/** The registry's enrolment route: one token, once. */
const enrolmentRoute = (registry: TestRegistry, token: string) =>
  Effect.gen(function* () {
    const hostId = newId("host")
    const run = Effect.runPromiseWith(yield* Effect.context())
    const requests: Array<{ readonly authorization: string | undefined; readonly body: Record<string, unknown> }> = []
    const answer = async (message: IncomingMessage) => {
      let text = ""
      for await (const chunk of message) text += String(chunk)
      const body = JSON.parse(text)
      const { authorization } = message.headers
      if (
        message.url !== "/api/v1/x/runs/hosts/enrol" ||
        authorization !== `Enrolment ${token}` ||
        requests.length > 0
      ) {
        return { status: 403, body: { type: "about:blank", title: "Forbidden", status: 403 } }
      }
      requests.push({ authorization, body })
      const certificate = await run(certifyHost(registry.ca, hostId, body.csr))
      return {
        status: 201,
        body: {
          hostId,
          certificate,
          caChain: registry.ca.certificate,
          registryName: registryUri,
          signingKeys: [{ keyId: "k1", publicKey: "cA==" }]
        }
      }
    }
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((message, response) => {
          void answer(message).then(({ body, status }) =>
            response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
          )
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)).closeAllConnections())
    )
    return { hostId, requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  })

describe("the daemon's first start", () => {
  it.live("enrols with its token and a request for its own key, and later starts need no token", () =>
    Effect.gen(function* () {
      const { config, registry } = yield* aMachine
      const { hostId, requests, url } = yield* enrolmentRoute(registry, "the-token")
      const environment = { ...variables(config), HOST_REGISTRY_URL: url }
      const first = yield* aDaemon({ ...environment, HOST_ENROLMENT_TOKEN: "the-token" })
      const client = yield* rpcClient(registry, config.listenPort)
      assert.strictEqual((yield* client.Health()).hostId, hostId)
      const [{ body }] = requests as [(typeof requests)[0]]
      assert.deepInclude(body, { address: `127.0.0.1:${config.listenPort}`, capacity: 2 })
      assert.hasAllKeys(body.features, ["sealedObjects", "browser", "inputReview", "sessions", "fullIsolation"])
      assert.strictEqual(statSync(join(config.dataDir, "identity.json")).mode & 0o777, 0o600)
      assert.notInclude(first.printed(), "the-token")

      const second = yield* aDaemon(environment, "Another host")
      assert.strictEqual(yield* second.exited, 1)
      first.child.kill("SIGKILL")
      yield* first.exited
      yield* aDaemon(environment)
      const again = yield* rpcClient(registry, config.listenPort)
      assert.strictEqual((yield* again.Health()).hostId, hostId)
    }).pipe(Effect.scoped)
  )

  it.live("ends with a plain sentence when its token or a variable is wrong, and keeps nothing", () =>
    Effect.gen(function* () {
      const { config, registry } = yield* aMachine
      const { url } = yield* enrolmentRoute(registry, "the-token")
      const refused = yield* aDaemon(
        { ...variables(config), HOST_REGISTRY_URL: url, HOST_ENROLMENT_TOKEN: "a-wrong-token" },
        "refused"
      )
      assert.strictEqual(yield* refused.exited, 1)
      assert.include(refused.printed(), "the registry refused the enrolment (403): Forbidden")
      assert.notInclude(refused.printed(), "a-wrong-token")
      const wrong = yield* aDaemon({ ...variables(config), HOST_CAPACITY: "none" }, "HOST_CAPACITY")
      assert.strictEqual(yield* wrong.exited, 2)
      assert.throws(() => statSync(join(config.dataDir, "identity.json")))
    }).pipe(Effect.scoped)
  )
})

describe("the daemon's end", () => {
  it.live(
    "killed in the middle of a run it tells what was lost, keeps what was sealed, and never had text of a run on disk or in its log",
    () =>
      Effect.gen(function* () {
        const { archive, config, registry } = yield* aMachine
        yield* placeIdentity(registry, config.dataDir)
        const marks = [
          "mark-task-5x",
          "mark-input-5x",
          "mark-output-5x",
          "mark-secret-5x",
          "mark-key-5x",
          "mark-intake-5x"
        ]
        const input = sealedInput("a.txt", `some ${marks[1]} text`)
        const more = {
          inputs: [input.input],
          intake: { question: marks[5] },
          secrets: [{ name: "TOKEN", value: marks[3], deliver: "env" as const }],
          model: {
            provider: "openai-compatible" as const,
            baseUrl: "http://127.0.0.1:9",
            model: "m-1",
            apiKey: marks[4]
          }
        }
        const first = yield* aDaemon(variables(config))
        const client = yield* rpcClient(registry, config.listenPort)
        yield* push(registry, config.listenPort, archive)
        yield* push(registry, config.listenPort, input.sealed)
        const finished = handOffOf(
          archive,
          { echo: marks[0], output: `a tar with ${marks[2]}`.repeat(100) },
          more
        ).handOff
        yield* client.Take(finished)
        const before = (yield* Stream.runCollect(client.Watch({ runId: finished.runId, afterSeq: 0 }))).filter(
          (item) => "seq" in item
        )
        assert.strictEqual(before.at(-1)!.event.type, "exited")

        yield* push(registry, config.listenPort, input.sealed)
        const lost = handOffOf(
          archive,
          {
            echo: marks[0],
            output: marks[2],
            stayMs: 60_000,
            narrate: [{ type: "tokens", input: 5, output: 4, total: 9 }]
          },
          more
        ).handOff
        yield* client.Take(lost)
        yield* client.Watch({ runId: lost.runId, afterSeq: 0 }).pipe(
          Stream.takeUntil((item) => "seq" in item && item.event.type === "tokens"),
          Stream.runDrain
        )
        assert.isTrue(runsAnywhere(config.runnerPaths[0]))
        const sandboxes = readdirSync(config.workDir)
        assert.isAbove(sandboxes.length, 0)
        first.child.kill("SIGKILL")
        yield* first.exited
        // The kernel ends the sandbox with its host; it is given a moment for it.
        yield* Effect.sync(() => runsAnywhere(config.runnerPaths[0])).pipe(
          Effect.delay("20 millis"),
          Effect.repeat({ until: (runs) => !runs }),
          Effect.timeout("15 seconds")
        )

        const second = yield* aDaemon(variables(config))
        const again = yield* rpcClient(registry, config.listenPort)
        assert.sameMembers([...(yield* again.Health()).runs], [finished.runId, lost.runId])
        const events = yield* Stream.runCollect(again.Watch({ runId: lost.runId, afterSeq: 2 }))
        const [end] = events.filter((item) => "seq" in item)
        assert(end?.event.type === "exited")
        assert.strictEqual(end.seq, 3)
        assert.deepInclude(end.event.exit, { exitClass: "cli", reason: "internal", interrupted: false })
        assert.strictEqual(end.event.exit.usage.totalTokens, 9)
        const output = yield* rawRequest(
          asRegistry(registry),
          config.listenPort,
          "GET",
          `/runs/${finished.runId}/output`
        )
        const sealed = before.find(({ event }) => event.type === "sealed")!.event
        assert(sealed.type === "sealed")
        assert.strictEqual(output.body.length, sealed.bytes)

        const written = readdirSync(config.dataDir, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
        assert.isAbove(written.length, 3)
        // The second process has one of its own that waits.
        assert.isFalse(readdirSync(config.workDir).some((name) => sandboxes.includes(name)))
        for (const bytes of [...written, Buffer.from(first.printed()), Buffer.from(second.printed())]) {
          for (const mark of marks)
            assert.isFalse(
              bytes.includes(mark) || bytes.includes(Buffer.from(mark).toString("base64").slice(0, 12)),
              mark
            )
        }
      }).pipe(Effect.scoped)
  )

  it.live(
    "SIGTERM drains: what is held finishes and is collected, nothing new is taken, then the process ends by itself",
    () =>
      Effect.gen(function* () {
        const { archive, config, registry } = yield* aMachine
        yield* placeIdentity(registry, config.dataDir)
        const daemon = yield* aDaemon(variables(config))
        const client = yield* rpcClient(registry, config.listenPort)
        yield* push(registry, config.listenPort, archive)
        const { handOff } = handOffOf(archive, { stayMs: 700 })
        yield* client.Take(handOff)
        daemon.child.kill("SIGTERM")
        yield* client.Health().pipe(Effect.delay("20 millis"), Effect.repeat({ until: ({ draining }) => draining }))
        const refusal = yield* Effect.flip(client.Take(handOffOf(archive, {}).handOff))
        assert.deepInclude(refusal, { _tag: "TakeRefused", reason: "draining" })
        const last = (yield* Stream.runCollect(client.Watch({ runId: handOff.runId, afterSeq: 0 }))).at(-1)!
        assert("event" in last && last.event.type === "exited")
        assert.strictEqual(last.event.exit.exitClass, "ok")
        yield* client.Forget({ runId: handOff.runId })
        assert.strictEqual(yield* daemon.exited, 0)
      }).pipe(Effect.scoped)
  )

  it.live("a second signal ends the drain and the runs at once", () =>
    Effect.gen(function* () {
      const { archive, config, registry } = yield* aMachine
      yield* placeIdentity(registry, config.dataDir)
      const daemon = yield* aDaemon(variables(config))
      const client = yield* rpcClient(registry, config.listenPort)
      yield* push(registry, config.listenPort, archive)
      yield* client.Take(handOffOf(archive, { stayMs: 60_000, deaf: true }).handOff)
      daemon.child.kill("SIGTERM")
      yield* client.Health().pipe(Effect.delay("20 millis"), Effect.repeat({ until: ({ draining }) => draining }))
      daemon.child.kill("SIGTERM")
      assert.strictEqual(yield* daemon.exited.pipe(Effect.timeout("15 seconds")), 0)
      assert.isFalse(runsAnywhere(config.runnerPaths[0]))
    }).pipe(Effect.scoped)
  )
})
