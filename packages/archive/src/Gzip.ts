/**
 * A strict reader of one gzip member (RFC 1952).
 *
 * Node's own gunzip joins further members and ignores what follows the last
 * one, and two programs that disagree about that see two different archives.
 * So the frame is read here and only the deflate stream is left to zlib.
 */
import { Result } from "effect"
import { crc32, inflateRawSync } from "node:zlib"

export interface GzipRefused {
  readonly rule: "not-gzip" | "truncated-archive" | "gzip-bomb" | "gzip-corrupt" | "trailing-data"
  readonly message: string
}

const refused = (rule: GzipRefused["rule"], message: string) => Result.fail<GzipRefused>({ rule, message })

/** Past this many bytes the ratio is looked at: a small file of zeros is no bomb. */
const ratioMatters = 4 * 1024 * 1024
const maxRatio = 200

interface InflateInfo {
  readonly buffer: Uint8Array
  readonly engine: { readonly bytesWritten: number }
}

/** Opens exactly one member that fills `archive`, never writing more than `maxBytes`. */
export const gunzipStrict = (archive: Uint8Array, maxBytes: number): Result.Result<Uint8Array, GzipRefused> => {
  if (archive.length < 18)
    return refused(archive.length < 2 ? "not-gzip" : "truncated-archive", "The archive is too short to be a gzip file")
  if (archive[0] !== 0x1f || archive[1] !== 0x8b || archive[2] !== 8)
    return refused("not-gzip", "The archive is not a gzip file")
  const flags = archive[3]
  if ((flags & 0b1110_0000) !== 0) return refused("gzip-corrupt", "The gzip header sets reserved flags")
  let at = 10
  if (flags & 0b100) at += 2 + archive[at] + archive[at + 1] * 256
  for (const flag of [0b1000, 0b1_0000]) {
    if (flags & flag) {
      const end = archive.indexOf(0, at)
      if (end === -1) return refused("truncated-archive", "The gzip header does not end")
      at = end + 1
    }
  }
  if (flags & 0b10) at += 2
  if (at + 8 > archive.length) return refused("truncated-archive", "The gzip header does not end")

  const inflated = Result.try({
    // `info: true` is what makes zlib say how much input it used; the typings do not know its result.
    try: () =>
      inflateRawSync(archive.subarray(at), { maxOutputLength: maxBytes, info: true }) as unknown as InflateInfo,
    catch: (cause) => (cause as NodeJS.ErrnoException).code
  })
  if (Result.isFailure(inflated)) {
    switch (inflated.failure) {
      case "ERR_BUFFER_TOO_LARGE":
        return refused("gzip-bomb", `The archive unpacks to more than ${maxBytes} bytes`)
      case "Z_BUF_ERROR":
        return refused("truncated-archive", "The compressed data ends early")
      default:
        return refused("gzip-corrupt", "The compressed data is corrupt")
    }
  }
  const { buffer, engine } = inflated.success
  const end = at + engine.bytesWritten
  if (end + 8 > archive.length) return refused("truncated-archive", "The gzip trailer is missing")
  const trailer = new DataView(archive.buffer, archive.byteOffset + end, 8)
  if (trailer.getUint32(0, true) !== crc32(buffer) || trailer.getUint32(4, true) !== buffer.length) {
    return refused("gzip-corrupt", "The gzip checksum does not match the data")
  }
  if (end + 8 !== archive.length) return refused("trailing-data", "The archive goes on after its gzip member")
  if (buffer.length > ratioMatters && buffer.length > maxRatio * archive.length) {
    return refused("gzip-bomb", `The archive unpacks to more than ${maxRatio} times its size`)
  }
  return Result.succeed(buffer)
}
