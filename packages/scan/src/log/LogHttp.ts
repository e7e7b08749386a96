/** Handlers of the transparency log. */
import { CoreApi, invalidField, Viewer } from "@quickagents/schema"
import { Effect, Option, Stream } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { readTile, tileWidth } from "./Tile.ts"
import { TransparencyLog } from "./TransparencyLog.ts"

export const LogHttp = HttpApiBuilder.group(
  CoreApi,
  "log",
  Effect.fnUntraced(function* (handlers) {
    const log = yield* TransparencyLog
    const tile = Effect.fnUntraced(function* (level: string, segments: ReadonlyArray<string>) {
      const asked = Option.getOrUndefined(readTile(level, segments))
      if (asked === undefined) return yield* invalidField("", "is not the address of a tile", "path")
      const bytes = yield* log.tile(asked)
      return HttpApiSchema.withHeaders({
        body: Stream.succeed(bytes),
        headers: {
          // A full tile never changes. Nor does a partial one, but nobody needs it once the tile is full.
          "cache-control": `public, max-age=${asked.width === tileWidth ? "31536000, immutable" : "3600"}`,
          "content-length": String(bytes.length)
        }
      })
    })
    return handlers
      .handle("checkpoint", () => log.checkpoint)
      .handle("tile", ({ params: { level, n } }) => tile(level, [n]))
      .handle("tileBelow", ({ params: { level, n, x } }) => tile(level, [x, n]))
      .handle("partialTileBelow", ({ params: { level, n, width, x } }) => tile(level, [x, n, width]))
      .handle("inclusion", ({ query: { leaf, ref, size } }) =>
        Effect.gen(function* () {
          if (ref !== undefined && leaf === undefined) {
            return yield* log.inclusionOfRelease(yield* Viewer, ref, size)
          }
          if (leaf !== undefined && ref === undefined) return yield* log.inclusionOfLeaf(leaf, size)
          return yield* invalidField("", "needs either ref or leaf", "query")
        })
      )
      .handle("consistency", ({ query: { first, second } }) => log.consistency(first, second))
  })
)
