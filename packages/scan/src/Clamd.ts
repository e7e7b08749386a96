/** A client of clamd's INSTREAM command, https://docs.clamav.net/manual/Usage/Scanning.html#clamd */
import { Effect, Schema } from "effect"
import { connect } from "node:net"

/** A TCP address or a unix socket. */
export type ClamdAddress = { readonly host: string; readonly port: number } | { readonly path: string }

/** The daemon did not answer, or answered that it could not scan. */
export class ClamdFailed extends Schema.TaggedError<ClamdFailed>()("ClamdFailed", { reason: Schema.String }) {}

const chunkBytes = 64 * 1024
const idleTimeoutMs = 30_000
const maxAnswerBytes = 4096

/** `zINSTREAM`, then chunks behind their length, then a chunk of length 0. */
const request = (bytes: Uint8Array): Buffer => {
  const parts: Array<Uint8Array> = [Buffer.from("zINSTREAM\0")]
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(chunk.length)
    parts.push(length, chunk)
  }
  parts.push(Buffer.alloc(4))
  return Buffer.concat(parts)
}

const ask = (address: ClamdAddress, command: Buffer) =>
  Effect.callback<string, ClamdFailed>((resume) => {
    let answer = ""
    const socket = connect(address)
    const fail = (reason: string) => {
      socket.destroy()
      resume(Effect.fail(new ClamdFailed({ reason })))
    }
    socket.setTimeout(idleTimeoutMs, () => fail("no answer in time"))
    socket.on("error", () => fail("the connection failed"))
    socket.on("data", (data) => {
      answer += data.toString("latin1")
      if (answer.length > maxAnswerBytes) fail("the answer is too long")
      const end = answer.indexOf("\0")
      if (end !== -1) {
        socket.destroy()
        resume(Effect.succeed(answer.slice(0, end).trim()))
      }
    })
    socket.on("end", () => fail("the connection ended without an answer"))
    socket.end(command)
    return Effect.sync(() => socket.destroy())
  })

/** The name of the signature found in `bytes`, or `undefined`. */
export const clamdScan = Effect.fn("Clamd.scan")(function* (
  address: ClamdAddress,
  bytes: Uint8Array
): Effect.fn.Return<string | undefined, ClamdFailed> {
  const answer = yield* ask(address, request(bytes))
  if (/^stream: OK$/u.test(answer)) return undefined
  const found = /^stream: (\S{1,200}) FOUND$/u.exec(answer)
  return found ? found[1] : yield* new ClamdFailed({ reason: "the daemon answered with an error" })
})

/** The engine and signature version that the daemon decides with, for the report. */
export const clamdVersion = (address: ClamdAddress): Effect.Effect<string, ClamdFailed> =>
  ask(address, Buffer.from("zVERSION\0")).pipe(Effect.map((version) => version.slice(0, 200)))
