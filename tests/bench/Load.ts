/** Many requests at once to one server: `wrk` when the machine has it, autocannon otherwise. */
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
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
  /** Like `http://127.0.0.1:4000`. */
  readonly origin: string
  /** Sent in turns, by whichever connection is free. */
  readonly requests: ReadonlyArray<{ readonly path: string; readonly headers: Readonly<Record<string, string>> }>
  readonly connections: number
  readonly seconds: number
}

const hasWrk = (process.env["PATH"] ?? "").split(":").some((directory) => existsSync(`${directory}/wrk`))
export const loadGenerator = hasWrk ? "wrk" : "autocannon (wrk is not installed; it takes more of the processor)"

/** `812.00us`, `1.24ms` or `1.02s` in milliseconds. */
const milliseconds = (text: string) => {
  const [, value, unit] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? []
  return unit === undefined ? Number.NaN : Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit as "us" | "ms" | "s"]
}

/** What `use` makes of a file of this text, which is there for as long. */
const withFile = async <A>(name: string, text: string, use: (path: string) => Promise<A>): Promise<A> => {
  const directory = mkdtempSync(join(tmpdir(), "load-"))
  try {
    const path = join(directory, name)
    writeFileSync(path, text)
    return await use(path)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Text of a JSON string is a Lua string too, as long as it is plain ASCII. */
const luaTable = (record: Readonly<Record<string, string>>) =>
  `{${Object.entries(record)
    .map(([name, value]) => `[${JSON.stringify(name)}]=${JSON.stringify(value)}`)
    .join(",")}}`

const wrkScript = (requests: LoadOptions["requests"]) => `
local requests, sent = {}, 0
init = function()
  ${requests.map(({ headers, path }) => `requests[#requests + 1] = wrk.format("GET", ${JSON.stringify(path)}, ${luaTable(headers)})`).join("\n  ")}
end
request = function()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end`

const withWrk = async ({ connections, origin, requests, seconds }: LoadOptions): Promise<LoadResult> => {
  const { stdout } = await withFile("load.lua", wrkScript(requests), (script) =>
    run("wrk", ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "-s", script, origin])
  )
  const found = (pattern: RegExp) => pattern.exec(stdout)?.[1]
  return {
    requestsPerSecond: Number(found(/Requests\/sec:\s+([\d.]+)/)),
    p50Ms: milliseconds(found(/^ +50% +(\S+)/m)!),
    p99Ms: milliseconds(found(/^ +99% +(\S+)/m)!),
    failures: Number(found(/Non-2xx or 3xx responses: (\d+)/) ?? 0)
  }
}

const autocannon = fileURLToPath(new URL("../../node_modules/autocannon/autocannon.js", import.meta.url))

const harOf = ({ origin, requests }: LoadOptions) =>
  JSON.stringify({
    log: {
      entries: requests.map(({ headers, path }) => ({
        request: {
          method: "GET",
          url: `${origin}${path}`,
          headers: Object.entries(headers).map(([name, value]) => ({ name, value }))
        }
      }))
    }
  })

const withAutocannon = async (options: LoadOptions): Promise<LoadResult> => {
  const { connections, origin, seconds } = options
  const { stdout } = await withFile("load.har", harOf(options), (har) =>
    run(process.execPath, [autocannon, "-j", "-c", String(connections), "-d", String(seconds), "--har", har, origin])
  )
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
