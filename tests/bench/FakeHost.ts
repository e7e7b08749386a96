/**
 * A sandbox host without a sandbox, as a process of its own: it enrols, serves
 * the host protocol over mutual TLS with the real host's server, and answers
 * every run at once with started, tokens, a sealed output and a good end. What
 * it leaves out is the agent; what remains is the registry's part of a run.
 *
 * A task of digits asks for an output of so many bytes.
 */
import { readHostConfig } from "@quickagents/host"
import { newDataKey, sealBytes, sealKeyTo } from "@quickagents/platform/sealing"
import { RunUnknown, TakeRefused } from "@quickagents/schema"
import type { HandOff, HostEvent } from "@quickagents/schema"
import { NodeHttpClient, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Option, Stream } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { HeldRuns } from "../../apps/host/src/HeldRuns.ts"
import { enrol } from "../../apps/host/src/HostIdentity.ts"
import { features, serveHost } from "../../apps/host/src/HostServer.ts"
import { openObjectCache } from "../../apps/host/src/ObjectCache.ts"
import { outputContext } from "../../apps/host/src/SealedOutput.ts"

const smallOutput = 512
const usage = { inputTokens: 1_000, outputTokens: 500, totalTokens: 1_500, cachedTokens: 0, turns: 1, wallMs: 1 }

interface FakeRun {
  readonly events: ReadonlyArray<HostEvent>
  readonly bytes: number
}

const receipt = ({ archive, model, ref }: HandOff) => ({
  release: { ref, digest: archive, attestationKeyId: null },
  model: model.model,
  capabilities_enforced: { filesystem: [], exec: [], network: [], browser: [], mcp: [], runtime: ["none: a benchmark"], secrets: [] },
  secrets: { used: [], absent: [] },
  knowledge: [],
  withheldInputs: [],
  toolCalls: { fs_write: 1, finish: 1 }
})

const fakeRuns = (directory: string, capacity: number): HeldRuns => {
  const runs = new Map<string, FakeRun>()
  let draining = false
  const pathOf = (runId: string) => join(directory, `${runId}.output`)

  const take = async (handOff: HandOff) => {
    const context = outputContext(handOff.runId)
    const plain = randomBytes(/^\d+$/.test(handOff.task) ? Number(handOff.task) : smallOutput)
    const dataKey = newDataKey()
    const sealed = sealBytes(dataKey, context, plain)
    await writeFile(pathOf(handOff.runId), sealed, { mode: 0o600 })
    const at = new Date().toISOString()
    const told: ReadonlyArray<HostEvent["event"]> = [
      { type: "started" },
      { type: "tokens", input: usage.inputTokens, output: usage.outputTokens, total: usage.totalTokens },
      { type: "turn", turns: usage.turns },
      {
        type: "sealed",
        bytes: sealed.length,
        plainBytes: plain.length,
        digest: `sha256:${createHash("sha256").update(sealed).digest("hex")}`,
        key: sealKeyTo(handOff.sealTo, context, dataKey)
      },
      { type: "exited", exit: { exitClass: "ok", interrupted: false, usage, receipt: receipt(handOff) } }
    ]
    runs.set(handOff.runId, { bytes: sealed.length, events: told.map((event, index) => ({ seq: index + 1, at, event })) })
  }

  return {
    take: (handOff) =>
      Effect.suspend(() => {
        if (draining) return Effect.fail(new TakeRefused({ reason: "draining" }))
        return runs.has(handOff.runId) ? Effect.void : Effect.promise(() => take(handOff))
      }),
    watch: (runId, afterSeq) =>
      Stream.suspend(() => {
        const run = runs.get(runId)
        return run === undefined ? Stream.fail(new RunUnknown({ runId })) : Stream.fromIterable(run.events.slice(afterSeq))
      }),
    cancel: () => Effect.void,
    forget: (runId) => (runs.delete(runId) ? Effect.promise(() => rm(pathOf(runId), { force: true })) : Effect.void),
    drain: Effect.sync(() => {
      draining = true
    }),
    endAll: Effect.void,
    idle: Effect.void,
    draining: () => draining,
    held: () => [...runs.keys()],
    // A run that has ended takes no slot, and these end as they start.
    slots: () => ({ total: capacity, used: 0 }),
    output: (runId) => Option.map(Option.fromUndefinedOr(runs.get(runId)), ({ bytes }) => ({ path: pathOf(runId), bytes }))
  }
}

const noIsolation = { namespaces: false, seccomp: undefined, groups: undefined, full: false, sentences: [], missing: [] }

Effect.gen(function*() {
  const config = yield* readHostConfig([], process.env)
  const able = features(noIsolation)
  const identity = yield* enrol(config, {
    sealedObjects: able.acceptsSealedObjects,
    browser: able.acceptsBrowser,
    inputReview: able.acceptsInputReview,
    sessions: able.acceptsSessions,
    fullIsolation: able.fullIsolation
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  const outputs = join(config.dataDir, "outputs")
  yield* Effect.promise(() => mkdir(outputs, { recursive: true }))
  const objects = yield* openObjectCache(join(config.dataDir, "objects"), config.objectCacheBytes)
  const runs = fakeRuns(outputs, config.capacity)
  return yield* Layer.launch(serveHost({ config, isolation: noIsolation, objects, runs, identity }))
}).pipe(NodeRuntime.runMain)
