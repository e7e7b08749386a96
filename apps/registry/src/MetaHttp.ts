/** What this deployment offers. */
import { Settings } from "@quickagents/platform"
import { CoreApi } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

export const version = "0.1.0"

export const MetaHttp = HttpApiBuilder.group(
  CoreApi,
  "meta",
  Effect.fnUntraced(function* (handlers) {
    const settings = yield* Settings.Settings
    const id = settings["auth.oidc.id"]
    return handlers.handle("meta", () =>
      Effect.succeed({
        service: settings["service.name"],
        version,
        extensions: settings["service.extensions"],
        features: { voice: false, knowledge: false },
        signInProviders:
          settings["auth.oidc.issuer"] === null
            ? []
            : [{ id, name: settings["auth.oidc.name"], start: `/api/v1/auth/oidc/${id}/start` }]
      })
    )
  })
)
