/**
 * Hosted runs as an account sees them: ask for one, read it, follow it, stop it,
 * fetch its output. Spec: Hosted runs.
 */
import { warningsOf } from "@quickagents/catalog"
import { Audit, KeyService, newId, Notifications, ObjectStore, Sealing, Settings } from "@quickagents/platform"
import { invalidField, NotFound, OutputNotReady, RunsUnavailable, TooLarge } from "@quickagents/schema"
import type { Account, CreateRun, Digest, Run, RunEvent, RunInput, RunStatusRow, Validation } from "@quickagents/schema"
import { RunEntity } from "@quickagents/schema"
import { Clock, Context, Effect, Layer, Stream } from "effect"
import { createHash } from "node:crypto"
import { admit } from "./Admission.ts"
import { fault } from "./Faults.ts"
import { contexts, encodeRequest, openRequest } from "./HandOff.ts"
import { Ledger } from "./Ledger.ts"
import { isOwn, reading } from "./RunsPolicy.ts"
import type { EventRow, RunRow } from "./RunsSql.ts"
import { RunsSql } from "./RunsSql.ts"

const maxInputBytes = 10 * 1024 * 1024
const inputLifeMs = 86_400_000
const idempotencyLifeMs = 86_400_000
const newest = 50
/** A stream looks by itself this often, in case a notification was lost. */
const lookAgain = "5 seconds"

const iso = (date: Date | null) => date?.toISOString() ?? null

const errorMessages: Readonly<Record<string, string>> = {
  "host-lost": "The host that ran it went silent",
  "output-too-large": "The output is larger than this deployment keeps",
  "output-lost": "The run ended well and its output did not arrive",
  "release-gone": "The release can no longer be run",
  "request-unreadable": "What was asked can no longer be opened",
  "input-unreadable": "An input can no longer be opened",
  "queue-timeout": "No host was free in time",
  cancelled: "Cancelled before it started"
}

/** The record without the text of the run. */
const recordOf = (row: RunRow): Run => ({
  id: row.id,
  ref: row.ref,
  archiveDigest: row.archiveDigest,
  kind: row.kind,
  mode: row.mode,
  status: row.status,
  caps: { seconds: row.capsSeconds, turns: row.capsTurns },
  holdCredits: row.holdCredits,
  payer: row.payer,
  queuePosition: row.queuePosition,
  expiresAt: row.expiresAt.toISOString(),
  createdAt: row.createdAt.toISOString(),
  claimedAt: iso(row.claimedAt),
  startedAt: iso(row.startedAt),
  finishedAt: iso(row.finishedAt),
  cancelRequestedAt: iso(row.cancelRequestedAt),
  outcome: row.outcome,
  exitClass: row.exitClass,
  settledCredits: row.settledCredits,
  usage:
    row.finishedAt === null ? null : { turns: row.turns ?? 0, wallMs: row.wallMs ?? 0, credits: row.usageCredits ?? 0 },
  receipt: row.receipt,
  error:
    row.errorClass === null
      ? null
      : { class: row.errorClass, message: errorMessages[row.errorClass] ?? `The run ended with ${row.exitClass}` },
  outputs: row.outputObject === null ? [] : [{ name: "output.tar", bytes: row.outputBytes! }],
  task: null,
  intake: null,
  inputs: row.inputs.map(({ bytes, digest, name }) => ({ name, bytes, digest })),
  secrets: [],
  knowledge: [],
  voice: null,
  inputReview: 0
})

const withheld = (run: Run): Run => ({ ...run, receipt: null, error: null, inputs: [], withheld: true })

const isTerminal = ({ data, event }: EventRow) =>
  event === "status" && ["cancelled", "finished"].includes((data as RunStatusRow).status)

/** A relative name under the workspace: no absolute path, no climbing, no control characters. */
const cleanName = (name: string) =>
  !name.startsWith("/") &&
  !name.includes("\\") &&
  !/[\u0000-\u001f\u007f]/.test(name) &&
  // 255 bytes is what a file system takes as one name.
  name.split("/").every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255)

export class Runs extends Context.Service<
  Runs,
  {
    readonly create: (
      actor: Account,
      request: CreateRun,
      idempotencyKey: string | null
    ) => Effect.Effect<
      Run,
      Effect.Error<ReturnType<typeof admit>> | Effect.Error<ReturnType<Ledger["Service"]["open"]>>
    >
    readonly list: (actor: Account) => Effect.Effect<ReadonlyArray<Run>>
    readonly get: (actor: Account, id: string) => Effect.Effect<Run, NotFound>
    /** Ends with `done` after the terminal row, or with `timeout` when the stream has run its time. */
    readonly events: (
      actor: Account,
      id: string,
      after: number
    ) => Effect.Effect<Stream.Stream<typeof RunEvent.Type>, NotFound>
    readonly cancel: (actor: Account, id: string) => Effect.Effect<Run, NotFound>
    /** Seals while it streams: the plain bytes of an input are written nowhere. */
    readonly uploadInput: (
      actor: Account,
      name: string,
      content: Stream.Stream<Uint8Array, TooLarge>
    ) => Effect.Effect<typeof RunInput.Type, Validation | TooLarge | RunsUnavailable>
    /** Opened frames of output.tar, for the person who ran it and no one else. */
    readonly output: (
      actor: Account,
      id: string,
      name: string
    ) => Effect.Effect<
      { readonly bytes: number; readonly content: Stream.Stream<Uint8Array, unknown> },
      NotFound | OutputNotReady
    >
  }
>()("runs/Runs") {
  static readonly layer = Layer.effect(
    Runs,
    Effect.gen(function* () {
      const rows = yield* RunsSql
      const ledger = yield* Ledger
      const keys = yield* KeyService
      const objects = yield* ObjectStore
      const settings = yield* Settings.Settings
      const notifications = yield* Notifications
      const audit = yield* Audit.Audit
      const runOf = yield* RunEntity.client
      const services = yield* Effect.context<Effect.Services<ReturnType<typeof admit>>>()
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const actorOf = (actor: Account) => ({ type: "account" as const, id: actor.accountId, handle: actor.handle })

      const readable = Effect.fnUntraced(function* (actor: Account, id: string) {
        const row = yield* Effect.orDie(rows.byId(id))
        const level = row === null ? "none" : reading(actor, row)
        return row === null || level === "none" ? yield* new NotFound({}) : { row, level }
      })
      const own = Effect.fnUntraced(function* (actor: Account, id: string) {
        const row = yield* Effect.orDie(rows.byId(id))
        return row === null || !isOwn(actor, row) ? yield* new NotFound({}) : row
      })

      const create = Effect.fnUntraced(function* (actor: Account, request: CreateRun, idempotencyKey: string | null) {
        if (idempotencyKey !== null) {
          // A first attempt that was stored and cut off before it answered.
          const since = new Date((yield* Clock.currentTimeMillis) - idempotencyLifeMs)
          yield* Effect.orDie(rows.expireIdempotencyKey(actor.accountId, idempotencyKey, since))
          const before = yield* Effect.orDie(rows.byIdempotencyKey(actor.accountId, idempotencyKey))
          if (before !== null) return recordOf(before)
        }
        const admitted = yield* Effect.provideContext(admit(actor, request), services)
        const id = yield* newId("run")
        yield* fault("create.admitted", id)
        const dataKey = Sealing.newDataKey()
        const recipient = Sealing.newRecipient()
        const unavailable = () => new RunsUnavailable({ detail: "The key service does not answer" })
        const requestKey = yield* Effect.mapError(keys.wrap(contexts.account(actor.accountId), dataKey), unavailable)
        const at = yield* now
        yield* ledger.open({
          id,
          accountId: actor.accountId,
          payer: admitted.payer.handle,
          tier: admitted.payer.tier,
          unmetered: admitted.payer.unmetered,
          kind: admitted.kind,
          mode: admitted.mode,
          versionId: admitted.release.versionId,
          ref: admitted.release.ref,
          archiveDigest: admitted.release.archiveDigest,
          // Spec: Other run limits, browser run.
          slots: admitted.needsBrowser ? 2 : 1,
          needsBrowser: admitted.needsBrowser,
          capsSeconds: admitted.caps.seconds,
          capsTurns: admitted.caps.turns,
          tokenCap: admitted.tokenCap,
          holdCredits: admitted.hold,
          request: Sealing.sealBytes(
            dataKey,
            contexts.request(id),
            encodeRequest({ task: admitted.task, intake: admitted.intake })
          ),
          requestKey,
          inputs: admitted.inputs,
          sealTo: recipient.publicKey,
          openWith: Sealing.sealBytes(dataKey, contexts.recipient(id), Buffer.from(recipient.privateKey, "base64")),
          expiresAt: new Date(at.getTime() + settings["runs.queueMax"]).toISOString(),
          idempotencyKey
        })
        yield* fault("create.opened", id)
        const run = recordOf((yield* Effect.orDie(rows.byId(id)))!)
        const warnings = warningsOf(admitted.release.status)
        return warnings.length === 0 ? run : { ...run, warnings }
      })

      const events = Effect.fnUntraced(function* (actor: Account, id: string, after: number) {
        yield* readable(actor, id)
        let last = after
        const look = Effect.suspend(() => Effect.orDie(rows.events(id, last, 500))).pipe(
          Effect.tap((found) => Effect.sync(() => (last = found.at(-1)?.seq ?? last)))
        )
        // A run that ended before `after` has nothing more to tell than that it is done.
        const ended = Effect.map(
          Effect.orDie(rows.byId(id)),
          (row) => row?.status === "finished" || row?.status === "cancelled"
        )
        const untilEnd = Stream.unwrap(
          Effect.map(notifications.subscribe("run_events"), (notified) =>
            Stream.merge(
              Stream.filter(notified, (runId) => runId === id),
              Stream.tick(lookAgain)
            )
          )
        ).pipe(
          Stream.mapEffect(() => look),
          Stream.mapEffect((found) =>
            found.length > 0
              ? Effect.succeed({ found, end: found.some(isTerminal) })
              : Effect.map(ended, (end) => ({ found, end }))
          ),
          Stream.takeUntil(({ end }) => end),
          Stream.flatMap(({ end, found }) =>
            Stream.fromIterable<typeof RunEvent.Type>([
              ...found.map(({ data, event, seq }) => ({ id: String(seq), event, data: JSON.stringify(data) })),
              ...(end ? [{ id: String(last), event: "done" as const, data: "{}" }] : [])
            ])
          )
        )
        const timeout = Effect.delay(
          Effect.sync((): typeof RunEvent.Type => ({ id: String(last), event: "timeout", data: "{}" })),
          settings["runs.streamTimeout"]
        )
        return Stream.merge(untilEnd, Stream.fromEffect(timeout), { haltStrategy: "left" }).pipe(
          Stream.takeUntil(({ event }) => event === "timeout" || event === "done")
        )
      })

      const cancel = Effect.fnUntraced(function* (actor: Account, id: string) {
        const row = yield* own(actor, id)
        const at = yield* now
        if (row.status === "queued") {
          yield* ledger.end({
            runId: id,
            payer: row.payer,
            from: "queued",
            status: "cancelled",
            outcome: null,
            charge: "nothing",
            holdCredits: row.holdCredits,
            exitClass: null,
            errorClass: null,
            usage: { input: 0, output: 0, total: 0, turns: 0, wallMs: 0 },
            inputsReviewed: false,
            receipt: null,
            output: null
          })
        }
        // Claimed before the line above could end it, or running: asked, and told to the supervisor.
        if (yield* Effect.orDie(rows.requestCancel(id, at))) {
          yield* audit.record({ actor: actorOf(actor), action: "run.cancel", target: id })
          yield* Effect.ignore(runOf(id).cancel(undefined, { discard: true }))
        }
        return recordOf((yield* Effect.orDie(rows.byId(id)))!)
      })

      const uploadInput = Effect.fnUntraced(function* (
        actor: Account,
        name: string,
        content: Stream.Stream<Uint8Array, TooLarge>
      ) {
        if (!keys.available) return yield* new RunsUnavailable({ detail: "This deployment keeps no sealing key" })
        if (!cleanName(name)) {
          return yield* invalidField(
            "/name",
            "must be a relative name without empty, . or .. parts, each at most 255 bytes",
            "query"
          )
        }
        const id = yield* newId("inp")
        const dataKey = Sealing.newDataKey()
        const hash = createHash("sha256")
        let bytes = 0
        const unavailable = () => new RunsUnavailable({ detail: "The object store or the key service does not answer" })
        const stored = yield* objects
          .put(
            content.pipe(
              Stream.tap((chunk) =>
                Effect.suspend(() => {
                  bytes += chunk.length
                  hash.update(chunk)
                  return bytes > maxInputBytes
                    ? Effect.fail(new TooLarge({ detail: "An input has at most 10 MB" }))
                    : Effect.void
                })
              ),
              Sealing.seal(dataKey, contexts.input(id))
            ),
            { maxBytes: Sealing.sealedSize(maxInputBytes) }
          )
          .pipe(Effect.catchTags({ ObjectTooLarge: unavailable, ObjectStoreError: unavailable }))
        const createdAt = yield* now
        const input = {
          id,
          name,
          bytes,
          digest: `sha256:${hash.digest("hex")}`,
          object: stored.digest,
          dataKey: yield* Effect.mapError(keys.wrap(contexts.account(actor.accountId), dataKey), unavailable)
        }
        yield* Effect.orDie(rows.insertInput({ ...input, accountId: actor.accountId, createdAt }))
        return {
          id,
          name,
          bytes,
          digest: input.digest,
          expiresAt: new Date(createdAt.getTime() + inputLifeMs).toISOString()
        }
      })

      const output = Effect.fnUntraced(function* (actor: Account, id: string, name: string) {
        const row = yield* Effect.orDie(rows.opened(id))
        if (row === null || !isOwn(actor, row)) return yield* new NotFound({})
        if (name !== "output.tar") return yield* new NotFound({})
        if (row.outputObject === null) {
          return row.status === "finished" || row.status === "cancelled"
            ? yield* new NotFound({ detail: "The run has no output" })
            : yield* new OutputNotReady({})
        }
        const content = Effect.gen(function* () {
          const requestKey = yield* keys.unwrap(contexts.account(row.accountId), row.requestKey)
          const privateKey = yield* Sealing.openBytes(requestKey, contexts.recipient(id), row.openWith)
          const dataKey = yield* Sealing.openKey(
            Buffer.from(privateKey).toString("base64"),
            contexts.output(id),
            row.outputKey!
          )
          const stored = yield* objects.get(row.outputObject as Digest)
          return Sealing.open(dataKey, contexts.output(id))(stored.content)
        })
        return { bytes: row.outputBytes!, content: yield* Effect.orDie(content) }
      })

      return Runs.of({
        create,
        list: (actor) => Effect.map(Effect.orDie(rows.newest(actor.accountId, newest)), (found) => found.map(recordOf)),
        get: Effect.fnUntraced(function* (actor, id) {
          const row = yield* Effect.orDie(rows.opened(id))
          const level = row === null ? "none" : reading(actor, row)
          if (row === null || level === "none") return yield* new NotFound({})
          if (level === "staff") return withheld(recordOf(row))
          const opened = yield* Effect.option(Effect.provideService(openRequest(row, row), KeyService, keys))
          return opened._tag === "None"
            ? recordOf(row)
            : { ...recordOf(row), task: opened.value.task, intake: opened.value.intake }
        }),
        events,
        cancel,
        uploadInput,
        output
      })
    })
  )
}

/** Uploads that no run took within a day or whose run has ended, and their objects. Called by a cron. */
export const sweepInputs = Effect.gen(function* () {
  const rows = yield* RunsSql
  const objects = yield* ObjectStore
  const before = new Date((yield* Clock.currentTimeMillis) - inputLifeMs)
  while (true) {
    const dropped = yield* rows.dropSpentInputs(before, 200)
    yield* Effect.forEach(dropped, ({ object }) => objects.remove(object), { discard: true })
    if (dropped.length < 200) return
  }
})
