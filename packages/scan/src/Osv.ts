/** A client of the OSV query API, https://google.github.io/osv.dev/post-v1-query/ */
import type { Severity } from "@quickagents/schema"
import { Effect, Schedule, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

export interface Vulnerability {
  /** As OSV names it: `GHSA-...`, `PYSEC-...`, `MAL-...`. */
  readonly id: string
  readonly severity: Severity
}

/** The service did not answer within its retries, or not in its own format. */
export class OsvFailed extends Schema.TaggedError<OsvFailed>()("OsvFailed", { reason: Schema.String }) {}

const Answer = Schema.Struct({
  vulns: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        id: Schema.String.check(Schema.isMaxLength(128)),
        withdrawn: Schema.optionalKey(Schema.String),
        severity: Schema.optionalKey(Schema.Array(Schema.Struct({ type: Schema.String, score: Schema.String }))),
        database_specific: Schema.optionalKey(Schema.Struct({ severity: Schema.optionalKey(Schema.Unknown) }))
      })
    )
  ),
  next_page_token: Schema.optionalKey(Schema.String)
})
type Vuln = NonNullable<(typeof Answer.Type)["vulns"]>[number]

const maxPages = 5

const cvss3Weights: Record<string, Record<string, number>> = {
  AV: { N: 0.85, A: 0.62, L: 0.55, P: 0.2 },
  AC: { L: 0.77, H: 0.44 },
  UI: { N: 0.85, R: 0.62 },
  C: { H: 0.56, L: 0.22, N: 0 },
  I: { H: 0.56, L: 0.22, N: 0 },
  A: { H: 0.56, L: 0.22, N: 0 }
}

/** Base score of a CVSS 3 vector, by the standard's section 7.1; `undefined` for another or a broken vector. */
export const cvss3BaseScore = (vector: string): number | undefined => {
  if (!/^CVSS:3\.[01]\//u.test(vector)) return undefined
  const metrics = Object.fromEntries(
    vector
      .split("/")
      .slice(1)
      .map((part) => part.split(":", 2) as [string, string])
  )
  const weight = (metric: string) => cvss3Weights[metric]?.[metrics[metric] ?? ""]
  const isChanged = metrics["S"] === "C"
  const privileges = ({ N: 0.85, L: isChanged ? 0.68 : 0.62, H: isChanged ? 0.5 : 0.27 } as Record<string, number>)[
    metrics["PR"] ?? ""
  ]
  const [av, ac, ui, c, i, a] = ["AV", "AC", "UI", "C", "I", "A"].map(weight)
  if (
    av === undefined ||
    ac === undefined ||
    ui === undefined ||
    c === undefined ||
    i === undefined ||
    a === undefined ||
    privileges === undefined
  )
    return undefined
  const lost = 1 - (1 - c) * (1 - i) * (1 - a)
  const impact = isChanged ? 7.52 * (lost - 0.029) - 3.25 * (lost - 0.02) ** 15 : 6.42 * lost
  if (impact <= 0) return 0
  const exploitability = 8.22 * av * ac * privileges * ui
  // Rounded up to one decimal, in integers because 8.22 * 0.85 is not exact.
  return (
    Math.ceil(
      Math.round(Math.min(isChanged ? 1.08 * (impact + exploitability) : impact + exploitability, 10) * 100_000) /
        10_000
    ) / 10
  )
}

const named: Record<string, Severity> = {
  CRITICAL: "critical",
  HIGH: "high",
  MODERATE: "medium",
  MEDIUM: "medium",
  LOW: "low"
}

/** A malicious package is critical whatever it says of itself; one without a rating counts as high. */
export const severityOf = (vuln: Pick<Vuln, "id" | "severity" | "database_specific">): Severity => {
  if (vuln.id.startsWith("MAL-")) return "critical"
  const rating = vuln.database_specific?.severity
  const rated = typeof rating === "string" ? named[rating.toUpperCase()] : undefined
  if (rated) return rated
  const scores = (vuln.severity ?? []).flatMap(({ score }) => cvss3BaseScore(score) ?? [])
  if (scores.length === 0) return "high"
  const highest = Math.max(...scores)
  return highest >= 9 ? "critical" : highest >= 7 ? "high" : highest >= 4 ? "medium" : "low"
}

const ecosystems = { npm: "npm", pypi: "PyPI" } as const

/** Known vulnerabilities of one exact version. Retries twice, then fails. */
export const osvQuery = Effect.fn("Osv.query")(function* (
  baseUrl: string,
  pkg: { readonly ecosystem: "npm" | "pypi"; readonly name: string; readonly version: string }
): Effect.fn.Return<ReadonlyArray<Vulnerability>, OsvFailed, HttpClient.HttpClient> {
  const client = (yield* HttpClient.HttpClient).pipe(HttpClient.filterStatusOk)
  const page = (pageToken: string | undefined) =>
    HttpClientRequest.post(`${baseUrl.replace(/\/$/u, "")}/v1/query`).pipe(
      HttpClientRequest.bodyJsonUnsafe({
        version: pkg.version,
        package: { name: pkg.name, ecosystem: ecosystems[pkg.ecosystem] },
        ...(pageToken === undefined ? {} : { page_token: pageToken })
      }),
      client.execute,
      Effect.flatMap(HttpClientResponse.schemaBodyJson(Answer)),
      Effect.timeout("20 seconds"),
      Effect.retry({ times: 2, schedule: Schedule.exponential("500 millis") }),
      Effect.mapError(() => new OsvFailed({ reason: "no usable answer" }))
    )
  const found: Array<Vulnerability> = []
  let token: string | undefined
  for (let pages = 0; pages < maxPages; pages++) {
    const answer = yield* page(token)
    for (const vuln of answer.vulns ?? []) {
      if (vuln.withdrawn === undefined) found.push({ id: vuln.id, severity: severityOf(vuln) })
    }
    token = answer.next_page_token
    if (token === undefined || token === "") return found
  }
  return yield* new OsvFailed({ reason: `more than ${maxPages} pages` })
})
