/** The service of an admission extension, as its operator would write it: it knows the registry by the wire alone. */
import { createHmac, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Asked {
  readonly id: string
  readonly signed: boolean
  readonly body: Record<string, unknown>
}

/** How the next submissions are answered: a status with a body, or nothing but a closed connection. */
export type Answer = { readonly status: number; readonly body?: unknown } | "hang up"

const mac = (secret: string, ...parts: ReadonlyArray<string>) =>
  `v1,${createHmac("sha256", Buffer.from(secret, "base64")).update(parts.join(".")).digest("base64")}`

export const startAdmissionExtension = async () => {
  const secret = randomBytes(32).toString("base64")
  const asked: Array<Asked> = []
  let answer: Answer = { status: 204 }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const id = String(request.headers["webhook-id"])
    const seconds = String(request.headers["webhook-timestamp"])
    asked.push({
      id,
      signed:
        request.headers["webhook-signature"] === mac(secret, id, seconds, request.method!, request.url!, body) &&
        Math.abs(Date.now() / 1000 - Number(seconds)) < 300,
      body: JSON.parse(body) as Record<string, unknown>
    })
    if (answer === "hang up") return void request.socket.destroy()
    const said = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {})
    response.writeHead(answer.status, { "content-type": "application/json", location: "/elsewhere" }).end(said)
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo

  return {
    settings: { SERVICE_ADMISSION_URL: `http://127.0.0.1:${port}/billing`, SERVICE_ADMISSION_SECRET: secret },
    asked,
    answers: (next: Answer) => {
      answer = next
    },
    /** Headers of a callback. `at` in milliseconds. */
    sign: (method: string, path: string, body: string, at = Date.now(), key = secret) => {
      const id = `msg_${randomBytes(8).toString("hex")}`
      const seconds = String(Math.floor(at / 1000))
      return {
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": mac(key, id, seconds, method, path, body)
      }
    },
    stop: () => {
      server.closeAllConnections()
      return new Promise<void>((closed) => server.close(() => closed()))
    }
  }
}
