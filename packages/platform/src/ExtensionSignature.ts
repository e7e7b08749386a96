/**
 * How the registry and the service of an extension know each other's requests:
 * by the headers of Standard Webhooks, with method and path among what is
 * signed, so that a request which is overheard opens no other address.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** A request that is older, or from further in the future, is no longer taken. */
const freshMs = 300_000

export interface SignedRequest {
  readonly method: string
  /** With what is before it in the address that is called, without a query. */
  readonly path: string
  /** As it is sent, byte for byte. */
  readonly body: string
}

type Headers = Readonly<Record<string, string | undefined>>

const signature = (secret: string, id: string, seconds: string, { body, method, path }: SignedRequest) =>
  createHmac("sha256", Buffer.from(secret, "base64")).update(`${id}.${seconds}.${method}.${path}.${body}`).digest()

/** `id` has letters, digits, `_` and `-`, and is the same in every attempt of one request. */
export const sign = (secret: string, id: string, at: Date, request: SignedRequest) => {
  const seconds = String(Math.floor(at.getTime() / 1000))
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature(secret, id, seconds, request).toString("base64")}`
  }
}

/** Whether the headers that `verify` reads are there and fresh, which is known before the body. */
const read = (headers: Headers, now: Date) => {
  const { "webhook-id": id = "", "webhook-signature": given = "", "webhook-timestamp": seconds = "" } = headers
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id) || !/^\d{1,12}$/.test(seconds) || given.length > 1024) return null
  const at = new Date(Number(seconds) * 1000)
  return Math.abs(at.getTime() - now.getTime()) <= freshMs ? { id, seconds, at, given } : null
}

export const mayBeSigned = (headers: Headers, now: Date) => read(headers, now) !== null

/** When the request was signed; null unless its signature is of this request, by this secret, and fresh. */
export const verify = (secret: string, headers: Headers, now: Date, request: SignedRequest): Date | null => {
  const found = read(headers, now)
  if (found === null) return null
  const expected = signature(secret, found.id, found.seconds, request)
  const matches = found.given.split(" ").some((part) => {
    const [kind, text = ""] = part.split(",", 2)
    const bytes = Buffer.from(text, "base64")
    return kind === "v1" && bytes.length === expected.length && timingSafeEqual(bytes, expected)
  })
  return matches ? found.at : null
}
