/**
 * Session and personal access tokens are kept as SHA-256 only. They hold 238
 * random bits or more, so a fast hash without salt gives nothing away.
 */
import { createHash, timingSafeEqual } from "node:crypto"

/** Lower-case hex of the SHA-256 of `secret`. */
export const secretHash = (secret: string) => createHash("sha256").update(secret).digest("hex")

/** Whether two secrets are the same, in a time that tells nothing of where they differ. */
export const sameSecret = (one: string, other: string) =>
  timingSafeEqual(createHash("sha256").update(one).digest(), createHash("sha256").update(other).digest())
