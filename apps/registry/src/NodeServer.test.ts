import { describe, expect, it } from "@effect/vitest"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { newServer } from "./NodeServer.ts"

/** What a client gets that sends a byte of its body every 50 ms, `bytes` of them, and then says no more. */
const slowly = async (path: string, bytes: number, length = 20) => {
  const server = newServer({ request: 400, push: 60_000, pause: 200 })
  server.on("request", (request, response) => {
    request.resume()
    request.once("end", () => response.end("whole"))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  let answer = ""
  client.on("data", (chunk) => (answer += String(chunk)))
  const closed = once(client, "close")
  client.write(`POST ${path} HTTP/1.1\r\nhost: registry\r\ncontent-length: ${length}\r\n\r\n`)
  for (let sent = 0; sent < bytes && client.writable; sent++) {
    client.write("x")
    await sleep(50)
  }
  if (answer.includes("whole")) client.end()
  await closed
  server.close()
  return answer.split("\r\n")[0]
}

describe("a request whose body comes slowly", () => {
  it("is answered 408 when it takes too long", async () => {
    expect(await slowly("/api/v1/agents", 20)).toBe("HTTP/1.1 408 Request Timeout")
  })

  it("may take longer as a push of git, as long as it goes on", async () => {
    expect(await slowly("/git/ada/notes/git-receive-pack", 20)).toBe("HTTP/1.1 200 OK")
    expect(await slowly("/git/ada/notes/git-receive-pack", 3)).toBe("HTTP/1.1 408 Request Timeout")
  })
})
