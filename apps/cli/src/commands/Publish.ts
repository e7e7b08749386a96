/** `quickagent publish`: from a folder to a decided version. */
import { Console, Effect, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { ended, failed, held } from "../CommandFailed.ts"
import { line, now, over, plain } from "../Progress.ts"
import { openRegistry } from "../Registry.ts"
import { folderArgument, packedAloud } from "./Check.ts"

const publish = Effect.fnUntraced(function* (input: {
  readonly folder: string
  readonly private: boolean
  readonly json: boolean
}) {
  const packed = yield* packedAloud(input.folder)
  const { manifest } = packed
  const { client, registry, signedIn } = yield* openRegistry
  if (!signedIn) return yield* failed(`Nobody is signed in at ${registry}; quickagent login`)
  const [ns, name] = manifest.name.split("/") as [string, string]
  now(`Looking for ${manifest.name}`)
  yield* client.api.agentReads.get({ params: { ns, name } }).pipe(
    Effect.catchTag("NotFound", () =>
      client.api.agentChanges
        .create({
          payload: {
            namespace: ns,
            name,
            description: manifest.description,
            visibility: input.private ? "private" : "public"
          }
        })
        .pipe(
          Effect.tap(({ visibility }) => Effect.sync(() => line(`Created ${manifest.name}, ${visibility}`))),
          Effect.catchTag("NotFound", () => Effect.fail(failed(`${ns} is no namespace that you may publish in`)))
        )
    )
  )
  now(`Uploading ${packed.archive.length} bytes`)
  const submitted = yield* client.submit(packed).pipe(
    Effect.catchTags({
      VersionExists: () =>
        Effect.fail(
          failed(`${manifest.name}@${manifest.version} exists; raise the version in agent.yaml to publish again`)
        ),
      NotFound: () => Effect.fail(failed(`You may read ${manifest.name}, but not publish it`))
    })
  )
  line(`Submitted ${manifest.name}@${manifest.version}, ${packed.digest}`)
  yield* Stream.runForEach(client.watchVersion(submitted), ({ name, stage, status }) =>
    Effect.sync(() =>
      status === "running" ? now(`${stage} ${name}`) : line(`${stage.padEnd(4)}${name.padEnd(14)}${status}`)
    )
  )
  const decided = yield* client.decided(submitted)
  over()
  if (input.json) yield* Console.log(JSON.stringify(decided))
  if (decided.status === "published") {
    if (!input.json) {
      yield* Console.log(
        `Published ${manifest.name}@${manifest.version}, verdict ${decided.verdict ?? "none"}${decided.signed ? ", signed" : ""}`
      )
    }
    return
  }
  const findings = (decided.holding ?? []).map(({ file, line: at, message, rule, severity, stage }) => {
    const place = file === undefined ? "" : ` in ${plain(file)}${at === undefined ? "" : `:${at}`}`
    return `  ${stage} ${rule} (${severity})${place}: ${plain(message)}`
  })
  const state = decided.status === "needs_review" ? "is held for review" : `is ${decided.status}`
  const next =
    decided.status === "needs_review"
      ? [
          `A reviewer decides. Mend it and publish a higher version, or dispute the hold: quickagent dispute ${manifest.name}@${manifest.version} --reason "..."`
        ]
      : []
  // Two readings of one file may say the same.
  return yield* held([`${manifest.name}@${manifest.version} ${state}`, ...new Set(findings), ...next].join("\n"))
})

export const publishCommand = Command.make(
  "publish",
  {
    folder: folderArgument,
    private: Flag.Boolean("private").pipe(
      Flag.withDescription("Make a new agent private; one that exists stays as it is"),
      Flag.withDefault(false)
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print the version's record as JSON"), Flag.withDefault(false))
  },
  (input) => ended(publish(input))
).pipe(
  Command.withDescription(
    "Check, pack and submit a package, and follow the scan to its end. The agent is made when there is none. A command that broke off may be given again: the same bytes are submitted once. Exit code 18, with the findings, when the gate holds or blocks the version."
  ),
  Command.withShortDescription("Publish a package")
)
