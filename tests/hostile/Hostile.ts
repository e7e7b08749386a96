/** Sends generated requests to a deployment and says what went wrong. */
import { request } from "node:http"
import type { Stack } from "../stack/Stack.ts"
import type { Generated } from "./GeneratedRequests.ts"
import { generator, operations } from "./GeneratedRequests.ts"

export interface HostileResult {
  readonly sent: number
  readonly operations: number
  readonly byStatus: Readonly<Record<number, number>>
  /** Each with the request that caused it. */
  readonly failures: ReadonlyArray<string>
}

const deadlineMs = 10_000

/** node:http, since fetch mends some of what is wrong here before it is sent. */
const send = (base: URL, generated: Generated, headers: Readonly<Record<string, string>>) =>
  new Promise<{ status: number; contentType: string; headers: NodeJS.Dict<string | ReadonlyArray<string>> }>(
    (resolve, reject) => {
      const call = request({
        host: base.hostname,
        port: base.port,
        method: generated.method,
        path: encodeURI(decodeLeniently(generated.path)) === "" ? "/" : generated.path,
        headers: { ...generated.headers, ...headers },
        timeout: deadlineMs
      })
      call.on("response", (response) => {
        const { headers: answered, statusCode = 0 } = response
        // A stream that stays open is an answer: its head is all that is looked at.
        const finish = () =>
          resolve({ status: statusCode, contentType: answered["content-type"] ?? "", headers: answered })
        response.resume()
        response.on("end", finish)
        response.on("error", finish)
        if (String(answered["content-type"]).startsWith("text/event-stream")) {
          call.destroy()
          finish()
        }
      })
      call.on("timeout", () => call.destroy(new Error("no answer in time")))
      call.on("error", reject)
      call.end(generated.body)
    }
  )

const decodeLeniently = (text: string) => {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}

const counts = (stack: Stack) =>
  stack.sql<{ counts: Record<string, number> }>(
    (sql) => sql`SELECT jsonb_build_object(
      'accounts', (SELECT count(*) FROM accounts), 'organizations', (SELECT count(*) FROM organizations), 'agents', (SELECT count(*) FROM agents),
      'versions', (SELECT count(*) FROM versions), 'runs', (SELECT count(*) FROM runs), 'run_inputs', (SELECT count(*) FROM run_inputs),
      'ledger_lines', (SELECT count(*) FROM ledger_lines WHERE reason <> 'cycle_grant'), 'hosts', (SELECT count(*) FROM hosts),
      'host_enrolments', (SELECT count(*) FROM host_enrolments), 'tokens', (SELECT count(*) FROM tokens), 'run_model', (SELECT count(*) FROM run_model),
      'idempotency_keys', (SELECT count(*) FROM idempotency_keys WHERE status < 300)
    ) AS counts`
  )

export const runHostile = async (
  stack: Stack,
  options: { readonly seed: number; readonly requests: number }
): Promise<HostileResult> => {
  const base = new URL(stack.urls[0])
  const account = await stack.person("mallory")
  const before = await counts(stack)
  const next = generator(options.seed)
  const credentials = {
    nobody: {},
    account: { authorization: `Bearer ${account.token}` },
    staff: { cookie: stack.staff.session.cookie, "x-csrf-token": stack.staff.session.csrf },
    wrong: { authorization: "Bearer qat_wrong" }
  }
  const byStatus: Record<number, number> = {}
  const failures: Array<string> = []
  let left = options.requests
  const worker = async () => {
    while (left-- > 0) {
      const generated = next()
      // Signing out is what this route is for: it would only end the session of the test.
      if (generated.path.includes("/auth/sign-out")) continue
      const shown = `${generated.method} ${generated.path.slice(0, 200)} as ${generated.caller} ${JSON.stringify(generated.headers).slice(0, 200)} ${generated.body === undefined ? "" : Buffer.from(generated.body).toString("latin1").slice(0, 120)}`
      try {
        const answer = await send(base, generated, credentials[generated.caller])
        byStatus[answer.status] = (byStatus[answer.status] ?? 0) + 1
        if (answer.status >= 500 && answer.status !== 503) failures.push(`${answer.status}: ${shown}`)
        // Node's own parser answers what never was a request.
        if (answer.status >= 400 && !answer.contentType.startsWith("application/problem+json"))
          failures.push(`${answer.status} is ${answer.contentType}: ${shown}`)
        if (answer.headers["ratelimit-limit"] === undefined && answer.headers["x-request-id"] !== undefined)
          failures.push(`no rate-limit headers: ${shown}`)
      } catch (error) {
        failures.push(`${(error as Error).message}: ${shown}`)
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  const after = await counts(stack)
  if (JSON.stringify(before) !== JSON.stringify(after))
    failures.push(`rows were stored: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`)
  return { sent: options.requests, operations: operations.length, byStatus, failures }
}
