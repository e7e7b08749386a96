/** The connection by itself, with a client that does what OpenSSH would not. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { fingerprintOf } from "@quickagents/identity"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { connect, createServer } from "node:net"
import type { AddressInfo } from "node:net"
import ssh2 from "ssh2"
import type { ClientChannel, ConnectConfig } from "ssh2"
import { newSshHostKey } from "./GitSsh.ts"
import type { SshServing } from "./SshConnection.ts"
import { isSigned, serveSsh } from "./SshConnection.ts"

const hostKey = newSshHostKey()
const mine = newSshHostKey()
const parsed = (key: string) => {
  const found = ssh2.utils.parseKey(key)
  if (found instanceof Error) throw found
  return found
}
const fingerprintOfKey = (key: string) => fingerprintOf(parsed(key).getPublicSSH())

const open = new Set<() => void>()
afterEach(() => {
  for (const close of open) close()
  open.clear()
})

/** A server that knows one key and gives back what a command hears. */
const listening = async (serving: Partial<SshServing> = {}) => {
  const asked: Array<string> = []
  const server = createServer((socket) => {
    const fiber = Effect.runFork(
      serveSsh(socket, {
        hostKey,
        authenticateMs: 5_000,
        idleMs: 5_000,
        offered: (fingerprint) =>
          Effect.sync(() => {
            asked.push(fingerprint)
            return fingerprint === fingerprintOfKey(mine) ? "known" : "unknown"
          }),
        proven: () => Effect.void,
        execute: ({ channel, command, protocol }) =>
          Effect.callback<void>((resume) => {
            channel.write(`${command} ${protocol ?? "none"}\n`)
            channel.once("end", () => resume(Effect.void)).pipe(channel, { end: false })
          }),
        ...serving
      })
    )
    open.add(() => Effect.runFork(Fiber.interrupt(fiber)))
  })
  server.listen(0, "127.0.0.1")
  open.add(() => server.close())
  await once(server, "listening")
  return { port: (server.address() as AddressInfo).port, asked }
}

const signedIn = (port: number, more: Partial<ConnectConfig> = { privateKey: mine }) =>
  new Promise<ssh2.Client>((resolve, reject) => {
    const client = new ssh2.Client()
    open.add(() => client.end())
    client.once("ready", () => resolve(client)).on("error", reject)
    client.once("close", () => reject(new Error("closed")))
    client.connect({ host: "127.0.0.1", port, username: "git", ...more })
  })
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => "nothing",
    (error: Error) => error.message
  )
const execute = (client: ssh2.Client, command: string, env: Record<string, string> = {}) =>
  new Promise<ClientChannel>((resolve, reject) =>
    client.exec(command, { env }, (error, channel) => (error === undefined ? resolve(channel) : reject(error)))
  )
const heard = async (channel: ClientChannel) => {
  let text = ""
  channel.on("data", (chunk: Buffer) => (text += chunk.toString()))
  await once(channel, "close")
  return text
}

describe("a new host key", () => {
  it("can always be read", () => {
    for (let index = 0; index < 1_000; index++) parsed(newSshHostKey())
  })
})

describe("an SSH connection", () => {
  it("takes a known key that signs, and asks about each key once", async () => {
    const { asked, port } = await listening()
    const channel = await execute(await signedIn(port), "say", { GIT_PROTOCOL: "version=2", LD_PRELOAD: "x" })
    channel.end("hello")
    assert.strictEqual(await heard(channel), "say version=2\nhello")
    assert.deepStrictEqual(asked, [fingerprintOfKey(mine)])

    const other = newSshHostKey()
    assert.match(await failure(signedIn(port, { privateKey: other })), /authentication methods failed/)
    assert.match(await failure(signedIn(port, { password: "x" })), /authentication methods failed/)
  })

  it("knows each type of key by its signature", async () => {
    const { port } = await listening({ offered: () => Effect.succeed("known") })
    for (const { private: privateKey } of [
      ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 }),
      ssh2.utils.generateKeyPairSync("ecdsa", { bits: 384 }),
      ssh2.utils.generateKeyPairSync("ecdsa", { bits: 521 }),
      ssh2.utils.generateKeyPairSync("rsa", { bits: 2048 })
    ])
      await signedIn(port, { privateKey })
  })

  it("takes no signature that is not one, whatever the client calls it", () => {
    const blob = Buffer.from("what is signed")
    const rsa = parsed(ssh2.utils.generateKeyPairSync("rsa", { bits: 2048 }).private)
    const ecdsa = parsed(ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 }).private)
    const ed25519 = parsed(mine)
    const signed = (key: ssh2.ParsedKey, signature: Buffer | undefined, hashAlgo?: string) =>
      isSigned({
        blob,
        key: { algo: key.type, data: key.getPublicSSH() },
        ...(signature === undefined ? {} : { signature }),
        ...(hashAlgo === undefined ? {} : { hashAlgo })
      })
    assert.isTrue(signed(ed25519, ed25519.sign(blob)))
    assert.isTrue(signed(ecdsa, ecdsa.sign(blob)))
    assert.isTrue(signed(rsa, rsa.sign(blob, "sha512"), "sha512"))
    assert.isFalse(signed(rsa, rsa.sign(blob, "sha1")))
    assert.isFalse(signed(rsa, rsa.sign(blob, "sha1"), "sha1"))
    for (const key of [ed25519, ecdsa, rsa]) {
      for (const hash of [undefined, "sha1", "sha256", "sha512", "none"]) {
        for (const signature of [undefined, Buffer.alloc(0), Buffer.alloc(64), Buffer.from("30020000", "hex")])
          assert.isFalse(signed(key, signature, hash), `${key.type} ${hash}`)
      }
    }
    assert.isFalse(isSigned({ blob, key: { algo: "ssh-ed25519", data: Buffer.from("none") }, signature: blob }))
  })

  it("refuses who signs with another key than the one that is offered", async () => {
    // The client shows the known public key and signs with its own.
    const own = parsed(ssh2.utils.generateKeyPairSync("ed25519").private)
    const shown = parsed(mine)
    const { port } = await listening()
    class Liar extends ssh2.BaseAgent {
      getIdentities(answer: (error: Error | undefined, keys?: Array<Buffer>) => void) {
        answer(undefined, [shown.getPublicSSH()])
      }
      sign(_key: unknown, data: Buffer, options: unknown, answer?: (error?: Error, signature?: Buffer) => void) {
        const done = (typeof options === "function" ? options : answer) as (error?: Error, signature?: Buffer) => void
        done(undefined, own.sign(data))
      }
    }
    const agent = new Liar() as unknown as ssh2.BaseAgent
    assert.match(await failure(signedIn(port, { agent })), /authentication methods failed/)
  })

  it("is no shell, no terminal, no file transfer and no way to anywhere else", async () => {
    const { port } = await listening()
    const client = await signedIn(port)
    const refused = (start: (answer: (error: Error | undefined) => void) => void) =>
      new Promise<boolean>((resolve) => start((error) => resolve(error !== undefined)))
    assert.isTrue(await refused((answer) => client.shell(answer)))
    assert.isTrue(await refused((answer) => client.sftp(answer)))
    assert.isTrue(await refused((answer) => client.subsys("netconf", answer)))
    assert.isTrue(await refused((answer) => client.exec("say", { pty: true }, answer)))
    assert.isTrue(await refused((answer) => client.forwardOut("127.0.0.1", 1, "127.0.0.1", port, answer)))
    assert.isTrue(await refused((answer) => client.forwardIn("127.0.0.1", 0, answer)))
    assert.isTrue(await refused((answer) => client.openssh_forwardOutStreamLocal("/tmp/x", answer)))
    const channel = await execute(client, "still")
    channel.end()
    assert.strictEqual(await heard(channel), "still none\n")
  })

  it("ends when no key is proven in time, when nothing moves, and when too many keys are offered", async () => {
    const hasty = await listening({ authenticateMs: 100 })
    const silent = connect(hasty.port, "127.0.0.1")
    silent.resume()
    await once(silent, "close")
    const lively = await listening({ idleMs: 1_000 })
    const idle = await signedIn(lively.port)
    const channel = await execute(idle, "wait")
    channel.resume()
    await Promise.all([once(idle, "close"), once(channel, "close")])

    const strict = await listening({ offered: () => Effect.succeed("end") })
    assert.strictEqual(await failure(signedIn(strict.port)), "closed")
  })

  it("interrupts its command when the client goes away", async () => {
    let ended = () => {}
    const interrupted = new Promise<void>((resolve) => (ended = resolve))
    const { port } = await listening({
      execute: () => Effect.onInterrupt(Effect.never, () => Effect.sync(ended))
    })
    const client = await signedIn(port)
    await execute(client, "wait")
    client.destroy()
    await interrupted
  })
})
