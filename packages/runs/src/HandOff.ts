/**
 * Everything a host needs to run a claimed run, opened just in time: what is
 * opened here lives in memory until the host has it, and is written nowhere.
 */
import { KeyService, ObjectStore, Sealing } from "@quickagents/platform"
import { Versions } from "@quickagents/catalog"
import { Settings } from "@quickagents/platform"
import type { Digest, HandOff } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import type { HostConnection } from "@quickagents/client/rpc"
import { RunModel } from "./RunModel.ts"
import type { RunRow, RunSecretsRow } from "./RunsSql.ts"
import { RunsSql } from "./RunsSql.ts"

/** What is sealed of a create request. */
export const SealedRequest = Schema.Struct({
  task: Schema.String,
  intake: Schema.Record(Schema.String, Schema.Unknown)
})
export type SealedRequest = typeof SealedRequest.Type
const requestJson = Schema.fromJsonString(SealedRequest)
const decodeRequest = Schema.decodeEffect(requestJson)
export const encodeRequest = (request: SealedRequest) =>
  new TextEncoder().encode(Schema.encodeSync(requestJson)(request))

/** Contexts that bind sealed bytes to what they belong to; keys are wrapped for the account. */
export const contexts = {
  account: (accountId: string) => `account:${accountId}`,
  request: (runId: string) => `run:${runId}:request`,
  recipient: (runId: string) => `run:${runId}:recipient`,
  input: (inputId: string) => `input:${inputId}`,
  output: (runId: string) => `run:${runId}:output`
}

/** The run cannot be handed over now or ever; `retry` says whether it goes back to the queue or ends as an error. */
export class HandOffImpossible extends Schema.TaggedError<HandOffImpossible>()("HandOffImpossible", {
  reason: Schema.Literals([
    "release-gone",
    "request-unreadable",
    "input-unreadable",
    "keys-unavailable",
    "objects-unavailable"
  ]),
  retry: Schema.Boolean
}) {}

const impossible = (reason: HandOffImpossible["reason"], retry: boolean) => () =>
  new HandOffImpossible({ reason, retry })

/** Task and intake of a run, for its hand-off and for the person who ran it. */
export const openRequest = Effect.fnUntraced(function* (run: Pick<RunRow, "id" | "accountId">, sealed: RunSecretsRow) {
  const keys = yield* KeyService
  const dataKey = yield* keys.unwrap(contexts.account(run.accountId), sealed.requestKey)
  const bytes = yield* Sealing.openBytes(dataKey, contexts.request(run.id), sealed.request)
  const request = yield* Effect.orDie(decodeRequest(new TextDecoder().decode(bytes)))
  return { ...request, sealTo: sealed.sealTo }
})

/** Pushes what the host lacks and answers the document that it takes. */
export const stage = Effect.fnUntraced(function* (run: RunRow, host: HostConnection) {
  const keys = yield* KeyService
  const objects = yield* ObjectStore
  const settings = yield* Settings.Settings
  const release = yield* (yield* Versions).releaseById(run.versionId)
  if (release === null || release.status === "blocked" || release.status === "quarantined") {
    return yield* new HandOffImpossible({ reason: "release-gone", retry: false })
  }
  const unavailable = {
    KeyServiceUnavailable: impossible("keys-unavailable", true),
    ObjectStoreError: impossible("objects-unavailable", true)
  }
  const sealed = (yield* Effect.orDie((yield* RunsSql).secretsOf(run.id)))!
  const request = yield* openRequest(run, sealed).pipe(
    Effect.catchTags({
      KeyServiceUnavailable: unavailable.KeyServiceUnavailable,
      WrappedKeyInvalid: impossible("request-unreadable", false),
      SealBroken: impossible("request-unreadable", false)
    })
  )
  const push = Effect.fnUntraced(function* (digest: Digest, gone: HandOffImpossible["reason"]) {
    if (yield* host.hasObject(digest)) return
    const { bytes, content } = yield* objects
      .get(digest)
      .pipe(
        Effect.catchTags({ ObjectNotFound: impossible(gone, false), ObjectStoreError: unavailable.ObjectStoreError })
      )
    yield* host.putObject(digest, bytes, content)
  })
  yield* push(run.archiveDigest, "release-gone")
  const inputs = yield* Effect.forEach(
    run.inputs,
    Effect.fnUntraced(function* (input) {
      const dataKey = yield* keys.unwrap(contexts.account(run.accountId), input.dataKey).pipe(
        Effect.catchTags({
          KeyServiceUnavailable: unavailable.KeyServiceUnavailable,
          WrappedKeyInvalid: impossible("input-unreadable", false)
        })
      )
      yield* push(input.object, "input-unreadable")
      return {
        name: input.name,
        bytes: input.bytes,
        digest: input.digest,
        sealed: {
          object: input.object,
          dataKey: Buffer.from(dataKey).toString("base64"),
          context: contexts.input(input.id)
        }
      }
    })
  )
  const model = yield* Effect.catch((yield* RunModel).access, impossible("keys-unavailable", true))
  const handOff: HandOff = {
    runId: run.id,
    ref: run.ref,
    archive: run.archiveDigest,
    attestation: release.attestation,
    task: request.task,
    intake: request.intake,
    mode: run.mode,
    inputs,
    secrets: [],
    caps: { seconds: run.capsSeconds, turns: run.capsTurns },
    model,
    sealTo: request.sealTo,
    maxOutputBytes: settings["runs.outputMaxBytes"]
  }
  return { handOff, manifest: release.manifest }
})
