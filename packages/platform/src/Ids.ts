/**
 * Makes identifiers and secret tokens. Time comes from the Clock and randomness
 * from `Randomness`, so a test clock and a seeded source make the same ids again.
 */
import { Context, Effect } from "effect"
import { SecureRandom } from "effect/crypto"

/**
 * The randomness of ids and tokens: the operating system's, unless a test or a
 * simulation provides `SecureRandom.make` over a source of its own.
 */
export const Randomness = Context.Reference<SecureRandom.SecureRandom["Service"]>("platform/Randomness", {
  defaultValue: () => SecureRandom.make(SecureRandom.randomBytesUnsafe)
})

/** The kinds of id that the contract names. */
export type IdPrefix =
  | "acc"
  | "org"
  | "tok"
  | "ses"
  | "agt"
  | "ver"
  | "run"
  | "inp"
  | "host"
  | "enr"
  | "dep"
  | "abr"
  | "rsr"

/**
 * `${prefix}_${ULID}`, for example `run_01JD8K2Z4W5X6Y7Z8A9B0C1D2E`. Within one
 * process each sorts after the one before, also within a millisecond and when
 * the clock steps back. An id tells when it was made and its neighbours can be
 * guessed: it is a name, never a secret.
 */
export const newId = <const Prefix extends IdPrefix | (string & {})>(
  prefix: Prefix
): Effect.Effect<`${Prefix}_${string}`> =>
  Effect.flatMap(Randomness, (randomness) => Effect.map(randomness.ulid, (ulid) => `${prefix}_${ulid}` as const))

/** A secret of `bytes` random bytes, as base64url without padding. */
export const randomToken = (bytes: number): Effect.Effect<string> =>
  Effect.flatMap(Randomness, (randomness) =>
    Effect.map(randomness.randomBytes(bytes), (random) => Buffer.from(random).toString("base64url"))
  )
