/** HTTP to the `host:port` entries of the manifest. Redirects are answered, not followed: the next address is judged as a call of its own. */
import { Effect, Schema, type Scope } from "effect"
import { Agent, type Dispatcher, ProxyAgent, request } from "undici"
import type { Policy } from "./Policy.ts"
import { makeTool, textOutcome, type Tool, ToolRefused } from "./Tool.ts"

const maxAnswerBytes = 1024 * 1024
const maxMs = 30_000

/** `*.name:port` is every name below `name`, not `name` itself. */
export const allowsEgress = (egress: ReadonlyArray<string>, host: string, port: number): boolean =>
  egress.some((entry) => {
    const [pattern = "", allowed] = entry.split(":")
    return (
      Number(allowed) === port &&
      (pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) && host.length >= pattern.length : host === pattern)
    )
  })

const target = (address: string): URL | undefined => {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return (url.protocol === "http:" || url.protocol === "https:") && url.username === "" && url.password === ""
    ? url
    : undefined
}

const read = async (body: Dispatcher.ResponseData["body"]): Promise<string> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) throw new ToolRefused({ message: `The answer has more than ${maxAnswerBytes} bytes` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const Args = Schema.Struct({
  url: Schema.String,
  method: Schema.optionalKey(Schema.Literals(["GET", "POST"])),
  body: Schema.optionalKey(Schema.String),
  contentType: Schema.optionalKey(Schema.String)
})

/** `proxy` is an HTTP proxy that every request goes through. */
export const fetchTools = (
  policy: Policy,
  proxy: string | undefined
): Effect.Effect<ReadonlyArray<Tool>, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (policy.egress.length === 0) return []
    const dispatcher = yield* Effect.acquireRelease(
      Effect.sync(() => (proxy === undefined ? new Agent() : new ProxyAgent({ uri: proxy, proxyTunnel: true }))),
      (dispatcher) => Effect.promise(() => dispatcher.destroy())
    )
    return [
      makeTool(
        "fetch",
        `Sends an HTTP GET or POST to one of: ${policy.egress.join(", ")}. Answers status, location and body.`,
        Args,
        (args) => {
          const url = target(args.url)
          const port = Number(url?.port || (url?.protocol === "https:" ? 443 : 80))
          if (url === undefined || !allowsEgress(policy.egress, url.hostname, port)) {
            return Effect.fail(new ToolRefused({ message: "The manifest does not list this host and port" }))
          }
          return Effect.tryPromise({
            try: async (signal) => {
              const answer = await request(url, {
                dispatcher,
                method: args.method ?? "GET",
                signal: AbortSignal.any([signal, AbortSignal.timeout(maxMs)]),
                ...(args.body === undefined
                  ? {}
                  : { body: args.body, headers: { "content-type": args.contentType ?? "application/json" } })
              })
              const location = answer.headers["location"]
              return textOutcome(
                `status ${answer.statusCode}${location === undefined ? "" : `\nlocation ${String(location)}`}\n\n${await read(answer.body)}`
              )
            },
            catch: (error) =>
              error instanceof ToolRefused ? error : new ToolRefused({ message: "The host does not answer" })
          })
        }
      )
    ]
  })
