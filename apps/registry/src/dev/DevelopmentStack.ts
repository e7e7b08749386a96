/**
 * A whole deployment on one machine: PostgreSQL, a sign-in provider, one registry
 * node and one sandbox host, each a process, all of them for as long as a scope
 * is open. The registry and the host are the programs that production runs,
 * configured only through their environment.
 */
import { Data, Effect, Option, Schema } from "effect"
import type { Scope } from "effect"
import type { HttpClient } from "effect/http"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { rmSync } from "node:fs"
import { openDataDirectory, projectRoot } from "./DataDirectory.ts"
import type { AlreadyRunning } from "./DataDirectory.ts"
import { grantedCredits, olli, sam, staffDomain, staffOrg } from "./DevelopmentPeople.ts"
import { clientId } from "./DevelopmentProvider.ts"
import type { ProviderOptions } from "./DevelopmentProvider.ts"
import { developmentSecrets } from "./DevelopmentSecrets.ts"
import { closedTo, databaseUrl } from "./EmbeddedDatabase.ts"
import type { DatabaseOptions } from "./EmbeddedDatabase.ts"
import { signInAs } from "./HeadlessSignIn.ts"
import { choosePorts, isFree, isListening } from "./Ports.ts"
import type { Ports } from "./Ports.ts"
import { runToEnd, ServiceFailed, supervise } from "./Supervisor.ts"

/** The machine is not fit for the stack; the message says what to do about it. */
export class CannotStart extends Data.TaggedError("CannotStart")<{ readonly message: string }> {}

export interface DevelopmentStack {
  readonly baseUrl: string
  readonly issuer: string
  readonly ports: Ports
  /** Of git over SSH; null when it was turned off. */
  readonly sshPort: string | null
  readonly dataDirectory: string
  readonly logDirectory: string
  readonly slots: number
  /** What the sandbox lacks on this machine; empty when it is whole. */
  readonly weakIsolation: ReadonlyArray<string>
  /** Fails when a part of the stack is given up. */
  readonly lost: Effect.Effect<never, ServiceFailed>
}

export interface StackOptions {
  readonly port: number
  readonly dataDirectory: string
  readonly environment: NodeJS.ProcessEnv
  readonly say: (line: string) => void
}

const seedFailed = (error: { readonly _tag: string; readonly message: string }) =>
  new CannotStart({ message: `setting up the people and the host did not work: ${error._tag} ${error.message}` })

const program = (path: string) => join(projectRoot, path)
const probeTimeoutMs = 2_000

/** Whether `accept` likes the answer of `url`; no answer is no. */
const answers = (url: string, accept: (response: Response) => Promise<boolean>) =>
  Effect.promise(() => fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) }).then(accept, () => false))

const RunsTaken = Schema.Struct({ hostsOnline: Schema.Int.check(Schema.isGreaterThan(0)) })
const takesRuns = Schema.decodeUnknownOption(RunsTaken)

/** The registry's own settings win over those of the stack, so that anything can be tried out. */
const ownSettings = (environment: NodeJS.ProcessEnv) =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith("SERVICE_") && value !== undefined ? [[name, value]] : []
    )
  )

const asStaff = (baseUrl: string) => Effect.mapError(signInAs(baseUrl, sam), seedFailed)

const incompleteSandbox = "The sandbox is incomplete"

export const developmentStack = Effect.fn("DevelopmentStack")(function* ({
  dataDirectory,
  environment,
  port,
  say
}: StackOptions): Effect.fn.Return<
  DevelopmentStack,
  AlreadyRunning | CannotStart | ServiceFailed,
  Scope.Scope | HttpClient.HttpClient
> {
  const data = yield* openDataDirectory(dataDirectory)
  const closed = closedTo(projectRoot) ?? closedTo(dataDirectory)
  if (closed !== undefined) {
    return yield* new CannotStart({
      message:
        `PostgreSQL does not run as root, and the user it runs as instead cannot enter ${closed}.\n` +
        "Start as an ordinary user, or move the project to a directory that everybody can enter (chmod a+x)."
    })
  }
  if (!(yield* isFree(port))) {
    return yield* new CannotStart({ message: `port ${port} is taken; choose another one with SERVICE_PORT` })
  }
  const logDirectory = data.at("logs")
  // Node starts faster with what it compiled at an earlier start.
  const options = { logDirectory, say, environment: { NODE_COMPILE_CACHE: data.at("compile-cache") } }
  const secrets = yield* developmentSecrets(data.at("secrets"))
  const last = data.recall<Ports>("ports")
  const ports = yield* choosePorts(last)
  data.keep("ports", ports)

  const baseUrl = `http://127.0.0.1:${port}`
  const issuer = `http://127.0.0.1:${ports.provider}`
  const databaseOptions: DatabaseOptions = {
    directory: data.at("postgres"),
    port: ports.database,
    password: secrets.databasePassword
  }
  const providerOptions: ProviderOptions = {
    port: ports.provider,
    clientSecret: secrets.oidcClientSecret,
    redirectUri: `${baseUrl}/api/v1/auth/oidc/oidc/callback`,
    cookieKey: secrets.providerCookieKey,
    key: secrets.providerKey
  }
  const registryEnvironment = {
    SERVICE_PORT: String(port),
    SERVICE_SERVICE_BASE_URL: baseUrl,
    SERVICE_OBJECTS_DIRECTORY: data.at("objects"),
    SERVICE_GIT_DIRECTORY: data.at("git"),
    SERVICE_GIT_SSH_PORT: String(ports.ssh),
    SERVICE_GIT_SSH_HOST_KEY: secrets.sshHostKey,
    SERVICE_KEYS_SEALING_KEY: secrets.sealingKey,
    SERVICE_KEYS_SIGNING_KEY: secrets.signingKey,
    SERVICE_CA_CERTIFICATE: secrets.caCertificate,
    SERVICE_CA_KEY: secrets.caKey,
    SERVICE_AUTH_OIDC_NAME: "Development sign-in",
    SERVICE_AUTH_OIDC_ISSUER: issuer,
    SERVICE_AUTH_OIDC_CLIENT_ID: clientId,
    SERVICE_AUTH_OIDC_CLIENT_SECRET: secrets.oidcClientSecret,
    SERVICE_ORGS_STAFF: staffOrg,
    // Staff is one person here.
    SERVICE_REVIEW_FOUR_EYES: "",
    SERVICE_ORGS_STAFF_DOMAIN: staffDomain,
    SERVICE_CLUSTER_ADDRESS: `127.0.0.1:${ports.cluster}`,
    // Several people share the one address of this machine.
    SERVICE_LIMITS_LOGIN_PER_MIN: "60",
    SERVICE_LIMITS_EDGE_AUTH_PER_MIN: "60",
    SERVICE_LIMITS_EDGE_AUTH_BURST: "60",
    SERVICE_LIMITS_ANONYMOUS_PER_MIN: "600",
    ...ownSettings(environment),
    DATABASE_URL: databaseUrl(databaseOptions)
  }

  const [database, provider] = yield* Effect.all(
    [
      supervise(
        {
          name: "database",
          program: program("apps/registry/src/dev/EmbeddedDatabase.ts"),
          environment: { DEVELOPMENT_DATABASE: JSON.stringify(databaseOptions) },
          ready: "message",
          readyWithin: "2 minutes",
          stopWithin: "20 seconds"
        },
        options
      ),
      supervise(
        {
          name: "provider",
          program: program("apps/registry/src/dev/DevelopmentProvider.ts"),
          environment: { DEVELOPMENT_PROVIDER: JSON.stringify(providerOptions) },
          ready: "message",
          readyWithin: "2 minutes",
          stopWithin: "5 seconds"
        },
        options
      )
    ],
    { concurrency: "unbounded" }
  )

  const registry = yield* supervise(
    {
      name: "registry",
      program: program("apps/registry/src/main.ts"),
      environment: registryEnvironment,
      ready: answers(`${baseUrl}/readyz`, async ({ ok }) => ok),
      readyWithin: "2 minutes",
      stopWithin: "20 seconds"
    },
    options
  )

  if (data.recall("seeded") === undefined) {
    yield* runToEnd(
      {
        name: "seed",
        program: program("apps/registry/src/dev/Seed.ts"),
        environment: registryEnvironment,
        stopWithin: "30 seconds"
      },
      options
    )
    const staff = yield* asStaff(baseUrl)
    yield* staff.api.credits
      .grant({
        params: { handle: olli.handle },
        headers: { "idempotency-key": "development-seed" },
        payload: { credits: grantedCredits }
      })
      .pipe(Effect.mapError(seedFailed))
    data.keep("seeded", true)
  }

  // The registry knows a host by its address: one that moved enrols anew.
  if (last !== undefined && last.host !== ports.host) rmSync(data.at("host"), { recursive: true, force: true })
  const token =
    data.recall("host/identity") === undefined
      ? yield* asStaff(baseUrl).pipe(
          Effect.flatMap((staff) =>
            staff.api.staffHosts.createEnrolment({ payload: { name: `development-${ports.host}` } })
          ),
          Effect.mapError((error) => (error instanceof CannotStart ? error : seedFailed(error)))
        )
      : undefined
  const slots = Math.max(2, availableParallelism())
  const startHost = (weak: boolean) =>
    supervise(
      {
        name: "host",
        program: program("apps/host/src/main.ts"),
        parameters: weak ? ["--allow-weak-isolation"] : [],
        environment: {
          HOST_DATA_DIR: data.at("host"),
          HOST_REGISTRY_URL: baseUrl,
          HOST_LISTEN_ADDRESS: "127.0.0.1",
          HOST_LISTEN_PORT: String(ports.host),
          HOST_ADVERTISED_ADDRESS: `127.0.0.1:${ports.host}`,
          HOST_CAPACITY: String(slots),
          ...(token === undefined ? {} : { HOST_ENROLMENT_TOKEN: token.token })
        },
        // Both: after a restart the registry still counts the host that it saw a minute ago.
        ready: Effect.zipWith(
          isListening(ports.host),
          answers(`${baseUrl}/api/v1/x/runs/status`, async (response) =>
            Option.isSome(takesRuns(await response.json()))
          ),
          (listens, online) => listens && online
        ),
        readyWithin: "2 minutes",
        // Runs that the host holds may end first.
        stopWithin: "40 seconds"
      },
      options
    )
  const { host, missing } = yield* startHost(false).pipe(
    Effect.map((host) => ({ host, missing: new Array<string>() })),
    Effect.catch((failure) => {
      const said = failure.lastLines.findIndex((line) => line.startsWith(incompleteSandbox))
      if (said === -1) return Effect.fail(failure)
      const missing = failure.lastLines
        .slice(said + 1)
        .filter((line) => line.startsWith("  - "))
        .map((line) => line.slice(4))
      return Effect.map(startHost(true), (host) => ({ host, missing }))
    })
  )
  data.note({ pid: process.pid, baseUrl })
  return {
    baseUrl,
    issuer,
    ports,
    sshPort: registryEnvironment.SERVICE_GIT_SSH_PORT || null,
    dataDirectory,
    logDirectory,
    slots,
    weakIsolation: missing,
    lost: Effect.raceAll([database.lost, provider.lost, registry.lost, host.lost])
  }
})
