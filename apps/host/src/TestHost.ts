/** A whole host in this process, for tests. */
import { assert } from "@effect/vitest"
import { openKey, open as openSeal } from "@quickagents/platform/sealing"
import type { HandOff, HostEvent, WatchItem } from "@quickagents/schema"
import { Effect, Logger, Scope, Stream } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { startHost } from "./Host.ts"
import type { HostConfig } from "./HostConfig.ts"
import { outputContext } from "./SealedOutput.ts"
import {
  archiveOf,
  digestOf,
  freePort,
  makeRegistry,
  manifestText,
  placeIdentity,
  push,
  rpcClient,
  testConfig
} from "./TestRegistry.ts"

/** Without the host's log. */
export const quiet = Effect.provide(Logger.layer([]))
export const isEvent = (item: WatchItem): item is HostEvent => "seq" in item

/** A host on a free port with an identity, its registry, a client and a pushed release. */
export const aHost = (change: Partial<HostConfig> = {}) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const config = { ...(yield* testConfig(port)), ...change }
    const registry = yield* makeRegistry
    const hostId = yield* placeIdentity(registry, config.dataDir)
    const scope = yield* Scope.make()
    const { runs } = yield* Scope.provide(startHost(config), scope).pipe(quiet)
    yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
    const archive = yield* archiveOf({ "agent.yaml": manifestText(), "AGENT.md": "Take notes." })
    assert.strictEqual(yield* push(registry, port, archive), 201)
    const client = yield* rpcClient(registry, port)
    const watch = (runId: string, afterSeq = 0) => Stream.filter(client.Watch({ runId, afterSeq }), isEvent)
    const events = (runId: string, afterSeq = 0) => Stream.runCollect(watch(runId, afterSeq))
    const exitOf = (runId: string) =>
      Effect.map(events(runId), (all) => {
        const last = all.at(-1)!.event
        assert(last.type === "exited")
        return last.exit
      })
    return { archive, client, config, events, exitOf, hostId, port, registry, runs, scope, watch }
  })

/** Waits until `check` answers something; real time, since it is about processes. */
export const eventually = <A>(check: () => A | undefined): Effect.Effect<A> =>
  Effect.promise(async () => {
    for (let attempt = 0; attempt < 500; attempt++) {
      const found = check()
      if (found !== undefined) return found
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error("not within ten seconds")
  })

export const sandboxesOf = (config: HostConfig): ReadonlyArray<string> =>
  readdirSync(config.workDir).map((name) => join(config.workDir, name))

/** Directory of a sandbox that waits, complete, while nothing runs. */
export const aWaitingSandbox = (config: HostConfig): Effect.Effect<string> =>
  eventually(() => sandboxesOf(config).find((sandbox) => existsSync(join(sandbox, "workspace"))))

/** The plain bytes of a sealed output, checked against the event that tells of it. */
export const openOutput = (
  handOff: HandOff,
  privateKey: string,
  events: ReadonlyArray<HostEvent>,
  sealed: Uint8Array
) =>
  Effect.gen(function* () {
    const event = events.map(({ event }) => event).find((event) => event.type === "sealed")
    assert(event?.type === "sealed")
    assert.strictEqual(event.digest, digestOf(sealed))
    assert.strictEqual(event.bytes, sealed.length)
    const key = yield* openKey(privateKey, outputContext(handOff.runId), event.key)
    const chunks = yield* Stream.runCollect(Stream.make(sealed).pipe(openSeal(key, outputContext(handOff.runId))))
    const plain = Buffer.concat(chunks)
    assert.strictEqual(event.plainBytes, plain.length)
    return plain
  })
