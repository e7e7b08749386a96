/** A DNS server on loopback that answers TXT questions from `records`, and that there is no such name for all others. RFC 1035. */
import { Effect } from "effect"
import { createSocket } from "node:dgram"

const headerBytes = 12

/** The name of the first question, and where the question ends. */
const question = (message: Buffer) => {
  const labels: Array<string> = []
  let at = headerBytes
  for (let length = message[at]; length > 0; length = message[at]) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString("latin1"))
    at += 1 + length
  }
  return { name: labels.join(".").toLowerCase(), end: at + 5 }
}

const answer = (message: Buffer, records: ReadonlyMap<string, ReadonlyArray<string>>) => {
  const { end, name } = question(message)
  const texts = records.get(name) ?? []
  const head = Buffer.from(message.subarray(0, headerBytes))
  head.writeUInt16BE(texts.length === 0 ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(texts.length, 6)
  head.writeUInt32BE(0, 8)
  const answers = texts.map((text) => {
    const data = Buffer.from(text)
    // A pointer to the name of the question, type TXT, class IN, no time to live.
    const fixed = Buffer.from([0xc0, headerBytes, 0, 16, 0, 1, 0, 0, 0, 0, 0, data.length + 1, data.length])
    return Buffer.concat([fixed, data])
  })
  return Buffer.concat([head, message.subarray(headerBytes, end), ...answers])
}

/** Its port. Ends with the scope. */
export const startDnsServer = (records: ReadonlyMap<string, ReadonlyArray<string>>) =>
  Effect.gen(function* () {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => createSocket("udp4")),
      (socket) => Effect.promise(() => new Promise<void>((resolve) => socket.close(() => resolve())))
    )
    socket.on("message", (message, from) => socket.send(answer(message, records), from.port, from.address))
    yield* Effect.promise(() => new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve)))
    return socket.address().port
  })
