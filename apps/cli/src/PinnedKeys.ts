/**
 * The keys that this person takes attestations from, for each registry. Pinned at
 * the first sign-in and from then on changed by `quickagent keys pin` alone: a
 * registry that starts to sign with another key must not be believed because it
 * says so. Spec: Versioning 4.
 */
import type { RegistryClient } from "@quickagents/client"
import { PinnedKey } from "@quickagents/runner"
import type { SigningKey } from "@quickagents/schema"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { notVerified } from "./CommandFailed.ts"
import { configFolder, readIfThere, replaceFile } from "./Places.ts"

const Pins = Schema.Record(Schema.String, Schema.Array(PinnedKey))
const decodePins = Schema.decodeUnknownEffect(Schema.fromJsonString(Pins))

const pinsPath = () => join(configFolder(), "keys.json")

const allPins = Effect.gen(function* () {
  const path = pinsPath()
  const text = yield* readIfThere(path)
  if (text === undefined) return {}
  // Not to be repaired in silence: then whoever damages it decides which keys are pinned next.
  return yield* Effect.mapError(decodePins(text), () =>
    notVerified(`${path} is damaged; remove it, sign in again and compare the key ids`)
  )
})

/** Nothing was pinned yet: `undefined`. */
export const pinnedKeys = (registry: string) => Effect.map(allPins, (pins) => pins[registry])

export const pinKeys = Effect.fnUntraced(function* (registry: string, keys: ReadonlyArray<SigningKey>) {
  const pins = yield* allPins
  const own = keys.map(({ keyId, publicKey }) => ({ keyId, publicKey }))
  yield* replaceFile(pinsPath(), `${JSON.stringify({ ...pins, [registry]: own }, null, 2)}\n`, 0o600)
})

const isItsOwn = ({ keyId, publicKey }: SigningKey) => {
  const raw = Buffer.from(publicKey, "base64")
  return raw.length === 32 && createHash("sha256").update(raw).digest("hex") === keyId
}

/** The keys that the registry says it signs with, or did. */
export const advertisedKeys = Effect.fnUntraced(function* (api: RegistryClient["api"]) {
  const { service } = yield* api.meta.meta()
  const { keys } = yield* api.wellKnown.signingKeys({ params: { service } })
  const wrong = keys.find((key) => !isItsOwn(key))
  return wrong === undefined
    ? keys
    : yield* notVerified(`The registry advertises a key under an id that is not the key's own: ${wrong.keyId}`)
})

export interface KeyChange {
  readonly added: ReadonlyArray<SigningKey>
  /** Pinned, and advertised no more. */
  readonly gone: ReadonlyArray<PinnedKey>
}

export const keyChange = (pinned: ReadonlyArray<PinnedKey>, advertised: ReadonlyArray<SigningKey>): KeyChange => ({
  added: advertised.filter(({ keyId }) => !pinned.some((key) => key.keyId === keyId)),
  gone: pinned.filter(({ keyId }) => !advertised.some((key) => key.keyId === keyId))
})

export const isChange = ({ added, gone }: KeyChange) => added.length + gone.length > 0

export const keyChangeLines = ({ added, gone }: KeyChange): ReadonlyArray<string> => [
  ...added.map(({ keyId, status }) => `  + ${keyId} ${status}, not pinned`),
  ...gone.map(({ keyId }) => `  - ${keyId} pinned, no longer advertised`)
]
