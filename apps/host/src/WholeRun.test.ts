import { assert, describe, it } from "@effect/vitest"
import { open as openSeal, openKey } from "@quickagents/platform/sealing"
import { Effect, Logger, Stream } from "effect"
import { Tar } from "effect/encoding"
import { startHost } from "./Host.ts"
import { readHostConfig } from "./HostConfig.ts"
import { outputContext } from "./SealedOutput.ts"
import { aWaitingSandbox } from "./TestHost.ts"
import {
  archiveOf,
  attest,
  asRegistry,
  freePort,
  handOffOf,
  makeRegistry,
  manifestText,
  newRunId,
  placeIdentity,
  push,
  rawRequest,
  rpcClient,
  sealedInput,
  testConfig
} from "./TestRegistry.ts"

const script = `Do it.
\`\`\`script
- call: fs_read
  args: { path: notes.txt }
- call: fs_write
  args: { path: out/summary.txt, content: "read: {{last}}" }
- finish: { done: true }
\`\`\`
`

describe("the project's own runner on a host", () => {
  it.live(
    "refuses a release that no pinned key attests, else runs it from input to sealed output with a receipt of the sandbox",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const made = yield* testConfig(port)
        // The runner that a host starts when nothing else is configured.
        const { runnerCommand, runnerPaths } = yield* readHostConfig([], { HOST_DATA_DIR: made.dataDir })
        const config = { ...made, warmRunners: 1, runnerCommand, runnerPaths }
        const registry = yield* makeRegistry
        yield* placeIdentity(registry, config.dataDir)
        yield* startHost(config).pipe(Effect.provide(Logger.layer([])))
        const archive = yield* archiveOf({
          "agent.yaml": manifestText(
            'capabilities: {filesystem: {read: ["**"], write: ["out/**"]}}\noutput: {files: ["out/**"]}\n'
          ),
          "AGENT.md": "Summarize the notes."
        })
        const input = sealedInput("notes.txt", "an input")
        yield* push(registry, port, archive)
        yield* push(registry, port, input.sealed)
        const client = yield* rpcClient(registry, port)
        const { attestation, pinnedKey } = attest("acme/notes@1.0.0", archive)
        const { handOff, recipient } = handOffOf(archive, {}, { task: script, inputs: [input.input], attestation })
        yield* client.PinKeys({ keys: [attest("acme/notes@1.0.0", archive).pinnedKey] })
        const stranger = { ...handOff, runId: newRunId() }
        // Both runs get a runner that was started before there was a run for it.
        yield* aWaitingSandbox(config)
        yield* client.Take(stranger)
        const refused = (yield* Stream.runCollect(client.Watch({ runId: stranger.runId, afterSeq: 0 }))).at(-1)!
        assert("event" in refused && refused.event.type === "exited")
        assert.deepInclude(refused.event.exit, { exitClass: "verify", stage: "verify", reason: "signing-key-unknown" })

        yield* client.PinKeys({ keys: [pinnedKey] })
        yield* push(registry, port, input.sealed)
        yield* aWaitingSandbox(config)
        yield* client.Take(handOff)
        const items = yield* Stream.runCollect(client.Watch({ runId: handOff.runId, afterSeq: 0 }))
        const events = items.flatMap((item) => ("seq" in item ? [item.event] : []))
        const exited = events.at(-1)
        assert(exited?.type === "exited")
        assert.deepInclude(exited.exit, { exitClass: "ok", interrupted: false })
        assert.strictEqual(events[0].type, "started")
        assert.deepStrictEqual(exited.exit.receipt!.toolCalls, { fs_read: 1, fs_write: 1, finish: 1 })
        assert.includeMembers(
          [...exited.exit.receipt!.capabilities_enforced.runtime],
          ["workspace on a memory file system"]
        )
        const sealed = events.find((event) => event.type === "sealed")
        assert(sealed?.type === "sealed")
        const { body } = yield* rawRequest(asRegistry(registry), port, "GET", `/runs/${handOff.runId}/output`)
        const key = yield* openKey(recipient.privateKey, outputContext(handOff.runId), sealed.key)
        const files = yield* Stream.make(body).pipe(
          openSeal(key, outputContext(handOff.runId)),
          Stream.pipeThroughChannel(Tar.decode()),
          Stream.mapEffect(({ body, header }) =>
            Effect.map(Stream.mkString(Stream.decodeText(body)), (text) => [header.path, text] as const)
          ),
          Stream.runCollect
        )
        assert.strictEqual(new Map(files).get("out/summary.txt"), "read: an input")
      }).pipe(Effect.scoped)
  )
})
