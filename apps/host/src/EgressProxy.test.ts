import { assert, describe, it } from "@effect/vitest"
import { OutboundNetwork } from "@quickagents/platform/outbound"
import { Effect } from "effect"
import { createServer, request } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { join } from "node:path"
import { allows, parseTarget, serveEgressProxy } from "./EgressProxy.ts"
import { temporaryDirectory } from "./TestRegistry.ts"

describe("the allow list", () => {
  it("admits exact entries and names below a wildcard, with their port and nothing else", () => {
    const egress = ["api.example.com:443", "*.example.org:80"]
    const table: ReadonlyArray<readonly [string, boolean]> = [
      ["api.example.com:443", true],
      ["API.example.com:443", true],
      ["api.example.com:80", false],
      ["example.com:443", false],
      ["x.api.example.com:443", false],
      ["a.example.org:80", true],
      ["a.b.example.org:80", true],
      ["example.org:80", false],
      [".example.org:80", false],
      ["notexample.org:80", false],
      ["a.example.org:443", false]
    ]
    for (const [authority, expected] of table) {
      const target = parseTarget(authority)
      assert.strictEqual(target !== undefined && allows(egress, target), expected, authority)
    }
  })

  it("takes no authority that is not a plain name and port", () => {
    for (const authority of [
      "example.com",
      "example.com:0",
      "example.com:65536",
      "[::1]:80",
      "user@example.com:80",
      "example.com:80/x",
      ""
    ]) {
      assert.isUndefined(parseTarget(authority), authority)
    }
  })
})

const aProxy = (allowed: (port: number) => ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const site = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((message, response) => {
          response.end(
            `${message.method} ${message.url} ${message.headers.host} ${message.headers["proxy-authorization"] ?? "-"}`
          )
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)).closeAllConnections())
    )
    const { port } = site.address() as AddressInfo
    const path = join(directory, "egress.sock")
    const use = yield* serveEgressProxy(path, allowed(port))
    return { path, port, use }
  })

/** What the site or the proxy answers to a request in absolute form. */
const plain = (path: string, url: string) =>
  Effect.callback<{ readonly status: number; readonly text: string }>((resume) => {
    const outgoing = request(
      { socketPath: path, path: url, headers: { host: "elsewhere.example", "proxy-authorization": "secret" } },
      (answer) => {
        let text = ""
        answer
          .on("data", (chunk) => (text += String(chunk)))
          .on("end", () => resume(Effect.succeed({ status: answer.statusCode!, text })))
      }
    )
    outgoing.on("error", () => resume(Effect.succeed({ status: -1, text: "" }))).end()
  })

/** The first line that comes back for a CONNECT, and the answer to a request through the tunnel when there is one. */
const tunnel = (path: string, authority: string) =>
  Effect.callback<string>((resume) => {
    const socket = connect({ path }, () => socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`))
    let text = ""
    socket.on("data", (chunk) => {
      text += String(chunk)
      if (text === "HTTP/1.1 200 Connection Established\r\n\r\n")
        socket.write("GET /inside HTTP/1.0\r\nhost: inside\r\n\r\n")
    })
    socket.on("close", () => resume(Effect.succeed(text)))
  })

const network = (answers: Readonly<Record<string, string>>, allowed: (address: string) => boolean) =>
  Effect.provideService(OutboundNetwork, {
    lookup: (host) => Effect.succeed(answers[host] === undefined ? [] : [answers[host]]),
    allows: allowed
  })

describe("the proxy", () => {
  it.live("lets out what is listed, dials the address that was checked, and counts the bytes", () =>
    Effect.gen(function* () {
      const { path, port, use } = yield* aProxy((port) => [`api.example.com:${port}`])
      const answer = yield* plain(path, `http://api.example.com:${port}/a?b=1`)
      assert.deepStrictEqual(answer, { status: 200, text: `GET /a?b=1 api.example.com:${port} -` })
      const through = yield* tunnel(path, `api.example.com:${port}`)
      assert.include(through, "200 Connection Established")
      assert.include(through, "GET /inside inside")
      assert.isAbove(use().bytesIn, 0)
      assert.isAbove(use().bytesOut, 0)
      assert.strictEqual(use().refused, 0)
    }).pipe(
      network({ "api.example.com": "127.0.0.1" }, () => true),
      Effect.scoped
    )
  )

  it.live("refuses names that are not listed, ports that are not listed and other schemes, and says no more", () =>
    Effect.gen(function* () {
      const { path, port, use } = yield* aProxy((port) => [`api.example.com:${port}`])
      assert.strictEqual((yield* plain(path, `http://other.example.com:${port}/`)).status, 403)
      assert.strictEqual((yield* plain(path, "http://api.example.com/")).status, 403)
      assert.strictEqual((yield* plain(path, `https://api.example.com:${port}/`)).status, 403)
      assert.strictEqual((yield* plain(path, "/relative")).status, 403)
      assert.include(yield* tunnel(path, `other.example.com:${port}`), "403 Forbidden")
      assert.strictEqual(use().refused, 5)
      assert.strictEqual(use().bytesOut, 0)
    }).pipe(
      network({ "api.example.com": "127.0.0.1", "other.example.com": "127.0.0.1" }, () => true),
      Effect.scoped
    )
  )

  it.live("a listed name that leads to a private address is refused, by the guard that production uses", () =>
    Effect.gen(function* () {
      const { path, port } = yield* aProxy((port) => [`api.example.com:${port}`, `127.0.0.1:${port}`])
      assert.include(yield* tunnel(path, `127.0.0.1:${port}`), "403 Forbidden")
      assert.strictEqual((yield* plain(path, `http://127.0.0.1:${port}/`)).status, 403)
    }).pipe(Effect.scoped)
  )

  it.live("a listed name without an address is a bad gateway", () =>
    Effect.gen(function* () {
      const { path, port } = yield* aProxy((port) => [`api.example.com:${port}`])
      assert.include(yield* tunnel(path, `api.example.com:${port}`), "502 Bad Gateway")
    }).pipe(
      network({}, () => true),
      Effect.scoped
    )
  )
})
