/**
 * The text of a personal access token: `qat_`, 40 random base62 characters and
 * six of a CRC32 over all before. A secret scanner knows it by prefix and
 * length, and tells a real one from a made-up one without asking us.
 */
import { Randomness } from "@quickagents/platform"
import { Effect } from "effect"
import { crc32 } from "node:zlib"

export const tokenPrefix = "qat_"
const secretLength = 40
const checksumLength = 6
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const pattern = new RegExp(`^${tokenPrefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

const checksum = (text: string) => {
  let rest = crc32(text)
  let digits = ""
  while (digits.length < checksumLength) {
    digits = alphabet[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** A new token. */
export const newTokenText = Effect.gen(function* () {
  const randomness = yield* Randomness
  let secret = ""
  while (secret.length < secretLength) {
    for (const byte of yield* randomness.randomBytes(64)) {
      // 248 is the last multiple of 62 that a byte reaches: past it some characters would come more often.
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62]
    }
  }
  const text = tokenPrefix + secret
  return text + checksum(text)
})

/** Whether `text` can be a token of ours. What fails here needs no look into the database. */
export const isTokenText = (text: string) =>
  pattern.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

/** The first characters of a token, enough to find it in a list. */
export const hintOf = (text: string) => text.slice(0, tokenPrefix.length + 4)
