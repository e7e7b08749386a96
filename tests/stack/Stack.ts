/**
 * A whole deployment for tests, benchmarks and the faults script: real registry
 * nodes and sandbox hosts as processes of their own, on one database.
 */
import { newSshHostKey } from "@quickagents/catalog"
import { Accounts, layer as identity, Sessions, Tokens } from "@quickagents/identity"
import { memberships, Orgs } from "@quickagents/orgs"
import { Audit, Certificates, Database, Settings } from "@quickagents/platform"
import { freePort } from "@quickagents/platform/testing/server"
import type { Scope } from "@quickagents/schema"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
export const hasBubblewrap = existsSync("/usr/bin/bwrap")

export interface StackOptions {
  /** Connection string of a PostgreSQL server, without a database. */
  readonly postgres: string
  readonly nodes?: number
  readonly hosts?: number
  readonly slots?: number
  /** Settings by their environment names. */
  readonly settings?: Readonly<Record<string, string>>
  readonly hostSettings?: Readonly<Record<string, string>>
  /** Settings of one node over `settings`, by its index. */
  readonly nodeSettings?: ReadonlyArray<Readonly<Record<string, string>>>
  /** Module that starts a node, instead of the registry's own main. */
  readonly nodeEntry?: string
}

export interface Person {
  readonly accountId: string
  readonly handle: string
  /** With every scope that a token can have here. */
  readonly token: string
  readonly session: { readonly cookie: string; readonly csrf: string }
}

/** A process that is started, killed and started again under one name. */
export class Child {
  private process: ChildProcess | undefined
  readonly name: string
  private readonly entry: string
  private readonly environment: Readonly<Record<string, string>>
  private readonly logPath: string

  constructor(name: string, entry: string, environment: Readonly<Record<string, string>>, logPath: string) {
    this.name = name
    this.entry = entry
    this.environment = environment
    this.logPath = logPath
  }

  start(extra: Readonly<Record<string, string>> = {}) {
    const log = createWriteStream(this.logPath, { flags: "a" })
    const child = spawn(process.execPath, [this.entry], {
      env: { ...inherited, ...this.environment, ...extra },
      stdio: ["ignore", "pipe", "pipe"]
    })
    child.stdout.pipe(log)
    child.stderr.pipe(log)
    this.process = child
    alive.add(this)
    child.once("exit", () => this.running || alive.delete(this))
  }

  get running() {
    return this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null
  }

  /** Resolves when the process has ended. */
  async kill(signal: NodeJS.Signals) {
    const child = this.process
    if (child === undefined || !this.running) return
    const ended = once(child, "exit")
    child.kill(signal)
    await Promise.race([ended, sleep(8_000).then(() => child.kill("SIGKILL"))])
    await ended
  }

  signal(signal: NodeJS.Signals) {
    this.process?.kill(signal)
  }

  /** Resolves with the exit code, or the signal that ended it. */
  async ended() {
    const child = this.process!
    if (this.running) await once(child, "exit")
    return child.exitCode ?? child.signalCode
  }

  log() {
    return existsSync(this.logPath) ? readFileSync(this.logPath, "utf8") : ""
  }
}

const inherited = Object.fromEntries(
  ["PATH", "HOME", "NODE_COMPILE_CACHE"].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
)

const allScopes: ReadonlyArray<Scope> = [
  "agent:read",
  "agent:publish",
  "agent:manage",
  "user:profile",
  "org:admin",
  "review:act",
  "audit:read",
  "run:read",
  "run:write"
]

const generousLimits = {
  // One reviewer is enough where review is not what a test is about.
  SERVICE_REVIEW_FOUR_EYES: "",
  SERVICE_LIMITS_AUTHED_PER_HOUR: "10000000",
  SERVICE_LIMITS_AUTHED_BURST_PER_MIN: "10000000",
  SERVICE_LIMITS_ANONYMOUS_PER_MIN: "10000000",
  SERVICE_LIMITS_EDGE_AUTH_BURST: "10000000",
  SERVICE_LIMITS_EDGE_GIT_BURST: "10000000"
}

/** Children of stacks that are not stopped yet: a test run that dies leaves none behind. */
const alive = new Set<Child>()
process.once("exit", () => alive.forEach((child) => child.signal("SIGKILL")))

export const startStack = async (options: StackOptions) => {
  const directory = mkdtempSync(join(tmpdir(), "quickagents-stack-"))
  const name = `stack_${randomBytes(6).toString("hex")}`
  const databaseUrl = `${options.postgres}/${name}`
  const admin = (text: string) =>
    Effect.runPromise(
      Effect.gen(function* () {
        const sql = yield* PgClient.PgClient
        yield* sql.unsafe(text)
      }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(`${options.postgres}/postgres`), maxConnections: 1 })))
    )
  await admin(`CREATE DATABASE ${name}`)

  const ca = await Effect.runPromise(Certificates.selfSignedCa("test authority"))
  writeFileSync(join(directory, "ca.pem"), ca.certificate)
  writeFileSync(join(directory, "ca.key"), ca.privateKey, { mode: 0o600 })
  writeFileSync(join(directory, "ssh_host_key"), newSshHostKey(), { mode: 0o600 })
  mkdirSync(join(directory, "objects"))
  mkdirSync(join(directory, "logs"))

  const ports = await Promise.all(
    Array.from({ length: options.nodes ?? 1 }, async () => ({
      http: await freePort(),
      cluster: await freePort(),
      ssh: await freePort()
    }))
  )
  const shared = {
    DATABASE_URL: databaseUrl,
    SERVICE_OBJECTS_DIRECTORY: join(directory, "objects"),
    SERVICE_GIT_DIRECTORY: join(directory, "git"),
    SERVICE_GIT_SSH_HOST_KEY: join(directory, "ssh_host_key"),
    SERVICE_KEYS_SEALING_KEY: randomBytes(32).toString("base64"),
    SERVICE_KEYS_SIGNING_KEY: randomBytes(32).toString("base64"),
    SERVICE_CA_CERTIFICATE: join(directory, "ca.pem"),
    SERVICE_CA_KEY: join(directory, "ca.key"),
    SERVICE_SERVICE_BASE_URL: `http://127.0.0.1:${ports[0].http}`,
    ...generousLimits,
    ...options.settings
  }
  const nodes = ports.map(
    ({ cluster, http, ssh }, index) =>
      new Child(
        `registry-${index}`,
        options.nodeEntry ?? join(root, "apps/registry/src/main.ts"),
        {
          ...shared,
          ...options.nodeSettings?.[index],
          SERVICE_PORT: String(http),
          SERVICE_GIT_SSH_PORT: String(ssh),
          SERVICE_CLUSTER_ADDRESS: `127.0.0.1:${cluster}`
        },
        join(directory, `logs/registry-${index}.log`)
      )
  )
  const urls = ports.map(({ http }) => `http://127.0.0.1:${http}`)

  const ready = async (index: number) => {
    const deadline = Date.now() + 30_000
    while (Date.now() < deadline) {
      const answer = await fetch(`${urls[index]}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
      if (answer?.ok === true) return
      if (!nodes[index].running) break
      await sleep(50)
    }
    throw new Error(`${nodes[index].name} is not ready:\n${nodes[index].log().slice(-4_000)}`)
  }
  nodes[0].start()
  await ready(0)
  for (const [index, node] of nodes.entries()) {
    if (index > 0) node.start()
  }
  await Promise.all(nodes.map((_, index) => ready(index)))

  const runtime = ManagedRuntime.make(
    Orgs.layer.pipe(
      Layer.provideMerge(identity),
      Layer.provideMerge(memberships),
      Layer.provideMerge(Audit.Audit.layer),
      Layer.provideMerge(Layer.succeed(Settings.Settings, Settings.read({ environment: shared }))),
      Layer.provideMerge(
        Database.layerClient({ url: Redacted.make(databaseUrl), maxConnections: 4, applicationName: "test" })
      )
    )
  )
  const sql = <Row extends object>(statement: (sql: PgClient.PgClient) => Effect.Effect<ReadonlyArray<Row>, unknown>) =>
    runtime.runPromise(Effect.flatMap(PgClient.PgClient, (client) => Effect.orDie(statement(client))))

  /** An effect on the deployment's database. */
  const query = <A, E>(effect: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
    Effect.flatMap(PgClient.PgClient, effect)

  const person = (handle: string, scopes: ReadonlyArray<Scope> = allScopes): Promise<Person> =>
    runtime.runPromise(
      Effect.gen(function* () {
        const { id } = yield* (yield* Accounts).ensure({
          subject: `oidc:${handle}`,
          email: `${handle}@people.example`,
          emailVerified: true,
          handle,
          displayName: handle
        })
        const session = yield* (yield* Sessions).open(id, "test")
        const account = {
          accountId: id,
          handle,
          emailVerified: true,
          staff: false,
          credential: { kind: "session" as const, id: session.id },
          scopes: "all" as const
        }
        const { token } = yield* (yield* Tokens).create(account, { name: "test", scopes })
        return {
          accountId: id,
          handle,
          token,
          session: { cookie: `session=${session.token}`, csrf: session.csrfToken }
        }
      })
    )
  const org = (handle: string, owner: Person) =>
    runtime.runPromise(
      Effect.flatMap(Orgs, (orgs) => orgs.ensure({ handle, displayName: handle, ownerId: owner.accountId }))
    )

  const staff = await person("sam")
  await org("staff", staff)

  const request = (who: Person | null, method: string, path: string, body?: unknown, node = 0) => {
    const changes = method !== "GET"
    return fetch(`${urls[node]}${path}`, {
      method,
      headers: {
        ...(who === null
          ? {}
          : who === staff
            ? { cookie: who.session.cookie, ...(changes ? { "x-csrf-token": who.session.csrf } : {}) }
            : { authorization: `Bearer ${who.token}` }),
        ...(body === undefined || body instanceof FormData || body instanceof Uint8Array
          ? {}
          : { "content-type": "application/json" }),
        ...(body instanceof Uint8Array ? { "content-type": "application/octet-stream" } : {})
      },
      ...(body === undefined
        ? {}
        : { body: body instanceof FormData || body instanceof Uint8Array ? (body as FormData) : JSON.stringify(body) })
    })
  }
  /** The body of an answer that must be a success. */
  const call = async <A = any>(
    who: Person | null,
    method: string,
    path: string,
    body?: unknown,
    node = 0
  ): Promise<A> => {
    const answer = await request(who, method, path, body, node)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return (text === "" ? undefined : JSON.parse(text)) as A
  }

  const hosts: Array<Child> = []
  /** Where a host keeps the workspaces of its runs while they run. */
  const workDirectory = (index: number) => join("/dev/shm", `${basename(directory)}-${index}`)
  const addHost = async () => {
    const index = hosts.length
    const { token } = await call<{ token: string }>(staff, "POST", "/api/v1/x/runs/staff/hosts/enrolments", {
      name: `host-${index}`
    })
    const port = await freePort()
    const host = new Child(
      `host-${index}`,
      join(root, "apps/host/src/main.ts"),
      {
        HOST_DATA_DIR: join(directory, `host-${index}`),
        HOST_WORK_DIR: workDirectory(index),
        HOST_REGISTRY_URL: urls[0],
        HOST_ENROLMENT_TOKEN: token,
        HOST_LISTEN_PORT: String(port),
        HOST_CAPACITY: String(options.slots ?? 4),
        HOST_ALLOW_WEAK_ISOLATION: hasBubblewrap ? "false" : "true",
        ...options.hostSettings
      },
      join(directory, `logs/host-${index}.log`)
    )
    hosts.push(host)
    host.start()
    return host
  }
  const hostsOnline = async (count: number) => {
    const deadline = Date.now() + 30_000
    while (Date.now() < deadline) {
      const { hostsOnline: online } = await call<{ hostsOnline: number }>(null, "GET", "/api/v1/x/runs/status")
      if (online >= count) return
      await sleep(100)
    }
    throw new Error(
      `hosts are not online:\n${hosts.map((host) => host.log().slice(-2_000)).join("\n")}\n${nodes[0].log().slice(-3_000)}`
    )
  }
  const stop = async () => {
    await Promise.all(hosts.map((host) => host.kill("SIGKILL")))
    await Promise.all(nodes.map((node) => node.kill("SIGTERM")))
    await runtime.dispose()
    await admin(`DROP DATABASE ${name} WITH (FORCE)`)
    for (const path of [directory, ...hosts.map((_, index) => workDirectory(index))])
      rmSync(path, { recursive: true, force: true })
  }
  try {
    for (let index = 0; index < (options.hosts ?? 0); index++) await addHost()
    if ((options.hosts ?? 0) > 0) await hostsOnline(options.hosts!)
  } catch (error) {
    await stop()
    throw error
  }

  return {
    directory,
    databaseUrl,
    urls,
    /** Ports of git over SSH, by node. */
    sshPorts: ports.map(({ ssh }) => ssh),
    nodes,
    hosts,
    addHost,
    hostsOnline,
    workDirectory,
    ready,
    staff,
    person,
    org,
    sql,
    query,
    request,
    call,
    stop,
    runtime
  }
}

export type Stack = Awaited<ReturnType<typeof startStack>>
