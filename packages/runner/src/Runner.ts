/** One run, from the package to the envelope: fetch, verify, policy, compile, gateway, harness, output. */
import { type Envelope, exitCodes, type HandOff, type Manifest, type ModelAccess, type Step } from "@quickagents/schema"
import { Clock, Effect, Redacted, type Scope, type Stream } from "effect"
import { anthropicModel } from "./AnthropicModel.ts"
import { commandTools } from "./CommandTool.ts"
import { type Compiled, compile, readAnswers, readManifest, readResult } from "./Compile.ts"
import { endTools } from "./EndTools.ts"
import { fetchTools } from "./FetchTool.ts"
import { fileTools } from "./FileTools.ts"
import { forwardTo } from "./Forwarder.ts"
import { newProgress, runHarness } from "./Harness.ts"
import type { HostedRequest, PinnedKey } from "./HostedRequest.ts"
import type { Model } from "./Model.ts"
import { makeTransport } from "./ModelTransport.ts"
import type { Narrate } from "./Narration.ts"
import { openAiModel } from "./OpenAiModel.ts"
import { collectOutput, outputTar } from "./Output.ts"
import { layOutFolders } from "./PackageFolders.ts"
import { type Caps, decidePolicy, type Policy } from "./Policy.ts"
import { makeReceipt } from "./Receipt.ts"
import { readPackage } from "./ReleasePackage.ts"
import { resultRefused, RunFailure, timedOut, verifyFailed } from "./RunFailure.ts"
import { scriptedModel } from "./ScriptedModel.ts"
import { verifyRelease } from "./Verify.ts"

export interface RunRequest {
  /** Directory, or gzip tar. */
  readonly package: string
  /** What the release must be; none for a package that the caller has on disk and trusts. */
  readonly release?: {
    /** What the manifest says when absent. */
    readonly ref?: string
    /** What the archive has when absent. */
    readonly digest?: string
    /** None for a package that the caller trusts without. A hosted run always has it: without an attestation it is refused. */
    readonly attested?: { readonly attestation: string | null; readonly pinnedKeys: ReadonlyArray<PinnedKey> }
  }
  readonly task: string
  readonly intake: Readonly<Record<string, unknown>>
  /** Answers as text, to be read as the manifest's questions ask. */
  readonly typedIntake?: Readonly<Record<string, string>>
  readonly mode: HandOff["mode"]
  readonly workspace: string
  /** Names of the input files in the workspace. */
  readonly inputs: ReadonlyArray<string>
  readonly secrets: HandOff["secrets"]
  readonly caps: Caps
  readonly model: {
    readonly provider: ModelAccess["provider"]
    readonly model: string
    readonly baseUrl?: string
    readonly apiKey?: Redacted.Redacted
    /** Unix socket of a gateway that adds the key. */
    readonly socket?: string
  }
  /** Unix socket of an egress proxy. */
  readonly egressSocket?: string
  readonly maxOutputBytes: number
  /** Sentences on what holds the process itself. */
  readonly runtime: ReadonlyArray<string>
  readonly narrate: Narrate
  readonly onStep: (step: Step) => void
  /** Ends the run as interrupted when it completes. */
  readonly interrupted: Effect.Effect<void>
}

export const fromHosted = (request: HostedRequest): Omit<RunRequest, "narrate" | "onStep" | "interrupted"> => ({
  package: request.archive,
  release: {
    ref: request.ref,
    digest: request.digest,
    attested: { attestation: request.attestation, pinnedKeys: request.pinnedKeys }
  },
  task: request.task,
  intake: request.intake,
  mode: request.mode,
  workspace: request.workspace,
  inputs: request.inputs.map(({ name }) => name),
  secrets: request.secrets,
  caps: request.caps,
  model: request.model,
  egressSocket: request.egressSocket,
  maxOutputBytes: request.maxOutputBytes,
  runtime: request.runtime
})

const base = (url: string | undefined, fallback: string) => (url ?? fallback).replace(/\/+$/u, "")

/** The step `gateway`. */
const openModel = (request: RunRequest, compiled: Compiled): Effect.Effect<Model, RunFailure, Scope.Scope> => {
  const { apiKey, baseUrl, model, provider, socket } = request.model
  const through = socket === undefined ? {} : { socket }
  switch (provider) {
    case "scripted":
      return scriptedModel({ name: model, task: request.task, intake: compiled.intake, script: compiled.script })
    case "anthropic":
      return Effect.map(
        makeTransport({
          url:
            socket === undefined
              ? `${base(baseUrl, "https://api.anthropic.com")}/v1/messages`
              : "http://gateway/v1/messages",
          headers: { "anthropic-version": "2023-06-01" },
          ...(apiKey === undefined ? {} : { apiKey: { header: "x-api-key", value: apiKey } }),
          ...through
        }),
        (transport) => anthropicModel(model, transport)
      )
    case "openai":
    case "openai-compatible":
      return Effect.map(
        makeTransport({
          url:
            socket === undefined
              ? `${base(baseUrl, "https://api.openai.com/v1")}/chat/completions`
              : "http://gateway/v1/chat/completions",
          headers: {},
          ...(apiKey === undefined
            ? {}
            : { apiKey: { header: "authorization", value: Redacted.make(`Bearer ${Redacted.value(apiKey)}`) } }),
          ...through
        }),
        (transport) => openAiModel(model, transport)
      )
  }
}

export interface RunEnd {
  readonly envelope: Envelope
  /** The output tar; read once. */
  readonly output: Stream.Stream<Uint8Array>
}

const zeroDigest = `sha256:${"0".repeat(64)}`

/** Runs to the end; every expected failure is an envelope. */
export const run = (request: RunRequest): Effect.Effect<RunEnd> =>
  Effect.gen(function* () {
    const beganAt = yield* Clock.currentTimeMillis
    const progress = newProgress()
    let step: Step = "fetch"
    let ref = request.release?.ref ?? "local/package@0.0.0"
    let digest = request.release?.digest ?? zeroDigest
    let attestationKeyId: string | null = null
    let manifest: Manifest | undefined
    let policy: Policy | undefined
    let compiled: Compiled | undefined
    let model: Model | undefined
    const enter = (next: Step) => {
      step = next
      request.onStep(next)
    }

    const body = Effect.gen(function* () {
      enter("fetch")
      const release = yield* readPackage(request.package)
      enter("verify")
      const expected = request.release
      if (expected?.digest !== undefined && release.digest !== expected.digest) {
        return yield* verifyFailed("digest-mismatch", "The archive is not the release's")
      }
      digest = release.digest
      const attested =
        expected?.attested === undefined
          ? undefined
          : yield* verifyRelease({ ref: expected.ref, digest, ...expected.attested })
      attestationKeyId = attested?.keyId ?? null
      const read = yield* readManifest(release)
      manifest = read
      const own = `${read.name}@${read.version}`
      // With a given ref the attestation has bound it: a release keeps its manifest also under another handle.
      if (expected?.ref === undefined) {
        if (attested !== undefined && attested.ref !== own)
          return yield* verifyFailed("digest-mismatch", "The attestation is about another release")
        ref = own
      }
      enter("policy")
      const decided = yield* decidePolicy({
        manifest,
        mode: request.mode,
        caps: request.caps,
        secrets: request.secrets
      })
      policy = decided
      enter("compile")
      const made = yield* compile(
        release,
        manifest,
        { ...request.intake, ...readAnswers(manifest.intake ?? [], request.typedIntake ?? {}) },
        request.inputs
      )
      compiled = made
      yield* layOutFolders(release, request.workspace)
      enter("gateway")
      const opened = yield* openModel(request, made)
      model = opened
      enter("harness")
      const needsProxy = decided.egress.length + decided.commands.length > 0
      const proxy =
        request.egressSocket !== undefined && needsProxy ? yield* forwardTo(request.egressSocket) : undefined
      const tools = [
        ...fileTools(request.workspace, decided),
        ...commandTools(request.workspace, decided, proxy),
        ...(yield* fetchTools(decided, proxy)),
        ...endTools
      ]
      return yield* runHarness({
        model: opened,
        tools,
        system: made.system,
        task: request.task,
        turns: decided.turns,
        progress,
        narrate: request.narrate
      }).pipe(
        Effect.timeoutOrElse({
          duration: decided.seconds * 1000,
          orElse: () => Effect.fail(timedOut("wall-time", `The run took its ${decided.seconds} seconds`))
        })
      )
    }).pipe(Effect.scoped)

    let interrupted = false
    const stopped = Effect.flatMap(request.interrupted, () => {
      interrupted = true
      return Effect.fail(
        new RunFailure({ exitClass: "harness", stage: step, reason: "interrupted", message: "The run was interrupted" })
      )
    })
    const attempted = yield* Effect.raceFirst(body, stopped).pipe(
      Effect.map((result) => ({ result, failure: undefined as RunFailure | undefined })),
      // A defect ends the run too, and what it used until then is still told.
      Effect.catchDefect(() =>
        Effect.fail(new RunFailure({ exitClass: "cli", stage: step, reason: "internal", message: "The runner failed" }))
      ),
      Effect.catchTag("RunFailure", (failure) => Effect.succeed({ result: undefined, failure }))
    )
    if (attempted.failure === undefined) enter("output")
    const check = attempted.failure === undefined ? compiled?.checkResult : undefined
    const result = check === undefined ? attempted.result : readResult(attempted.result, check)
    const refused = check !== undefined && !check(result)
    let failure = refused
      ? resultRefused("result-invalid", "The result does not satisfy the output schema")
      : attempted.failure
    const globs = policy === undefined ? [] : (manifest?.output?.files ?? [])
    const files = yield* collectOutput(request.workspace, globs, result, request.maxOutputBytes).pipe(
      Effect.catchTag("RunFailure", (cause) => {
        failure ??= cause
        return Effect.succeed(undefined)
      })
    )
    const exitClass = failure?.exitClass ?? "ok"
    const wallMs = Math.max(0, Math.round((yield* Clock.currentTimeMillis) - beganAt))
    const { cached, input, output, total } = progress.usage
    const envelope: Envelope = {
      version: 1,
      exitClass,
      exitCode: exitCodes[exitClass],
      ...(failure === undefined
        ? {}
        : {
            error: { class: interrupted ? "interrupted" : exitClass, message: failure.message },
            stage: failure.stage,
            reason: failure.reason
          }),
      ...(files === undefined || result === undefined ? {} : { result }),
      outputs: (files ?? []).map(({ bytes, digest, path }) => ({ path, bytes, digest })),
      usage: {
        inputTokens: input,
        outputTokens: output,
        totalTokens: total,
        cachedTokens: cached,
        turns: progress.turns,
        wallMs
      },
      receipt: makeReceipt({
        ref,
        digest,
        attestationKeyId,
        model: model?.name ?? null,
        policy,
        runtime: request.runtime,
        proxied: request.egressSocket !== undefined,
        progress
      })
    }
    return { envelope, output: outputTar(envelope, files ?? []) }
  })
