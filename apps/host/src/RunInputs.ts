/** Sealed inputs of a run, opened into its workspace. */
import { open as openSeal } from "@quickagents/platform/sealing"
import type { HandOff } from "@quickagents/schema"
import { NodeStream } from "@effect/platform-node"
import { Effect, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, open } from "node:fs/promises"
import { dirname, join, sep } from "node:path"
import type { ObjectCache } from "./ObjectCache.ts"

/** An input does not open, is not what the hand-off says it is, or has a name that leads out of the workspace. */
export class InputBroken extends Schema.TaggedError<InputBroken>()("InputBroken", {}) {}

/** Opens one input to `directory`/`name`. */
export const openInput = (
  objects: ObjectCache,
  directory: string,
  input: HandOff["inputs"][number]
): Effect.Effect<void, InputBroken> =>
  Effect.gen(function* () {
    const path = join(directory, input.name)
    if (!path.startsWith(directory + sep)) return yield* new InputBroken()
    const source = yield* objects.path(input.sealed.object)
    const hash = createHash("sha256")
    let size = 0
    yield* Effect.acquireUseRelease(
      Effect.promise(async () => {
        await mkdir(dirname(path), { recursive: true })
        return open(path, "wx", 0o600)
      }),
      (file) =>
        NodeStream.fromReadable({ evaluate: () => createReadStream(source) }).pipe(
          openSeal(Buffer.from(input.sealed.dataKey, "base64"), input.sealed.context),
          Stream.runForEach((chunk) => {
            hash.update(chunk)
            size += chunk.length
            return size > input.bytes ? Effect.fail(new InputBroken()) : Effect.promise(() => file.writeFile(chunk))
          })
        ),
      (file) => Effect.promise(() => file.close())
    ).pipe(Effect.mapError(() => new InputBroken()))
    if (size !== input.bytes || `sha256:${hash.digest("hex")}` !== input.digest) return yield* new InputBroken()
  })
