/**
 * The registry for programs: the typed client of the whole contract in `api`,
 * and the few things that take more than one request.
 *
 * ```ts
 * const registry = yield* makeClient({ baseUrl: "http://127.0.0.1:4000", credential: token(pat) })
 * const version = yield* registry.publish("./my-agent")
 * yield* Stream.runForEach(registry.watchVersion(version), ({ data }) => Console.log(data))
 * ```
 */
import { packDirectory } from "@quickagents/archive"
import type { PackedDirectory } from "@quickagents/archive"
import { Api, PipelineProgress, RunStatusRow } from "@quickagents/schema"
import type { AgentVersion, CreateRun, Run } from "@quickagents/schema"
import { Data, Effect, Option, Redacted, Schedule, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"
import { resumingEvents } from "./ResumingEvents.ts"
import { retryReads } from "./RetryReads.ts"

/** A personal access token, or a browser session with the CSRF token of `GET /api/v1/user`. */
export type Credential =
  | { readonly kind: "token"; readonly token: Redacted.Redacted }
  | { readonly kind: "session"; readonly cookie: Redacted.Redacted; readonly csrfToken: Redacted.Redacted }

export const token = (value: string): Credential => ({ kind: "token", token: Redacted.make(value) })

/** @param cookie value of the Cookie header */
export const session = (cookie: string, csrfToken: string): Credential => ({
  kind: "session",
  cookie: Redacted.make(cookie),
  csrfToken: Redacted.make(csrfToken)
})

export interface ClientOptions {
  /** Address of the registry, without `/api/v1`. */
  readonly baseUrl: string
  /** Absent: what anyone may read. */
  readonly credential?: Credential
}

const signed = (credential: Credential | undefined) => (request: HttpClientRequest.HttpClientRequest) => {
  switch (credential?.kind) {
    case undefined:
      return request
    case "token":
      return HttpClientRequest.bearerToken(request, credential.token)
    case "session":
      return HttpClientRequest.setHeaders(request, {
        cookie: Redacted.value(credential.cookie),
        "x-csrf-token": Redacted.value(credential.csrfToken)
      })
  }
}

/** The names of a version: `ns`, `name` and `version` of its address. */
export interface VersionName {
  readonly namespace: string
  readonly name: string
  readonly version: string
}

const paramsOf = ({ name, namespace, version }: VersionName) => ({ ns: namespace, name, version })

/** `scanning` is the only state that the pipeline leaves by itself. */
export const isDecided = (version: Pick<AgentVersion, "status">) => version.status !== "scanning"
/** A run in one of these states never changes again. */
export const isEnded = (run: Pick<Run, "status">) => run.status === "finished" || run.status === "cancelled"

/** A local file that cannot be uploaded. */
export class FileUnreadable extends Data.TaggedError("FileUnreadable")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message() {
    return `${this.path} cannot be read`
  }
}

const decodeProgress = Schema.decodeUnknownOption(Schema.fromJsonString(PipelineProgress))
const decodeStatusRow = Schema.decodeUnknownOption(Schema.fromJsonString(RunStatusRow))

/** Answers that asking again does not change. */
const isRefusal = (error: { readonly _tag: string }) =>
  ["NotFound", "Unauthorized", "Forbidden", "EmailUnverified"].includes(error._tag)

const pollEvery = "1 second"

export const makeClient = Effect.fnUntraced(function* (options: ClientOptions) {
  const api = yield* HttpApiClient.make(Api, {
    baseUrl: options.baseUrl,
    transformClient: (client) => retryReads(HttpClient.mapRequest(client, signed(options.credential)))
  })

  /**
   * Sends an archive as a new version; answers with the version in `scanning`.
   * The agent must exist. Safe to repeat: the archive's digest is the
   * Idempotency-Key.
   */
  const submit = Effect.fnUntraced(function* (archive: PackedDirectory) {
    const [ns, name] = archive.manifest.name.split("/") as [string, string]
    const payload = new FormData()
    payload.append("archive", new Blob([archive.archive], { type: "application/gzip" }), "archive.tar.gz")
    const answer = yield* api.agentChanges.submit({
      params: { ns, name },
      headers: { "idempotency-key": archive.digest },
      payload
    })
    return answer.body
  })

  /** Packs a directory, makes its agent when there is none, and submits the version. */
  const publish = Effect.fnUntraced(function* (directory: string) {
    const archive = yield* packDirectory(directory)
    const [ns, name] = archive.manifest.name.split("/") as [string, string]
    yield* api.agentReads.get({ params: { ns, name } }).pipe(
      Effect.asVoid,
      Effect.catchTag("NotFound", () =>
        Effect.asVoid(
          api.agentChanges.create({ payload: { namespace: ns, name, description: archive.manifest.description } })
        )
      )
    )
    return yield* submit(archive)
  })

  /** Reads until `ended`, handing out each reading: the way on when events cannot be had. */
  const polled = <A, E>(read: Effect.Effect<A, E>, ended: (value: A) => boolean) =>
    Stream.fromEffectSchedule(read, Schedule.spaced(pollEvery)).pipe(Stream.takeUntil(ended))

  /**
   * The stages of a version as they run and end, each change once; ends when the
   * version is decided. Falls back to reading the version.
   */
  const watchVersion = (version: VersionName) =>
    Stream.suspend(() => {
      const seen = new Map<string, string>()
      const changed = ({ stage, status }: typeof PipelineProgress.Type) =>
        seen.get(stage) !== status && seen.set(stage, status)
      const events = resumingEvents({
        open: (after) =>
          api.agentReads.versionEvents({
            params: paramsOf(version),
            query: {},
            headers: after === undefined ? {} : { "last-event-id": after }
          }),
        isFinal: isRefusal
      }).pipe(
        Stream.filter(({ event }) => event === "stage"),
        Stream.flatMap(({ data }) => Stream.fromIterable(Option.toArray(decodeProgress(data))))
      )
      const readings = polled(api.agentReads.getVersion({ params: paramsOf(version) }), isDecided).pipe(
        Stream.flatMap(({ pipeline }) => Stream.fromIterable(pipeline))
      )
      return events.pipe(
        Stream.catchTag("EventsLost", () => readings),
        Stream.filter((progress) => Boolean(changed(progress)))
      )
    })

  /** Waits for the gate. The version may be published, held for review, or blocked. */
  const decided = (version: VersionName) =>
    polled(api.agentReads.getVersion({ params: paramsOf(version) }), isDecided).pipe(
      Stream.runLast,
      Effect.flatMap(Effect.fromOption),
      // A stream that ends only at a decided version had one.
      Effect.catchTag("NoSuchElementError", Effect.die)
    )

  /** Uploads a local file as an input, without reading it into memory. `name` is its relative name in the workspace. */
  const uploadInput = Effect.fnUntraced(function* (path: string, name: string = basename(path)) {
    const unreadable = (cause: unknown) => new FileUnreadable({ path, cause })
    yield* Effect.tryPromise({ try: () => stat(path), catch: unreadable })
    return yield* api.runs.uploadInput({
      query: { name },
      payload: Stream.fromAsyncIterable<Uint8Array, FileUnreadable>(createReadStream(path), unreadable)
    })
  })

  /** Asks for a run. Repeating it with the same key answers the first run again. */
  const createRun = (request: CreateRun, idempotencyKey: string = randomUUID()) =>
    Effect.map(
      api.runs.create({ headers: { "idempotency-key": idempotencyKey }, payload: request }),
      ({ body }) => body
    )

  /** The status rows of a run, each once; ends with its last one. Falls back to reading the run. */
  const watchRun = (id: string) =>
    Stream.suspend(() => {
      let last: string | undefined
      const events = resumingEvents({
        open: (after) =>
          api.runs.events({
            params: { id },
            query: {},
            headers: after === undefined ? {} : { "last-event-id": after }
          }),
        isFinal: isRefusal
      }).pipe(
        Stream.filter(({ event }) => event === "status"),
        Stream.flatMap(({ data }) => Stream.fromIterable(Option.toArray(decodeStatusRow(data))))
      )
      const readings = polled(api.runs.get({ params: { id } }), isEnded).pipe(
        Stream.map((run): RunStatusRow => ({
          status: run.status,
          at: run.finishedAt ?? run.startedAt ?? run.claimedAt ?? run.createdAt,
          ...(run.outcome === null ? {} : { outcome: run.outcome }),
          ...(run.settledCredits === null ? {} : { credits: run.settledCredits })
        })),
        Stream.filter(({ status }) => status !== last)
      )
      return events.pipe(
        Stream.catchTag("EventsLost", () => readings),
        Stream.tap(({ status }) => Effect.sync(() => void (last = status)))
      )
    })

  /** `output.tar` of a finished run, decrypted, as it arrives. Only for the account that ran it. */
  const output = (id: string) =>
    Stream.unwrap(Effect.map(api.runs.output({ params: { id, name: "output.tar" } }), ({ body }) => body))

  return { api, submit, publish, watchVersion, decided, uploadInput, createRun, watchRun, output }
})

export type RegistryClient = Effect.Success<ReturnType<typeof makeClient>>
