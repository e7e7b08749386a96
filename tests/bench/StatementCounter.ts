/**
 * Counts SQL statements by standing between a process and PostgreSQL: every
 * execution passes here as a message of PostgreSQL's wire protocol. It needs
 * nothing of the server and sees the same for every kind of client.
 */
import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"

export interface CountedStatement {
  /** `application_name` of the connection. */
  readonly application: string
  /** White space made single. */
  readonly text: string
}

export interface StatementCounter {
  /** Connection string without a database, as that of the server behind it. */
  readonly url: string
  /** The statements since the last call. */
  readonly take: () => ReadonlyArray<CountedStatement>
  readonly stop: () => Promise<void>
}

/** Requests for encryption stand before the start of a session and have no parameters. */
const encryptionRequests: ReadonlyArray<number> = [80_877_103, 80_877_104]

const textUntilZero = (bytes: Buffer, from: number) => {
  const end = bytes.indexOf(0, from)
  return { text: bytes.toString("utf8", from, end), next: end + 1 }
}

/** Follows what one client says. */
class Session {
  private readonly seen: (statement: CountedStatement) => void
  private readonly prepared = new Map<string, string>()
  private pending: Buffer = Buffer.alloc(0)
  private started = false
  private application = ""
  private bound = ""

  constructor(seen: (statement: CountedStatement) => void) {
    this.seen = seen
  }

  hear(chunk: Buffer) {
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    while (true) {
      const header = this.started ? 1 : 0
      if (this.pending.length < header + 4) return
      const end = header + this.pending.readInt32BE(header)
      if (this.pending.length < end) return
      const message = this.pending.subarray(0, end)
      this.pending = this.pending.subarray(end)
      if (this.started) this.message(String.fromCharCode(message[0]), message.subarray(5))
      else this.start(message)
    }
  }

  private start(message: Buffer) {
    if (encryptionRequests.includes(message.readInt32BE(4))) return
    this.started = true
    const words = message.toString("utf8", 8).split("\0")
    this.application = words[words.indexOf("application_name") + 1] ?? ""
  }

  private message(type: string, body: Buffer) {
    switch (type) {
      case "Q":
        return this.count(textUntilZero(body, 0).text)
      case "P": {
        const name = textUntilZero(body, 0)
        this.prepared.set(name.text, textUntilZero(body, name.next).text)
        return
      }
      case "B":
        this.bound = this.prepared.get(textUntilZero(body, textUntilZero(body, 0).next).text) ?? ""
        return
      case "E":
        return this.count(this.bound)
    }
  }

  private count(text: string) {
    this.seen({ application: this.application, text: text.replace(/\s+/g, " ").trim() })
  }
}

/** In front of the server at `postgres`, a connection string without a database. */
export const startStatementCounter = async (postgres: string): Promise<StatementCounter> => {
  const target = new URL(postgres)
  let statements: Array<CountedStatement> = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const session = new Session((statement) => statements.push(statement))
    client.on("data", (chunk: Buffer) => session.hear(chunk))
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true).pipe(other)
      socket
        .on("error", () => other.destroy())
        .on("close", () => {
          sockets.delete(socket)
          other.destroy()
        })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = new URL(postgres)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href.replace(/\/$/, ""),
    take: () => {
      const taken = statements
      statements = []
      return taken
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
