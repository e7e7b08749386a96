/**
 * A sandbox host without a sandbox, as a process of its own: it enrols with its
 * token, serves the host protocol over mutual TLS, and answers every run at once
 * with started, tokens, a sealed output and a good end. What it leaves out is
 * the agent; what remains is the registry's part of a run.
 *
 * A task of digits asks for an output of so many bytes.
 */
import { newCsr } from "@quickagents/platform/certificates"
import { newDataKey, sealBytes, sealKeyTo } from "@quickagents/platform/sealing"
import { HostProtocol, RunUnknown } from "@quickagents/schema"
import type { HandOff, HostEvent } from "@quickagents/schema"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RpcSerialization, RpcServer } from "effect/rpc"
import { createHash, randomBytes } from "node:crypto"
import { createServer } from "node:https"

const env = (name: string) => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}
const port = Number(env("PORT"))
const slots = Number(env("SLOTS"))

const smallOutput = 512
const usage = { inputTokens: 1_000, outputTokens: 500, totalTokens: 1_500, cachedTokens: 0, turns: 1, wallMs: 1 }

interface FakeRun {
  readonly events: ReadonlyArray<HostEvent>
  readonly output: Uint8Array
}

interface Enrolled {
  readonly hostId: string
  readonly certificate: string
  readonly caChain: string
}

const digestOf = (bytes: Uint8Array): `sha256:${string}` => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const enrol = async (csr: string): Promise<Enrolled> => {
  const answer = await fetch(`${env("REGISTRY_URL")}/api/v1/x/runs/hosts/enrol`, {
    method: "POST",
    headers: { authorization: `Enrolment ${env("ENROLMENT_TOKEN")}`, "content-type": "application/json" },
    body: JSON.stringify({
      csr,
      address: `127.0.0.1:${port}`,
      capacity: slots,
      features: { sealedObjects: true, browser: false, inputReview: false, sessions: false, fullIsolation: false }
    })
  })
  if (!answer.ok) throw new Error(`the registry refused the enrolment: ${answer.status}`)
  return (await answer.json()) as Enrolled
}

const receipt = ({ archive, model, ref }: HandOff) => ({
  release: { ref, digest: archive, attestationKeyId: null },
  model: model.model,
  capabilities_enforced: {
    filesystem: [],
    exec: [],
    network: [],
    browser: [],
    mcp: [],
    runtime: ["none: a benchmark"],
    secrets: []
  },
  secrets: { used: [], absent: [] },
  knowledge: [],
  withheldInputs: [],
  toolCalls: { fs_write: 1, finish: 1 }
})

const lived = (handOff: HandOff): FakeRun => {
  const context = `run:${handOff.runId}:output`
  const plain = randomBytes(/^\d+$/.test(handOff.task) ? Number(handOff.task) : smallOutput)
  const dataKey = newDataKey()
  const output = sealBytes(dataKey, context, plain)
  const at = new Date().toISOString()
  const told: ReadonlyArray<HostEvent["event"]> = [
    { type: "started" },
    { type: "tokens", input: usage.inputTokens, output: usage.outputTokens, total: usage.totalTokens },
    { type: "turn", turns: usage.turns },
    {
      type: "sealed",
      bytes: output.length,
      plainBytes: plain.length,
      digest: digestOf(output),
      key: sealKeyTo(handOff.sealTo, context, dataKey)
    },
    { type: "exited", exit: { exitClass: "ok", interrupted: false, usage, receipt: receipt(handOff) } }
  ]
  return { output, events: told.map((event, index) => ({ seq: index + 1, at, event })) }
}

const serve = Effect.gen(function* () {
  const { csr, privateKey } = yield* newCsr("quickagents-host")
  const { caChain, certificate, hostId } = yield* Effect.promise(() => enrol(csr))
  const certificateExpiresAt = new Date(Date.now() + 7 * 86_400_000).toISOString()
  const runs = new Map<string, FakeRun>()
  const objects = new Set<string>()

  const handlers = HostProtocol.toLayer({
    Health: () =>
      Effect.sync(() => ({
        hostId,
        version: "bench",
        // A run that has ended takes no slot, and these end as they start.
        slots: { total: slots, used: 0 },
        draining: false,
        acceptsSealedObjects: true,
        acceptsBrowser: false,
        acceptsInputReview: false,
        acceptsSessions: false,
        fullIsolation: false,
        runs: [...runs.keys()],
        certificateExpiresAt
      })),
    Take: (handOff) =>
      Effect.sync(() => {
        if (!runs.has(handOff.runId)) runs.set(handOff.runId, lived(handOff))
      }),
    Watch: ({ afterSeq, runId }) =>
      Stream.suspend(() => {
        const run = runs.get(runId)
        return run === undefined
          ? Stream.fail(new RunUnknown({ runId }))
          : Stream.fromIterable(run.events.slice(afterSeq))
      }),
    Cancel: () => Effect.void,
    Forget: ({ runId }) => Effect.sync(() => void runs.delete(runId)),
    RenewalRequest: () => Effect.succeed({ csr }),
    Renew: () => Effect.void,
    PinKeys: () => Effect.void,
    Drain: () => Effect.void
  })
  const rpc = RpcServer.layerHttp({
    group: HostProtocol,
    path: "/rpc",
    protocol: "http",
    disableTracing: true,
    disableFatalDefects: true
  }).pipe(Layer.provide([handlers, RpcSerialization.layerNdjson]))

  const last = (url: string) => decodeURIComponent(url.slice(url.lastIndexOf("/") + 1))
  const bytes = Layer.mergeAll(
    HttpRouter.add("GET", "/objects/:digest", ({ url }) =>
      Effect.succeed(HttpServerResponse.empty({ status: objects.has(last(url)) ? 200 : 404 }))
    ),
    HttpRouter.add(
      "PUT",
      "/objects/:digest",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const body = new Uint8Array(yield* request.arrayBuffer)
        if (digestOf(body) !== last(request.url)) return HttpServerResponse.empty({ status: 422 })
        objects.add(last(request.url))
        return HttpServerResponse.empty({ status: 201 })
      })
    ),
    HttpRouter.add("GET", "/runs/:runId/output", ({ url }) =>
      Effect.sync(() => {
        const run = runs.get(url.split("/")[2])
        return run === undefined ? HttpServerResponse.empty({ status: 404 }) : HttpServerResponse.uint8Array(run.output)
      })
    )
  )
  const server = () =>
    createServer({
      key: privateKey,
      cert: certificate,
      ca: caChain,
      minVersion: "TLSv1.3",
      requestCert: true,
      rejectUnauthorized: true
    })
  return yield* Layer.launch(
    HttpRouter.serve(Layer.mergeAll(rpc, bytes), { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide(NodeHttpServer.layer(server, { host: "127.0.0.1", port }))
    )
  )
})

NodeRuntime.runMain(serve)
