/**
 * One connection of an SSH client, from its first byte to its last: public keys
 * are the only way in, commands the only thing inside. No shell, no terminal,
 * no forwarding, no file transfer; of the environment only GIT_PROTOCOL.
 */
import { fingerprintOf } from "@quickagents/identity"
import { Effect, FiberSet } from "effect"
import type { Socket } from "node:net"
import ssh2 from "ssh2"
import type { AuthContext, PublicKeyAuthContext, ServerChannel } from "ssh2"

export interface SshCommand {
  readonly command: string
  /** What the client says of its environment: GIT_PROTOCOL, or nothing. */
  readonly protocol: string | undefined
  /** Of the key that the client has proven to have. */
  readonly fingerprint: string
  readonly channel: ServerChannel
  /** The connection's own: what it has not sent yet says how fast the client reads. */
  readonly socket: Socket
  /** Called whenever the command hears or says something: a connection on which nothing moves is ended. */
  readonly moved: () => void
}

export interface SshServing {
  /** Private key in OpenSSH's format. */
  readonly hostKey: string
  /** What a client may take to prove a key. */
  readonly authenticateMs: number
  /** How long an authenticated client may say and hear nothing. */
  readonly idleMs: number
  /** Whether the key may come in. Asked once a key and connection; `end` closes the connection. */
  readonly offered: (fingerprint: string) => Effect.Effect<"known" | "unknown" | "end">
  /** Once the client has proven that it has the key. */
  readonly proven: (fingerprint: string) => Effect.Effect<void>
  /** Runs a command until it has ended; it is interrupted when the client goes away. */
  readonly execute: (command: SshCommand) => Effect.Effect<void>
}

const maxSessions = 10
/** Twice the window that a client is given: it sends more than it may. */
const maxUnreadBytes = 4 * 1024 * 1024
/** Far longer than any connection: what counts as life is said here, not by answers to pings. */
const noKeepaliveMs = 2 ** 31 - 1

/** Whether the client signed this very sign-in with the key. SHA-1, which nobody needs any more, is not taken. */
export const isSigned = ({
  blob,
  hashAlgo,
  key,
  signature
}: Pick<PublicKeyAuthContext, "blob" | "hashAlgo" | "key" | "signature">): boolean => {
  const parsed = ssh2.utils.parseKey(key.data)
  if (parsed instanceof Error || signature === undefined || blob === undefined) return false
  const isRsa = parsed.type === "ssh-rsa"
  if (isRsa ? hashAlgo !== "sha256" && hashAlgo !== "sha512" : hashAlgo !== undefined) return false
  // Whatever its type says, it answers an Error for what it cannot verify, and that is not false.
  const verdict: unknown = parsed.verify(blob, signature, hashAlgo)
  return verdict === true
}

/** Serves `socket` until it is closed, by whichever side. */
export const serveSsh = (socket: Socket, serving: SshServing) =>
  Effect.gen(function* () {
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
    const fork = yield* FiberSet.makeRuntime()
    const end = () => void socket.destroy()
    let deadline = setTimeout(end, serving.authenticateMs)
    yield* Effect.addFinalizer(() => Effect.sync(() => clearTimeout(deadline)))

    const offers = new Map<string, "known" | "unknown" | "end">()
    let fingerprint: string | undefined
    let sessions = 0
    const channels = new Set<ServerChannel>()

    const decide = Effect.fnUntraced(function* (context: PublicKeyAuthContext) {
      const offered = fingerprintOf(context.key.data)
      const answer = offers.get(offered) ?? (yield* serving.offered(offered))
      offers.set(offered, answer)
      if (answer === "end") end()
      else if (answer === "unknown") context.reject(["publickey"])
      // Without a signature the client only asks whether it is worth signing with this key.
      else if (context.signature === undefined) context.accept()
      else if (!isSigned(context)) context.reject(["publickey"])
      else {
        yield* serving.proven(offered)
        clearTimeout(deadline)
        deadline = setTimeout(end, serving.idleMs)
        fingerprint = offered
        context.accept()
      }
    })

    const authenticate = (context: PublicKeyAuthContext) =>
      Effect.catchCause(decide(context), (cause) => {
        end()
        return Effect.logError("an SSH key could not be looked at", cause)
      })

    const execute = (command: SshCommand) => {
      const { channel } = command
      channels.add(channel)
      return Effect.raceFirst(
        serving.execute(command),
        Effect.callback<void>((resume) => void channel.once("close", () => resume(Effect.void)))
      ).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            sessions--
            channels.delete(channel)
            channel.end()
          })
        )
      )
    }

    // A server for each connection: only so it is known which socket its client is.
    const configuration = { hostKeys: [serving.hostKey], keepaliveInterval: noKeepaliveMs }
    const server = new ssh2.Server(configuration, (client) => {
      client.on("error", end)
      client.on("authentication", (context: AuthContext) => {
        if (context.method === "publickey") fork(authenticate(context))
        else context.reject(["publickey"])
      })
      client.on("session", (accept, reject) => {
        if (sessions >= maxSessions || fingerprint === undefined) return reject()
        const key = fingerprint
        const session = accept()
        let protocol: string | undefined
        let started = false
        sessions++
        session.once("close", () => {
          if (!started) sessions--
        })
        session.on("env", (accept, reject, { key, val }) => {
          // Both are missing when the client does not want to know.
          if (key !== "GIT_PROTOCOL") return (reject as (() => void) | undefined)?.()
          protocol = val
          ;(accept as (() => void) | undefined)?.()
        })
        session.on("exec", (accept, reject, { command }) => {
          if (started) return reject()
          started = true
          const channel = accept()
          channel.on("error", end)
          deadline.refresh()
          fork(execute({ command, protocol, fingerprint: key, channel, socket, moved: () => void deadline.refresh() }))
        })
      })
    })
    const closed = Effect.callback<void>((resume) => {
      if (socket.destroyed) resume(Effect.void)
      else socket.once("close", () => resume(Effect.void))
    })
    socket.setNoDelay(true)
    server.injectSocket(socket)
    // What a client sends beyond its window is kept for a reader who may never come.
    socket.on("data", () => {
      for (const { readableLength } of channels) if (readableLength > maxUnreadBytes) end()
    })
    yield* closed
  }).pipe(Effect.scoped)
