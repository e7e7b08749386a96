/** `quickagent check` and `quickagent pack`: a package on this machine, judged and packed as the registry will. */
import { packDirectory } from "@quickagents/client"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { writeFile } from "node:fs/promises"
import { ended, failed } from "../CommandFailed.ts"
import { grantsOf } from "../Grants.ts"
import { line } from "../Progress.ts"

export const folderArgument = Argument.String("folder").pipe(
  Argument.withDescription("The package; this folder when none is named"),
  Argument.withDefault(".")
)
const json = Flag.Boolean("json").pipe(Flag.withDescription("Print the answer as JSON"), Flag.withDefault(false))

/** Packs, and tells what the registry will remark. */
export const packedAloud = (folder: string) =>
  Effect.tap(packDirectory(folder), ({ remarks }) =>
    Effect.sync(() => {
      for (const remark of remarks) line(`Remark: ${remark}`)
    })
  )

const check = Effect.fnUntraced(function* (input: { readonly folder: string; readonly json: boolean }) {
  const judged = input.json ? packDirectory(input.folder) : packedAloud(input.folder)
  const { archive, digest, files, manifest, remarks } = yield* Effect.tapError(judged, ({ problems }) =>
    input.json ? Console.log(JSON.stringify({ valid: false, problems })) : Effect.void
  )
  const { name, version } = manifest
  const grants = grantsOf(manifest)
  yield* Console.log(
    input.json
      ? JSON.stringify({ valid: true, name, version, digest, bytes: archive.length, files, grants, remarks })
      : [
          `${name}@${version} is valid: ${files.length} files, ${archive.length} bytes packed, ${digest}`,
          ...grants.map((grant) => `  asks for ${grant}`)
        ].join("\n")
  )
})

export const checkCommand = Command.make("check", { folder: folderArgument, json }, (input) =>
  ended(check(input))
).pipe(
  Command.withDescription(
    "Check a package offline: the manifest and its rules, the files it names, the limits of an archive. What the gate decides later (secrets, malware, injection) is not part of it. Exit code 12 when the package is not valid."
  ),
  Command.withShortDescription("Check a package offline")
)

const pack = Effect.fnUntraced(function* (input: {
  readonly folder: string
  readonly output: Option.Option<string>
  readonly json: boolean
}) {
  const { archive, digest, files, manifest } = yield* packedAloud(input.folder)
  const [ns, name] = manifest.name.split("/")
  const path = Option.getOrElse(input.output, () => `${ns}-${name}-${manifest.version}.tgz`)
  yield* Effect.tryPromise({
    try: () => writeFile(path, archive),
    catch: (error) => failed(`${path} cannot be written (${(error as NodeJS.ErrnoException).code ?? "unknown"})`)
  })
  yield* Console.log(
    input.json
      ? JSON.stringify({ path, name: manifest.name, version: manifest.version, digest, bytes: archive.length, files })
      : `${path}: ${files.length} files, ${archive.length} bytes, ${digest}`
  )
})

export const packCommand = Command.make(
  "pack",
  {
    folder: folderArgument,
    output: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withDescription("File to write; else ns-name-version.tgz in this folder"),
      Flag.optional
    ),
    json
  },
  (input) => ended(pack(input))
).pipe(
  Command.withDescription(
    "Pack a package into the archive that is published: the same files give the same bytes everywhere. Hidden files and node_modules stay out."
  ),
  Command.withShortDescription("Pack a package into its archive")
)
