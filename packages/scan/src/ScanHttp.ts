/** Handler of the key set at its well-known address. */
import { Settings } from "@quickagents/platform"
import { CoreApi, NotFound } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SigningKeys } from "./SigningKeys.ts"

export const ScanHttp = HttpApiBuilder.group(
  CoreApi,
  "wellKnown",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* SigningKeys
    const settings = yield* Settings.Settings
    return handlers.handle("signingKeys", ({ params }) =>
      params.service === settings["service.name"]
        ? Effect.map(keys.list, (list) => ({ keys: list }))
        : Effect.fail(new NotFound({}))
    )
  })
)
