/** `quickagent run`: runs a package on this machine. */
import { narrateTo, type PinnedKey, PinnedKey as PinnedKeySchema, run, type RunRequest, silent } from "@quickagents/runner"
import { exitCodes } from "@quickagents/schema"
import { Console, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createHash } from "node:crypto"
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { text } from "node:stream/consumers"
import { interruption } from "./Interruption.ts"
import { writeOutput } from "./OutputTarget.ts"
import { runHosted } from "./RunHosted.ts"

const standardSeconds = 600
const standardTurns = 50
const standardOutputBytes = 100 * 1024 * 1024

class UsageWrong extends Schema.TaggedError<UsageWrong>()("UsageWrong", { message: Schema.String }) {}

const optional = <A>(flag: Flag.Flag<A>, description: string) => flag.pipe(Flag.withDescription(description), Flag.optional)

const flags = {
  package: Argument.String("package").pipe(Argument.withDescription("Package directory, or its archive (.tgz)"), Argument.optional),
  task: optional(Flag.String("task"), "What to do; - reads it from stdin"),
  taskFile: optional(Flag.String("task-file"), "File that holds the task"),
  intake: optional(Flag.KeyValuePair("intake"), "Intake answer as id=value; may be repeated"),
  intakeFile: optional(Flag.String("intake-file"), "JSON file of intake answers"),
  input: Flag.String("input").pipe(Flag.withDescription("Input file, copied into the workspace; may be repeated"), Flag.atLeast(0)),
  secret: Flag.String("secret").pipe(Flag.withDescription("Name of a secret, its value taken from the environment; may be repeated"), Flag.atLeast(0)),
  provider: Flag.Literals("provider", ["scripted", "anthropic", "openai", "openai-compatible"]).pipe(
    Flag.withDescription("Model provider; the key is read from QUICKAGENT_MODEL_KEY"),
    Flag.withDefault("scripted")
  ),
  model: Flag.String("model").pipe(Flag.withDescription("Exact model id"), Flag.withDefault("scripted")),
  baseUrl: optional(Flag.String("base-url"), "Address of the model's API"),
  timeout: Flag.Int("timeout").pipe(Flag.withDescription("Wall time in seconds"), Flag.withDefault(standardSeconds)),
  maxTurns: Flag.Int("max-turns").pipe(Flag.withDescription("Most model turns"), Flag.withDefault(standardTurns)),
  maxOutputBytes: Flag.Int("max-output-bytes").pipe(Flag.withDescription("Largest output tar"), Flag.withDefault(standardOutputBytes)),
  output: optional(Flag.String("output"), "File for the output tar"),
  outputFd: optional(Flag.Int("output-fd"), "Open descriptor for the output tar"),
  narrateFd: optional(Flag.Int("narrate-fd"), "Open descriptor for progress as JSON lines"),
  attestation: optional(Flag.String("attestation"), "DSSE envelope of the archive"),
  pin: optional(Flag.String("pin"), "JSON file of pinned keys, [{keyId, publicKey}]"),
  ref: optional(Flag.String("ref"), "ns/name@version that the attestation must be about"),
  unverified: Flag.Boolean("unverified").pipe(Flag.withDescription("Run a package without an attestation"), Flag.withDefault(false)),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print the whole envelope"), Flag.withDefault(false)),
  hosted: Flag.Boolean("hosted").pipe(
    Flag.withDescription("Read one hosted request from stdin; narrate on fd 3, write the output tar to fd 4 and the envelope to stdout"),
    Flag.withDefault(false)
  )
}

const readText = (path: string) =>
  Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: () => new UsageWrong({ message: `${path} cannot be read` }) })

const readJson = <A>(path: string, schema: Schema.ConstraintDecoder<A>) =>
  Effect.flatMap(readText(path), Schema.decodeUnknownEffect(Schema.fromJsonString(schema))).pipe(
    Effect.catchTag("SchemaError", () => Effect.fail(new UsageWrong({ message: `${path} does not hold what is expected` })))
  )

/** A value as JSON where it is a number or a truth value, otherwise as text. */
const answer = (value: string): unknown => (/^(?:true|false|-?\d+(?:\.\d+)?)$/u.test(value) ? JSON.parse(value) as unknown : value)

const given = <A>(option: Option.Option<A>): A | undefined => Option.getOrUndefined(option)

type Input = Command.Command.Config.Infer<typeof flags>

const releaseOf = (input: Input, path: string): Effect.Effect<RunRequest["release"], UsageWrong> =>
  Effect.gen(function*() {
    const attestation = given(input.attestation)
    const pin = given(input.pin)
    const ref = given(input.ref)
    if (input.unverified) return undefined
    if (attestation === undefined || pin === undefined || ref === undefined) {
      return yield* new UsageWrong({ message: "Name --attestation, --pin and --ref, or say --unverified" })
    }
    const pinnedKeys: ReadonlyArray<PinnedKey> = yield* readJson(pin, Schema.Array(PinnedKeySchema))
    const archive = yield* Effect.tryPromise({ try: () => readFile(path), catch: () => new UsageWrong({ message: `${path} is not an archive` }) })
    return { ref, digest: `sha256:${createHash("sha256").update(archive).digest("hex")}`, attestation: yield* readText(attestation), pinnedKeys }
  })

const taskOf = (input: Input): Effect.Effect<string, UsageWrong> => {
  const task = given(input.task)
  const file = given(input.taskFile)
  if (file !== undefined) return readText(file)
  return task === "-" ? Effect.promise(() => text(process.stdin)) : Effect.succeed(task ?? "")
}

const secretsOf = (names: ReadonlyArray<string>): RunRequest["secrets"] =>
  names.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [{ name, value, deliver: "env" as const }]
  })

const runLocal = (input: Input) =>
  Effect.gen(function*() {
    const path = given(input.package)
    if (path === undefined) return yield* new UsageWrong({ message: "Name the package to run" })
    if (input.timeout < 1 || input.maxTurns < 1 || input.maxOutputBytes < 1) return yield* new UsageWrong({ message: "Limits are at least 1" })
    const release = yield* releaseOf(input, path)
    const file = given(input.intakeFile)
    const fromFile = file === undefined ? {} : yield* readJson(file, Schema.Record(Schema.String, Schema.Unknown))
    const flagged = Object.fromEntries(Object.entries(given(input.intake) ?? {}).map(([id, value]) => [id, answer(value)]))
    const workspace = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "quickagent-"))),
      (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
    )
    for (const source of input.input) {
      yield* Effect.tryPromise({
        try: () => copyFile(source, join(workspace, basename(source))),
        catch: () => new UsageWrong({ message: `${source} cannot be read` })
      })
    }
    const key = process.env["QUICKAGENT_MODEL_KEY"]
    const baseUrl = given(input.baseUrl)
    const modelSocket = process.env["QUICKAGENT_MODEL_SOCKET"]
    const egressSocket = process.env["QUICKAGENT_EGRESS_SOCKET"]
    const egressProxy = process.env["QUICKAGENT_EGRESS_PROXY"] ?? process.env["HTTPS_PROXY"] ?? process.env["HTTP_PROXY"]
    const fd = given(input.narrateFd)
    const { envelope, output } = yield* run({
      package: path,
      ...(release === undefined ? {} : { release }),
      task: yield* taskOf(input),
      intake: { ...fromFile, ...flagged },
      mode: "autonomous",
      workspace,
      inputs: input.input.map((source) => basename(source)),
      secrets: secretsOf(input.secret),
      caps: { seconds: input.timeout, turns: input.maxTurns },
      model: {
        provider: input.provider,
        model: input.model,
        ...(baseUrl === undefined ? {} : { baseUrl }),
        ...(key === undefined ? {} : { apiKey: Redacted.make(key) }),
        ...(modelSocket === undefined ? {} : { socket: modelSocket })
      },
      ...(egressSocket === undefined ? {} : { egressSocket }),
      ...(egressProxy === undefined ? {} : { egressProxy }),
      maxOutputBytes: input.maxOutputBytes,
      runtime: ["no sandbox: the run is a plain process of this machine's user"],
      narrate: fd === undefined ? silent : narrateTo(fd),
      onStep: (step) => {
        if (process.stderr.isTTY) process.stderr.write(`${step}\n`)
      },
      interrupted: interruption
    })
    const target = given(input.outputFd) ?? given(input.output)
    if (target !== undefined) yield* Effect.mapError(writeOutput(output, target), () => new UsageWrong({ message: "The output cannot be written" }))
    yield* Console.log(
      input.json
        ? JSON.stringify(envelope)
        : typeof envelope.result === "string"
        ? envelope.result
        : envelope.result === undefined ? "" : JSON.stringify(envelope.result, null, 2)
    )
    if (envelope.error !== undefined) yield* Console.error(`${envelope.exitClass} at ${envelope.stage}: ${envelope.error.message}`)
    return envelope.exitCode
  }).pipe(
    Effect.scoped,
    Effect.catchTag("UsageWrong", ({ message }) => Effect.as(Console.error(message), exitCodes.usage))
  )

export const runCommand = Command.make("run", flags, (input) =>
  Effect.gen(function*() {
    process.exitCode = yield* (input.hosted ? runHosted : runLocal(input))
  })).pipe(
    Command.withDescription("Run a QuickAgent package on this machine. The exit code is the class of the run's end."),
    Command.withExamples([
      { command: "quickagent run examples/csv-summary --unverified --input examples/sales.csv --output out.tar", description: "Run an example offline with the scripted model" },
      { command: "quickagent run acme.tgz --ref acme/notes@1.0.0 --attestation acme.dsse.json --pin keys.json --provider anthropic --model <id>", description: "Run an attested release" }
    ])
  )
