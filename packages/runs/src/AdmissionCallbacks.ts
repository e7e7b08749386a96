/** What the admission extension's service tells: standing, seats and features of an organization, and the tier of its credits. */
import { keepSubscription, Subscription } from "@quickagents/orgs"
import { extensionCallbacks, Settings } from "@quickagents/platform"
import type { ExtensionCallback } from "@quickagents/platform"
import { Handle } from "@quickagents/schema"
import { Effect, Layer, Option, Schema } from "effect"
import { Ledger } from "./Ledger.ts"

const readSubscription = Schema.decodeUnknownOption(Schema.fromJsonString(Subscription))
const isHandle = Schema.is(Handle)
const statusOf = { kept: 204, older: 409, unknown: 404 } as const

const answer = Effect.fnUntraced(function* ({ body, method, path, signedAt }: ExtensionCallback) {
  const org = /^orgs\/([^/]+)\/subscription$/.exec(path)?.[1]
  if (org === undefined || !isHandle(org)) return 404
  if (method !== "PUT") return 405
  const read = readSubscription(body)
  if (Option.isNone(read)) return 422
  const ledger = yield* Ledger
  return statusOf[yield* keepSubscription(org, read.value, signedAt, ledger.setTier(org, read.value.tier))]
})

/** None without `admission.secret`. */
export const AdmissionCallbacks = Layer.unwrap(
  Effect.map(Settings.Settings, ({ "admission.secret": secret }) =>
    secret === null ? Layer.empty : extensionCallbacks("admission", secret, answer)
  )
)
