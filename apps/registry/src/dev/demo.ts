/**
 * `npm run demo`: from an agent's directory to the output of a hosted run, with
 * the client that everybody gets. Starts a stack when none runs, and stops it
 * again then.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { isEnded, makeClient, packDirectory, token } from "@quickagents/client"
import type { RegistryClient } from "@quickagents/client"
import type { AgentVersion, LedgerLine, PutRunModel, Run, RunStatusRow } from "@quickagents/schema"
import { Data, Effect, Exit, Option, Stream } from "effect"
import { existsSync } from "node:fs"
import { mkdtemp, readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { dataDirectoryPath, projectRoot } from "./DataDirectory.ts"
import { readDemoArguments, usage } from "./DemoArguments.ts"
import { demoPackage, exampleVersion, freeVersion } from "./DemoPackage.ts"
import { olli, sam } from "./DevelopmentPeople.ts"
import { developmentStack } from "./DevelopmentStack.ts"
import { signInAs } from "./HeadlessSignIn.ts"
import { makeProgress } from "./Progress.ts"
import { describeFailure, portOf } from "./StackWords.ts"
import { unpackOutput } from "./UnpackOutput.ts"

/** The demo got an answer that it should not have got. */
class DemoFailed extends Data.TaggedError("DemoFailed")<{ readonly message: string }> {}

const agentName = "csv-summary"
const example = join(projectRoot, "examples", agentName)
const inputFile = join(example, "sample", "sales.csv")
const task = "Summarise the attached table."
const scriptedLimit = "3 minutes"
const modelLimit = "15 minutes"
const shownBytes = 2_000
/** Holds the receipt, which is shown sentence by sentence. */
const envelopeFile = "envelope.json"

const progress = makeProgress(process.stdout)

/** The address of the stack that runs, or of one that is started for the length of the scope. */
const aStack = Effect.gen(function* () {
  const port = yield* portOf(process.env)
  const baseUrl = `http://127.0.0.1:${port}`
  const running = yield* Effect.promise(() =>
    fetch(`${baseUrl}/api/v1/meta`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false
    )
  )
  if (running) {
    progress.done(`${baseUrl} runs`)
    return baseUrl
  }
  progress.now("nothing runs yet: starting PostgreSQL, provider, registry and host")
  const stack = yield* developmentStack({
    port,
    dataDirectory: dataDirectoryPath(process.env),
    environment: process.env,
    say: progress.line
  })
  progress.done(`${stack.baseUrl} started for this demo`)
  for (const part of stack.weakIsolation) progress.line(`weaker than a production host: ${part}`)
  return stack.baseUrl
}).pipe(
  // It runs on another port.
  Effect.catchTag("AlreadyRunning", (error) => {
    if (error.running === undefined) return Effect.fail(error)
    progress.done(`${error.running.baseUrl} runs`)
    return Effect.succeed(error.running.baseUrl)
  })
)

/** A client with a token of olli's, made the way a person makes one: signed in, and shown once. */
const asOlli = Effect.fnUntraced(function* (baseUrl: string) {
  progress.now(`signing in as ${olli.handle}`)
  const browser = yield* signInAs(baseUrl, olli)
  const minted = yield* browser.api.user.createToken({
    payload: {
      name: "demo",
      scopes: ["agent:read", "agent:publish", "run:read", "run:write", "user:profile"],
      expiresInDays: 1
    }
  })
  yield* Effect.addFinalizer(() => Effect.ignore(browser.api.user.revokeToken({ params: { id: minted.id } })))
  progress.done(`signed in as ${olli.handle}, with a personal access token for this demo`)
  return yield* makeClient({ baseUrl, credential: token(minted.token) })
})

/** Sets the model as staff; the stack's own comes back when the scope closes. */
const withModel = Effect.fnUntraced(function* (baseUrl: string, model: PutRunModel) {
  progress.now(`setting the model as ${sam.handle}`)
  const staff = yield* signInAs(baseUrl, sam)
  yield* Effect.acquireRelease(staff.api.staffHosts.putModel({ payload: model }), () =>
    Effect.ignore(staff.api.staffHosts.deleteModel())
  )
  progress.done(`hosted runs use ${model.provider} ${model.model} until the end of this demo`)
})

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`

const findingsOf = ({ holding }: AgentVersion) =>
  (holding ?? []).map(
    ({ file, line, message, rule, stage }) =>
      `${stage} ${rule}${file === undefined ? "" : ` in ${file}${line === undefined ? "" : `:${line}`}`}: ${message}`
  )

const publish = Effect.fnUntraced(function* (registry: RegistryClient) {
  progress.heading("Publish")
  const known = yield* registry.api.agentReads
    .listVersions({
      params: { ns: olli.handle, name: agentName },
      query: { limit: 100 }
    })
    .pipe(
      Effect.map(({ items }) => items.map(({ version }) => version)),
      Effect.catchTag("NotFound", () => Effect.succeed(new Array<string>()))
    )
  const version = freeVersion(yield* exampleVersion(example), known)
  const directory = yield* demoPackage(example, `${olli.handle}/${agentName}`, version)
  const { archive, files } = yield* packDirectory(directory)
  progress.done(`packed ${files.length} files into ${archive.length} bytes`)
  const submitted = yield* registry.publish(directory)
  progress.done(`submitted ${submitted.namespace}/${submitted.name}@${submitted.version}`)
  yield* Stream.runForEach(registry.watchVersion(submitted), ({ name, stage, status }) =>
    Effect.sync(() => {
      if (status === "running") progress.now(`${stage} ${name} ...`)
      else progress.done(`${stage.padEnd(4)}${name.padEnd(14)}${status}`)
    })
  )
  const decided = yield* registry.decided(submitted)
  if (decided.status !== "published") {
    return yield* new DemoFailed({
      message: [
        `the gate left the version ${decided.status}`,
        ...findingsOf(decided).map((finding) => `  ${finding}`)
      ].join("\n")
    })
  }
  progress.done(`published, verdict ${decided.verdict ?? "none"}${decided.signed ? ", attestation signed" : ""}`)
  return decided
})

const rowText = (row: RunStatusRow, run: Run) => {
  switch (row.status) {
    case "queued":
      return `queued${run.queuePosition === null ? "" : `, position ${run.queuePosition}`}, ${counted(run.holdCredits, "credit")} held from ${run.payer}`
    case "claimed":
      return "claimed by a sandbox host"
    case "running":
      return `running${row.turns === undefined ? "" : `, turn ${row.turns}`}`
    case "cancelled":
      return "cancelled"
    case "finished":
      return `finished: ${row.outcome ?? "without an outcome"}${row.credits === undefined ? "" : `, ${counted(row.credits, "credit")} charged`}`
  }
}

const runHosted = Effect.fnUntraced(function* (registry: RegistryClient, version: AgentVersion) {
  progress.heading("Run")
  const input = yield* registry.uploadInput(inputFile)
  progress.done(`uploaded ${input.name}, ${input.bytes} bytes, ${input.digest.slice(0, 19)}...`)
  const run = yield* registry.createRun({
    ref: `${version.namespace}/${version.name}@${version.version}`,
    task,
    inputs: [input.id]
  })
  progress.done(`created ${run.id}: at most ${run.caps.seconds} s and ${run.caps.turns} turns`)
  yield* Stream.runForEach(registry.watchRun(run.id), (row) =>
    Effect.sync(() => {
      const text = rowText(row, run)
      // A row of the same state is a narration; only a new state stays on the screen.
      if (row.status === "running" && row.turns !== undefined) progress.now(text)
      else progress.done(`${row.at.slice(11, 23)}  ${text}`)
    })
  )
  const ended = yield* registry.api.runs.get({ params: { id: run.id } })
  if (!isEnded(ended)) return yield* new DemoFailed({ message: `the events ended, but the run is ${ended.status}` })
  if (ended.outcome !== "succeeded") {
    const stage = ended.receipt?.stage
    return yield* new DemoFailed({
      message:
        `the run ended as ${ended.outcome ?? ended.status}` +
        `${stage === undefined ? "" : ` in step ${stage}`}${ended.receipt?.reason === undefined ? "" : `: ${ended.receipt.reason}`}` +
        (ended.error === null ? "" : ` (${ended.error.message})`)
    })
  }
  return ended
})

const showOutput = Effect.fnUntraced(function* (registry: RegistryClient, run: Run) {
  progress.heading("Output")
  const directory = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "quickagents-output-")))
  const files = yield* unpackOutput(registry.output(run.id), directory)
  if (files.length === 0) return yield* new DemoFailed({ message: "output.tar is empty" })
  for (const { bytes, path } of files) progress.done(`${join(directory, path)}  ${counted(bytes, "byte")}`)
  for (const { path } of files) {
    const bytes = yield* Effect.promise(() => readFile(join(directory, path)))
    if (path === envelopeFile || bytes.includes(0)) continue
    progress.line("")
    progress.line(`--- ${path}`)
    for (const line of bytes.toString("utf8", 0, shownBytes).trimEnd().split("\n")) progress.line(line)
    if (bytes.length > shownBytes) progress.line(`... ${bytes.length - shownBytes} bytes more`)
  }
})

const showReceipt = (run: Run) => {
  const { receipt, usage } = run
  progress.heading("Receipt")
  if (receipt === null) return
  progress.line(`release  ${receipt.release.ref}  ${receipt.release.digest.slice(0, 19)}...`)
  progress.line(
    `attested by key ${receipt.release.attestationKeyId?.slice(0, 16) ?? "none"}, model ${receipt.model ?? "none"}`
  )
  if (usage !== null)
    progress.line(`used     ${counted(usage.turns, "turn")}, ${usage.wallMs} ms, ${counted(usage.credits, "credit")}`)
  for (const [tool, calls] of Object.entries(receipt.toolCalls))
    progress.line(`called   ${tool}, ${counted(calls, "time")}`)
  for (const [part, sentences] of Object.entries(receipt.capabilities_enforced)) {
    for (const sentence of sentences) progress.line(`${part.padEnd(11)}${sentence}`)
  }
}

const signedText = (credits: number) => (credits > 0 ? `+${credits}` : String(credits))

/** Every line of the account, newest first. */
const allLines = (registry: RegistryClient) =>
  Stream.paginate(undefined as string | undefined, (cursor) =>
    registry.api.credits
      .mine({ query: { limit: 200, ...(cursor === undefined ? {} : { cursor }) } })
      .pipe(
        Effect.map((page) => [[page], page.nextCursor === null ? Option.none() : Option.some(page.nextCursor)] as const)
      )
  ).pipe(Stream.runCollect)

const total = (lines: ReadonlyArray<LedgerLine>, of: (line: LedgerLine) => number) =>
  lines.reduce((sum, line) => sum + of(line), 0)

const showLedger = Effect.fnUntraced(function* (registry: RegistryClient, run: Run) {
  progress.heading("Ledger")
  const pages = yield* allLines(registry)
  const account = pages[0]
  const lines = pages.flatMap((page) => page.lines)
  const own = lines.filter(({ subject }) => subject === `run:${run.id}`).toReversed()
  for (const { at, balanceDelta, heldDelta, reason } of own) {
    progress.line(
      `${at.slice(11, 23)}  ${reason.padEnd(12)}balance ${signedText(balanceDelta).padStart(5)}   held ${signedText(heldDelta).padStart(5)}`
    )
  }
  const balance = total(lines, (line) => line.balanceDelta)
  const held = total(lines, (line) => line.heldDelta)
  if (own.length === 0) return yield* new DemoFailed({ message: "the run left no ledger line" })
  if (total(own, (line) => line.heldDelta) !== 0)
    return yield* new DemoFailed({ message: "the run's hold is not settled" })
  if (balance !== account.balance || held !== account.held) {
    return yield* new DemoFailed({
      message: `the lines add up to ${balance} and ${held} held, the account says ${account.balance} and ${account.held}`
    })
  }
  progress.done(
    `balanced: ${lines.length} lines add up to ${counted(account.balance, "credit")} and ${account.held} held`
  )
})

const story = Effect.gen(function* () {
  const { help, model } = yield* readDemoArguments(process.argv.slice(2), process.env)
  if (help) return console.log(usage)
  if (!existsSync(example)) return yield* new DemoFailed({ message: `${example} is missing` })
  const started = Date.now()
  progress.heading("Stack")
  const baseUrl = yield* aStack
  if (model !== undefined) yield* withModel(baseUrl, model)
  const registry = yield* asOlli(baseUrl)
  const version = yield* publish(registry)
  const run = yield* runHosted(registry, version)
  yield* showOutput(registry, run)
  showReceipt(run)
  yield* showLedger(registry, run)
  progress.heading(`Done in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
}).pipe(
  Effect.timeoutOrElse({
    duration: process.argv.includes("--model") ? modelLimit : scriptedLimit,
    orElse: () => Effect.fail(new DemoFailed({ message: "the demo took too long" }))
  })
)

const interrupted = Effect.callback<never, DemoFailed>((resume) => {
  const heard = () => resume(Effect.fail(new DemoFailed({ message: "interrupted" })))
  process.once("SIGINT", heard).once("SIGTERM", heard)
  return Effect.sync(() => void process.off("SIGINT", heard).off("SIGTERM", heard))
})

const exit = await Effect.runPromiseExit(
  Effect.raceFirst(story, interrupted).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))
)
if (Exit.isFailure(exit)) {
  console.error(`\nThe demo failed: ${describeFailure(exit.cause)}`)
  process.exit(1)
}
process.exit(0)
