/** Search over published agents that the viewer may read, with facet counts. Spec: SEARCH-001, SEARCH-002. */
import { clamp, clampOffset } from "@quickagents/schema"
import type { Account, CapabilityKind, Mode, SearchAnswer, Verdict } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { agentRecord } from "./Agents.ts"
import { readerOf } from "./AgentsPolicy.ts"
import { AgentsSql } from "./AgentsSql.ts"
import type { Reader } from "./AgentsSql.ts"

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

/** An agent's id at its place, or how many have one combination of facets, or one namespace. */
type Found =
  | { readonly what: "hit"; readonly value: string; readonly count: number }
  | { readonly what: "namespace"; readonly value: string; readonly count: number }
  | {
      readonly what: "facets"
      readonly count: number
      readonly modes: ReadonlyArray<string>
      readonly capabilities: ReadonlyArray<string>
      readonly verdict: string
      readonly license: string | null
    }

const shownValues = 20
/** So many names are like another at most. */
const similarNames = 100

/** Compound words are words: what joins them is no operator of the query, and is not in the index. */
const wordsOf = (text: string) => text.replace(/(?<=\p{L}|\p{N})[-/](?=\p{L}|\p{N})/gu, " ")

export class Search extends Context.Service<
  Search,
  { readonly search: (viewer: Account | null, query: SearchQuery) => Effect.Effect<SearchAnswer> }
>()("catalog/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* AgentsSql

      const unseen = sql`state IN ('suspended', 'erased')`

      /** What the viewer may find, narrowed by the filters; it reads `search_entries` alone for what is public. */
      const within = (reader: Reader, query: SearchQuery) => {
        const facets = [
          ...(query.mode === undefined ? [] : [sql`${query.mode} = ANY(modes)`]),
          ...(query.capability === undefined ? [] : [sql`${query.capability} = ANY(capabilities)`]),
          ...(query.verdict === undefined ? [] : [sql`verdict = ${query.verdict}`]),
          ...(query.license === undefined ? [] : [sql`license = ${query.license}`])
        ]
        return [
          reader.accountId !== null && reader.privateToo
            ? sql`(s.visibility = 'public' OR s.agent_id IN (
                SELECT a.id FROM agents a WHERE a.visibility = 'private' AND ${rows.readable(reader.accountId, true)}))`
            : sql`s.visibility = 'public'`,
          // Nearly always there is none, which is asked once and not of each row.
          sql`((SELECT count(*) = 0 FROM organizations WHERE ${unseen})
            OR s.namespace <> ALL (ARRAY(SELECT handle FROM organizations WHERE ${unseen})))`,
          ...(query.namespace === undefined ? [] : [sql`s.namespace = ${query.namespace}`]),
          ...(facets.length === 0
            ? []
            : [sql`s.facets_id = ANY (ARRAY(SELECT id FROM search_facets WHERE ${sql.and(facets)}))`])
        ]
      }

      /** A page of `source`, best first, and what all of it has, in one statement. */
      const found = (
        source: Statement.Fragment,
        order: Statement.Fragment,
        matched: Statement.Fragment,
        limit: number,
        offset: number
      ) => sql<Found>`
        ${matched}
        SELECT 'hit' AS what, agent_id AS value, row_number() OVER ()::integer AS count,
            NULL::text[] AS modes, NULL::text[] AS capabilities, NULL AS verdict, NULL AS license
          FROM (SELECT s.agent_id FROM ${source} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}) page
        UNION ALL SELECT 'facets', NULL, combination.count, f.modes, f.capabilities, f.verdict, f.license
          FROM (SELECT s.facets_id, count(*)::integer AS count FROM ${source} GROUP BY s.facets_id) combination
          JOIN search_facets f ON f.id = combination.facets_id
        UNION ALL (SELECT 'namespace', s.namespace, count(*)::integer, NULL, NULL, NULL, NULL
          FROM ${source} GROUP BY s.namespace ORDER BY 3 DESC, 2 LIMIT ${shownValues})`

      const answered = Effect.fnUntraced(function* (
        reader: Reader,
        all: ReadonlyArray<Found>,
        offset: number,
        limit: number
      ) {
        const ids: Array<string> = []
        const counts = {
          mode: new Map<string, number>(),
          capability: new Map<string, number>(),
          namespace: new Map<string, number>(),
          verdict: new Map<string, number>(),
          license: new Map<string, number>()
        }
        const add = (to: Map<string, number>, value: string, count: number) =>
          to.set(value, (to.get(value) ?? 0) + count)
        let total = 0
        for (const row of all) {
          if (row.what === "hit") ids[row.count - 1] = row.value
          else if (row.what === "namespace") add(counts.namespace, row.value, row.count)
          else {
            total += row.count
            for (const mode of row.modes) add(counts.mode, mode, row.count)
            for (const capability of row.capabilities) add(counts.capability, capability, row.count)
            add(counts.verdict, row.verdict, row.count)
            if (row.license !== null) add(counts.license, row.license, row.count)
          }
        }
        const most = (of: Map<string, number>) =>
          Object.fromEntries([...of].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, shownValues))
        return {
          items: (yield* rows.agentsById(ids, reader)).map(agentRecord),
          total,
          offset,
          limit,
          facets: {
            mode: most(counts.mode),
            capability: most(counts.capability),
            namespace: most(counts.namespace),
            verdict: most(counts.verdict),
            license: most(counts.license)
          }
        }
      })

      return Search.of({
        search: Effect.fnUntraced(function* (viewer, query) {
          const [offset, limit] = [clampOffset(query.offset), clamp(query.limit, 100, 20)]
          const q = (query.q ?? "").trim()
          const reader = readerOf(viewer)
          const conditions = within(reader, query)
          // Scored once, then paged and counted.
          const scored = (score: Statement.Fragment, condition: Statement.Fragment, most: Statement.Fragment) =>
            found(
              sql`matched s`,
              sql`s.score DESC, s.published_at DESC, s.agent_id DESC`,
              sql`WITH matched AS MATERIALIZED (
                SELECT s.agent_id, s.facets_id, s.namespace, s.published_at, ${score} AS score
                FROM search_entries s WHERE ${sql.and([condition, ...conditions])} ${most})`,
              limit,
              offset
            )
          const byWords = Effect.suspend(() => {
            // A name with its namespace is a name too.
            const [namespace, name] = q.includes("/") ? q.toLowerCase().split("/", 2) : [null, q.toLowerCase()]
            const words = wordsOf(q)
            const wanted = sql`websearch_to_tsquery('english', ${words})`
            const exact = sql.and([
              sql`s.name = ${name}`,
              ...(namespace === null ? [] : [sql`s.namespace = ${namespace}`])
            ])
            return scored(
              // Subqueries: read once, and not again for each row. Each word that the name or a keyword has counts.
              sql`CASE WHEN ${exact} THEN 1000 ELSE 0 END
                + ts_rank(s.name_words, (SELECT replace((${wanted})::text, '&', '|')::tsquery))`,
              sql`search_words(s.id) @@ (SELECT ${wanted})`,
              sql.literal("")
            )
          })
          const bySimilarName = Effect.suspend(() =>
            scored(sql`similarity(s.name, ${q})`, sql`s.name % ${q}`, sql`ORDER BY score DESC LIMIT ${similarNames}`)
          )
          const all = found(
            sql`search_entries s WHERE ${sql.and(conditions)}`,
            sql`s.published_at DESC, s.agent_id DESC`,
            sql.literal(""),
            limit,
            offset
          )
          const answer = yield* Effect.orDie(
            q === ""
              ? all
              : byWords.pipe(Effect.flatMap((those) => (those.length === 0 ? bySimilarName : Effect.succeed(those))))
          )
          return yield* Effect.orDie(answered(reader, answer, offset, limit))
        })
      })
    })
  )
}
