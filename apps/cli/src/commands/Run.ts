/** `quickagent run`: runs a package on this machine. */
import { PinnedKey, resultFile, run, type RunRequest, silent } from "@quickagents/runner"
import { type Envelope, exitCodes } from "@quickagents/schema"
import { Console, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { text } from "node:stream/consumers"
import { complain, failed, wrongUsage } from "../CommandFailed.ts"
import type { CommandFailed } from "../CommandFailed.ts"
import { installedPackage } from "../InstalledPackage.ts"
import { listenForInterruption } from "../Interruption.ts"
import { writeOutput } from "../OutputTarget.ts"
import { plainLines } from "../Progress.ts"
import { runHosted } from "../RunHosted.ts"

const standardSeconds = 600
const standardTurns = 50
const maxOutputBytes = 1024 * 1024 * 1024

const optional = <A>(flag: Flag.Flag<A>, description: string) =>
  flag.pipe(Flag.withDescription(description), Flag.optional)

const flags = {
  package: Argument.String("package").pipe(
    Argument.withDescription("Package directory, a release archive (.tgz), or ns/name as installed in this folder"),
    Argument.optional
  ),
  task: optional(Flag.String("task"), "What the agent shall do; - reads it from stdin"),
  taskFile: optional(Flag.String("task-file"), "File that holds the task"),
  intake: optional(Flag.KeyValuePair("intake"), "Answer to a question of the manifest as id=value; may be repeated"),
  intakeFile: optional(Flag.String("intake-file"), "JSON file with the answers by id; --intake goes before it"),
  input: Flag.String("input").pipe(
    Flag.withDescription("File that is copied into the workspace under its own name; may be repeated"),
    Flag.atLeast(0)
  ),
  secret: Flag.String("secret").pipe(
    Flag.withDescription("Name of a declared secret whose value is in the environment; may be repeated"),
    Flag.atLeast(0)
  ),
  provider: Flag.Literals("provider", ["scripted", "anthropic", "openai", "openai-compatible"]).pipe(
    Flag.withDescription(
      "Who serves the model. The key is read from QUICKAGENT_MODEL_KEY; scripted follows a script and needs neither key nor network"
    ),
    Flag.withDefault("scripted")
  ),
  model: optional(Flag.String("model"), "Exact model id"),
  baseUrl: optional(Flag.String("base-url"), "Address of the model's API, when it is not the provider's own"),
  timeout: Flag.Int("timeout").pipe(
    Flag.withDescription("Wall time in seconds; the manifest may say less"),
    Flag.withDefault(standardSeconds)
  ),
  maxTurns: Flag.Int("max-turns").pipe(
    Flag.withDescription("Turns of the model; the manifest may say less"),
    Flag.withDefault(standardTurns)
  ),
  output: optional(Flag.String("output"), "File for the output tar: the declared files, result.json and envelope.json"),
  attestation: optional(Flag.String("attestation"), "DSSE envelope of the registry about this archive"),
  pin: optional(Flag.String("pin"), "JSON file of the keys that may sign it, [{keyId, publicKey}]"),
  unverified: Flag.Boolean("unverified").pipe(
    Flag.withDescription("Run a package that nobody attests, such as your own"),
    Flag.withDefault(false)
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the whole envelope instead of the result"),
    Flag.withDefault(false)
  ),
  hosted: Flag.Boolean("hosted").pipe(
    Flag.withDescription(
      "Used by sandbox hosts: a request on stdin, narration on descriptor 3, the output tar on 4, the envelope on stdout"
    ),
    Flag.withDefault(false)
  )
}
type Input = Command.Command.Config.Infer<typeof flags>

const readText = (path: string) =>
  Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: () => wrongUsage(`${path} cannot be read`) })

const readJson = <A>(path: string, schema: Schema.ConstraintDecoder<A>, expected: string) =>
  Effect.flatMap(readText(path), Schema.decodeUnknownEffect(Schema.fromJsonString(schema))).pipe(
    Effect.catchTag("SchemaError", () => Effect.fail(wrongUsage(`${path} does not hold ${expected}`)))
  )

const given = <A>(option: Option.Option<A>): A | undefined => Option.getOrUndefined(option)

/** What the package must be. Without an attestation the step `verify` refuses it. */
const attestedBy = (input: Input): Effect.Effect<Pick<RunRequest, "release">, CommandFailed> =>
  Effect.gen(function* () {
    const attestation = given(input.attestation)
    const pin = given(input.pin)
    if (input.unverified) {
      return attestation === undefined ? {} : yield* wrongUsage("--unverified and --attestation exclude each other")
    }
    if (attestation === undefined) return { release: { attested: { attestation: null, pinnedKeys: [] } } }
    if (pin === undefined) return yield* wrongUsage("--attestation needs --pin: the keys that may have signed it")
    return {
      release: {
        attested: {
          attestation: yield* readText(attestation),
          pinnedKeys: yield* readJson(pin, Schema.Array(PinnedKey), "a list of {keyId, publicKey}")
        }
      }
    }
  })

/** What is installed runs as it is locked, whatever else the command line says of its origin. */
const packageOf = (path: string, input: Input) =>
  Effect.gen(function* () {
    const installed = yield* installedPackage(path)
    if (installed === undefined) return { package: path, ...(yield* attestedBy(input)) }
    return input.unverified || given(input.attestation) !== undefined || given(input.pin) !== undefined
      ? yield* wrongUsage(
          "An installed agent is verified as it is locked: leave --unverified, --attestation and --pin out"
        )
      : installed
  })

const taskOf = (input: Input): Effect.Effect<string, CommandFailed> => {
  const task = given(input.task)
  const file = given(input.taskFile)
  if (task !== undefined && file !== undefined)
    return Effect.fail(wrongUsage("--task and --task-file exclude each other"))
  if (file !== undefined) return readText(file)
  return task === "-" ? Effect.promise(() => text(process.stdin)) : Effect.succeed(task ?? "")
}

const secretsOf = (names: ReadonlyArray<string>): Effect.Effect<RunRequest["secrets"], CommandFailed> =>
  Effect.forEach(names, (name) => {
    const value = process.env[name]
    return value === undefined
      ? Effect.fail(wrongUsage(`${name} is not in the environment`))
      : Effect.succeed({ name, value, deliver: "env" as const })
  })

const modelOf = (input: Input): Effect.Effect<RunRequest["model"], CommandFailed> => {
  const model = given(input.model) ?? (input.provider === "scripted" ? "scripted" : undefined)
  if (model === undefined) return Effect.fail(wrongUsage(`--provider ${input.provider} needs --model`))
  const baseUrl = given(input.baseUrl)
  if (baseUrl !== undefined && !URL.canParse(baseUrl)) return Effect.fail(wrongUsage("--base-url is not an address"))
  const key = process.env["QUICKAGENT_MODEL_KEY"]
  return Effect.succeed({
    provider: input.provider,
    model,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(key === undefined ? {} : { apiKey: Redacted.make(key) })
  })
}

const workspaceWith = (inputs: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const names = inputs.map((source) => basename(source))
    if (new Set(names).size < names.length) return yield* wrongUsage("Two inputs have the same name")
    const workspace = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => mkdtemp(join(tmpdir(), "quickagent-")),
        catch: () => failed(`${tmpdir()} takes no workspace; set TMPDIR to a folder that may be written`)
      }),
      (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
    )
    for (const source of inputs) {
      yield* Effect.tryPromise({
        try: () => copyFile(source, join(workspace, basename(source))),
        catch: () => wrongUsage(`${source} cannot be read`)
      })
    }
    return { workspace, inputs: names }
  })

const shown = (envelope: Envelope, json: boolean): string | undefined => {
  if (json) return JSON.stringify(envelope)
  return typeof envelope.result === "string" || envelope.result === undefined
    ? envelope.result
    : JSON.stringify(envelope.result, null, 2)
}

const runLocal = (input: Input): Effect.Effect<number> =>
  Effect.gen(function* () {
    const path = given(input.package)
    if (path === undefined)
      return yield* wrongUsage("Name the package to run: a directory, a .tgz, or ns/name as installed here")
    if (input.timeout < 1 || input.maxTurns < 1) return yield* wrongUsage("--timeout and --max-turns are at least 1")
    const file = given(input.intakeFile)
    const { envelope, output } = yield* run({
      ...(yield* packageOf(path, input)),
      task: yield* taskOf(input),
      intake:
        file === undefined ? {} : yield* readJson(file, Schema.Record(Schema.String, Schema.Unknown), "answers by id"),
      typedIntake: given(input.intake) ?? {},
      mode: "autonomous",
      ...(yield* workspaceWith(input.input)),
      secrets: yield* secretsOf(input.secret),
      caps: { seconds: input.timeout, turns: input.maxTurns },
      model: yield* modelOf(input),
      maxOutputBytes,
      runtime: ["no sandbox: the run is a plain process of the user who started it"],
      narrate: silent,
      onStep: (step) => process.stderr.write(`${step}\n`),
      interrupted: yield* listenForInterruption
    })
    const target = given(input.output)
    if (target !== undefined) yield* writeOutput(output, target)
    const result = shown(envelope, input.json)
    // A program that reads it gets it as it is.
    if (result !== undefined) yield* Console.log(process.stdout.isTTY ? plainLines(result) : result)
    const written = envelope.outputs.flatMap(({ path: name }) => (name === resultFile ? [] : [name]))
    if (target === undefined && written.length > 0)
      yield* complain(`Not kept: ${written.join(", ")}; to keep what a run writes: --output out.tar`)
    if (envelope.error !== undefined) {
      yield* complain(
        `${envelope.exitClass} (${envelope.reason ?? "no reason"}) at ${envelope.stage ?? "no step"}: ${envelope.error.message}`
      )
    }
    if (envelope.reason === "attestation-missing") {
      yield* Console.error("Name --attestation and --pin, or say --unverified for a package that you trust.")
    }
    return envelope.exitCode
  }).pipe(
    Effect.scoped,
    Effect.catchTags({
      CommandFailed: ({ exitClass, message }) => Effect.as(complain(message), exitCodes[exitClass]),
      OutputNotWritten: () => Effect.as(complain("The output cannot be written"), exitCodes.cli)
    })
  )

const description = `Run a QuickAgent package on this machine.

The result goes to stdout, one line per step to stderr. The exit code is the class of the run's end:
${Object.entries(exitCodes)
  .map(([name, code]) => `${code} ${name}`)
  .join(", ")}.`

export const runCommand = Command.make("run", flags, (input) =>
  Effect.gen(function* () {
    process.exitCode = yield* input.hosted ? runHosted : runLocal(input)
  })
).pipe(
  Command.withDescription(description),
  Command.withShortDescription("Run a package on this machine"),
  Command.withExamples([
    { command: "quickagent run acme/notes --task-file task.md", description: "Run what is installed in this folder" },
    {
      command:
        "quickagent run examples/csv-summary --unverified --input examples/csv-summary/sample/sales.csv --output out.tar",
      description: "Run an example offline, with the scripted model"
    },
    {
      command:
        "quickagent run notes.tgz --attestation notes.dsse.json --pin keys.json --provider anthropic --model <id> --task-file task.md",
      description: "Run an attested release"
    }
  ])
)
