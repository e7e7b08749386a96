/**
 * Git over SSH, beside the smart HTTP and with the same rules: a key stands for
 * its account, `git upload-pack` and `git receive-pack` speak the protocol.
 * Spec: Authentication, other rules 3; Registry-wide limits.
 */
import { Credentials } from "@quickagents/identity"
import { CurrentRequest, newId, Settings } from "@quickagents/platform"
import { Cause, Effect, FiberSet, Layer } from "effect"
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { join } from "node:path"
import { Transform } from "node:stream"
import type { Readable } from "node:stream"
import ssh2 from "ssh2"
import { GitAdmission, GitRefused, notFound } from "./GitAdmission.ts"
import { commandOf, protocolOf } from "./GitPolicy.ts"
import { gitProcess } from "./GitProcess.ts"
import type { GitProcess } from "./GitProcess.ts"
import { GitRepositories } from "./GitRepositories.ts"
import { serveSsh } from "./SshConnection.ts"
import type { SshCommand } from "./SshConnection.ts"

const authenticateMs = 20_000
/** Git itself says something every five seconds. */
const idleMs = 120_000
/** Of all addresses together, also of those who have not proven a key. */
const maxConnections = 512

const isPrivateKey = (text: string) => {
  const parsed = ssh2.utils.parseKey(text)
  return !(parsed instanceof Error) && parsed.isPrivateKey()
}

/** A new private key for `git.sshHostKey`. Of a key that begins with a zero byte ssh2 writes what it cannot read. */
export const newSshHostKey = (): string => {
  const key = ssh2.utils.generateKeyPairSync("ed25519").private
  return isPrivateKey(key) ? key : newSshHostKey()
}

/** Whether something is pushed: a client that has nothing to push says so with an empty packet and goes. */
const saysSomething = (input: Readable) =>
  Effect.callback<boolean>((resume) => {
    const look = () => {
      const head = input.read(4) as Buffer | null
      if (head === null) return
      input.off("readable", look).off("end", gone)
      input.unshift(head)
      resume(Effect.succeed(head.toString("latin1") !== "0000"))
    }
    const gone = () => resume(Effect.succeed(false))
    input.on("readable", look).once("end", gone)
    look()
  })

/** Resolves with git's exit code when all that it said is on its way. What the client does not read is not read from git. */
const answer = ({ child, stdout }: GitProcess, { channel, moved, socket }: SshCommand) =>
  Effect.callback<number>((resume) => {
    const pace = new Transform({
      transform(chunk, _, done) {
        moved()
        if (socket.writableNeedDrain) socket.once("drain", () => done(null, chunk))
        else done(null, chunk)
      }
    })
    child.once("error", (error) => resume(Effect.die(error)))
    child.once("close", (code) => {
      // A signal is no success.
      const end = () => resume(Effect.succeed(code ?? 128))
      if (pace.readableEnded) end()
      else pace.once("end", end)
    })
    stdout.pipe(pace).pipe(channel, { end: false })
  })

export const GitSsh = (port: number, hostKeyPath: string) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const settings = yield* Settings.Settings
      const credentials = yield* Credentials
      const admission = yield* GitAdmission
      const repositories = yield* GitRepositories
      const hostKey = readFileSync(hostKeyPath, "utf8")
      if (!isPrivateKey(hostKey))
        return yield* Effect.die(new Error(`git.sshHostKey: ${hostKeyPath} holds no private key in OpenSSH's format`))
      const perAddress = settings["limits.gitConcurrentPerIP"]

      /** Git's exit code. */
      const serve = Effect.fnUntraced(function* (command: SshCommand, address: string) {
        const { channel, moved } = command
        const asked = commandOf(command.command)
        if (asked === null) {
          return yield* new GitRefused({
            reason: "missing",
            message: "There is git fetch and git push of {namespace}/{name}.git here, and nothing else."
          })
        }
        const { name, ns, service } = asked
        // Again for each command: the key may be deleted while the connection is open.
        const account = (yield* credentials.ofSshKey(command.fingerprint))?.account
        if (account === undefined) return yield* notFound
        yield* admission.countRequest(account, address)
        const agent = yield* admission.permit(service, account, ns, name)
        yield* admission.enter(address, agent.id)
        const repository = yield* repositories.open(agent.id)
        const environment = yield* repositories.environmentOf(service, agent.id, protocolOf(command.protocol))
        const isPush = service === "git-receive-pack"
        const git = yield* gitProcess(
          [service.slice("git-".length), join(repositories.directory, repository)],
          environment,
          isPush ? { actor: account, agent, repositories } : null
        )
        const feed = Effect.gen(function* () {
          if (isPush && (yield* saysSomething(channel))) yield* admission.countPush(agent.id)
          channel.on("data", moved).pipe(git.stdin)
          return yield* Effect.never
        })
        return yield* Effect.raceFirst(answer(git, command), feed)
      })

      const execute = (command: SshCommand, address: string) => {
        const fail = (message: string) =>
          Effect.sync(() => {
            command.channel.stderr.write(`${message}\n`)
            return 1
          })
        return Effect.scoped(serve(command, address)).pipe(
          Effect.catchTag("GitRefused", ({ message }) => fail(message)),
          Effect.catchCauseIf(
            (cause) => !Cause.hasInterruptsOnly(cause),
            (cause) =>
              Effect.andThen(
                Effect.logError("git over SSH failed", cause),
                fail("The registry failed; try again later.")
              )
          ),
          Effect.tap((code) =>
            Effect.annotateLogs(Effect.logInfo("git over SSH"), { command: command.command.slice(0, 200), code })
          ),
          Effect.map((code) => command.channel.exit(code))
        )
      }

      const connections = new Map<string, number>()
      const connect = Effect.fnUntraced(function* (socket: Socket) {
        const address = socket.remoteAddress ?? "unknown"
        const open = connections.get(address) ?? 0
        if (open >= perAddress) return void socket.destroy()
        connections.set(address, open + 1)
        yield* serveSsh(socket, {
          hostKey,
          authenticateMs,
          idleMs,
          offered: Effect.fnUntraced(function* (fingerprint) {
            if (!(yield* admission.countKeyOffer(address))) return "end"
            return (yield* credentials.ofSshKey(fingerprint)) === null ? "unknown" : "known"
          }),
          proven: (fingerprint) =>
            Effect.flatMap(credentials.ofSshKey(fingerprint), (caller) => caller?.used ?? Effect.void),
          execute: (command) =>
            Effect.flatMap(newId("req"), (id) =>
              execute(command, address).pipe(
                Effect.provideService(CurrentRequest, { id, ip: address, standing: undefined }),
                Effect.annotateLogs({ request: id })
              )
            )
        }).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              const left = (connections.get(address) ?? 1) - 1
              if (left === 0) connections.delete(address)
              else connections.set(address, left)
            })
          )
        )
      })

      const fork = yield* FiberSet.makeRuntime()
      const server = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer(
            (socket) =>
              void fork(
                Effect.catchCauseIf(
                  connect(socket),
                  (cause) => !Cause.hasInterruptsOnly(cause),
                  (cause) => Effect.logError("an SSH connection failed", cause)
                )
              )
          )
        ),
        (server) => Effect.sync(() => server.close())
      )
      server.maxConnections = maxConnections
      yield* Effect.callback<void>((resume) => {
        server.once("error", (error) => resume(Effect.die(error)))
        server.listen(port, settings["service.listen"], () => resume(Effect.void))
      })
      server.on("error", () => undefined)
    })
  )
