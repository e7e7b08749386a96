/** The registry's side for tests of the host: a certificate authority, clients, packages, and a runner that does what its task says. */
import { NodeHttpClient } from "@effect/platform-node"
import {
  type CertificateAndKey,
  type CertificateAuthority,
  fromCsr,
  leaf,
  makeCa
} from "@quickagents/platform/certificates"
import { newDataKey, newRecipient, sealBytes } from "@quickagents/platform/sealing"
import { type HandOff, hostUri, HostProtocol, registryUri } from "@quickagents/schema"
import { Duration, Effect, Layer, Stream } from "effect"
import { Tar } from "effect/encoding"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "node:tls"
import { gzipSync } from "node:zlib"
import { Agent, request } from "undici"
import type { HostConfig } from "./HostConfig.ts"
import { storeIdentity } from "./HostIdentity.ts"
import type { Isolation } from "./Isolation.ts"

/** A machine that has none of the mechanisms. */
export const plainProcesses: Isolation = {
  namespaces: false,
  seccomp: undefined,
  groups: undefined,
  full: false,
  sentences: ["no bubblewrap namespaces"],
  missing: ["no bubblewrap namespaces"]
}

export const bubblewrapMissing = !existsSync("/usr/bin/bwrap")

const idCharacters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
export const newId = (prefix: string) =>
  `${prefix}_${[...randomBytes(26)].map((byte) => idCharacters[byte % 32]).join("")}`
export const newRunId = () => newId("run")

export const digestOf = (bytes: Uint8Array): `sha256:${string}` =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const scopedDirectory = (parent: string) =>
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(parent, "host-test-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )

export const temporaryDirectory = scopedDirectory(tmpdir())

export const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

/**
 * A runner whose `task` is JSON of what to do: lines to narrate, bytes to write,
 * how long to stay, whether to ignore SIGTERM, and a probe of its surroundings.
 */
const scriptedRunner = `
import fs from "node:fs"
import http from "node:http"
import net from "node:net"
import { execFileSync } from "node:child_process"
const narrate = (line) => fs.writeSync(3, JSON.stringify(line) + "\\n")
narrate({ type: "loaded" })
const given = fs.readFileSync(0, "utf8")
// Its host died before there was a run. An exit would have Node look for the compile cache, for ever where a test removed it.
if (given === "") process.kill(process.pid, "SIGKILL")
const request = JSON.parse(given)
const act = JSON.parse(request.task)
const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10, cachedTokens: 0, turns: 1, wallMs: 5 }
const result = {}
const finish = (exitClass, extra = {}) => {
  const lists = Object.fromEntries(["filesystem", "exec", "network", "browser", "mcp", "secrets"].map((key) => [key, []]))
  const envelope = { version: 1, exitClass, exitCode: 0, result: { ...result, echo: act.echo }, outputs: [], usage,
    receipt: { release: { ref: request.ref, digest: request.digest, attestationKeyId: null }, model: request.model.model,
      capabilities_enforced: { ...lists, runtime: request.runtime }, secrets: { used: [], absent: [] }, knowledge: [], withheldInputs: [], toolCalls: {} }, ...extra }
  fs.writeSync(1, "noise before\\n" + JSON.stringify(envelope) + "\\n")
  process.exit(0)
}
process.on("SIGTERM", () => { if (!act.deaf) finish("harness", { error: { class: "interrupted", message: "stopped" }, reason: "interrupted" }) })
const attempt = async (what) => { try { return await what() } catch (error) { return error.code ?? error.name } }
const connect = (options) => new Promise((resolve, reject) => {
  const socket = net.connect(options, () => { socket.destroy(); resolve("connected") })
  socket.on("error", reject)
})
narrate({ type: "started" })
for (const url of act.fetch ?? []) {
  fs.writeSync(4, await new Promise((resolve) => http.get({ socketPath: request.egressSocket, path: url }, (answer) => {
    answer.resume()
    resolve(answer.statusCode + " ")
  })))
}
for (const line of act.narrate ?? []) narrate(line)
for (const name of act.copyInputs ?? []) fs.writeSync(4, fs.readFileSync(request.workspace + "/" + name))
if (act.probe) {
  result.probe = {
    hostFile: await attempt(() => fs.readFileSync(act.probe.hostFile, "utf8")),
    dataDir: await attempt(() => fs.readdirSync(act.probe.dataDir).length),
    network: await attempt(() => connect({ host: "127.0.0.1", port: act.probe.port })),
    egress: await attempt(() => connect({ path: request.egressSocket })),
    workspace: await attempt(() => { fs.writeFileSync(request.workspace + "/mark.txt", "x"); return "written" }),
    archive: await attempt(() => { fs.writeFileSync(request.archive, "x"); return "written" }),
    environment: Object.keys(process.env).sort(),
    ptrace: await attempt(() => execFileSync("perl", ["-e", "print syscall(" + (process.arch === "x64" ? 101 : 117) + ", 0, 0, 0, 0)"]).toString()),
    processes: fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length
  }
  fs.writeSync(4, JSON.stringify(result.probe))
}
if (act.allocateMiB) { const held = []; for (let i = 0; i < act.allocateMiB; i++) held.push(Buffer.alloc(1048576, 1)); result.held = held.length }
if (act.output !== undefined) fs.writeSync(4, act.output)
for (let left = act.outputBytes ?? 0; left > 0; left -= 65536) fs.writeSync(4, Buffer.alloc(Math.min(left, 65536), 97))
if (act.crash) process.exit(3)
setTimeout(() => finish(act.exitClass ?? "ok"), act.stayMs ?? 0)
`

/** A tar of text files, gzipped: what the registry calls a release archive. */
export const archiveOf = (files: Readonly<Record<string, string>>) =>
  Stream.fromIterable(Object.entries(files).map(([path, text]) => Tar.file(path, text))).pipe(
    Stream.pipeThroughChannel(Tar.encode()),
    Stream.runCollect,
    Effect.orDie,
    Effect.map((chunks) => gzipSync(Buffer.concat(chunks)))
  )

export const manifestText = (capabilities = "") =>
  `schemaVersion: 2\nname: acme/notes\nversion: 1.0.0\ndescription: Notes.\nmodes: [autonomous]\n${capabilities}`

export interface TestRegistry {
  readonly ca: CertificateAuthority
  readonly client: CertificateAndKey
}

export const registryLeaf = (ca: CertificateAuthority, uri = registryUri) =>
  Effect.orDie(leaf(ca, { commonName: "registry", uri, use: "client", ttl: "1 hour" }))

export const makeRegistry: Effect.Effect<TestRegistry> = Effect.gen(function* () {
  const ca = yield* Effect.orDie(makeCa("test-ca"))
  return { ca, client: yield* registryLeaf(ca) }
})

const hostLeafOptions = (hostId: string, hours: number) => ({
  commonName: "host",
  uri: hostUri(hostId),
  ipAddresses: ["127.0.0.1"],
  use: "server" as const,
  ttl: Duration.hours(hours)
})

export const certifyHost = (ca: CertificateAuthority, hostId: string, csr: string, hours = 1) =>
  Effect.orDie(fromCsr(ca, csr, hostLeafOptions(hostId, hours)))

/** Of a host on `port`, with directories of its own and the scripted runner. */
export const testConfig = (port: number) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const runner = join(directory, "runner.mjs")
    writeFileSync(runner, scriptedRunner)
    const config: HostConfig = {
      dataDir: join(directory, "data"),
      workDir: yield* scopedDirectory(existsSync("/dev/shm") ? "/dev/shm" : tmpdir()),
      registryUrl: undefined,
      enrolmentToken: undefined,
      listenAddress: "127.0.0.1",
      listenPort: port,
      advertisedAddress: `127.0.0.1:${port}`,
      capacity: 2,
      warmRunners: 0,
      allowWeakIsolation: true,
      runnerCommand: [process.execPath, runner],
      runnerPaths: [runner],
      drainSeconds: 1,
      runMemoryBytes: 512 * 1024 * 1024,
      runProcesses: 64,
      objectCacheBytes: 256 * 1024 * 1024
    }
    return config
  })

/** Gives the data directory the identity that an enrolment would have left there. */
export const placeIdentity = (registry: TestRegistry, dataDir: string) =>
  Effect.gen(function* () {
    const hostId = newId("host")
    const { certificate, privateKey } = yield* Effect.orDie(leaf(registry.ca, hostLeafOptions(hostId, 1)))
    yield* storeIdentity(dataDir, {
      hostId,
      certificate,
      privateKey,
      caChain: registry.ca.certificate,
      registryName: registryUri,
      signingKeys: []
    })
    return hostId
  })

const dispatcher = (connect: { readonly ca: string; readonly cert?: string; readonly key?: string }) =>
  Effect.acquireRelease(
    Effect.sync(() => new Agent({ connect })),
    (agent) => Effect.promise(() => agent.destroy())
  )

const credentials = (registry: TestRegistry) => ({
  ca: registry.ca.certificate,
  cert: registry.client.certificate,
  key: registry.client.privateKey
})

/** The typed client of the host at `port`, on connections of its own. */
export const rpcClient = (registry: TestRegistry, port: number) =>
  Effect.gen(function* () {
    const agent = yield* dispatcher(credentials(registry))
    const protocol = RpcClient.layerProtocolHttp({ url: `https://127.0.0.1:${port}/rpc` }).pipe(
      Layer.provide(RpcSerialization.layerNdjson),
      Layer.provide(NodeHttpClient.layerUndiciNoDispatcher),
      Layer.provide(Layer.succeed(NodeHttpClient.Dispatcher, agent))
    )
    return yield* RpcClient.make(HostProtocol, { disableTracing: true }).pipe(
      Effect.provide(yield* Layer.build(protocol))
    )
  })

/** A raw request; -1 when the connection is refused. */
export const rawRequest = (
  tls: { readonly ca: string; readonly cert?: string; readonly key?: string },
  port: number,
  method: "GET" | "HEAD" | "PUT",
  path: string,
  body?: Uint8Array
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const agent = yield* dispatcher(tls)
      return yield* Effect.promise(async () => {
        try {
          const answer = await request(`https://127.0.0.1:${port}${path}`, {
            method,
            body: body ?? null,
            dispatcher: agent
          })
          return { status: answer.statusCode, body: Buffer.from(await answer.body.arrayBuffer()) }
        } catch {
          return { status: -1, body: Buffer.alloc(0) }
        }
      })
    })
  )

export const asRegistry = credentials

/** What the host shows to a new connection, PEM. */
export const shownCertificate = (registry: TestRegistry, port: number) =>
  Effect.callback<string>((resume) => {
    const socket = connect({ ...credentials(registry), host: "127.0.0.1", port }, () => {
      const certificate = socket.getPeerX509Certificate()!.toString()
      socket.destroy()
      resume(Effect.succeed(certificate))
    })
  })

export const push = (registry: TestRegistry, port: number, bytes: Uint8Array) =>
  Effect.map(
    rawRequest(credentials(registry), port, "PUT", `/objects/${digestOf(bytes)}`, bytes),
    ({ status }) => status
  )

/** A key that attests, and what it says of one release: DSSE over an in-toto statement. */
export const attest = (ref: string, archive: Uint8Array) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32)
  const keyId = createHash("sha256").update(raw).digest("hex")
  const payloadType = "application/vnd.in-toto+json"
  const payload = Buffer.from(
    JSON.stringify({
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ name: ref, digest: { sha256: digestOf(archive).slice("sha256:".length) } }],
      predicateType: "https://registry.example/attestation/scan/v1",
      predicate: {}
    })
  )
  const message = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
    payload
  ])
  const signatures = [{ keyid: keyId, sig: sign(null, message, privateKey).toString("base64") }]
  return {
    pinnedKey: { keyId, publicKey: raw.toString("base64") },
    attestation: JSON.stringify({ payloadType, payload: payload.toString("base64"), signatures })
  }
}

export const sealedInput = (name: string, text: string) => {
  const dataKey = newDataKey()
  const bytes = Buffer.from(text)
  const context = `input:${name}`
  const sealed = sealBytes(dataKey, context, bytes)
  return {
    sealed,
    input: {
      name,
      bytes: bytes.length,
      digest: digestOf(bytes),
      sealed: { object: digestOf(sealed), dataKey: Buffer.from(dataKey).toString("base64"), context }
    } satisfies HandOff["inputs"][number]
  }
}

export const handOffOf = (archive: Uint8Array, act: Readonly<Record<string, unknown>>, more: Partial<HandOff> = {}) => {
  const recipient = newRecipient()
  const handOff: HandOff = {
    runId: newRunId(),
    ref: "acme/notes@1.0.0",
    archive: digestOf(archive),
    attestation: null,
    task: JSON.stringify(act),
    intake: {},
    mode: "autonomous",
    inputs: [],
    secrets: [],
    caps: { seconds: 30, turns: 10 },
    model: { provider: "scripted", model: "scripted-1" },
    sealTo: recipient.publicKey,
    maxOutputBytes: 1024 * 1024,
    ...more
  }
  return { handOff, recipient }
}
