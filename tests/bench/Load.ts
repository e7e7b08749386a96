/** Many requests at once to one address: `wrk` when the machine has it, autocannon otherwise. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const run = promisify(execFile)

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers that were no success, and requests without an answer. */
  readonly failures: number
}

export interface LoadOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
}

const hasWrk = (process.env["PATH"] ?? "").split(":").some((directory) => existsSync(`${directory}/wrk`))
export const loadGenerator = hasWrk ? "wrk" : "autocannon (wrk is not installed; it takes more of the processor)"

const headerArguments = (headers: LoadOptions["headers"]) =>
  Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`])

/** `812.00us`, `1.24ms` or `1.02s` in milliseconds. */
const milliseconds = (text: string) => {
  const [, value, unit] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? []
  return unit === undefined ? Number.NaN : Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit as "us" | "ms" | "s"]
}

const withWrk = async ({ connections, headers, seconds, url }: LoadOptions): Promise<LoadResult> => {
  const { stdout } = await run("wrk", [
    "-t1",
    `-c${connections}`,
    `-d${seconds}s`,
    "--latency",
    ...headerArguments(headers),
    url
  ])
  const found = (pattern: RegExp) => pattern.exec(stdout)?.[1]
  return {
    requestsPerSecond: Number(found(/Requests\/sec:\s+([\d.]+)/)),
    p50Ms: milliseconds(found(/^ +50% +(\S+)/m)!),
    p99Ms: milliseconds(found(/^ +99% +(\S+)/m)!),
    failures: Number(found(/Non-2xx or 3xx responses: (\d+)/) ?? 0)
  }
}

const autocannon = fileURLToPath(new URL("../../node_modules/autocannon/autocannon.js", import.meta.url))

const withAutocannon = async ({ connections, headers, seconds, url }: LoadOptions): Promise<LoadResult> => {
  const { stdout } = await run(process.execPath, [
    autocannon,
    "-j",
    "-c",
    String(connections),
    "-d",
    String(seconds),
    ...headerArguments(headers),
    url
  ])
  const result = JSON.parse(stdout) as {
    readonly requests: { readonly average: number }
    readonly latency: { readonly p50: number; readonly p99: number }
    readonly non2xx: number
    readonly errors: number
  }
  return {
    requestsPerSecond: result.requests.average,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    failures: result.non2xx + result.errors
  }
}

export const load = hasWrk ? withWrk : withAutocannon
