/** Search over published agents that the viewer may read, with facet counts. Spec: SEARCH-001, SEARCH-002. */
import { clamp, clampOffset } from "@quickagents/schema"
import type { Account, CapabilityKind, Mode, SearchAnswer, Verdict } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { agentRecord } from "./Agents.ts"
import { readerOf } from "./AgentsPolicy.ts"
import type { AgentRow } from "./AgentsSql.ts"
import { AgentsSql } from "./AgentsSql.ts"

export interface SearchQuery {
  readonly q?: string | undefined
  readonly mode?: Mode | undefined
  readonly capability?: CapabilityKind | undefined
  readonly namespace?: string | undefined
  readonly verdict?: Verdict | undefined
  readonly license?: string | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

interface Counted {
  readonly facet: keyof SearchAnswer["facets"] | "total"
  readonly value: string
  readonly count: number
}

const shownValues = 20

export class Search extends Context.Service<
  Search,
  { readonly search: (viewer: Account | null, query: SearchQuery) => Effect.Effect<SearchAnswer> }
>()("catalog/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* AgentsSql

      return Search.of({
        search: Effect.fnUntraced(function* (viewer, query) {
          const [offset, limit] = [clampOffset(query.offset), clamp(query.limit, 100, 20)]
          const q = (query.q ?? "").trim()
          // A name with its namespace is a name too.
          const [namespace, name] = q.includes("/") ? q.toLowerCase().split("/", 2) : ["", ""]
          const reader = readerOf(viewer)
          const matches = sql`
            FROM agent_search s JOIN agents a ON a.id = s.agent_id WHERE ${sql.and([
              rows.readable(reader.accountId, reader.privateToo),
              rows.notSuspended,
              ...(q === ""
                ? []
                : [
                    sql`(s.words @@ websearch_to_tsquery('simple', ${q}) OR s.words @@ websearch_to_tsquery('english', ${q}) OR s.name % ${q}
                      OR (s.namespace = ${namespace} AND s.name = ${name}))`
                  ]),
              ...(query.mode === undefined ? [] : [sql`${query.mode} = ANY(s.modes)`]),
              ...(query.capability === undefined ? [] : [sql`${query.capability} = ANY(s.capabilities)`]),
              ...(query.namespace === undefined ? [] : [sql`s.namespace = ${query.namespace}`]),
              ...(query.verdict === undefined ? [] : [sql`s.verdict = ${query.verdict}`]),
              ...(query.license === undefined ? [] : [sql`s.license = ${query.license}`])
            ])}`
          const page = sql<AgentRow>`
            WITH page AS (
              SELECT s.agent_id, row_number() OVER (ORDER BY ${
                q === ""
                  ? sql`s.published_at DESC, s.agent_id DESC`
                  : sql`(s.name = lower(${q}) OR (s.namespace = ${namespace} AND s.name = ${name})) DESC,
                    ts_rank(s.words, websearch_to_tsquery('simple', ${q})) + ts_rank(s.words, websearch_to_tsquery('english', ${q})) + similarity(s.name, ${q}) DESC,
                    s.published_at DESC, s.agent_id DESC`
              }) AS place
              ${matches} ORDER BY place LIMIT ${limit} OFFSET ${offset}
            )
            SELECT ${rows.agentColumns} FROM page JOIN agents a ON a.id = page.agent_id ${rows.latestJoin} ${rows.sourceJoin(reader)} ORDER BY page.place`
          const counts = sql<Counted>`
            WITH matched AS MATERIALIZED (SELECT s.modes, s.capabilities, s.namespace, s.verdict, s.license ${matches})
            SELECT 'total' AS facet, '' AS value, count(*)::integer AS count FROM matched
            UNION ALL SELECT 'mode', mode, count(*)::integer FROM matched, unnest(modes) mode GROUP BY mode
            UNION ALL SELECT 'capability', capability, count(*)::integer FROM matched, unnest(capabilities) capability GROUP BY capability
            UNION ALL SELECT 'verdict', verdict, count(*)::integer FROM matched GROUP BY verdict
            UNION ALL (SELECT 'namespace', namespace, count(*)::integer FROM matched GROUP BY namespace ORDER BY 3 DESC, 2 LIMIT ${shownValues})
            UNION ALL (SELECT 'license', license, count(*)::integer FROM matched WHERE license IS NOT NULL GROUP BY license ORDER BY 3 DESC, 2 LIMIT ${shownValues})`
          const [found, counted] = yield* Effect.orDie(Effect.all([page, counts], { concurrency: 2 }))
          const facet = (name: Counted["facet"]) =>
            Object.fromEntries(counted.filter((row) => row.facet === name).map(({ count, value }) => [value, count]))
          return {
            items: found.map(agentRecord),
            total: facet("total")[""] ?? 0,
            offset,
            limit,
            facets: {
              mode: facet("mode"),
              capability: facet("capability"),
              namespace: facet("namespace"),
              verdict: facet("verdict"),
              license: facet("license")
            }
          }
        })
      })
    })
  )
}
